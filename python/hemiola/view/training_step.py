# SPDX-License-Identifier: Apache-2.0
"""A predicted training step as a picture: a row for each role and stream, a bar for each task."""

from __future__ import annotations

from collections.abc import Sequence

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from hemiola.view import style
from hemiola.workload import WhatIf
from hemiola.workload.bars import COMMUNICATION, COMPUTATION, LATENESS, bars_of, rows_of

#: Rows that are drawn; further roles are left out, late ones last.
MOST_ROWS = 24
_HEIGHT = 0.8
_COLORS = {COMPUTATION: style.BLUE, COMMUNICATION: style.ORANGE, LATENESS: style.GREY}


def paint_step(axes: Axes, found: WhatIf) -> None:
    """Paint the tasks of each role and stream over time.

    Parameters
    ----------
    axes : Axes.
    found : WhatIf.
    """
    rows = rows_of(found)[:MOST_ROWS]
    factor, unit = style.time_unit([found.seconds])
    place_of = {row: place for place, row in enumerate(rows)}
    bars: dict[str, list[Sequence[tuple[float, float]]]] = {name: [] for name in _COLORS}
    for bar in bars_of(found):
        if bar.row in place_of:
            low, high = place_of[bar.row] - _HEIGHT / 2, place_of[bar.row] + _HEIGHT / 2
            left, right = bar.begin_s * factor, bar.end_s * factor
            bars[bar.kind].append([(left, low), (right, low), (right, high), (left, high)])
    for what, shapes in bars.items():
        axes.add_collection(PolyCollection(shapes, facecolor=_COLORS[what], edgecolor="white", linewidth=0.3))
    axes.set_yticks(range(len(rows)), [f"{role}: {stream}" for role, stream in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, factor * found.seconds or 1)
    axes.set_xlabel(f"time ({unit})")
    axes.tick_params(axis="y", length=0)
    marks = [Patch(color=_COLORS[what], label=what) for what, shapes in bars.items() if shapes]
    style.legend_below(axes, marks)
