# SPDX-License-Identifier: Apache-2.0
"""A simulation as a picture: a row per rank, a bar for everything it sends, as long as its port is busy with it, and a
line for every wait with the rank that is awaited."""

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

from hemiola._core import Schedule, Topology, paths
from hemiola.conditions import Conditions
from hemiola.simulate import Timeline
from hemiola.topology.named_nics import nics_of_links
from hemiola.view import style
from hemiola.view.picture_file import check_suffix
from hemiola.view.waits import LINK, Moves, Wait, moves_of, waits_of

#: Rows that are drawn; of more ranks, so many are picked evenly, besides those that are late or slow.
MOST_ROWS = 32
#: Bars that carry their chunk's number, at most.
_MOST_LETTERED = 200

#: A wait that takes less of the whole time is narrower than a point in a column of a paper.
_LEAST_WAIT = 1 / 250
_WAITS = "#9AA0A8"

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
    conditions = conditions or Conditions()
    moves = moves_of(timeline)
    told_of = [*conditions.late, *conditions.slow_ranks]
    evenly = np.linspace(0, schedule.rank_count - 1, MOST_ROWS).astype(int)
    ranks = np.union1d(evenly, np.array(told_of, dtype=int))
    factor, unit = style.time_unit([timeline.seconds])
    points = _points(axes) / max(timeline.seconds * factor, 1e-300)
    is_numbered = _draw_bars(axes, moves, ranks, factor, points)
    reduces = moves.reduce[np.isin(moves.src, ranks)]
    kinds = [(~reduces, style.BLUE, "sends a copy"), (reduces, style.ORANGE, "sends to be added")]
    keys: list[Artist] = [
        Patch(color=color, alpha=0.6, label=label) for any_, color, label in kinds if any_.any()
    ]
    keys.append(Line2D([], [], marker="|", linestyle="", markersize=9, color=style.BLACK, label="done"))
    late = {rank: late_s for rank, late_s in conditions.late.items() if rank in ranks}
    for rank, delay_s in late.items():
        axes.barh(np.searchsorted(ranks, rank), delay_s * factor, **_NOT_THERE)
    keys += [Patch(**_NOT_THERE_KEY, label="not there yet")] if late else []
    least_s = _LEAST_WAIT * timeline.seconds
    waits = waits_of(moves, timeline.finish_s, conditions.late, least_s) if least_s > 0 else []
    keys += _draw_waits(
        axes, [one for one in waits if one.rank in ranks], ranks, set(told_of), factor, points
    )
    axes.scatter(
        timeline.finish_s[ranks] * factor,
        np.arange(len(ranks)),
        marker="|",
        s=140,
        color=style.BLACK,
        zorder=3,
    )
    axes.set_yticks(np.arange(len(ranks)), _names(ranks, timeline.topology, moves, conditions))
    axes.set_ylim(len(ranks) - 0.4, -0.6)
    axes.set_xlim(0, timeline.seconds * factor * 1.02 or 1)
    told = ["numbers are chunks"] if is_numbered else []
    told += [f"{len(ranks)} of {schedule.rank_count:,} ranks"] if len(ranks) < schedule.rank_count else []
    axes.set_xlabel("; ".join([f"time ({unit})", *told]))
    axes.tick_params(axis="y", length=0)
    style.legend_below(axes, keys)


def _points(axes: Axes) -> float:
    """Return how many points wide the axes are."""
    return float(axes.get_window_extent().width / style.figure_of(axes).dpi * 72)


def _names(ranks: NDArray[np.int64], topology: Topology, moves: Moves, conditions: Conditions) -> list[str]:
    """Name ranks by host, number, own name and NIC, and after it the reason why others wait for them."""
    hosts = topology.nodes.tolist() if 1 < topology.node_count < topology.rank_count else None
    nics = _nics(ranks, topology, moves)
    names = []
    for rank in ranks.tolist():
        words = [] if hosts is None else [f"host {hosts[rank]}"]
        words.append(f"rank {rank}")
        words += [topology.names[rank]] if topology.names and topology.names[rank] else []
        words += nics.get(rank, [])
        told = ["late"] if rank in conditions.late else []
        told += ["slow"] if rank in conditions.slow_ranks else []
        names.append(", ".join(words) + (f" ({', '.join(told)})" if told else ""))
    return names


