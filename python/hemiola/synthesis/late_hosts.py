# SPDX-License-Identifier: Apache-2.0
"""An all-reduce with one late rank on many hosts. The NICs' chunks go from host to host in the fewest rounds, so that
hosts by the hundred fill up quickly, whether ranks have a NIC each or share them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, permutations

import numpy as np

from hemiola._core import Collective, Schedule, Topology, paths
from hemiola._core.algorithms import broadcast_circulant, reduce_circulant
from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.synthesis.columns import Columns, Integers, table_of
from hemiola.synthesis.late_arguments import check_late_rank, check_pieces, ranks_per_host
from hemiola.synthesis.result import DEFAULT_NBYTES

#: NICs whose bandwidths differ by less are alike. The buffer is cut into so many parts.
_ALIKE, _PARTS = 1 + 1e-9, 1 << 20
#: A latency below this share of a NIC's time for a piece is not hidden behind another one.
_SHORT, _MOST_LAGS = 0.05, 8


@typed
def late_hosts(
    topology: Topology,
    late_rank: int,
    *,
    pieces: int = 64,
    nbytes: int = DEFAULT_NBYTES,
    ranks_per_host: int | None = None,
) -> Schedule:
    """Make an all_reduce for many hosts of several ranks on which one rank is late.

    A rail, the ranks of all hosts whose NIC has the same place, carries a share of the buffer. While they wait, the
    others reduce a rail's share at a rank of the late one's host. When the late rank comes, it hands each of these
    its part. Complete chunks go from host to host along the rail, in the fewest rounds there are with one NIC, and
    inside every host to all others, piece behind piece.

    Parameters
    ----------
    topology : Topology, of at least two hosts with as many ranks each, at least two, numbered host by host. Inside a
        host ranks reach each other at once, and its links to the others are as fast on all of them.
    late_rank : int, 0 … rank_count-1.
    pieces : int in 1 … 4096, chunks of a rail, one behind the other.
    nbytes : int >= 0, one rank's buffer in bytes, for which latencies are hidden. The schedule is right for every size.
    ranks_per_host : int, optional; by default the topology's. A divisor of the rank count.

    Returns
    -------
    Schedule, of chunks of several sizes where a host's NICs differ.

    Raises
    ------
    ArgumentError
        An argument out of range, or other hosts.

    Notes
    -----
    After a delay long enough to reduce in, bandwidth only, on q hosts whose links inside are fast: (pieces + ⌈log2 q⌉)
    over pieces times the buffer over the sum of a host's NICs. The latter summand counts twice where a piece takes less
    than a latency. Deterministic. Rounds along a rail are those of `broadcast_circulant`; the rest is ours.
    """
    check_pieces("late_hosts", pieces)
    if nbytes < 0:
        raise ArgumentError(f"late_hosts: expected nbytes of at least 0, found {nbytes}")
    return Hosts(topology, late_rank, ranks_per_host).schedule(pieces, nbytes)


@dataclass
class _Nic:
    """What joins a host's ranks to other hosts, alike on all of them."""

    bandwidth: float
    latency_s: float
    locals: list[int]  #: ranks of a host behind it, counted from the host's first


def _nics(topology: Topology, per_host: int) -> list[_Nic]:
    """Return the NICs of a host; raise ArgumentError for other hosts, or ranks that do not reach each other at once."""
    links, hosts = np.asarray(topology.links), topology.rank_count // per_host
    src, dst = links["src"].astype(np.int64), links["dst"].astype(np.int64)
    host_of = _insides(topology, per_host, src, dst)
    leaves = (host_of[src] >= 0) & (host_of[src] != host_of[dst])
    pairs = [(rank, (rank + per_host) % topology.rank_count) for rank in range(topology.rank_count)]
    nic_of = []
    for way in paths(topology, pairs):
        out = [link for link in way if leaves[link]]
        back = [link for link in way if host_of[dst[link]] >= 0 and host_of[src[link]] != host_of[dst[link]]]
        if len(out) != 1 or len(back) != 1:
            raise ArgumentError("late_hosts: expected one NIC on the way from each rank to the next host")
        nic_of.append((out[0], float(links["bandwidth"][way].min()), float(links["latency_s"][way].sum())))
    found: dict[int, _Nic] = {}
    for local, (link, bandwidth, latency_s) in enumerate(nic_of[:per_host]):
        found.setdefault(link, _Nic(bandwidth, latency_s, [])).locals.append(local)
    for host in range(hosts):
        here = nic_of[host * per_host : (host + 1) * per_host]
        first = {nic.locals[0]: here[nic.locals[0]][0] for nic in found.values()}
        for nic in found.values():
            for local in nic.locals:
                link, bandwidth, _ = here[local]
                is_alike = nic.bandwidth / _ALIKE <= bandwidth <= nic.bandwidth * _ALIKE
                if link != first[nic.locals[0]] or not is_alike:
                    raise ArgumentError("late_hosts: expected hosts with the same NICs")
        if len(set(first.values())) < len(found):
            raise ArgumentError("late_hosts: expected hosts with the same NICs")
    _check_inside(topology, per_host, dst, host_of)
    return list(found.values())


