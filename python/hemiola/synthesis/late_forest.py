"""An all-reduce with one late rank on any topology: the others reduce towards its neighbours while they wait, and when
it comes, one broadcast from it, whose first hop adds, is nearly all that is left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Collective, Schedule, Topology, paths, synthesize_forest
from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.synthesis.full_mesh import is_full_mesh
from hemiola.synthesis.late_arguments import check_late_rank, check_pieces
from hemiola.synthesis.result import DEFAULT_NBYTES
from hemiola.synthesis.senders import Senders

Integers = NDArray[np.int64]
Hop = tuple[int, int]  #: from a rank to a rank
Row = tuple[int, int, int, int, bool]  #: step, src, dst, chunk, reduce


@typed
def late_forest(
    topology: Topology,
    late_rank: int,
    *,
    pieces: int = 64,
    nbytes: int = DEFAULT_NBYTES,
    share: float = 1.0,
) -> Schedule:
    """Make an all_reduce for a topology on which one rank is late, that leaves about a broadcast for after its arrival.

    Spanning trees from the late rank, as `forest` packs them for a broadcast, share all links. While they wait, the
    others reduce each tree's part at the first rank below the late one, the tree's owner. When the late rank comes, it
    adds its part there, and the complete sum goes on down the tree. It goes back to the late rank by the cheapest path:
    over the idle link back, or behind switches from the rank whose links have most to spare.

    Parameters
    ----------
    topology : Topology of at least three ranks, at most 256 ranks and switches unless every two ranks have a link of
        one speed. Without the late rank the others must still reach each other.
    late_rank : int, 0 … rank_count-1.
    pieces : int in 1 … 4096, chunks down each tree, one behind the other.
    nbytes : int >= 0, one rank's buffer in bytes. The schedule is right for every size.
    share : float in 1/64 … 1, of the buffer that is reduced in the wait, rounded to 64ths; the rest follows as the
        all_reduce that `forest` makes. Less than 1 pays where the delay is too short to reduce everything in.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        An argument out of range, a rank that cannot be reached once the late one is left out, or a switch that no links
        between ranks can replace.

    Notes
    -----
    After a delay long enough to reduce in: the buffer over the weakest cut around the late rank, which is the bound, as
    far as the link back is free. A latency a piece and hop for filling the trees comes on top. The reduction takes the
    time of `forest` from all others to the owners. Deterministic. Own running time: that of a forest from one root for
    each neighbour of the late rank. It is none where every two ranks have a link of one speed, since the trees are
    stars there: the late rank, an owner, all others. The construction is ours; trees as in `forest`.
    """
    return LateForest(topology, late_rank, nbytes).schedule(pieces, share)


class LateForest:
    """The schedules of `late_forest` for one buffer, in several numbers of pieces and shares: trees up are packed
    once."""

    def __init__(self, topology: Topology, late_rank: int, nbytes: int) -> None:
        if topology.rank_count < 3:
            raise ArgumentError(f"late_forest: expected at least 3 ranks, found {topology.rank_count}")
        check_late_rank("late_forest", late_rank, topology.rank_count)
        self._topology, self._late_rank, self._nbytes = topology, late_rank, nbytes

    @cached_property
    def _waiting(self) -> _Waiting:
        return _Waiting(self._topology, self._late_rank, self._nbytes)

    def schedule(self, pieces: int, share: float = 1.0) -> Schedule:
        """Make it with so many chunks down each tree, of so much of the buffer; raises the errors of `late_forest`."""
        part = round(64 * share) if 0 < share <= 1 else 0
        if not 1 <= part <= 64:
            raise ArgumentError(f"late_forest: expected a share in 1/64 … 1, found {share}")
        found = self._around(pieces, self._nbytes * part // 64)
        if part == 64:
            return found
        rest = synthesize_forest(
            self._topology,
            "all_reduce",
            trees=0,
            pieces=max(1, pieces // self._topology.rank_count),
            nbytes=self._nbytes * (64 - part) // 64,
        ).schedule
        return _one_after_the_other(found, part, rest, 64 - part)

    def _around(self, pieces: int, nbytes: int) -> Schedule:
        topology, late_rank = self._topology, self._late_rank
        if is_full_mesh(topology):
            return _around_on_full_mesh(topology.rank_count, late_rank, pieces)
        down = synthesize_forest(
            topology, "broadcast", trees=0, pieces=pieces, nbytes=nbytes, root=late_rank
        ).schedule
        ways = _ways_down(down)
        backs = _backs(topology, late_rank, ways)
        rows = list(self._waiting.rows(ways))
        first_step = 1 + max(row[0] for row in rows)
        for chunk, (way, back) in enumerate(zip(ways, backs, strict=True)):
            rows += way.finish(chunk, first_step, back)
        owner = [way.owner for way in ways]
        return Schedule.from_transfers(
            Collective.with_owners("all_reduce", topology.rank_count, owner), np.array(rows, np.int64)
        )


def _one_after_the_other(first: Schedule, first_part: int, second: Schedule, second_part: int) -> Schedule:
    """Return an all-reduce of two parts of a buffer, of sizes in that proportion."""
    behind = _table(second) + np.array([first.step_count, 0, 0, first.chunk_count])
    reduces = np.concatenate([np.asarray(one.transfers)["reduce"] for one in (first, second)])
    rows = np.column_stack([np.concatenate([_table(first), behind]), reduces])
    owner = np.concatenate([first.collective.owner, second.collective.owner])
    weights = [first_part * second.chunk_count] * first.chunk_count
    weights += [second_part * first.chunk_count] * second.chunk_count
    collective = Collective.with_owners("all_reduce", first.rank_count, owner.tolist())
    return Schedule.from_transfers(collective, rows, chunk_weights=weights)


def _around_on_full_mesh(rank_count: int, late_rank: int, pieces: int) -> Schedule:
    """Every other rank owns a share: it gets the parts of all others, then the late one's, and gives the sum to all.

    Steps: `pieces` for the parts of all others; then in one step the late part of a piece, in the next its sum, while
    the late part of the next piece comes. No link carries two things at once but a piece's sum after another's part.
    """
    others = np.delete(np.arange(rank_count), late_rank)
    check_pieces("late_forest", pieces)
    owner, src, piece = np.meshgrid(others, np.arange(rank_count), np.arange(pieces), indexing="ij")
    chunk = np.searchsorted(others, owner) * pieces + piece
    is_other = owner != src
    step = np.where(src == late_rank, pieces + piece, piece)
    parts = np.stack([step, src, owner, chunk, np.ones_like(step)], axis=-1)[is_other]
    sums = np.stack([pieces + piece + 1, owner, src, chunk, np.zeros_like(step)], axis=-1)[is_other]
    collective = Collective.with_owners("all_reduce", rank_count, np.repeat(others, pieces).tolist())
    return Schedule.from_transfers(collective, np.concatenate([parts, sums]))


@dataclass(frozen=True)
class _WayDown:
    """How one chunk goes down its tree: hops in order, and from which step of the broadcast to which."""

    hops: tuple[Hop, ...]
    steps: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def owner(self) -> int:
        """The rank that the late one reaches first."""
        return self.hops[0][1]

    @property
    def others_below(self) -> list[int]:
        """The others that the late rank itself reaches: they, too, must have what its part is to be added to."""
        return [dst for src, dst in self.hops[1:] if src == self.hops[0][0]]

    def finish(self, chunk: int, first_step: int, back: Hop) -> Iterator[Row]:
        """Yield the transfers after the arrival: the broadcast's, whose first hops add, and between two steps of it the
        one that hands the late rank what is complete, once nobody needs its part any more."""
        last = 0
        for (src, dst), step, end in zip(self.hops, self.steps, self.ends, strict=True):
            yield first_step + 2 * step, src, dst, chunk, src == back[1]
            if dst == back[0] or src == back[1]:
                last = max(last, end if dst == back[0] else step)
        yield first_step + 2 * last + 1, *back, chunk, False


def _table(schedule: Schedule) -> Integers:
    rows = np.asarray(schedule.transfers)
    return np.column_stack([rows[name] for name in ("step", "src", "dst", "chunk")]).astype(np.int64)


def _ways_down(broadcast: Schedule) -> list[_WayDown]:
    """Take a broadcast apart, chunk by chunk.

    Steps follow time there, so that a slow link's messages are steps apart: one is over when the next begins.
    """
    rows = _table(broadcast)
    ends = np.empty(len(rows), np.int64)
    by_hop = np.lexsort((rows[:, 0], rows[:, 2], rows[:, 1]))
    for same in np.split(by_hop, np.flatnonzero(np.diff(rows[by_hop, 1:3], axis=0).any(axis=1)) + 1):
        steps = rows[same, 0]
        gap = int(steps[-1] - steps[-2]) if len(steps) > 1 else 1
        ends[same] = np.append(steps[1:], steps[-1] + gap) - 1
    return [
        _WayDown(
            tuple((src, dst) for src, dst in chunk[:, 1:3].tolist()),
            tuple(chunk[:, 0].tolist()),
            tuple(chunk[:, -1].tolist()),
        )
        for chunk in _by_chunk(np.column_stack([rows, np.maximum(ends, rows[:, 0])]))
    ]


def _by_chunk(rows: Integers) -> list[Integers]:
    ordered = rows[np.lexsort((rows[:, 0], rows[:, 3]))]
    return np.split(ordered, np.flatnonzero(np.diff(ordered[:, 3])) + 1)


class _Waiting:
    """What the others do while they wait: reduce every chunk at its owner, an owner's chunks one behind the other down
    its trees, and bring the sum to whoever else is to get the late part."""

    def __init__(self, topology: Topology, late_rank: int, nbytes: int) -> None:
        self._rest = topology.without_ranks([late_rank])
        self._late_rank = late_rank
        self._nbytes = nbytes
        self._into = Senders(self._rest)
        self._trees_to: dict[int, list[list[tuple[int, int, int]]]] = {}

    def rows(self, ways: Sequence[_WayDown]) -> Iterator[Row]:
        """Yield the transfers from step 0 on."""
        chunks_of: dict[int, list[int]] = defaultdict(list)
        for chunk, way in enumerate(ways):
            chunks_of[way.owner].append(chunk)
        for owner, chunks in chunks_of.items():
            trees = self._trees(owner)
            for number, chunk in enumerate(chunks):
                first_step, tree = divmod(number, len(trees))
                for step, src, dst in trees[tree]:
                    yield first_step + step, src, dst, chunk, True
                first_step += 1 + max(step for step, *_ in trees[tree])
                yield from self._copies(first_step, chunk, ways[chunk])

    def _trees(self, owner: int) -> list[list[tuple[int, int, int]]]:
        """Return trees to an owner, each as rows of step, src, dst."""
        if owner not in self._trees_to:
            up = synthesize_forest(
                self._rest, "reduce", trees=0, pieces=1, nbytes=self._nbytes, root=self._without(owner)
            )
            self._trees_to[owner] = [
                [(int(step), self._with(src), self._with(dst)) for step, src, dst, _ in rows]
                for rows in _by_chunk(_table(up.schedule))
            ]
        return self._trees_to[owner]

    def _copies(self, first_step: int, chunk: int, way: _WayDown) -> Iterator[Row]:
        has = {self._without(way.owner)}
        for rank in way.others_below:
            for src, dst in self._into.way(has, self._without(rank)):
                yield first_step, self._with(src), self._with(dst), chunk, False
                has.add(dst)
                first_step += 1

    def _without(self, rank: int) -> int:
        """Return a rank's number where the late one is left out."""
        return rank - (rank > self._late_rank)

    def _with(self, rank: int) -> int:
        return int(rank) + (rank >= self._late_rank)


