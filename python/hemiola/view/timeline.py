# SPDX-License-Identifier: Apache-2.0
"""A simulation as a picture: a row per rank, a bar for everything it sends, as long as its port is busy with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch
from numpy.typing import NDArray

from hemiola._core import Schedule
from hemiola.conditions import Conditions
from hemiola.simulate import Timeline
from hemiola.view import style
from hemiola.view.picture_file import check_suffix

#: Rows that are drawn; of more ranks, so many are picked evenly.
_MOST_ROWS = 32
#: Bars that carry their chunk's number, at most.
_MOST_LETTERED = 200


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
    ranks = np.unique(np.linspace(0, schedule.rank_count - 1, _MOST_ROWS).astype(int))
    factor, unit = style.time_unit([timeline.seconds])
    told = "; ".join([*(conditions.in_words() if conditions else []), *([subtitle] if subtitle else [])])
    figure, axes = style.new_axes(10, 1.9 + 0.34 * len(ranks), title, told)
    _draw_bars(axes, schedule, timeline, ranks, factor)
    for rank, delay_s in (conditions.late if conditions else {}).items():
        axes.barh(
            np.searchsorted(ranks, rank),
            delay_s * factor,
            height=0.8,
            color="#E4E6EA",
            hatch="///",
            edgecolor="w",
        )
    axes.scatter(
        timeline.finish_s[ranks] * factor,
        np.arange(len(ranks)),
        marker="|",
        s=140,
        color=style.BLACK,
        zorder=3,
    )
    axes.set_yticks(np.arange(len(ranks)), [f"rank {rank}" for rank in ranks])
    axes.set_ylim(len(ranks) - 0.4, -0.6)
    axes.set_xlim(0, timeline.seconds * factor * 1.02 or 1)
    axes.set_xlabel(
        f"time ({unit}); a bar is what a rank sends, numbers are chunks, | is when a rank is done"
    )
    axes.tick_params(axis="y", length=0)
    keys = [
        Patch(color=style.BLUE, alpha=0.6, label="copy"),
        Patch(color=style.ORANGE, alpha=0.6, label="reduce"),
    ]
    figure.legend(handles=keys, loc="outside lower right", ncols=2, frameon=False)
    style.save(figure, path)


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
    for chunk, first, last, y, share in zip(
        transfers["chunk"], begin, end, top + height / 2, lane_count, strict=True
    ):
        if last - first > timeline.seconds * factor / 60 and share <= 3:
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
