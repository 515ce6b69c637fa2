# SPDX-License-Identifier: Apache-2.0
"""All-reduces around a late rank: trees from it, behind trees of the others to the ranks that it reaches first.

These trees are packed, matched to links, or laid along rails."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hemiola._core import (
    Collective,
    PackedAround,
    Schedule,
    Topology,
    matched_around,
    rails_around,
    stars_around,
    synthesize_forest,
)
from hemiola._core.algorithms import all_reduce_direct
from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.synthesis.full_mesh import is_full_mesh
from hemiola.synthesis.late_arguments import check_late_rank, check_pieces, ranks_per_host
from hemiola.synthesis.result import DEFAULT_NBYTES

_MOST_CHUNKS = 1 << 16
#: A buffer, in the parts that are counted as reduced in the wait.
WHOLE = 64


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
    """What `late_forest` makes of one buffer, in several numbers of pieces and shares: trees up are packed once."""

    def __init__(self, topology: Topology, late_rank: int, nbytes: int) -> None:
        _check("late_forest", topology, late_rank)
        self._topology, self._late_rank, self._nbytes = topology, late_rank, nbytes

    @cached_property
    def _packed(self) -> PackedAround:
        return PackedAround(self._topology, self._late_rank, nbytes=self._nbytes)

    def schedule(self, pieces: int, share: float = 1.0) -> Schedule:
        """Make it with so many chunks down each tree, of so much of the buffer; raises what `late_forest` does."""
        part = round(WHOLE * share) if 0 < share <= 1 else 0
        if not 1 <= part <= WHOLE:
            raise ArgumentError(f"late_forest: expected a share in 1/64 … 1, found {share}")
        found = self._around(pieces, self._nbytes * part // WHOLE)
        if part == WHOLE:
            return found
        rest = synthesize_forest(
            self._topology,
            "all_reduce",
            trees=0,
            pieces=max(1, pieces // self._topology.rank_count),
            nbytes=self._nbytes * (WHOLE - part) // WHOLE,
        ).schedule
        return _one_after_the_other(found, part, rest, WHOLE - part)

    def _around(self, pieces: int, nbytes: int) -> Schedule:
        if not is_full_mesh(self._topology):
            return self._packed.schedule(pieces=pieces, nbytes=nbytes)
        check_pieces("late_forest", pieces)
        return stars_around(self._topology, self._late_rank, pieces=pieces, nbytes=nbytes)


def in_stars(topology: Topology, late_rank: int, pieces: int, nbytes: int, part: int) -> Schedule:
    """Make an all-reduce for ranks that are one hop apart: what `late_forest` makes where every two have a link.

    So many 64ths of the buffer go around the late rank; a direct all-reduce of the rest follows.
    """
    first = stars_around(topology, late_rank, pieces=pieces, nbytes=nbytes * part // WHOLE)
    if part == WHOLE:
        return first
    return _one_after_the_other(first, part, all_reduce_direct(topology.rank_count), WHOLE - part)


def _one_after_the_other(first: Schedule, first_part: int, second: Schedule, second_part: int) -> Schedule:
    """Return an all-reduce of two parts of a buffer, of sizes in that proportion."""
    rows = [np.asarray(one.transfers) for one in (first, second)]
    columns = [
        np.concatenate([one[name] for one in rows]).astype(np.int64) for name in rows[0].dtype.names or ()
    ]
    table = np.column_stack(columns)
    table[len(rows[0]) :, [0, 3]] += first.step_count, first.chunk_count
    weights = [first_part * second.chunk_count] * first.chunk_count
    weights += [second_part * first.chunk_count] * second.chunk_count
    owner = np.concatenate([first.collective.owner, second.collective.owner])
    collective = Collective.with_owners("all_reduce", first.rank_count, owner.tolist())
    return Schedule.from_transfers(collective, table, chunk_weights=weights)


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
    return matched(topology, late_rank, chunks, nbytes).schedule


@dataclass(frozen=True)
class Matched:
    """A schedule, and what the broadcast in it takes."""

    schedule: Schedule
    broadcast_s: float


def matched(topology: Topology, late_rank: int, chunks: int, nbytes: int) -> Matched:
    """Do what `late_matched` does, and say how long the broadcast in it is."""
    _check("late_matched", topology, late_rank)
    if not 1 <= chunks <= _MOST_CHUNKS:
        raise ArgumentError(f"late_matched: expected chunks in 1 … {_MOST_CHUNKS:,}, found {chunks}")
    found = matched_around(topology, late_rank, chunks=chunks, nbytes=nbytes)
    return Matched(found.schedule, found.seconds)


@typed
def late_rails(topology: Topology, late_rank: int, *, pieces: int = 64) -> Schedule:
    """Make an all_reduce for hosts with a NIC per rank on which one rank is late, whose NICs may be of several speeds.

    A rail carries as much of the buffer as its slowest NIC leaves it time for. While they wait, the others reduce a
    rail's share at its rank on the late one's host; that of the late rank's own rail beside it. When the late rank
    comes, it hands each of these its part. Complete chunks go from host to host along the rail, to slow NICs last, and
    inside every host from the rail's rank to all others, piece behind piece.

    Parameters
    ----------
    topology : Topology, of at least two hosts with as many ranks each, at least two, numbered host by host; each rank
        has one link to and from switches between hosts.
    late_rank : int, 0 … rank_count-1.
    pieces : int in 1 … 4096, chunks of a rail, one behind the other.

    Returns
    -------
    Schedule, of chunks of several sizes where NICs differ.

    Raises
    ------
    ArgumentError
        An argument out of range, or other hosts.

    Notes
    -----
    After a delay long enough to reduce in, bandwidth only, on q hosts whose links inside are fast: (pieces + q) over
    pieces times the buffer over the sum, over rails, of their slowest NICs. That is the bound where all slow NICs are
    on one host, or on one rail and of one speed. Deterministic. The construction is ours.
    """
    check_pieces("late_rails", pieces)
    check_late_rank("late_rails", late_rank, topology.rank_count)
    per_host = ranks_per_host("late_rails", topology, least=2)
    return rails_around(topology, late_rank, ranks_per_host=per_host, pieces=pieces)


def _check(function: str, topology: Topology, late_rank: int) -> None:
    if topology.rank_count < 3:
        raise ArgumentError(f"{function}: expected at least 3 ranks, found {topology.rank_count}")
    check_late_rank(function, late_rank, topology.rank_count)
