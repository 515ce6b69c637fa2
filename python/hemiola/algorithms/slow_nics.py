# SPDX-License-Identifier: Apache-2.0
"""All-reduces for hosts of several ranks with some slow or dead NICs, for which the other NICs of the host carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from hemiola._core import Collective, Schedule
from hemiola._core.algorithms import Variant, nic_bandwidths
from hemiola.algorithms.algorithm import Algorithm, Paper
from hemiola.algorithms.number_arrays import Floats
from hemiola.algorithms.slow_pipeline import check_segments, pipelined
from hemiola.algorithms.task import Task
from hemiola.arguments import typed
from hemiola.errors import ArgumentError

_WHERE = "all_reduce_pooled_exchange"
#: Shares of the buffer are cut into so many parts.
_PARTS = 1 << 20
#: Rates that differ by less are one.
_ALIKE = 1e-9
#: Of a segment: inside, to the carrying NIC, between hosts twice, back from there, inside.
_STAGES = 6
_SEGMENTS = (1, 2, 4, 8, 16, 32, 64)


@typed
def all_reduce_pooled_exchange(
    host_count: int, ranks_per_host: int, nic_rates: Mapping[int, float], segments: int = 16
) -> Schedule:
    """All-reduce for hosts whose ranks have a NIC each, some of them slow or dead: a host pools its NICs.

    Inside a host every rank sums up an equal part. A rank with a slow NIC hands a share of its sums to the ranks whose
    NICs are faster. These run the weighted exchange with the other hosts, in which a host owns less the less its NICs
    carry together, and hand the results back. Every NIC of a host then carries as much as it can.

    Parameters
    ----------
    host_count : int >= 2.
    ranks_per_host : int >= 2; rank = host * ranks_per_host + place.
    nic_rates : mapping of rank to float in [0, 1], its NIC's rate over a healthy one's; 0 where it is dead. Ranks that
        are not named have 1.
    segments : int >= 1, pieces the buffer is pipelined in.

    Returns
    -------
    Schedule, of chunks of several sizes.

    Raises
    ------
    ArgumentError
        A rank does not exist, a rate is outside [0, 1], all NICs of a host are dead, or a count is out of range.

    Notes
    -----
    Bandwidth only, one host whose NICs carry 1/l of another's together, where h hosts need T0 without faults: about l
    of T0 for l >= 2. Below that it is 2l(h-1)/(l(h-2)+2) over 2(h-1)/h of T0 [OptCC, Theorem 13], times (k+5)/k for k
    segments. Traffic inside hosts is that of healthy ones. [OptCC] slows all ranks of a host alike.
    """
    check_segments(_WHERE, segments)
    rates = _checked_rates(host_count, ranks_per_host, nic_rates)
    return _Pooled(rates).schedule(segments)


def _checked_rates(host_count: int, ranks_per_host: int, nic_rates: Mapping[int, float]) -> Floats:
    """Return the rates by host and place."""
    if not 2 <= host_count <= 1 << 12 or not 2 <= ranks_per_host <= 1 << 12:
        raise ArgumentError(
            f"{_WHERE}: expected 2 … 4096 hosts and ranks per host, found {host_count} and {ranks_per_host}"
        )
    rates = np.ones(host_count * ranks_per_host)
    for rank, rate in nic_rates.items():
        if not 0 <= rank < len(rates):
            raise ArgumentError(f"{_WHERE}: expected ranks 0 … {len(rates) - 1}, found {rank}")
        if not 0 <= rate <= 1:
            raise ArgumentError(f"{_WHERE}: expected a rate in [0, 1] for rank {rank}, found {rate}")
        rates[rank] = rate
    by_host = rates.reshape(host_count, ranks_per_host)
    for host in np.flatnonzero(by_host.sum(axis=1) == 0):
        raise ArgumentError(f"{_WHERE}: all NICs of host {host} are dead; name its ranks to 'without_ranks'")
    return by_host


@dataclass(frozen=True)
class _Piece:
    """A share of a place's part, and by host the place whose NIC carries it."""

    place: int
    share: float
    carriers: tuple[int, ...]


