# SPDX-License-Identifier: Apache-2.0
"""Figures 9 and 11: how many times faster PCCL and the planner's choice are than the vendor's rings, by size and
ranks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from matplotlib.colors import LogNorm
from numpy.typing import NDArray

from hemiola.progress import ProgressBar
from hemiola.view import style
from papers.pccl import printed
from papers.pccl.machine import (
    ALL_GATHER,
    FRONTIER,
    MIB,
    PERLMUTTER,
    RANK_COUNTS,
    REDUCE_SCATTER,
    SIZES_MIB,
    Machine,
)
from papers.pccl.printed import Printed
from papers.pccl.speedups import TIMES, Times, fitted_times, physical_times
from papers.report import Report

#: Of the colour scale, from its middle: beyond, dark words are hard to read.
_DARK = 0.36

_EXPLAINED = (
    "{vendor}'s time over PCCL's → over the planner's choice; above 1 is faster than {vendor}. Constants as under "
    "Figure {times}; of ranges that the paper prints, the end that its model puts there."
)


def figure_9(
    report: Report,
    command: str,
    *,
    sizes: Sequence[int] = SIZES_MIB,
    rank_counts: Sequence[int] = RANK_COUNTS,
) -> None:
    """Frontier, both collectives."""
    report.section(
        "Figure 9: PCCL over RCCL on Frontier", _EXPLAINED.format(vendor=FRONTIER.vendor, times=7), command
    )
    for kind in (ALL_GATHER, REDUCE_SCATTER):
        _compare(report, "figure_9", FRONTIER, kind, printed.FRONTIER[kind], rank_counts)
        _heat(report, "figure_9", FRONTIER, kind, sizes, rank_counts)


def figure_11(
    report: Report,
    command: str,
    *,
    sizes: Sequence[int] = SIZES_MIB,
    rank_counts: Sequence[int] = RANK_COUNTS,
) -> None:
    """Perlmutter, both collectives."""
    report.section(
        "Figure 11: PCCL over NCCL on Perlmutter",
        _EXPLAINED.format(vendor=PERLMUTTER.vendor, times=10),
        command,
    )
    _compare(report, "figure_11", PERLMUTTER, ALL_GATHER, printed.PERLMUTTER, rank_counts)
    for kind in (ALL_GATHER, REDUCE_SCATTER):
        _heat(report, "figure_11", PERLMUTTER, kind, sizes, rank_counts)


def _compare(
    report: Report,
    key: str,
    machine: Machine,
    kind: str,
    cells: Sequence[Printed],
    rank_counts: Sequence[int],
) -> None:
    """Put what the paper prints of these numbers of ranks beside both models."""
    report.text(f"**{_word(kind)}: the cells that the paper prints**")
    rows: list[tuple[object, ...]] = []
    for cell in cells:
        if cell.rank_count not in rank_counts:
            continue
        at = (machine, kind, cell.rank_count, cell.size_mib * MIB)
        fitted, physical = fitted_times(*at), physical_times(*at)
        rows.append(
            (
                cell.rank_count,
                cell.size_mib,
                cell.words,
                fitted.pccl_speedup,
                physical.pccl_speedup,
                fitted.planned_speedup,
                physical.planned_speedup,
                physical.planned.label,
            )
        )
    columns = (
        "ranks",
        "MiB",
        "printed",
        "PCCL, fitted",
        "PCCL, physical",
        "Hemiola, fitted",
        "Hemiola, physical",
    )
    report.table(f"{key}_{kind}_printed", (*columns, "chosen, physical"), rows)


def _heat(
    report: Report, key: str, machine: Machine, kind: str, sizes: Sequence[int], rank_counts: Sequence[int]
) -> None:
    panels: dict[str, NDArray[np.float64]] = {}
    for which, times in TIMES.items():
        with ProgressBar(key) as bar:
            lines = bar.each(sizes[::-1])
            grid = [[times(machine, kind, ranks, size * MIB) for ranks in rank_counts] for size in lines]
        report.text(f"**{_word(kind)}, {which} constants, {_least(grid)}**")
        rows = [
            (size, *(f"{one.pccl_speedup:.3g} → {one.planned_speedup:.3g}" for one in line))
            for size, line in zip(sizes[::-1], grid, strict=True)
        ]
        report.table(f"{key}_{kind}_{which}", ("MiB", *map(str, rank_counts)), rows)
        panels[f"PCCL, {which}"] = np.array([[one.pccl_speedup for one in line] for line in grid])
        panels[f"Hemiola, {which}"] = np.array([[one.planned_speedup for one in line] for line in grid])
    title = f"{machine.name}, {_word(kind)}: times faster than {machine.vendor}"
    report.picture(
        f"{key}_{kind}", title, lambda path: draw_grids(path, title, panels, sizes[::-1], rank_counts)
    )


def _least(grid: Sequence[Sequence[Times]]) -> str:
    """Say how the planned schedule fares where it fares worst."""
    cells = [one for line in grid for one in line]
    worst = min(min(one.vendor_s, one.pccl_s) / one.planned.seconds for one in cells)
    return f"at worst the planned schedule is {worst:.3g} times as fast as the better of the two"


def draw_grids(
    path: Path,
    title: str,
    panels: dict[str, NDArray[np.float64]],
    sizes: Sequence[int],
    rank_counts: Sequence[int],
) -> None:
    """Draw a heat map per panel, all on one logarithmic scale about 1, with the values in the cells."""
    figure, axes_of = style.new_panels(11, 8, -(-len(panels) // 2), 2, title)
    most = max(2.0, *(float(values.max()) for values in panels.values()))
    scale = LogNorm(1 / most, most)
    for axes, (name, values) in zip(chain.from_iterable(axes_of), panels.items(), strict=False):
        axes.imshow(values, cmap="PiYG", norm=scale, aspect="auto")
        axes.set_title(name, fontsize=10)
        axes.set_xticks(range(len(rank_counts)), list(map(str, rank_counts)))
        axes.set_yticks(range(len(sizes)), list(map(str, sizes)))
        axes.set_xlabel("ranks")
        axes.set_ylabel("MiB")
        for (y, x), value in np.ndenumerate(values):
            dark = abs(scale(value) - 0.5) > _DARK
            axes.text(
                x,
                y,
                f"{value:.3g}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else style.BLACK,
            )
    style.save(figure, path)


def _word(kind: str) -> str:
    return kind.replace("_", "-")
