"""An all-reduce with one late rank on large networks. Chunks flood the links as a broadcast from the late rank, and
before it comes the others reduce the same chunks, so nothing has to be packed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Collective, Schedule, Topology, paths
from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.synthesis.columns import Columns, Integers, table_of
from hemiola.synthesis.late_arguments import check_late_rank
from hemiola.synthesis.matching import search
from hemiola.synthesis.result import DEFAULT_NBYTES, Synthesis
from hemiola.synthesis.senders import Senders

_MOST_CHUNKS = 1 << 16


@typed
def late_matched(
    topology: Topology, late_rank: int, *, chunks: int = 256, nbytes: int = DEFAULT_NBYTES
) -> Schedule:
    """Make an all_reduce for a topology on which one rank is late, that leaves about a broadcast for after its arrival.

    The broadcast that `synthesize` makes from the late rank brings each chunk down a tree of its own. While they wait,
    the others reduce every chunk at the first rank that the late one sends it to, the chunk's owner, as `synthesize`
    finds it on the network without the late rank. When that comes, it adds its part there, and the sum goes on as in
    the broadcast. It comes back to the late rank as in `late_forest`, which packs trees instead.

    Parameters
    ----------
    topology : Topology of at least three ranks. Without the late rank the others must still reach each other.
    late_rank : int, 0 … rank_count-1.
    chunks : int in 1 … 65,536, that the buffer is cut into: many where the buffer is large and ways are long.
    nbytes : int >= 0, one rank's buffer in bytes. The schedule is right for every size.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        An argument out of range, or a rank that cannot be reached once the late one is left out.

    Notes
    -----
    After a delay long enough to reduce in: the broadcast's time, and a latency. The reduction takes about as long.
    Deterministic. Own running time: that of both searches, 0.1 to 1 µs a transfer without switches, of which there are
    two for each chunk and rank. The construction is ours.
    """
    return matched_around(topology, late_rank, chunks, nbytes).schedule


@dataclass(frozen=True)
class MatchedAround:
    """A schedule, and the time of the broadcast in it."""

    schedule: Schedule
    broadcast_s: float


def matched_around(topology: Topology, late_rank: int, chunks: int, nbytes: int) -> MatchedAround:
    """Do the work of `late_matched`, and return how long the broadcast in it is."""
    ranks = topology.rank_count
    if ranks < 3:
        raise ArgumentError(f"late_matched: expected at least 3 ranks, found {ranks}")
    check_late_rank("late_matched", late_rank, ranks)
    if not 1 <= chunks <= _MOST_CHUNKS:
        raise ArgumentError(f"late_matched: expected chunks in 1 … {_MOST_CHUNKS:,}, found {chunks}")
    broadcast = _found(topology, Collective.make("broadcast", ranks, chunks, root=late_rank), nbytes)
    down = _Down(broadcast.schedule, late_rank)
    rest = topology.without_ranks([late_rank])
    owner = Collective.with_owners(
        "reduce_scatter", ranks - 1, (down.owner - (down.owner > late_rank)).tolist()
    )
    reduction = _found(rest, owner, nbytes)
    up = _Rows.of(reduction.schedule)
    up.src += up.src >= late_rank
    up.dst += up.dst >= late_rank
    copies = _copies(rest, down, up)
    first_step = 1 + max(int(up.step.max()), int(copies.step.max(initial=0)))
    backs = _backs(topology, down)
    table = table_of(
        [
            up.columns(up.step, True),
            copies.columns(copies.step, False),
            down.rows.columns(first_step + 2 * down.rows.step, down.rows.src == late_rank),
            backs.columns(first_step + 2 * backs.step + 1, False),
        ]
    )
    collective = Collective.with_owners("all_reduce", ranks, down.owner.tolist())
    return MatchedAround(Schedule.from_transfers(collective, table), broadcast.seconds)


def _found(topology: Topology, collective: Collective, nbytes: int) -> Synthesis:
    return search(topology, collective, nbytes=nbytes, trials=1, threads=1, progress=False)


@dataclass
class _Rows:
    """Transfers, a column each, by step."""

    step: Integers
    src: Integers
    dst: Integers
    chunk: Integers

    @classmethod
    def of(cls, schedule: Schedule) -> _Rows:
        rows = np.asarray(schedule.transfers)
        return cls(*(rows[name].astype(np.int64) for name in ("step", "src", "dst", "chunk")))

    @classmethod
    def of_tuples(cls, rows: list[tuple[int, int, int, int]]) -> _Rows:
        return cls(*np.array(rows, np.int64).reshape(-1, 4).T)

    def columns(self, step: Integers, reduces: NDArray[np.bool_] | bool) -> Columns:
        return step, self.src, self.dst, self.chunk, reduces

    def where(self, chosen: NDArray[np.bool_]) -> _Rows:
        return _Rows(self.step[chosen], self.src[chosen], self.dst[chosen], self.chunk[chosen])


class _Down:
    """A broadcast from the late rank.

    Attributes
    ----------
    rows : of all transfers; own : of those that the late rank sends.
    owner : int64 [chunks], whom the late rank sends a chunk first.
    others : further ranks that it sends a chunk itself, and the chunk.
    late_rank, chunk_count : int.
    """

    def __init__(self, schedule: Schedule, late_rank: int) -> None:
        self.late_rank, self.chunk_count = late_rank, schedule.chunk_count
        self.rows = _Rows.of(schedule)
        self.own = self.rows.where(self.rows.src == late_rank)
        _, first = np.unique(self.own.chunk, return_index=True)
        self.owner = self.own.dst[first]
        is_other = np.ones(len(self.own.step), bool)
        is_other[first] = False
        self.others = list(
            zip(self.own.dst[is_other].tolist(), self.own.chunk[is_other].tolist(), strict=True)
        )

    def into(self, ranks: Integers) -> tuple[_Rows, Integers]:
        """Return the transfers to these ranks, and of each the last step before its link's next one.

        Steps follow time there, so that a slow link's messages are steps apart: one is over when the next begins.
        """
        is_one = np.zeros(self.rows.dst.max() + 1, bool)
        is_one[ranks] = True
        rows = self.rows.where(is_one[self.rows.dst])
        by_hop = np.lexsort((rows.step, rows.src, rows.dst))
        step, src, dst = rows.step[by_hop], rows.src[by_hop], rows.dst[by_hop]
        is_same = (np.diff(src) == 0) & (np.diff(dst) == 0)
        gap = np.diff(step)
        before = np.append(1, np.where(is_same, gap, 1))  # of a link's last one: as long as the one before
        taken = np.where(np.append(is_same, False), np.append(gap, 0), before)
        ends = np.empty(len(step), np.int64)
        ends[by_hop] = step + np.maximum(taken, 1) - 1
        return rows, ends


def _copies(rest: Topology, down: _Down, up: _Rows) -> _Rows:
    """Bring the sum of the others from a chunk's owner to whomever else the late rank sends its part of it."""
    ready = np.zeros(down.chunk_count, np.int64)
    np.maximum.at(ready, up.chunk, up.step + 1)
    late = down.late_rank
    way = cache(Senders(rest).way)
    rows: list[tuple[int, int, int, int]] = []
    done: set[tuple[int, int]] = set()
    for rank, chunk in down.others:
        owner = int(down.owner[chunk])
        hops = way(frozenset([owner - (owner > late)]), rank - (rank > late))
        for hop, (src, dst) in enumerate(hops):
            if (dst, chunk) not in done:
                done.add((dst, chunk))
                rows.append((int(ready[chunk]) + hop, src + (src >= late), dst + (dst >= late), chunk))
    return _Rows.of_tuples(rows)


