"""An all-reduce with one late rank on hosts whose ranks have a NIC each. Every rail, the ranks of equal place on all
hosts, carries a share that suits its slowest NIC, so that a slow rank and a late one may be there at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hemiola._core import Collective, Schedule, Topology
from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.synthesis.late_arguments import check_late_rank, check_pieces, ranks_per_host

#: Shares of the buffer are cut into so many parts.
_PARTS = 1 << 20
Row = tuple[int, int, int, int, bool]  #: step, src, dst, chunk, reduce


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
    return _Rails(_nics(topology), late_rank, pieces).schedule()


def _nics(topology: Topology) -> list[list[float]]:
    """Return the bandwidth of each rank's NIC, host by host; of its two directions the slower."""
    nodes, links = np.asarray(topology.nodes), np.asarray(topology.links)
    ranks = topology.rank_count
    per_host = ranks_per_host("late_rails", topology, least=2)
    joined: dict[int, set[int]] = {}
    for src, dst in zip(links["src"].tolist(), links["dst"].tolist(), strict=True):
        if src < ranks <= dst:
            joined.setdefault(dst, set()).add(int(nodes[src]))
    found: dict[tuple[int, bool], list[float]] = {}
    for src, dst, bandwidth in zip(
        links["src"].tolist(), links["dst"].tolist(), links["bandwidth"].tolist(), strict=True
    ):
        if src < ranks <= dst and len(joined[dst]) > 1:
            found.setdefault((src, True), []).append(bandwidth)
        if dst < ranks <= src and len(joined.get(src, ())) > 1:
            found.setdefault((dst, False), []).append(bandwidth)
    if any(len(found.get((rank, is_out), ())) != 1 for rank in range(ranks) for is_out in (True, False)):
        raise ArgumentError("late_rails: expected one link to and from switches between hosts for every rank")
    nic = np.array([min(found[rank, True][0], found[rank, False][0]) for rank in range(ranks)])
    by_host: list[list[float]] = nic.reshape(-1, per_host).tolist()
    return by_host


@dataclass(frozen=True)
class _Rails:
    """Writes the schedule. Chunk = piece · rails + rail."""

    nics: Sequence[Sequence[float]]
    late_rank: int
    pieces: int

    @property
    def per_host(self) -> int:
        return len(self.nics[0])

    def rank(self, host: int, rail: int) -> int:
        return host * self.per_host + rail

    def owner(self, piece: int, rail: int) -> int:
        """Where a chunk is reduced in the wait: on the late host, on its rail, or beside the late rank in turn."""
        host, late_rail = divmod(self.late_rank, self.per_host)
        if rail == late_rail:
            rail = (rail + 1 + piece % (self.per_host - 1)) % self.per_host
        return self.rank(host, rail)

    def hosts_along(self, rail: int) -> list[int]:
        """The late host, then the others, slow NICs last: what holds nobody up behind them."""
        late_host = self.late_rank // self.per_host
        return sorted(
            range(len(self.nics)), key=lambda host: (host != late_host, -self.nics[host][rail], host)
        )

    def schedule(self) -> Schedule:
        slowest = np.array(self.nics).min(axis=0)
        parts = np.maximum(1, np.rint(_PARTS * slowest / slowest.sum())).astype(int).tolist()
        owner = [self.owner(piece, rail) for piece in range(self.pieces) for rail in range(self.per_host)]
        first_step = self.pieces + len(self.nics) + 2
        rows = [
            row
            for piece in range(self.pieces)
            for rail in range(self.per_host)
            for row in (*self._waiting(piece, rail), *self._finish(piece, rail, first_step + piece))
        ]
        rank_count = len(self.nics) * self.per_host
        return Schedule.from_transfers(
            Collective.with_owners("all_reduce", rank_count, owner), rows, chunk_weights=parts * self.pieces
        )

    def _waiting(self, piece: int, rail: int) -> Iterator[Row]:
        """Inside all hosts to the rail's rank, then from host to host."""
        chunk, owner = piece * self.per_host + rail, self.owner(piece, rail)
        late_host = self.late_rank // self.per_host
        along = self.hosts_along(rail)
        for host in along:
            at = owner if host == late_host else self.rank(host, rail)
            for other in range(self.per_host):
                src = self.rank(host, other)
                if src not in (at, self.late_rank):
                    yield piece, src, at, chunk, True
        step = piece + 1
        for src_host, dst_host in zip(along[:0:-1], along[-2::-1], strict=True):
            src, dst = self.rank(src_host, rail), self.rank(dst_host, rail)
            if dst == self.late_rank:  # its substitute is on another rail
                beside = self.rank(src_host, owner % self.per_host)
                yield step, src, beside, chunk, False
                src, dst, step = beside, owner, step + 1
            yield step, src, dst, chunk, True
            step += 1

    def _finish(self, piece: int, rail: int, step: int) -> Iterator[Row]:
        """The late part to the owner; then from host to host, and inside all hosts, what is complete."""
        chunk, owner = piece * self.per_host + rail, self.owner(piece, rail)
        along = self.hosts_along(rail)
        yield step, self.late_rank, owner, chunk, True
        if self.rank(along[0], rail) == self.late_rank:  # its NIC is the rail's
            step += 1
            yield step, owner, self.late_rank, chunk, False
        for number, host in enumerate(along):
            step += 1
            if number + 1 < len(along):
                yield step, self.rank(host, rail), self.rank(along[number + 1], rail), chunk, False
            source = owner if number == 0 else self.rank(host, rail)
            for dst in (self.rank(host, other) for other in range(self.per_host)):
                if dst not in (source, self.rank(host, rail)):
                    yield step, source, dst, chunk, False
