"""An all-reduce with one late rank on large networks: chunks that flood the links as a broadcast from the late rank, and
before it comes a reduction of the same chunks among the others, so that nothing has to be packed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Collective, Schedule, Topology, paths
from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.synthesis.matching import search
from hemiola.synthesis.result import DEFAULT_NBYTES
from hemiola.synthesis.senders import senders_to

Integers = NDArray[np.int64]

_MOST_CHUNKS = 1 << 16


@typed
def late_matched(
    topology: Topology, late_rank: int, *, chunks: int = 256, nbytes: int = DEFAULT_NBYTES
) -> Schedule:
    """Make an all_reduce for a topology on which one rank is late, that leaves about a broadcast for after its arrival.

    What `synthesize` makes of a broadcast from the late rank brings each chunk down a tree of its own. While they wait,
    the others reduce every chunk at the first rank that the late one sends it to, the chunk's owner, as `synthesize`
    finds it on the network without the late rank. When that comes, it adds its part there, and what is complete goes
    on as in the broadcast. It comes back to the late rank as in `late_forest`, which packs trees instead.

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
    After a delay long enough to reduce in: what the broadcast takes, and a latency. The reduction takes about as long.
    Deterministic. Own running time: that of both searches, 0.1 to 1 µs a transfer without switches, of which there are
    two for each chunk and rank. The construction is ours.
    """
    ranks = topology.rank_count
    if ranks < 3:
        raise ArgumentError(f"late_matched: expected at least 3 ranks, found {ranks}")
    if not 0 <= late_rank < ranks:
        raise ArgumentError(f"late_matched: expected late_rank in 0 … {ranks - 1}, found {late_rank}")
    if not 1 <= chunks <= _MOST_CHUNKS:
        raise ArgumentError(f"late_matched: expected chunks in 1 … {_MOST_CHUNKS:,}, found {chunks}")
    rest = topology.without_ranks([late_rank])
    down = _Down(_found(topology, Collective.make("broadcast", ranks, chunks, root=late_rank), nbytes), late_rank)
    owners = Collective.with_owners("reduce_scatter", ranks - 1, (down.owner - (down.owner > late_rank)).tolist())
    up = _found(rest, owners, nbytes)
    up[:, 1:3] += up[:, 1:3] >= late_rank
    copies = _copies(rest, down, up)
    first_step = 1 + max(int(up[:, 0].max()), int(copies[:, 0].max(initial=0)))
    backs = _backs(topology, down)
    rows = np.concatenate(
        [
            _with_flag(up, 1),
            _with_flag(copies, 0),
            _with_flag(down.rows * [2, 1, 1, 1] + [first_step, 0, 0, 0], down.rows[:, 1] == late_rank),
            _with_flag(backs * [2, 1, 1, 1] + [first_step + 1, 0, 0, 0], 0),
        ]
    )
    return Schedule.from_transfers(Collective.with_owners("all_reduce", ranks, down.owner.tolist()), rows)


def _found(topology: Topology, collective: Collective, nbytes: int) -> Integers:
    """Return what is searched for as rows of step, src, dst, chunk."""
    found = search(topology, collective, nbytes=nbytes, trials=1, threads=1, progress=False)
    transfers = np.asarray(found.schedule.transfers)
    return np.column_stack([transfers[name] for name in ("step", "src", "dst", "chunk")]).astype(np.int64)


def _with_flag(rows: Integers, reduces: NDArray[np.bool_] | int) -> Integers:
    return np.column_stack([rows, np.broadcast_to(reduces, len(rows))])


class _Down:
    """A broadcast from the late rank.

    Attributes
    ----------
    rows : int64 [transfers, 4], step, src, dst, chunk, by step.
    owner : int64 [chunks], whom the late rank sends a chunk first.
    others : int64 [n, 2], further ranks that it sends a chunk itself, and the chunk.
    late_rank, chunk_count : int.
    """

    def __init__(self, rows: Integers, late_rank: int) -> None:
        self.rows = rows[np.argsort(rows[:, 0], kind="stable")]
        self.late_rank = late_rank
        own = self.rows[self.rows[:, 1] == late_rank]
        chunks, first = np.unique(own[:, 3], return_index=True)
        self.chunk_count = len(chunks)
        self.owner = own[first, 2]
        self.others = np.delete(own, first, axis=0)[:, 2:]

    def ends(self) -> Integers:
        """Return for each row the last step before its link's next one.

        Steps follow time there, so that a slow link's messages are steps apart: one is over when the next begins.
        """
        by_hop = np.lexsort((self.rows[:, 0], self.rows[:, 2], self.rows[:, 1]))
        rows = self.rows[by_hop]
        is_same = (np.diff(rows[:, 1:3], axis=0) == 0).all(axis=1)
        gap = np.diff(rows[:, 0])
        before = np.append(1, np.where(is_same, gap, 1))  # of a link's last row: as long as the one before
        taken = np.where(np.append(is_same, False), np.append(gap, 0), before)
        ends = np.empty(len(rows), np.int64)
        ends[by_hop] = np.maximum(rows[:, 0] + taken - 1, rows[:, 0])
        return ends


def _copies(rest: Topology, down: _Down, up: Integers) -> Integers:
    """Bring the sum of the others from a chunk's owner to whomever else the late rank sends its part of it."""
    ready = np.zeros(down.chunk_count, np.int64)
    np.maximum.at(ready, up[:, 3], up[:, 0] + 1)
    late = down.late_rank
    ways = _Ways(rest)
    rows: list[tuple[int, int, int, int]] = []
    done: set[tuple[int, int]] = set()
    for rank, chunk in down.others.tolist():
        owner = int(down.owner[chunk])
        way = ways.between(owner - (owner > late), rank - (rank > late))
        for hop, (src, dst) in enumerate(way):
            if (dst, chunk) not in done:
                done.add((dst, chunk))
                rows.append((int(ready[chunk]) + hop, src + (src >= late), dst + (dst >= late), chunk))
    return np.array(rows, np.int64).reshape(-1, 4)


