# SPDX-License-Identifier: Apache-2.0
"""A simulation as a picture: a row per rank, a bar for everything it sends, as long as its port is busy with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from hemiola._core import Schedule
from hemiola.conditions import Conditions
from hemiola.simulate import Timeline
from hemiola.view import style
from hemiola.view.picture_file import check_suffix

#: Rows that are drawn; of more ranks, so many are picked evenly, besides those that are late or slow.
MOST_ROWS = 32
#: Bars that carry their chunk's number, at most.
_MOST_LETTERED = 200

_NOT_THERE_KEY: dict[str, Any] = {"facecolor": "#E4E6EA", "hatch": "///", "edgecolor": "#9AA0A8"}
_NOT_THERE: dict[str, Any] = {"height": 0.8, **_NOT_THERE_KEY}


def draw_timeline(
    schedule: Schedule,
    timeline: Timeline,
    path: str | Path,
    *,
    title: str,
    subtitle: str = "",
    conditions: Conditions | None = None,
) -> None:
    """Draw what each rank sends when, orange where it is added to the receiver's and blue where it is copied.

    Parameters
    ----------
    schedule : Schedule that was simulated.
    timeline : Timeline of that simulation; it is run once more to record it.
    path : where to write; the suffix (.png, .svg, .pdf) is the format.
    title, subtitle : str, the two lines above the picture.
    conditions : Conditions of the simulation, optional; the second line names them, and hatching shows how long a late
        rank has not come.

    Raises
    ------
    ArgumentError for an unknown suffix.
    """
    path = check_suffix(path)
    told = "; ".join([*(conditions.in_words() if conditions else []), *([subtitle] if subtitle else [])])
    figure, axes = style.new_axes(10, 1.9 + 0.34 * min(schedule.rank_count, MOST_ROWS), title, told)
    paint_timeline(axes, schedule, timeline, conditions)
    style.save(figure, path)


def paint_timeline(
    axes: Axes, schedule: Schedule, timeline: Timeline, conditions: Conditions | None = None
) -> None:
    """Paint the rows into these axes, with a legend below them."""
    told_of = [] if conditions is None else [*conditions.late, *conditions.slow_ranks]
    evenly = np.linspace(0, schedule.rank_count - 1, MOST_ROWS).astype(int)
    ranks = np.union1d(evenly, np.array(told_of, dtype=int))
    factor, unit = style.time_unit([timeline.seconds])
    _draw_bars(axes, schedule, timeline, ranks, factor)
    keys: list[Artist] = [
        Patch(color=style.BLUE, alpha=0.6, label="sends a copy"),
        Patch(color=style.ORANGE, alpha=0.6, label="sends to be added"),
        Line2D([], [], marker="|", linestyle="", markersize=9, color=style.BLACK, label="done"),
    ]
    late = {rank: late_s for rank, late_s in (conditions.late if conditions else {}).items() if rank in ranks}
    for rank, delay_s in late.items():
        axes.barh(np.searchsorted(ranks, rank), delay_s * factor, **_NOT_THERE)
    keys += [Patch(**_NOT_THERE_KEY, label="not there yet")] if late else []
    axes.scatter(
        timeline.finish_s[ranks] * factor,
        np.arange(len(ranks)),
        marker="|",
        s=140,
        color=style.BLACK,
        zorder=3,
    )
    axes.set_yticks(np.arange(len(ranks)), [_name(rank, conditions) for rank in ranks.tolist()])
    axes.set_ylim(len(ranks) - 0.4, -0.6)
    axes.set_xlim(0, timeline.seconds * factor * 1.02 or 1)
    axes.set_xlabel(f"time ({unit}); numbers are chunks")
    axes.tick_params(axis="y", length=0)
    style.legend_below(axes, keys)


def _name(rank: int, conditions: Conditions | None) -> str:
    """Name a rank, and after it the reason why others wait for it."""
    if conditions is None:
        return f"rank {rank}"
    told = ["late"] if rank in conditions.late else []
    told += ["slow"] if rank in conditions.slow_ranks else []
    return f"rank {rank}" + (f" ({', '.join(told)})" if told else "")


def _draw_bars(
    axes: Axes, schedule: Schedule, timeline: Timeline, ranks: NDArray[np.int64], factor: float
) -> None:
    transfers, begin_s, end_s = _sending_times(schedule, timeline)
    drawn = np.isin(transfers["src"], ranks)
    transfers, begin, end = transfers[drawn], begin_s[drawn] * factor, end_s[drawn] * factor
    lane, lane_count = _lanes(transfers)
    height = 0.8 / lane_count
    top = np.searchsorted(ranks, transfers["src"]) - 0.4 + lane * height
    sides = [(begin, top), (end, top), (end, top + height), (begin, top + height)]
    corners = np.stack([np.stack(side, axis=1) for side in sides], axis=1)
    colors = np.where(transfers["reduce"], style.ORANGE, style.BLUE)
    thin = 0.8 if len(transfers) <= _MOST_LETTERED else 0.1
    axes.add_collection(
        PolyCollection(list(corners), facecolors=colors, alpha=0.6, edgecolors="white", linewidths=thin)
    )
    if len(transfers) > _MOST_LETTERED:
        return
    figure = axes.get_figure()
    assert figure is not None
    # How many points a unit of time takes; a digit takes about five.
    points = axes.get_window_extent().width / figure.dpi * 72 / max(timeline.seconds * factor, 1e-300)
    for chunk, first, last, y, share in zip(
        transfers["chunk"], begin, end, top + height / 2, lane_count, strict=True
    ):
        if (last - first) * points > 4 + 5 * len(str(chunk)) and share <= 3:
            axes.text(
                (first + last) / 2, y, str(chunk), ha="center", va="center", fontsize=8 if share == 1 else 5
            )


def _lanes(transfers: NDArray[np.void]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each transfer which of how many it is among those that leave its rank in its step."""
    order = np.lexsort((transfers["dst"], transfers["step"], transfers["src"]))
    group = transfers["src"][order].astype(np.int64) << 32 | transfers["step"][order]
    _, first, counts = np.unique(group, return_index=True, return_counts=True)
    lane, lane_count = np.empty_like(group), np.empty_like(group)
    lane[order] = np.arange(len(group)) - np.repeat(first, counts)
    lane_count[order] = np.repeat(counts, counts)
    return lane, lane_count


def _sending_times(
    schedule: Schedule, timeline: Timeline
) -> tuple[NDArray[np.void], NDArray[np.float64], NDArray[np.float64]]:
    """Return the transfers that carry bytes, and when each began and ended to leave its source."""
    spans = timeline.spans[np.argsort(timeline.spans["start_s"], kind="stable")]
    used, first = np.unique(spans["transfer"], return_index=True)
    return np.asarray(schedule.transfers)[used], spans["start_s"][first], spans["end_s"][first]
