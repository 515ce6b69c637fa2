# SPDX-License-Identifier: Apache-2.0
"""The papers' end-to-end rows: training steps with their collectives, on the package's model of a workload.

Both sides of a comparison pay the same software cost: none, unless a constant says so and is marked as fitted."""

from __future__ import annotations

from papers.paper import Paper, Section
from papers.workloads import (
    grid_plans,
    pccl_batches,
    shared_links,
    spccl_codec,
    spccl_iterations,
    stragglar_iterations,
    tacos_steps,
)

_SECTIONS: dict[str, Section] = {
    "tacos": tacos_steps.figures_20_and_21,
    "grid_plans": grid_plans.plans,
    "stragglar_2b": stragglar_iterations.figure_2b,
    "stragglar_table_2": stragglar_iterations.table_2,
    "stragglar_13": stragglar_iterations.figures_13_and_14,
    "pccl": pccl_batches.figure_12,
    "spccl_codec": spccl_codec.figures_6_to_8,
    "spccl": spccl_iterations.figures_10_and_11,
    "shared_links": shared_links.pairs,
}

_INTRODUCTION = (
    "Each row has the printed figure, ours, and the bound, where there is one. **Fitted** marks a constant "
    "that was chosen so that printed figures come out. All other figures follow from the paper's own "
    "parameters and the assumptions beside them. Memory is not modelled.",
)

PAPER = Paper(
    "workloads", "Training steps of the papers", _SECTIONS, "about a minute on two cores", _INTRODUCTION
)
