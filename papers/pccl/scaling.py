# SPDX-License-Identifier: Apache-2.0
"""Figures 1, 7, 8 and 10: the time of one collective over the number of ranks, for a few sizes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from hemiola.progress import ProgressBar
from papers.pccl.closed_forms import rings_s
from papers.pccl.fitted import fitted
from papers.pccl.machine import (
    ALL_GATHER,
    FRONTIER,
    MIB,
    PERLMUTTER,
    RANK_COUNTS,
    REDUCE_SCATTER,
    Machine,
)
from papers.pccl.speedups import TIMES, Times
from papers.report import Report

_EXPLAINED = (
    "Milliseconds. *Fitted* constants reproduce the paper's ratios (see Constants). *Physical* constants are the "
    "network's costs, under the libraries' algorithms: MPICH one ring through ranks in order, {vendor} as many rings "
    "as a node has NICs, PCCL the better of its two, with its shuffle. `Hemiola` is the planner's choice. The two "
    "fitted columns differ in more than the schedule. PCCL pays its fitted round, up to 929 µs of software, once "
    "in each round. Hemiola's network has that time as a latency between nodes: all messages of a step pay it "
    "together, and a message costs nothing beside it. So compare the physical columns."
)


def figure_1(report: Report, command: str, *, rank_counts: Sequence[int] = RANK_COUNTS) -> None:
    """MPICH and RCCL alone; the paper prints no figures of this plot."""
    report.section(
        "Figure 1: all-gathers of Cray MPICH and RCCL on Frontier",
        "The text gives no numbers for this plot, only that neither line is flat beyond 256 processes. "
        "Milliseconds; constants as under Figure 7, whose columns these are.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for size in (64, 128):
        for ranks in rank_counts:
            nbytes, nodes = size * MIB, FRONTIER.nodes(ranks)
            found = fitted(FRONTIER, ALL_GATHER)
            physical = [rings_s(FRONTIER, nodes, rings, nbytes) for rings in (1, FRONTIER.nics)]
            seconds = (found.mpich_s(ranks, nbytes), found.vendor_s(ranks, nbytes), *physical)
            rows.append((size, ranks, *(1e3 * s for s in seconds)))
    columns = [f"{library}, {which}" for which in TIMES for library in ("MPICH", FRONTIER.vendor)]
    report.table("figure_1", ("MiB", "ranks", *columns), rows)


def figure_7(report: Report, command: str, *, rank_counts: Sequence[int] = RANK_COUNTS) -> None:
    """All-gather on Frontier."""
    report.section(
        "Figure 7: all-gather on Frontier",
        'Printed at 2,048 ranks: PCCL 7 to 24 times faster than RCCL, 27 to 82 times than MPICH, "depending on '
        f'the message size" [PCCL, §6.1.1]. {_EXPLAINED.format(vendor=FRONTIER.vendor)}',
        command,
    )
    _over_ranks(report, "figure_7", FRONTIER, ALL_GATHER, (64, 128, 256, 512), rank_counts)


def figure_8(report: Report, command: str, *, rank_counts: Sequence[int] = RANK_COUNTS) -> None:
    """Reduce-scatter on Frontier."""
    report.section(
        "Figure 8: reduce-scatter on Frontier",
        "The text gives no numbers for this plot; those of Figure 9 (right) are below. None of the columns has the "
        f"additions; Figure 4 prices them. {_EXPLAINED.format(vendor=FRONTIER.vendor)}",
        command,
    )
    _over_ranks(report, "figure_8", FRONTIER, REDUCE_SCATTER, (64, 128, 256, 512), rank_counts)


def figure_10(report: Report, command: str, *, rank_counts: Sequence[int] = RANK_COUNTS) -> None:
    """Both on Perlmutter."""
    report.section(
        "Figure 10: all-gather and reduce-scatter on Perlmutter",
        "Printed at 1,024 and 2,048 ranks: PCCL 1.3 to 4.6 times faster than NCCL, 8.8 to 15 times than MPICH "
        f"[PCCL, §6.1.2]. {_EXPLAINED.format(vendor=PERLMUTTER.vendor)}",
        command,
    )
    for kind in (ALL_GATHER, REDUCE_SCATTER):
        report.text(f"**{kind.replace('_', '-')}**")
        _over_ranks(report, f"figure_10_{kind}", PERLMUTTER, kind, (64, 128), rank_counts)


def _over_ranks(
    report: Report, key: str, machine: Machine, kind: str, sizes: Sequence[int], rank_counts: Sequence[int]
) -> None:
    found: dict[tuple[str, int], list[Times]] = {}
    rows: list[tuple[object, ...]] = []
    with ProgressBar(key) as bar:
        for size, ranks in bar.each(list(product(sizes, rank_counts))):
            cells: list[object] = [size, ranks]
            for which, times in TIMES.items():
                one = times(machine, kind, ranks, size * MIB)
                found.setdefault((which, size), []).append(one)
                cells += [1e3 * s for s in _seconds(machine, one).values()]
            rows.append((*cells, one.planned.label))
    names = list(_seconds(machine, found[next(iter(found))][0]))
    columns = [f"{name}, {which}" for which in TIMES for name in names]
    report.table(key, ("MiB", "ranks", *columns, "chosen, physical"), rows)
    for which in TIMES:
        times_of = found[which, sizes[0]]
        series = {name: [1e3 * _seconds(machine, one)[name] for one in times_of] for name in names}
        title = f"{machine.name}, {kind.replace('_', '-')} of {sizes[0]} MiB, {which} constants"
        report.curves(f"{key}_{which}", title, rank_counts, series, x_label="ranks", y_label="ms", log="xy")


def _seconds(machine: Machine, times: Times) -> dict[str, float]:
    return {
        "MPICH": times.mpich_s,
        machine.vendor: times.vendor_s,
        "PCCL": times.pccl_s,
        "Hemiola": times.planned.seconds,
    }
