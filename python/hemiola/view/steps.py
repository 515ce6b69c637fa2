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
from hemiola.view import style
from hemiola.view.picture_file import check_suffix
from hemiola.view.schedule_text import LETTERED_TRANSFERS, describe, step_cells

#: Cells are written out up to this many chunks and steps, and painted beyond.
_LETTERED_CHUNKS, _LETTERED_STEPS = 24, 16
_PAINTED_CELLS = 1024


def draw_steps(schedule: Schedule, path: str | Path, *, title: str) -> None:
    """Draw chunks by steps, orange where values are added and blue where they are copied.

    Small schedules show each transfer as src>dst or src+dst; large ones show how many transfers a cell has.

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
    counts, reduces = _count_cells(schedule)
    lettered = (
        schedule.chunk_count <= _LETTERED_CHUNKS
        and schedule.step_count <= _LETTERED_STEPS
        and counts.max(initial=0) <= LETTERED_TRANSFERS
    )
    rows, columns = counts.shape
    width, height = (2.2 + 0.85 * columns, 1.6 + 0.4 * rows) if lettered else (9.0, 5.5)
    figure, axes = style.new_axes(max(width, 6.5), height, title, describe(schedule))
    extent = (-0.5, max(schedule.step_count, 1) - 0.5, schedule.chunk_count - 0.5, -0.5)
    axes.imshow(
        _paint(counts, reduces, strongest=0.5 if lettered else 0.8),
        aspect="auto",
        extent=extent,
        interpolation="nearest",
    )
    if lettered:
        _letter(axes, schedule)
    axes.set_xlabel("step")
    axes.set_ylabel("chunk")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    keys = [("copy", style.BLUE), ("reduce", style.ORANGE)]
    marks = [Line2D([], [], marker="s", linestyle="", color=color, label=label) for label, color in keys]
    figure.legend(handles=marks, loc="outside lower right", ncols=2, frameon=False)
    style.save(figure, path)


def _count_cells(schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many transfers, and how many of them that reduce, fall into each cell; rows are chunks."""
    rows = min(schedule.chunk_count, _PAINTED_CELLS)
    columns = min(max(schedule.step_count, 1), _PAINTED_CELLS)
    transfers: NDArray[Any] = np.asarray(schedule.transfers)
    row = transfers["chunk"].astype(np.int64) * rows // schedule.chunk_count
    column = transfers["step"].astype(np.int64) * columns // max(schedule.step_count, 1)
    cell = row * columns + column
    shape = (rows, columns)
    counts = np.bincount(cell, minlength=rows * columns).reshape(shape)
    reduces = np.bincount(cell[transfers["reduce"]], minlength=rows * columns).reshape(shape)
    return counts, reduces


def _paint(counts: NDArray[np.int64], reduces: NDArray[np.int64], strongest: float) -> NDArray[np.float64]:
    """Return RGB per cell: between blue (copy) and orange (reduce), stronger the more transfers it has."""
    share = np.divide(reduces, counts, out=np.zeros(counts.shape), where=counts > 0)[..., None]
    strength = (np.log1p(counts) / np.log1p(max(int(counts.max(initial=0)), 1)))[..., None]
    hue = share * _rgb(style.ORANGE) + (1 - share) * _rgb(style.BLUE)
    return np.asarray(1 - strongest * (0.2 + 0.8 * strength) * (strength > 0) * (1 - hue))


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