def _backs(topology: Topology, late_rank: int, ways: Sequence[_WayDown]) -> list[Hop]:
    """Return for every chunk the hop by which the late rank gets what is complete."""
    chosen = _Backs(topology, late_rank, ways)
    return [chosen.of(way) for way in ways]


class _Backs:
    """Chooses who hands the late rank what is complete, so that the busiest link is least busy.

    What is the same for many chunks is chosen once, for all of them.
    """

    def __init__(self, topology: Topology, late_rank: int, ways: Sequence[_WayDown]) -> None:
        self._late_rank = late_rank
        self._bandwidth = np.asarray(topology.links)["bandwidth"]
        count = Counter(way.hops for way in ways)
        self._into = Senders(topology).to(late_rank)
        pairs = list({hop for hops in count for hop in hops} | {(rank, late_rank) for rank in self._into})
        self._links = dict(
            zip(pairs, (np.array(way, np.int64) for way in paths(topology, pairs)), strict=True)
        )
        self._load = np.zeros(len(self._bandwidth))
        for hops, chunks in count.items():
            for hop in hops:
                self._add(hop, chunks)
        self._back: dict[tuple[Hop, ...], Hop] = {}
        for hops, chunks in count.items():
            self._back[hops] = self._best(hops, chunks)
            self._add(self._back[hops], chunks)

    def of(self, way: _WayDown) -> Hop:
        return self._back[way.hops]

    def _add(self, hop: Hop, chunks: int) -> None:
        links = self._links[hop]
        np.add.at(self._load, links, chunks / self._bandwidth[links])

    def _best(self, hops: tuple[Hop, ...], chunks: int) -> Hop:
        """Return the hop to the late rank that makes the busiest link least busy; of equals the one from highest up."""
        busiest = float(self._load.max())

        def busy(rank: int) -> float:
            links = self._links[rank, self._late_rank]
            return max(busiest, float((self._load[links] + chunks / self._bandwidth[links]).max()))

        return min((dst for _, dst in hops if dst in self._into), key=busy), self._late_rank
