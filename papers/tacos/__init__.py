# SPDX-License-Identifier: Apache-2.0
"""TACOS's Figures 1, 2, 14 to 19 and Table V, each beside the paper's ideal and the exact bound.

Simulations use the paper's model of a network, one message a link at a time; see `measure.network_model`."""

from __future__ import annotations

from papers.paper import EARLIER_FLUID_NETWORK, Paper, Section
from papers.tacos import asymmetric, baselines, executed, motivation, scale, symmetric, targets

_SECTIONS: dict[str, Section] = {
    "slots": targets.slots,
    "heterogeneous": targets.unequal_meshes,
    "figure_1": motivation.figures_1_and_2a,
    "figure_2b": motivation.figure_2b,
    "figure_14": motivation.figure_14,
    "figure_15": symmetric.figure_15,
    "table_v": symmetric.table_v,
    "figure_16": symmetric.figure_16,
    "figure_17a": asymmetric.figure_17a,
    "figure_17b": asymmetric.figure_17b,
    "figure_18": asymmetric.figure_18,
    "baselines": baselines.baselines,
    "stronger": baselines.stronger,
    "figure_19": scale.figure_19,
    "large": scale.large,
    "executed": executed.executed,
}

_INTRODUCTION = (
    EARLIER_FLUID_NETWORK,
    "Every all-reduce in this report was simulated, one message a link at a time, first come first "
    "served, on networks of links (the paper's model), and with fairly shared flows on networks with "
    "switches. Latencies are pipelined behind the serialization unless a section says otherwise.",
    "`ideal` is the paper's formula: 2(n-1)/n of the buffer through the slowest rank's links, and the "
    "diameter. It is no bound: where ranks have unequal links it can be beaten. `bound` is "
    "`hemiola.lower_bound`, which nothing can beat. `Hemiola` is the fastest of `hemiola.synthesize` with 1, 2, "
    "4, 8, 16 and 32 chunks per rank, one trial each, and of `hemiola.synthesis.forest` with 8, 32 and 128 "
    "pieces.",
)

PAPER = Paper(
    "tacos", "TACOS: a schedule for any topology", _SECTIONS, "20 minutes on one core", _INTRODUCTION
)