def _backs(topology: Topology, down: _Down) -> _Rows:
    """Return the transfers that hand the late rank what is complete; steps are those behind which they come.

    By whichever link to it that makes the busiest link least busy; of equals from whom the chunk reaches first. Only
    once the late rank has sent its own part of the chunk everywhere: before, that would be in the way of its links out.
    """
    into = np.array(Senders(topology).to(down.late_rank), np.int64)
    there, ends = (np.full((down.chunk_count, len(into)), np.iinfo(np.int64).max) for _ in range(2))
    arriving, arriving_ends = down.into(into)
    at = arriving.chunk, np.searchsorted(into, arriving.dst)
    there[at], ends[at] = arriving.step, arriving_ends
    sent = np.zeros(down.chunk_count, np.int64)
    np.maximum.at(sent, down.own.chunk, down.own.step)
    chosen = _least_busy(topology, down, into, there)
    chunk = np.arange(down.chunk_count)
    step = np.maximum(sent, ends[chunk, chosen])
    return _Rows(step, into[chosen], np.full_like(step, down.late_rank), chunk)


def _least_busy(topology: Topology, down: _Down, into: Integers, there: Integers) -> Integers:
    """Return for each chunk the place in `into` of the rank that hands it to the late one."""
    bandwidth = np.append(np.asarray(topology.links)["bandwidth"], np.inf)
    load = np.zeros(len(bandwidth))
    keys, count = np.unique(down.rows.src * topology.rank_count + down.rows.dst, return_counts=True)
    pairs = [divmod(key, topology.rank_count) for key in keys.tolist()]
    for links, chunks in zip(paths(topology, pairs), count.tolist(), strict=True):
        load[links] += chunks / bandwidth[links]
    back = paths(topology, [(int(rank), down.late_rank) for rank in into])
    ways = np.full((len(into), max(map(len, back))), len(bandwidth) - 1)  # the last is no link
    for row, links in zip(ways, back, strict=True):
        row[: len(links)] = links
    chosen = np.empty(down.chunk_count, np.int64)
    for chunk in np.argsort(there.min(axis=1), kind="stable").tolist():
        busy = np.maximum((load[ways] + 1 / bandwidth[ways]).max(axis=1), load.max())
        chosen[chunk] = best = int(np.lexsort((there[chunk], busy))[0])
        load[ways[best]] += 1 / bandwidth[ways[best]]
    return chosen