def _insides(topology: Topology, per_host: int, src: Integers, dst: Integers) -> Integers:
    """Return for each vertex the host that it is inside of: of a switch, that of all ranks that it is linked with; else
    -1."""
    ranks = topology.rank_count
    host_of = np.full(ranks + topology.switch_count, -1)
    host_of[:ranks] = np.arange(ranks) // per_host
    for switch in range(ranks, len(host_of)):
        linked = np.concatenate([src[dst == switch], dst[src == switch]])
        hosts = set(host_of[linked[linked < ranks]].tolist())
        host_of[switch] = hosts.pop() if len(hosts) == 1 else -1
    return host_of


def _check_inside(topology: Topology, per_host: int, dst: Integers, host_of: Integers) -> None:
    """Refuse hosts whose ranks reach each other through others, or out of the host and back."""
    for host in range(topology.rank_count // per_host):
        ways = paths(topology, list(permutations(range(host * per_host, (host + 1) * per_host), 2)))
        lengths = np.fromiter(map(len, ways), np.int64)
        ends = dst[np.fromiter(chain.from_iterable(ways), np.int64)]
        passed = np.ones(len(ends), bool)
        passed[np.cumsum(lengths)[lengths > 0] - 1] = False
        if not lengths.all() or (host_of[ends] != host).any() or (ends[passed] < topology.rank_count).any():
            raise ArgumentError("late_hosts: expected ranks of a host that reach each other at once")


class Hosts:
    """Hosts with a late rank on one of them, for which schedules of any number of pieces are made; raises ArgumentError
    as `late_hosts` does."""

    def __init__(self, topology: Topology, late_rank: int, per_host: int | None = None) -> None:
        check_late_rank("late_hosts", late_rank, topology.rank_count)
        if per_host is None:
            per_host = ranks_per_host("late_hosts", topology)
        if per_host < 2 or topology.rank_count % per_host or topology.rank_count == per_host:
            raise ArgumentError(
                "late_hosts: expected at least two hosts of as many ranks each, at least two, found ranks_per_host "
                f"{per_host} of {topology.rank_count} ranks. Give a divisor of the rank count, or none"
            )
        self.rank_count, self.late_rank, self.per_host = topology.rank_count, late_rank, per_host
        self.nics = _nics(topology, per_host)

    def schedule(self, pieces: int, nbytes: int) -> Schedule:
        """Make one; see `late_hosts`."""
        return _Writer(self, pieces, nbytes).schedule()


class _Writer:
    """Writes the schedule. Chunk = piece · rails + rail."""

    def __init__(self, hosts: Hosts, pieces: int, nbytes: int) -> None:
        self._rank_count, self._late_rank = hosts.rank_count, hosts.late_rank
        self._per_host, self._nics = hosts.per_host, hosts.nics
        self._pieces = pieces
        self._host_count = hosts.rank_count // hosts.per_host
        self._late_host, self._late_local = divmod(hosts.late_rank, hosts.per_host)
        self._lags = self._lag_count(nbytes)

    def _lag_count(self, nbytes: int) -> int:
        """Return how many broadcasts take turns on each rail, so that a piece is there when it is to go on."""
        total = sum(nic.bandwidth for nic in self._nics)
        piece_s = nbytes / total / self._pieces
        latency_s = max(nic.latency_s for nic in self._nics)
        if latency_s <= _SHORT * piece_s:
            return 1
        return max(1, min(_MOST_LAGS, self._pieces, 1 + math.ceil(latency_s / piece_s) if piece_s else 1))

    @cached_property
    def _chunk_rails(self) -> Integers:
        return np.tile(np.arange(len(self._nics)), self._pieces)

    @cached_property
    def _gates(self) -> tuple[Integers, Integers, Integers]:
        """Return for each chunk the place of the rank by which it leaves and enters hosts, of the one on the late host
        where it is reduced, and of the one that the gate leaves all others to: itself where it has a NIC for itself.

        A rail has one gate, so that its NIC has one message at a time. It is the owner, but where the late rank alone
        has its NIC: there others take turns beside it."""
        gate, owner, helper = [], [], []
        for chunk, rail in enumerate(self._chunk_rails.tolist()):
            piece = chunk // len(self._nics)
            others = [local for local in self._nics[rail].locals if local != self._late_local]
            is_shared = len(self._nics[rail].locals) > 1
            beside = (self._late_local + 1 + piece % (self._per_host - 1)) % self._per_host
            gate.append(others[0] if others else self._late_local)
            owner.append(gate[-1] if others else beside)
            rest = [local for local in range(self._per_host) if local not in (gate[-1], self._late_local)]
            helper.append(rest[chunk % len(rest)] if is_shared and rest else owner[-1])
        return np.array(gate, np.int64), np.array(owner, np.int64), np.array(helper, np.int64)

    def schedule(self) -> Schedule:
        bandwidth = np.array([nic.bandwidth for nic in self._nics])
        parts = np.maximum(1, np.rint(_PARTS * bandwidth / bandwidth.sum())).astype(int).tolist()
        waiting = self._waiting()
        first_step = 1 + max(int(np.max(step)) for step, *_ in waiting if np.size(step))
        table = table_of([*waiting, *self._finish(first_step)])
        _, owner, _ = self._gates
        owners = (self._late_host * self._per_host + owner).tolist()
        collective = Collective.with_owners("all_reduce", self._rank_count, owners)
        return Schedule.from_transfers(collective, table, chunk_weights=parts * self._pieces)

    def _along(self, reduces: bool) -> tuple[Integers, Integers, Integers, Integers]:
        """Return step, source host, destination host and chunk of what goes along all rails.

        Every so many pieces are a broadcast, or a reduce, of their own; these take turns."""
        columns = []
        for lag in range(self._lags):
            own = np.arange(lag, self._pieces, self._lags)
            make = reduce_circulant if reduces else broadcast_circulant
            rows = np.asarray(make(self._host_count, root=self._late_host, chunk_count=len(own)).transfers)
            step, src, dst = (rows[name].astype(np.int64) for name in ("step", "src", "dst"))
            columns.append((self._lags * step + lag, src, dst, own[rows["chunk"]]))
        step, src, dst, piece = (np.concatenate(column) for column in zip(*columns, strict=True))
        rails = len(self._nics)
        chunk = (piece[:, None] * rails + np.arange(rails)).ravel()
        return np.repeat(step, rails), np.repeat(src, rails), np.repeat(dst, rails), chunk

    def _waiting(self) -> list[Columns]:
        """Inside all hosts to the gate, then from host to host."""
        step, src, dst, chunk = self._along(reduces=True)
        gate, owner, _ = self._gates
        first = np.full(len(gate), np.iinfo(np.int64).max)
        np.minimum.at(first, chunk, step)
        width = 4  # two hops inside a host at most, and two where another rank takes the late one's place
        found: list[Columns] = []
        for host in range(self._host_count):
            for depth, hop_src, hop_dst, which in self._inside(host, to_center=True):
                found.append((width * first[which] + 1 - depth, hop_src, hop_dst, which, True))
        per_host = self._per_host
        # Where the late rank is a rail's gate, its substitute is on another rail.
        is_late = (dst == self._late_host) & (gate[chunk] != owner[chunk])
        at, step = src * per_host + gate[chunk], width * step + 2
        plain = ~is_late
        found.append((step[plain], at[plain], (dst * per_host + gate[chunk])[plain], chunk[plain], True))
        beside, center = src * per_host + owner[chunk], dst * per_host + owner[chunk]
        found.append((step[is_late], at[is_late], beside[is_late], chunk[is_late], False))
        found.append((step[is_late] + 1, beside[is_late], center[is_late], chunk[is_late], True))
        return found

    def _finish(self, first_step: int) -> list[Columns]:
        """The late part to the owner; then from host to host, and inside all hosts, what is complete."""
        step, src, dst, chunk = self._along(reduces=False)
        gate, owner, _ = self._gates
        per_host, all_chunks = self._per_host, np.arange(len(gate))
        first = np.full(len(gate), np.iinfo(np.int64).max)
        np.minimum.at(first, chunk, step)
        own = self._late_host * per_host + owner
        late = np.full_like(own, self._late_rank)
        begin = first_step + first
        found: list[Columns] = [
            (begin, late, own, all_chunks, True),
            (begin + 1, own, late, all_chunks, False),
        ]
        found.append(
            (first_step + step + 2, src * per_host + gate[chunk], dst * per_host + gate[chunk], chunk, False)
        )
        there = np.full((self._host_count, len(gate)), -1)
        there[dst, chunk] = first_step + step + 3
        there[self._late_host] = begin + 1
        beside = gate != owner
        turn = np.zeros(len(gate), np.int64)
        for host in range(self._host_count):
            for depth, hop_src, hop_dst, which in self._inside(host, to_center=False):
                step = there[host, which] + depth
                if (
                    host == self._late_host
                ):  # a rank beside the late rank has its own rail, too: one hop at a time
                    step = step + turn[which] * beside[which]
                    turn[which] += 1
                found.append((step, hop_src, hop_dst, which, False))
        return found

    def _inside(self, host: int, *, to_center: bool) -> list[tuple[Integers, Integers, Integers, Integers]]:
        """Return hops between a host's ranks and the centre of each chunk: how many before it, source, destination,
        chunk."""
        gate, owner, helper = self._gates
        is_late = host == self._late_host
        center = owner if is_late else gate
        is_shared = helper != owner
        base = host * self._per_host
        found = []
        for local in range(self._per_host):
            if is_late and local == self._late_local:
                continue
            which = np.flatnonzero(center != local)
            depth = (is_shared & (helper != local))[which].astype(np.int64)
            other, own = (
                base + np.where(depth == 1, helper[which], center[which]),
                np.full_like(which, base + local),
            )
            found.append((depth, *((own, other) if to_center else (other, own)), which))
        return found