def _nics(ranks: NDArray[np.int64], topology: Topology, moves: Moves) -> dict[int, list[str]]:
    """Return the NICs of its own host through which each of these ranks sends."""
    of_links = nics_of_links(topology)
    if not of_links:
        return {}
    sent = np.isin(moves.src, ranks)
    pairs = np.unique(np.stack([moves.src[sent], moves.dst[sent]], axis=1), axis=0).tolist()
    found: dict[int, list[str]] = {}
    for (src, _), links in zip(pairs, paths(topology, [tuple(pair) for pair in pairs]), strict=True):
        own = f"{topology.nodes[src]}/"
        used = (nic for link in links for nic in of_links.get(int(link), ()) if nic.startswith(own))
        found.setdefault(src, []).extend(nic.removeprefix(own) for nic in used)
    return {rank: sorted(set(names)) for rank, names in found.items()}


def _draw_waits(
    axes: Axes, waits: list[Wait], ranks: NDArray[np.int64], told_of: set[int], factor: float, points: float
) -> list[Artist]:
    """Draw a line for each wait, red where a late or slow rank is its root, and the awaited rank; return the keys."""
    if not waits:
        return []
    rows = np.searchsorted(ranks, [one.rank for one in waits])
    begin, end = (np.array([getattr(one, name) for one in waits]) * factor for name in ("begin_s", "end_s"))
    is_told = np.array([one.root in told_of for one in waits])
    for color, chosen in ((_WAITS, ~is_told), (style.RED, is_told)):
        axes.hlines(rows[chosen], begin[chosen], end[chosen], color=color, linewidth=1.6, zorder=2)
    is_lettered = len(waits) <= _MOST_LETTERED
    if is_lettered:
        for one, row, first, last in zip(waits, rows.tolist(), begin, end, strict=True):
            text = "busy link" if one.cause == LINK else f"←{one.cause}"
            if (last - first) * points > 4 * len(text):
                axes.text(
                    (first + last) / 2,
                    row - 0.08,
                    text,
                    ha="center",
                    va="bottom",
                    fontsize=6,
                    color="#555555",
                )
    keys: list[Artist] = []
    if not is_told.all():
        keys.append(
            Line2D([], [], color=_WAITS, label="waits" + (" (←: for which rank)" if is_lettered else ""))
        )
    if is_told.any():
        roots = sorted({one.root for one in waits if one.root in told_of})
        whom = f"rank {roots[0]}" if len(roots) == 1 else "late or slow ranks"
        keys.append(Line2D([], [], color=style.RED, label=f"waits because of {whom}"))
    return keys


def _draw_bars(axes: Axes, moves: Moves, ranks: NDArray[np.int64], factor: float, points: float) -> bool:
    """Draw what these ranks send; return whether chunks are numbered."""
    drawn = np.isin(moves.src, ranks)
    src, chunk = moves.src[drawn], moves.chunk[drawn]
    begin, end = moves.begin_s[drawn] * factor, moves.leave_s[drawn] * factor
    lane, lane_count = _lanes(src, moves.step[drawn], moves.dst[drawn])
    height = 0.8 / lane_count
    top = np.searchsorted(ranks, src) - 0.4 + lane * height
    sides = [(begin, top), (end, top), (end, top + height), (begin, top + height)]
    corners = np.stack([np.stack(side, axis=1) for side in sides], axis=1)
    colors = np.where(moves.reduce[drawn], style.ORANGE, style.BLUE)
    thin = 0.8 if len(src) <= _MOST_LETTERED else 0.1
    axes.add_collection(
        PolyCollection(list(corners), facecolors=colors, alpha=0.6, edgecolors="white", linewidths=thin)
    )
    if len(src) > _MOST_LETTERED:
        return False
    for number, first, last, y, share in zip(chunk, begin, end, top + height / 2, lane_count, strict=True):
        # A digit takes about five points.
        if (last - first) * points > 2 + 5 * len(str(number)) and share <= 3:
            axes.text(
                (first + last) / 2, y, str(number), ha="center", va="center", fontsize=8 if share == 1 else 5
            )
    return True


def _lanes(
    src: NDArray[np.int64], step: NDArray[np.int64], dst: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each transfer which of how many it is among those that leave its rank in its step."""
    order = np.lexsort((dst, step, src))
    group = src[order] << 32 | step[order]
    _, first, counts = np.unique(group, return_index=True, return_counts=True)
    lane, lane_count = np.empty_like(group), np.empty_like(group)
    lane[order] = np.arange(len(group)) - np.repeat(first, counts)
    lane_count[order] = np.repeat(counts, counts)
    return lane, lane_count
