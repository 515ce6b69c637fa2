# SPDX-License-Identifier: Apache-2.0
"""A small schedule as arrows on its network: a panel per step, arrows from sender to receiver with their chunks."""

from __future__ import annotations

import math

import numpy as np

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from numpy.typing import NDArray

from hemiola._core import Schedule, Topology
from hemiola.view import style
from hemiola.view.topology import bend_clear_of
from hemiola.view.topology_layout import Points, circle, lay_out

#: Panels hold up to so many ranks, steps and arrows; beyond, a matrix is easier to read.
_MOST_RANKS, _MOST_STEPS, _MOST_ARROWS = 16, 12, 40
#: Chunks that are written beside an arrow; more are counted.
_MOST_CHUNKS = 3
#: In units of the layout: of a rank's circle, and of the line between two that differ by direction.
_RADIUS, _APART = 0.3, 0.12
#: Along an arrow, from its source.
_WORDS_AT = 0.27


def is_small(schedule: Schedule) -> bool:
    """Whether `paint_arrows` can show the schedule."""
    if schedule.rank_count > _MOST_RANKS or not 0 < schedule.step_count <= _MOST_STEPS:
        return False
    return max(len(_arrows(schedule, step)) for step in range(schedule.step_count)) <= _MOST_ARROWS


def panel_grid(step_count: int, columns: int) -> tuple[int, int]:
    """Return rows and columns of panels in a figure of one or two columns of a paper."""
    across = min(step_count, 2 if columns == 1 else 4)
    return math.ceil(step_count / across), across


def paint_arrows(axes: Axes, schedule: Schedule, topology: Topology | None, columns: int) -> None:
    """Paint a panel per step into these axes: orange arrows add, blue ones copy; ranks stand as in `draw_topology`."""
    axes.axis("off")
    points = circle(schedule.rank_count) if topology is None else lay_out(topology).points
    rows, across = panel_grid(schedule.step_count, columns)
    for step in range(schedule.step_count):
        row, column = divmod(step, across)
        panel = axes.inset_axes((column / across, 1 - (row + 1) / rows, 0.96 / across, 0.96 / rows))
        _paint_panel(panel, schedule, points, step)
    reduces = np.asarray(schedule.transfers)["reduce"]
    keys = [(~reduces, "copies a chunk", style.BLUE), (reduces, "adds a chunk", style.ORANGE)]
    marks = [Line2D([], [], color=color, label=label) for occurs, label, color in keys if occurs.any()]
    axes.legend(handles=marks, loc="upper right", bbox_to_anchor=(1, 0), ncols=2, frameon=False, fontsize=8)


def _arrows(schedule: Schedule, step: int) -> dict[tuple[int, int, bool], list[int]]:
    """Return the chunks by source, destination, and whether they are added."""
    transfers: NDArray[np.void] = np.asarray(schedule.transfers)
    arrows: dict[tuple[int, int, bool], list[int]] = {}
    for row in transfers[transfers["step"] == step]:
        ends = (int(row["src"]), int(row["dst"]), bool(row["reduce"]))
        arrows.setdefault(ends, []).append(int(row["chunk"]))
    return arrows


def _paint_panel(panel: Axes, schedule: Schedule, points: Points, step: int) -> None:
    panel.set_title(f"step {step}", fontsize=8, pad=1)
    panel.set_aspect("equal")
    panel.axis("off")
    low, high = points.min(axis=0) - 0.7, points.max(axis=0) + 0.7
    panel.set_xlim(low[0], high[0])
    panel.set_ylim(low[1], high[1])
    for (src, dst, reduce), chunks in _arrows(schedule, step).items():
        color = style.ORANGE if reduce else style.BLUE
        bend = bend_clear_of(points, src, dst, least=_APART)
        patch = FancyArrowPatch(
            tuple(points[src]), tuple(points[dst]), connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>",
            mutation_scale=7, shrinkA=6, shrinkB=6, linewidth=1.2, color=color, zorder=2,
        )  # fmt: skip
        panel.add_patch(patch)
        written = ",".join(map(str, chunks)) if len(chunks) <= _MOST_CHUNKS else f"{len(chunks)} chunks"
        x, y = _beside(points[src], points[dst], bend)
        panel.text(x, y, written, ha="center", va="center", fontsize=6, color=style.BLACK, zorder=4)
    for rank, (x, y) in enumerate(points):
        is_rank = rank < schedule.rank_count
        panel.scatter(
            [x], [y], s=70, marker="o" if is_rank else "s", color="#E8EBF0", edgecolors=style.GREY, zorder=3
        )
        panel.text(x, y, str(rank), ha="center", va="center", fontsize=6, zorder=4)


def _beside(a: Points, b: Points, bend: float) -> tuple[float, float]:
    """Return a place for words beside an arrow, on its outer side; nearer to its source, as arrows cross halfway."""
    along = b - a
    aside = np.array([along[1], -along[0]])
    length = max(float(np.linalg.norm(along)), 1e-9)
    t = _WORDS_AT
    x, y = a + t * along + aside * (2 * t * (1 - t) * bend + math.copysign(0.2, bend) / length)
    return float(x), float(y)
