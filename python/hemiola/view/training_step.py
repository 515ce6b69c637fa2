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

#: Rows that are drawn; further roles are left out, late ones last.
MOST_ROWS = 24
_HEIGHT = 0.8
_COLORS = {"computation": style.BLUE, "communication": style.ORANGE, "lateness": style.GREY}


def rows_of(found: WhatIf) -> list[tuple[str, str]]:
    """Return the roles and streams that are drawn, in order."""
    seen = dict.fromkeys((role, task.stream) for task in found.ran.step.tasks for role in task.roles)
    order = {role: place for place, role in enumerate(found.ran.step.roles)}
    return sorted(seen, key=lambda row: (order[row[0]], row[1] != "compute", row[1]))[:MOST_ROWS]


def paint_step(axes: Axes, found: WhatIf) -> None:
    """Paint the tasks of each role and stream over time.

    Parameters
    ----------
    axes : Axes.
    found : WhatIf.
    """
    rows = rows_of(found)
    factor, unit = style.time_unit([found.seconds])
    place_of = {row: place for place, row in enumerate(rows)}
    bars: dict[str, list[Sequence[tuple[float, float]]]] = {name: [] for name in _COLORS}
    for task, begin_s, end_s in zip(
        found.ran.step.tasks, found.ran.begin_s.tolist(), found.ran.end_s.tolist(), strict=True
    ):
        what = "communication" if task.call else "lateness" if task.label == "late" else "computation"
        for role in task.roles:
            if (role, task.stream) in place_of and end_s > begin_s:
                middle = place_of[role, task.stream]
                low, high = middle - _HEIGHT / 2, middle + _HEIGHT / 2
                left, right = begin_s * factor, end_s * factor
                bars[what].append([(left, low), (right, low), (right, high), (left, high)])
    for what, shapes in bars.items():
        axes.add_collection(PolyCollection(shapes, facecolor=_COLORS[what], edgecolor="white", linewidth=0.3))
    axes.set_yticks(range(len(rows)), [f"{role}: {stream}" for role, stream in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, factor * found.seconds or 1)
    axes.set_xlabel(f"time ({unit})")
    axes.tick_params(axis="y", length=0)
    marks = [Patch(color=_COLORS[what], label=what) for what, shapes in bars.items() if shapes]
    style.legend_below(axes, marks)
