# SPDX-License-Identifier: Apache-2.0
"""The numbers of a page about one simulated schedule. The page works out waits and a chunk's journey from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, ScheduleFile, Topology, paths
from hemiola.arguments.names import as_kind
from hemiola.bounds import LowerBound, lower_bound
from hemiola.errors import ArgumentError
from hemiola.simulate import Timeline
from hemiola.units import format_bytes, format_seconds
from hemiola.view.page.packing import column, ragged, ticks
from hemiola.view.topology_layout import lay_out

_MOST_RANKS, _MOST_TRANSFERS = 4096, 500_000
#: Above this many ranks hosts are folded; without hosts, so many folds of neighbouring ranks are made.
_MOST_UNFOLDED, _FOLDS = 100, 32
#: Vertices that a layout by distances may have, whose time grows with their cube.
_MOST_PLACED = 600
#: A link's use in steps, so that it fits into two bytes.
_WHOLE_TIME = 10_000


def refuse_large(schedule: Schedule | ScheduleFile) -> None:
    """Raise ArgumentError for more than a page can show, before anything is simulated."""
    found, most = schedule.rank_count, _MOST_RANKS
    if found > most:
        raise ArgumentError(
            f"a page shows at most {most:,} ranks, found {found:,}; show fewer, or draw a picture"
        )
    if schedule.transfer_count > _MOST_TRANSFERS:
        raise ArgumentError(
            f"a page shows at most {_MOST_TRANSFERS:,} transfers, found {schedule.transfer_count:,}; use fewer chunks"
        )
    if schedule.transfer_count == 0:
        ranks = "1 rank" if found == 1 else f"{found:,} ranks"
        raise ArgumentError(f"expected a schedule that moves something, found {ranks} and no transfer")


def schedule_data(timeline: Timeline, title: str) -> dict[str, Any]:
    """Return all that the page knows: names, places, links with their use, and a row per transfer with bytes."""
    schedule, topology, conditions = timeline.schedule, timeline.topology, timeline.conditions
    if not isinstance(schedule, Schedule):
        raise ArgumentError(f"a page needs a Schedule in memory, found a {type(schedule).__name__}; load it")
    length = timeline.seconds
    if timeline.nbytes == 0 or length <= 0 or len(timeline.spans) == 0:
        raise ArgumentError(
            "expected a schedule that moves bytes, found buffers of 0 bytes; give a larger size"
        )
    bound = _bound(timeline, schedule)
    kind = schedule.collective.kind
    return {
        "kind": "schedule",
        "title": f"{kind}: {title}" if title and title != kind else title or kind,
        "subtitle": f"{format_bytes(timeline.nbytes)}, {schedule.rank_count} ranks on "
        f"{topology.name or 'a topology'}; {_in_words(timeline)}",
        "length": length,
        "bound": None if bound is None else bound.seconds,
        "witness": "" if bound is None else bound.witness,
        "ranks": schedule.rank_count,
        "chunks": schedule.chunk_count,
        "names": topology.names,
        "late": {str(rank): seconds for rank, seconds in conditions.late.items() if seconds > 0},
        "slow": {str(rank): factor for rank, factor in conditions.slow_ranks.items() if factor > 1},
        "finish": column(ticks(timeline.finish_s, length)),
        **_places(topology),
        **_links(timeline),
        **_transfers(timeline, schedule),
    }


def _bound(timeline: Timeline, schedule: Schedule) -> LowerBound | None:
    kind = schedule.collective.kind
    if kind == "custom":
        return None
    root = schedule.collective.root or 0
    return lower_bound(timeline.topology, as_kind(kind), timeline.nbytes, timeline.conditions, root)


def _in_words(timeline: Timeline) -> str:
    conditions = timeline.conditions
    late = [
        f"rank {rank} is late by {format_seconds(s)}" for rank, s in sorted(conditions.late.items()) if s > 0
    ]
    sparse = [] if conditions.density == 1 else [f"density {conditions.density:g}"]
    return ", ".join([*late, *conditions.slow_in_words(), *sparse]) or "no rank is late or slow"


def _places(topology: Topology) -> dict[str, Any]:
    n, vertices = topology.rank_count, topology.rank_count + topology.switch_count
    nodes = topology.nodes
    has_hosts = 1 < topology.node_count < n
    if vertices <= _MOST_PLACED or has_hosts or topology.switch_count == 1:
        layout = lay_out(topology)
        points, hosts = layout.points, layout.hosts
    else:
        angle = 2 * np.pi * np.arange(vertices) / vertices
        points, hosts = np.column_stack([np.sin(angle), np.cos(angle)]) * vertices / 6, []
    folds: list[list[int]] = []
    if n > _MOST_UNFOLDED:
        fold_of = nodes if has_hosts else np.arange(n) * _FOLDS // n
        folds = [np.flatnonzero(fold_of == fold).tolist() for fold in np.unique(fold_of)]
    points = points - points.min(axis=0)
    return {
        "points": np.round(points, 2).tolist(),
        "hosts": hosts,
        "folds": folds,
        "foldName": "host" if has_hosts else "ranks",
    }


def _links(timeline: Timeline) -> dict[str, Any]:
    links = timeline.topology.links
    use = np.minimum(timeline.link_busy_s / timeline.seconds, 1.0) * _WHOLE_TIME
    return {
        "linkSrc": column(links["src"]),
        "linkDst": column(links["dst"]),
        "linkUse": column(np.rint(use).astype(np.int64)),
        "wholeTime": _WHOLE_TIME,
    }


def _transfers(timeline: Timeline, schedule: Schedule) -> dict[str, Any]:
    """Return a row per transfer that carries bytes, by its beginning; times after it are told as differences."""
    used, begin, leave, land = sending_times(timeline)
    moved = np.asarray(schedule.transfers)[used]
    order = np.lexsort((moved["dst"], moved["src"], begin))
    moved, begin, leave, land = moved[order], begin[order], leave[order], land[order]
    ends = np.column_stack([moved["src"], moved["dst"]]).astype(np.int64)
    pairs, pair = np.unique(ends, axis=0, return_inverse=True)
    routes = paths(timeline.topology, [(int(a), int(b)) for a, b in pairs])
    start = ticks(begin, timeline.seconds)
    return {
        "count": len(moved),
        "pairSrc": column(pairs[:, 0]),
        "pairDst": column(pairs[:, 1]),
        "routes": ragged(routes),
        "pair": column(pair.ravel()),
        "begin": column(np.diff(start, prepend=0)),
        "leave": column(ticks(leave, timeline.seconds) - start),
        "land": column(ticks(land, timeline.seconds) - start),
        "chunk": column(moved["chunk"]),
        "step": column(moved["step"]),
        "reduce": column(moved["reduce"]),
    }


def sending_times(
    timeline: Timeline,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the transfers with bytes, when each began and ended to leave its rank, and when it landed."""
    spans = timeline.spans[np.argsort(timeline.spans["start_s"], kind="stable")]
    used, first, place = np.unique(spans["transfer"], return_index=True, return_inverse=True)
    land = np.zeros(len(used))
    np.maximum.at(land, place, spans["arrival_s"])
    return used.astype(np.int64), spans["start_s"][first], spans["end_s"][first], land
