# SPDX-License-Identifier: Apache-2.0
"""The numbers of a page about one simulated schedule, and a real run of it. The page works out waits and a chunk's
journey from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, ScheduleFile, Topology, paths
from hemiola.arguments.names import as_kind
from hemiola.bounds import LowerBound, lower_bound
from hemiola.errors import ArgumentError
from hemiola.simulate import Timeline
from hemiola.transfers.recorded import measured_operation
from hemiola.units import format_bytes, format_seconds
from hemiola.view.page.packing import MOST_RANKS, MOST_ROWS, column, ragged, ticks
from hemiola.view.topology_layout import lay_out

#: Above this many ranks hosts are folded; without hosts, so many folds of neighbouring ranks are made.
_MOST_UNFOLDED, _FOLDS = 100, 32
#: Vertices that a layout by distances may have, whose time grows with their cube.
_MOST_PLACED = 600
#: A link's use in steps, so that it fits into two bytes.
_WHOLE_TIME = 10_000


def refuse_large(schedule: Schedule | ScheduleFile) -> None:
    """Raise ArgumentError for more than a page can show, before anything is simulated."""
    found, most = schedule.rank_count, MOST_RANKS
    if found > most:
        raise ArgumentError(
            f"a page shows at most {most:,} ranks, found {found:,}; show fewer, or draw a picture"
        )
    if schedule.transfer_count > MOST_ROWS:
        raise ArgumentError(
            f"a page shows at most {MOST_ROWS:,} transfers, found {schedule.transfer_count:,}; use fewer chunks"
        )
    if schedule.transfer_count == 0:
        ranks = "1 rank" if found == 1 else f"{found:,} ranks"
        raise ArgumentError(f"expected a schedule that moves something, found {ranks} and no transfer")


def schedule_data(
    timeline: Timeline, title: str, measured: Sequence[NDArray[np.void]] | None = None
) -> dict[str, Any]:
    """Return all that the page knows: names, places, links with their use, and a row per message, predicted or real."""
    schedule, topology, conditions = timeline.schedule, timeline.topology, timeline.conditions
    if not isinstance(schedule, Schedule):
        raise ArgumentError(f"a page needs a Schedule in memory, found a {type(schedule).__name__}; load it")
    if timeline.nbytes == 0 or timeline.seconds <= 0 or len(timeline.spans) == 0:
        raise ArgumentError(
            "expected a schedule that moves bytes, found buffers of 0 bytes; give a larger size"
        )
    runs = {"predicted": timeline.messages}
    length = timeline.seconds
    if measured is not None:
        runs["measured"] = real = measured_operation(measured, topology.rank_count)
        _check_same(runs["predicted"], real)
        if len(real) > MOST_ROWS:
            raise ArgumentError(f"a page shows at most {MOST_ROWS:,} measured messages, found {len(real):,}")
        length = max(length, float(real["land_s"].max()), float(real["leave_s"].max()))
    pairs, rows = _pairs(topology, list(runs.values()))
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
        **_places(topology),
        **_links(timeline),
        **pairs,
        "runs": [_run(name, messages, rows, timeline, length) for name, messages in runs.items()],
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


def _check_same(predicted: NDArray[np.void], real: NDArray[np.void]) -> None:
    """Raise ArgumentError unless real messages carry the transfers of the prediction."""
    carried = np.repeat(real, real["chunk_count"])
    first = np.repeat(np.cumsum(real["chunk_count"]) - real["chunk_count"], real["chunk_count"])
    carried["chunk"] += (np.arange(len(carried)) - first).astype(np.int32)
    fields = ["step", "src", "dst", "chunk"]
    told, found = (np.unique(run[fields].copy()) for run in (predicted, carried))
    if not np.array_equal(told, found):
        raise ArgumentError(
            f"expected measured messages of the predicted schedule, found those of another one: of {len(told):,} "
            f"transfers {np.isin(told, found).sum():,} are among the {len(found):,} measured ones"
        )


def _links(timeline: Timeline) -> dict[str, Any]:
    links = timeline.topology.links
    return {"linkSrc": column(links["src"]), "linkDst": column(links["dst"]), "wholeTime": _WHOLE_TIME}


def _pairs(topology: Topology, runs: Sequence[NDArray[np.void]]) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Return the pairs of ranks that exchange a message, with their ways, packed; and as rows."""
    ends = np.concatenate([np.column_stack([run["src"], run["dst"]]) for run in runs]).astype(np.int64)
    pairs = np.unique(ends, axis=0)
    routes = paths(topology, [(int(a), int(b)) for a, b in pairs])
    return {"pairSrc": column(pairs[:, 0]), "pairDst": column(pairs[:, 1]), "routes": ragged(routes)}, pairs


def _run(
    name: str, messages: NDArray[np.void], pairs: NDArray[np.int64], timeline: Timeline, length: float
) -> dict[str, Any]:
    """Return a row per message, by its beginning, and the use of links; times after it are told as differences."""
    if name == "predicted":
        seconds, finish_s = timeline.seconds, timeline.finish_s
    else:
        seconds, finish_s = float(messages["land_s"].max()), _finish_s(messages, timeline.topology.rank_count)
    start = ticks(messages["begin_s"], length)
    pair = np.searchsorted(
        pairs[:, 0] * MOST_RANKS + pairs[:, 1],
        messages["src"].astype(np.int64) * MOST_RANKS + messages["dst"],
    )
    use = np.minimum(timeline.link_busy_s / seconds, 1.0) * _WHOLE_TIME
    return {
        "name": name,
        "seconds": seconds,
        "count": len(messages),
        "finish": column(ticks(finish_s, length)),
        "linkUse": column(np.rint(use).astype(np.int64)),
        "pair": column(pair),
        "begin": column(np.diff(start, prepend=0)),
        "leave": column(ticks(messages["leave_s"], length) - start),
        "land": column(ticks(messages["land_s"], length) - start),
        "chunk": column(messages["chunk"]),
        "chunks": column(messages["chunk_count"]),
        "step": column(messages["step"]),
        "reduce": column(messages["reduce"]),
    }


def _finish_s(messages: NDArray[np.void], rank_count: int) -> NDArray[np.float64]:
    """Return when each rank's last message had left or landed."""
    found = np.zeros(rank_count)
    np.maximum.at(found, messages["src"], messages["leave_s"])
    np.maximum.at(found, messages["dst"], messages["land_s"])
    return found