class _Ways:
    """Ways of the fewest hops from a rank to the others; those from one rank make a tree."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._into: dict[int, list[int]] = {}
        self._ways: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def between(self, src: int, dst: int) -> list[tuple[int, int]]:
        """Return the hops; all reach each other."""
        if (src, dst) not in self._ways:
            self._ways[src, dst] = self._found(src, dst)
        return self._ways[src, dst]

    def _found(self, src: int, dst: int) -> list[tuple[int, int]]:
        after = {dst: dst}
        todo = [dst]
        for rank in todo:
            if rank == src:
                break
            if rank not in self._into:
                self._into[rank] = senders_to(self._topology, rank)
            for other in self._into[rank]:
                if other not in after:
                    after[other] = rank
                    todo.append(other)
        hops = []
        while src != dst:
            hops.append((src, after[src]))
            src = after[src]
        return hops


def _backs(topology: Topology, down: _Down) -> Integers:
    """Return the rows that hand the late rank what is complete, as if one step's length were between two steps.

    By whichever link to it that makes the busiest link least busy; of equals from whom the chunk reaches first. Only once
    the late rank has sent its own part of the chunk everywhere: before, that would be in the way of its links out.
    """
    late = down.late_rank
    into = np.array(senders_to(topology, late), np.int64)
    place = np.full(topology.rank_count, -1)
    place[into] = np.arange(len(into))
    there, ends = (np.full((down.chunk_count, len(into)), np.iinfo(np.int64).max) for _ in range(2))
    arriving = place[down.rows[:, 2]] >= 0
    at = down.rows[arriving, 3], place[down.rows[arriving, 2]]
    there[at], ends[at] = down.rows[arriving, 0], down.ends()[arriving]
    sent = np.zeros(down.chunk_count, np.int64)
    own = down.rows[down.rows[:, 1] == late]
    np.maximum.at(sent, own[:, 3], own[:, 0])
    chosen = _least_busy(topology, down, into, there)
    chunk = np.arange(down.chunk_count)
    step = np.maximum(sent, ends[chunk, chosen])
    return np.column_stack([step, into[chosen], np.full_like(step, late), chunk])


def _least_busy(topology: Topology, down: _Down, into: Integers, there: Integers) -> Integers:
    """Return for each chunk the place in `into` of the rank that hands it to the late one."""
    bandwidth = np.append(np.asarray(topology.links)["bandwidth"], np.inf)
    pairs, count = np.unique(down.rows[:, 1:3], axis=0, return_counts=True)
    load = np.zeros(len(bandwidth))
    for links, chunks in zip(paths(topology, [(int(a), int(b)) for a, b in pairs]), count.tolist(), strict=True):
        load[links] += chunks / bandwidth[links]
    back = paths(topology, [(int(rank), down.late_rank) for rank in into])
    ways = np.full((len(into), max(map(len, back))), len(bandwidth) - 1)  # the last is no link
    for row, links in zip(ways, back, strict=True):
        row[: len(links)] = links
    chosen = np.empty(down.chunk_count, np.int64)
    for chunk in np.lexsort((there.min(axis=1),)).tolist():
        busy = np.maximum((load[ways] + 1 / bandwidth[ways]).max(axis=1), load.max())
        chosen[chunk] = best = int(np.lexsort((there[chunk], busy))[0])
        load[ways[best]] += 1 / bandwidth[ways[best]]
    return chosen
