# SPDX-License-Identifier: Apache-2.0
"""A schedule as a picture of chunks by steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from hemiola._core import Schedule
from hemiola.algorithms.schedule_text import LETTERED_TRANSFERS, describe, step_cells
from hemiola.view import style
from hemiola.view.picture_file import check_suffix

#: Chunks by steps are written out up to so many.
_LETTERED_CHUNKS, _LETTERED_STEPS = 24, 16
#: Ranks by steps have numbers up to so many, and are painted in groups beyond the last.
_NUMBERED_RANKS, _NUMBERED_STEPS = 40, 40
_PAINTED_CELLS = 1024


def draw_steps(schedule: Schedule, path: str | Path, *, title: str) -> None:
    """Draw chunks by steps, or of a larger schedule ranks by steps; orange adds, and blue copies.

    Small schedules show each transfer as src>dst or src+dst. Of larger ones a row is a rank, and a cell all that
    it sends in a step: its chunk, where it is one, or the number of its transfers.

    Parameters
    ----------
    schedule : Schedule of any size.
    path : where to write; the suffix (.png, .svg, .pdf) is the format.
    title : str, the line above the picture.

    Raises
    ------
    ArgumentError for an unknown suffix.
    """
    path = check_suffix(path)
    counts, _, _ = _cells(schedule, "chunk")
    rows, columns = counts.shape
    if _is_lettered(schedule, counts):
        size = (max(2.2 + 0.85 * columns, 6.5), 1.6 + 0.4 * rows)
    else:
        size = (9.0, 1.9 + min(max(0.22 * schedule.rank_count, 2.0), 6.0))
    figure, axes = style.new_axes(*size, title, describe(schedule))
    paint_steps(axes, schedule)
    style.save(figure, path)


def paint_steps(axes: Axes, schedule: Schedule) -> None:
    """Paint what `draw_steps` draws into these axes, with its legend below them."""
    counts, reduces, _ = _cells(schedule, "chunk")
    if _is_lettered(schedule, counts):
        _paint(axes, schedule, _tinted(counts, reduces, _strength(counts), strongest=0.5), "chunk")
        _letter(axes, schedule)
        _add_keys(axes, counts, reduces)
        return
    counts, reduces, chunks = _cells(schedule, "src")
    single = counts.max(initial=0) <= 1
    strength = (chunks + 1) / schedule.chunk_count if single else _strength(counts)
    _paint(axes, schedule, _tinted(counts, reduces, strength * (counts > 0), strongest=0.75), "src")
    if schedule.rank_count <= _NUMBERED_RANKS and schedule.step_count <= _NUMBERED_STEPS:
        _number(axes, counts, chunks if single else counts)
    note = "the chunk sent, darker from first to last" if single else "transfers sent, darker the more"
    _add_keys(axes, counts, reduces, note)


def _is_lettered(schedule: Schedule, counts: NDArray[np.int64]) -> bool:
    return (
        schedule.chunk_count <= _LETTERED_CHUNKS
        and schedule.step_count <= _LETTERED_STEPS
        and bool(counts.max(initial=0) <= LETTERED_TRANSFERS)
    )


def _cells(
    schedule: Schedule, rows_are: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return how many transfers fall into each cell, how many of them reduce, and the largest chunk of them."""
    row_count = schedule.chunk_count if rows_are == "chunk" else schedule.rank_count
    rows, columns = min(row_count, _PAINTED_CELLS), min(max(schedule.step_count, 1), _PAINTED_CELLS)
    transfers: NDArray[Any] = np.asarray(schedule.transfers)
    row = transfers[rows_are].astype(np.int64) * rows // row_count
    column = transfers["step"].astype(np.int64) * columns // max(schedule.step_count, 1)
    cell = row * columns + column
    counts = np.bincount(cell, minlength=rows * columns)
    reduces = np.bincount(cell[transfers["reduce"]], minlength=rows * columns)
    chunks = np.zeros(rows * columns, np.int64)
    np.maximum.at(chunks, cell, transfers["chunk"].astype(np.int64))
    shape = (rows, columns)
    return counts.reshape(shape), reduces.reshape(shape), chunks.reshape(shape)


def _strength(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(np.log1p(counts) / np.log1p(max(int(counts.max(initial=0)), 1)))


def _tinted(
    counts: NDArray[np.int64], reduces: NDArray[np.int64], strength: NDArray[np.float64], strongest: float
) -> NDArray[np.float64]:
    """Return RGB per cell: between blue (copy) and orange (reduce), white where nothing is sent."""
    share = np.divide(reduces, counts, out=np.zeros(counts.shape), where=counts > 0)[..., None]
    hue = share * _rgb(style.ORANGE) + (1 - share) * _rgb(style.BLUE)
    strength = strength[..., None]
    return np.asarray(1 - strongest * (0.2 + 0.8 * strength) * (strength > 0) * (1 - hue))


def _paint(axes: Axes, schedule: Schedule, cells: NDArray[np.float64], rows_are: str) -> None:
    rows = schedule.chunk_count if rows_are == "chunk" else schedule.rank_count
    extent = (-0.5, max(schedule.step_count, 1) - 0.5, rows - 0.5, -0.5)
    axes.imshow(cells, aspect="auto", extent=extent, interpolation="nearest")
    axes.set_xlabel("step")
    axes.set_ylabel("chunk" if rows_are == "chunk" else "sending rank")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _number(axes: Axes, counts: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
    size = 7.5 if numbers.shape[1] <= 32 else 6
    for (rank, step), count in np.ndenumerate(counts):
        if count:
            text = str(int(numbers[rank, step]))
            axes.text(step, rank, text, ha="center", va="center", fontsize=size, color=style.BLACK)


def _add_keys(axes: Axes, counts: NDArray[np.int64], reduces: NDArray[np.int64], note: str = "") -> None:
    """Put the colours that occur below the axes, and a note on their shades."""
    keys = [(reduces < counts, "copy", style.BLUE), (reduces > 0, "reduce", style.ORANGE)]
    marks = [
        Line2D([], [], marker="s", linestyle="", color=color, label=label)
        for occurs, label, color in keys
        if occurs.any()
    ]
    marks += [Line2D([], [], linestyle="", label=note)] if note else []
    if marks:
        style.legend_below(axes, marks)


def _rgb(color: str) -> NDArray[np.float64]:
    return np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def _letter(axes: Axes, schedule: Schedule) -> None:
    for chunk, row in enumerate(step_cells(schedule, _LETTERED_CHUNKS, _LETTERED_STEPS)):
        for step, text in enumerate(row):
            pairs = text.replace(">", "→").split()
            lines = [" ".join(pairs[i : i + 2]) for i in range(0, len(pairs), 2)]
            axes.text(step, chunk, "\n".join(lines), ha="center", va="center", fontsize=7.5)
    axes.set_xticks(np.arange(0.5, schedule.step_count - 1), minor=True)
    axes.set_yticks(np.arange(0.5, schedule.chunk_count - 1), minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)