class _Pooled:
    """Writes the schedule; segment, piece and owning host number the chunks."""

    def __init__(self, rates: Floats) -> None:
        self._hosts, self._places = int(rates.shape[0]), int(rates.shape[1])
        of_host = rates.sum(axis=1)
        spare = np.maximum(0.0, 2 * of_host / of_host.max() - 1)
        self._owners: list[int] = np.flatnonzero(spare > 0).tolist()
        self._owned: list[float] = (spare[self._owners] / spare.sum()).tolist()
        self._pieces = _pieces(rates / of_host[:, None])

    @property
    def transfers(self) -> int:
        """Of a segment."""
        return 2 * (self._hosts * self._places - 1) * len(self._pieces) * len(self._owners)

    @property
    def rounds(self) -> int:
        """Of a body."""
        return max(self._hosts, self._places) - 1

    def schedule(self, segments: int) -> Schedule:
        owner = [self._rank(host, one.carriers[host]) for one in self._pieces for host in self._owners]
        weights = [
            max(1, round(_PARTS * one.share * part / self._places))
            for one in self._pieces
            for part in self._owned
        ]
        collective = Collective.with_owners("all_reduce", self._hosts * self._places, owner * segments)
        rows = np.array(list(self._rows()), np.int64)
        written = pipelined(
            rows[:, :5], rows[:, 5], segments=segments, steps=self.rounds, chunks=len(weights)
        )
        return Schedule.from_transfers(collective, written, chunk_weights=weights * segments)

    def _rank(self, host: int, place: int) -> int:
        return host * self._places + place

    def _rows(self) -> Iterator[tuple[int, ...]]:
        """Yield a segment's rows of step, src, dst, chunk, reduce, stage."""
        for number, piece in enumerate(self._pieces):
            for section, owner in enumerate(self._owners):
                chunk = number * len(self._owners) + section
                for host in range(self._hosts):
                    yield from self._inside(piece, host, chunk)
                yield from self._between(piece, owner, chunk)

    def _inside(self, piece: _Piece, host: int, chunk: int) -> Iterator[tuple[int, ...]]:
        """Sum up at the piece's place and gather from it, by way of the carrier where that is another one."""
        home, carrier = piece.place, piece.carriers[host]
        mine = self._rank(host, home)
        for turn in range(1, self._places):
            source, target = (home - turn) % self._places, (home + turn) % self._places
            if source == carrier:
                yield self._places - turn - 1, mine, self._rank(host, carrier), chunk, 1, 1
            else:
                yield turn - 1, self._rank(host, source), mine, chunk, 1, 0
            if target == carrier:
                yield self._places - turn - 1, self._rank(host, carrier), mine, chunk, 0, _STAGES - 2
            else:
                yield turn - 1, mine, self._rank(host, target), chunk, 0, _STAGES - 1

    def _between(self, piece: _Piece, owner: int, chunk: int) -> Iterator[tuple[int, ...]]:
        """Sum up at the owning host, and send the result to the others, carrier to carrier."""
        at_owner = self._rank(owner, piece.carriers[owner])
        for turn in range(1, self._hosts):
            source, target = (owner - turn) % self._hosts, (owner + turn) % self._hosts
            yield turn - 1, self._rank(source, piece.carriers[source]), at_owner, chunk, 1, 2
            yield turn - 1, at_owner, self._rank(target, piece.carriers[target]), chunk, 0, 3


def _pieces(shares: Floats) -> list[_Piece]:
    """Cut each place's part so that every host's NICs carry their shares: a place keeps what its own NIC can carry, and
    the others take the rest in proportion to what they have left."""
    hosts, places = shares.shape
    found = []
    for place in range(places):
        cuts = {0.0, 1.0}
        ends: list[list[tuple[float, int]]] = []
        for host in range(hosts):
            kept = min(1.0, shares[host, place] * places)
            left = np.maximum(0.0, shares[host] - 1 / places)
            takers = [] if kept > 1 - _ALIKE else [(place + i) % places for i in range(1, places)]
            own, end = [(kept, place)] if kept > 0 else [], kept
            for taker in (one for one in takers if left[one] > 0):
                end += (1 - kept) * float(left[taker] / left.sum())
                own.append((end, taker))
            own[-1] = (1.0, own[-1][1])
            ends.append(own)
            cuts.update(round(end, 12) for end, _ in own)
        for low, high in zip(sorted(cuts), sorted(cuts)[1:], strict=False):
            middle = (low + high) / 2
            carriers = tuple(next(who for end, who in own if middle < end) for own in ends)
            found.append(_Piece(place, high - low, carriers))
    return found


def _unable(task: Task) -> str:
    if task.nic_rates:
        return ""
    return (
        "expected hosts of as many ranks each, numbered host by host, some ranks with slower NICs than others"
    )


def _variants(task: Task) -> list[Variant]:
    """Return the number of segments that balances the latencies of a body with filling the pipeline."""
    rates = task.nic_rates
    if not rates or task.nbytes == 0 or task.topology is None:
        return []
    hosts = task.topology.node_count
    by_host = _checked_rates(hosts, task.rank_count // hosts, rates)
    made = _Pooled(by_host)
    places = by_host.shape[1]
    factor = float(places / by_host.sum(axis=1).min())
    load = max(factor, 2 * factor * (hosts - 1) / (factor * (hosts - 2) + 2))
    between_s = load * task.nbytes / places / max(nic_bandwidths(task.topology, task.conditions.slow_ranks))
    inside_s = 2 * (places - 1) / places * task.nbytes / task.speed.bandwidth
    found = []
    for segments in _SEGMENTS:
        if segments * made.transfers <= task.core.most_transfers:
            # The first and the last bodies are half empty, and each waits for a message on either side of the NICs.
            body_s = max(between_s, inside_s) / segments + 2 * task.speed.latency_s
            seconds = (segments + _STAGES / 2 - 1) * body_s
            found.append(Variant(seconds, segments * made.transfers, "segments", segments))
    return sorted(found, key=lambda one: one.formula_s)[:1]


ALGORITHMS = (
    Algorithm(
        name=_WHERE,
        kind="all_reduce",
        paper=Paper("OptCC", "Chen, Jiang, Yu, Wang, Xiong, Wang, Liu 2026"),
        idea="The weighted exchange between hosts, for hosts with a slow or dead NIC: their other NICs carry what it "
        "cannot, and hand it on inside.",
        sizes="q ≥ 2 hosts of g ≥ 2 ranks",
        function=all_reduce_pooled_exchange,
        needs="slow",
        formula="2l(q-1)/(l(q-2)+2)·(K+5)/(gK)·N·β for one host whose NICs carry 1/l together, l ≤ 2, bandwidth only",
        unable=_unable,
        variants=_variants,
    ),
)
