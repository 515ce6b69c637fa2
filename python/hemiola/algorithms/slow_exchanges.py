# SPDX-License-Identifier: Apache-2.0
"""All-reduces for several slow ranks of different factors: a direct exchange in segments, its messages ordered so that
no port waits (open shop), or all in flight at once at paces that end together (paced)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hemiola._core import Collective, Schedule
from hemiola._core.algorithms import (
    Variant,
    best_measurable_segments,
    best_rail_variant,
    best_segment_count,
)
from hemiola.algorithms import slow_shares
from hemiola.algorithms.algorithm import Algorithm, Paper
from hemiola.algorithms.number_arrays import Floats, Integers
from hemiola.algorithms.open_shop import MOST_UNITS, cut_into_slots
from hemiola.algorithms.slow_pipeline import check_segments, pipelined
from hemiola.algorithms.task import Task
from hemiola.arguments import typed
from hemiola.errors import ArgumentError

_MOST_RANKS_PER_HOST = 1 << 12
#: Hosts beyond which making an open-shop exchange takes longer than a plan may. Of more ranks, simulating a paced one
#: takes up to a second: in 28 settings of 40 to 200 ranks one gained, 0.7 %.
_MOST_PLANNED = 32


@typed
def all_reduce_open_shop_exchange(
    rank_count: int, slow: Mapping[int, float], segments: int | None = None, *, relative_latency: float = 1e-4
) -> Schedule:
    """All-reduce with several slow ranks, in an order in which no port waits for another.

    The buffer goes in segments; the reduce-scatter of one shares a body with the all-gather of the one before. Each
    body is a preemptive open shop: its messages are cut into slots, in each of which a rank sends to one rank and
    receives from one, so that a body takes no longer than its busiest port.

    Parameters
    ----------
    rank_count : int >= 2.
    slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.
    segments : int >= 1, pieces the buffer is pipelined in; None for best_segment_count of the next argument.
    relative_latency : float > 0, latency · bandwidth / bytes; the default is 4 µs at 25 GB/s for 1 GB.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        A rank does not exist, a factor is below 1 or not finite, segments < 1, or relative_latency is not finite
        and > 0.

    Notes
    -----
    Bandwidth only, one message at a time per port: T·(k+1)/k · Nβ for k segments, up to the rounding of shares to whole
    units. T is the least busy time of a direct exchange's busiest port (see `hemiola.slow_shares`). It is never above
    the limits l1 + 2(m-1)/(p-m) and 2(p-1)/(p-m) of [OptCC, §D.3]. Deterministic. Own running time grows with
    rank_count³ times the number of slots: under a second for 64 ranks.
    """
    if segments is None:
        segments = best_segment_count(rank_count, dict(slow), relative_latency)
    factors = _checked("all_reduce_open_shop_exchange", rank_count, slow, segments)
    units, slots = open_shop(tuple(factors))
    return _Bodies(units, segments).schedule(slots)


@typed
def all_reduce_paced_exchange(
    rank_count: int, slow: Mapping[int, float], segments: int | None = None, *, relative_latency: float = 1e-4
) -> Schedule:
    """All-reduce with several slow ranks for networks whose ports carry many messages at once.

    All messages of a body are in flight together, cut into units of one size. Links that share their bandwidth fairly
    then give each pair of ranks a rate in proportion to its bytes, and every port is busy until the end.

    Parameters
    ----------
    rank_count : int >= 2.
    slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.
    segments : int >= 1, pieces the buffer is pipelined in; None for best_segment_count of the next argument.
    relative_latency : float > 0, latency · bandwidth / bytes; the default is 4 µs at 25 GB/s for 1 GB.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        A rank does not exist, a factor is below 1 or not finite, segments < 1, or relative_latency is not finite
        and > 0.

    Notes
    -----
    Bandwidth only, in the fluid network: at most (k+1)/k of max(2(p-1)/Σ 1/l_i, l1) · Nβ, up to the rounding of shares
    to whole units. That is the bound for shared ports [OptCC, Theorem 2]. k + 1 steps; every rank sends to all others
    in each.
    """
    if segments is None:
        segments = best_segment_count(rank_count, dict(slow), relative_latency)
    factors = _checked("all_reduce_paced_exchange", rank_count, slow, segments)
    units = slow_shares.shared_port_shares(factors).units
    return _Bodies(units, segments).schedule([_messages(units)])


@typed
def all_reduce_rail_open_shop_exchange(
    host_count: int, ranks_per_host: int, slow_hosts: Mapping[int, float], segments: int
) -> Schedule:
    """All-reduce for hosts with several ranks and a NIC each, several hosts slow, in an order in which no NIC waits.

    On every rail (ranks of equal place) the hosts run all_reduce_open_shop_exchange; the reduce-scatter inside the
    hosts goes one segment ahead of it and the all-gather one behind.

    Parameters
    ----------
    host_count : int >= 2.
    ranks_per_host : int >= 1; rank = host * ranks_per_host + rail.
    slow_hosts : mapping of host to float >= 1, the factors by which its ranks' NICs are slower.
    segments : int >= 1, pieces the buffer is pipelined in.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        A host does not exist, a factor is below 1 or not finite, or a count is out of range.

    Notes
    -----
    For g ranks a host whose links inside carry at least 2(g - 1)/T times a NIC, bandwidth only and one message at a
    time per NIC: about [T(k+1) + 2]/(gk) · Nβ, T as for all_reduce_open_shop_exchange over the hosts. [OptCC] leaves
    several slow hosts of several ranks open.
    """
    where = "all_reduce_rail_open_shop_exchange"
    if not 1 <= ranks_per_host <= _MOST_RANKS_PER_HOST:
        raise ArgumentError(
            f"{where}: expected 1 … {_MOST_RANKS_PER_HOST} ranks per host, found {ranks_per_host}"
        )
    factors = _checked(where, host_count, slow_hosts, segments)
    units, slots = open_shop(tuple(factors))
    return _RailBodies(units, segments, ranks_per_host).schedule(slots)


@dataclass(frozen=True)
class ExchangeBody:
    """The cost of one more segment of an exchange for several slow ranks.

    Attributes
    ----------
    load : float, the busiest port's time over N·β of a healthy one, were the segment the whole buffer.
    rounds : int, messages that the port with the most of them sends one after the other, or at once.
    transfers : int, of all ranks together.
    """

    load: float
    rounds: int
    transfers: int


def open_shop_body(rank_count: int, slow: Mapping[int, float]) -> ExchangeBody:
    """Return the cost of a body of all_reduce_open_shop_exchange; raises ArgumentError like it."""
    factors = _checked("open_shop_body", rank_count, slow, 1)
    units, slots = open_shop(tuple(factors))
    load = slow_shares.one_port_time(units / units.sum(), factors)
    return ExchangeBody(load, len(slots), int(_messages(units).sum()))


def paced_body(rank_count: int, slow: Mapping[int, float]) -> ExchangeBody:
    """Return the cost of a body of all_reduce_paced_exchange; raises ArgumentError like it."""
    shares = slow_shares.shared_port_shares(_checked("paced_body", rank_count, slow, 1))
    messages = _messages(shares.units)
    return ExchangeBody(shares.time, int(messages.sum(axis=1).max()), int(messages.sum()))


def _checked(where: str, rank_count: int, slow: Mapping[int, float], segments: int) -> Floats:
    check_segments(where, segments)
    return slow_shares.relative_factors(where, rank_count, slow)


def _messages(units: Integers) -> Integers:
    """Return what each rank sends to each in one body, in units."""
    messages = np.add.outer(units, units)
    np.fill_diagonal(messages, 0)
    return messages


@lru_cache(maxsize=16)
def open_shop(factor_of_rank: tuple[float, ...]) -> tuple[Integers, list[Integers]]:
    """Cut a body into slots; return the ranks' units, fine enough, and slot by slot the units from each to each."""
    factors = np.array(factor_of_rank)
    units = slow_shares.one_port_shares(factors).units
    times, slots = cut_into_slots(factors, _messages(units), max(1, MOST_UNITS // int(units.max())))
    return units * times, slots


def exchange_pattern(units: Integers, slots: list[Integers]) -> Integers:
    """Return rows of slot, src, dst, chunk of the segment, reduce: one body's units in order.

    A pair's message is its receiver's units, raw, then its sender's, finished: units that must wait for others go last.
    """
    first_unit = np.cumsum(units) - units
    sent = np.zeros_like(slots[0])
    rows = []
    for number, slot in enumerate(slots):
        for src, dst in np.argwhere(slot > 0):
            for unit in range(sent[src, dst], sent[src, dst] + slot[src, dst]):
                is_raw = unit < units[dst]
                owner, index = (dst, unit) if is_raw else (src, unit - units[dst])
                rows.append((number, src, dst, first_unit[owner] + index, is_raw))
        sent = sent + slot
    return np.array(rows, dtype=np.int64)


class _Bodies:
    """Writes the schedule: in body b the reduce-scatter of segment b and the all-gather of segment b - 1."""

    def __init__(self, units: Integers, segments: int) -> None:
        self._units = units
        self._total = int(units.sum())
        self._segments = segments

    def schedule(self, slots: list[Integers]) -> Schedule:
        pattern = exchange_pattern(self._units, slots)
        rows = pipelined(
            pattern, 1 - pattern[:, 4], segments=self._segments, steps=len(slots), chunks=self._total
        )
        owner = np.tile(np.repeat(np.arange(len(self._units)), self._units), self._segments)
        collective = Collective.with_owners("all_reduce", len(self._units), owner.tolist())
        return Schedule.from_transfers(collective, rows)


class _RailBodies(_Bodies):
    """The same between hosts on every rail. Body b reduce-scatters segment b inside the hosts, exchanges b - 1 and
    b - 2 between them, and gathers b - 3 inside.

    Segment, rail and unit number the chunks; a unit belongs to its owning host's rank on that rail.
    """

    def __init__(self, units: Integers, segments: int, ranks_per_host: int) -> None:
        super().__init__(units, segments)
        self._rails = ranks_per_host

    def schedule(self, slots: list[Integers]) -> Schedule:
        steps = max(len(slots), self._rails - 1)
        between, inside = exchange_pattern(self._units, slots), self._inside_pattern()
        bodies = []
        for body in range(self._segments + 3):
            bodies += [self._inside(inside, body, steps), self._between(between, body, steps)]
        host_of_unit = np.repeat(np.arange(len(self._units)), self._units)
        owner = host_of_unit[None, :] * self._rails + np.arange(self._rails)[:, None]
        ranks = len(self._units) * self._rails
        collective = Collective.with_owners(
            "all_reduce", ranks, np.tile(owner.ravel(), self._segments).tolist()
        )
        return Schedule.from_transfers(collective, np.concatenate(bodies))

    def _inside_pattern(self) -> Integers:
        """Return rows of round, src, dst, src's rail, dst's rail, unit for every host and unit."""
        rounds, rails = np.arange(1, self._rails), np.arange(self._rails)
        hosts, units = np.arange(len(self._units)), np.arange(self._total)
        turn, host, rail, unit = (
            grid.ravel() for grid in np.meshgrid(rounds, hosts, rails, units, indexing="ij")
        )
        peer = (rail + turn) % self._rails
        first = host * self._rails
        return np.column_stack([turn - 1, first + rail, first + peer, rail, peer, unit]).astype(np.int64)

    def _inside(self, pattern: Integers, body: int, steps: int) -> Integers:
        """Return what hosts do inside: raw parts to the rank of their rail, results from the rank of theirs."""
        step, rows = pattern[:, 0] + body * steps, []
        for segment, rail, is_raw in ((body, pattern[:, 4], 1), (body - 3, pattern[:, 3], 0)):
            if 0 <= segment < self._segments:
                chunk = (segment * self._rails + rail) * self._total + pattern[:, 5]
                rows.append(
                    np.column_stack([step, pattern[:, 1], pattern[:, 2], chunk, np.full_like(step, is_raw)])
                )
        return np.concatenate(rows) if rows else np.empty((0, 5), np.int64)

    def _between(self, pattern: Integers, body: int, steps: int) -> Integers:
        """Return what the hosts exchange, the same on every rail."""
        raw = pattern[:, 4] == 1
        segment = np.where(raw, body - 1, body - 2)
        rows = []
        for rail in range(self._rails):
            kept = pattern.copy()
            kept[:, 0] += body * steps
            kept[:, 1:3] = kept[:, 1:3] * self._rails + rail
            kept[:, 3] += (segment * self._rails + rail) * self._total
            rows.append(kept[(segment >= 0) & (segment < self._segments)])
        return np.concatenate(rows)


def _with_several_slow_ranks(task: Task) -> list[Variant]:
    """Return the best number of segments of a paced exchange, where rounds of equal messages would keep ports waiting.

    It sends many small messages. The plan lets a port carry one after the other: hosts, too, take time for each, which
    no simulation counts.
    """
    n, slow = task.rank_count, task.conditions.slow_ranks
    if n > _MOST_PLANNED:
        return []
    factors = [slow.get(rank, 1.0) for rank in range(n)]
    if sum(factor > min(factors) for factor in factors) < 2:
        return []
    body = paced_body(n, slow)
    unit = 2 * (n - 1) / body.transfers
    choice = best_measurable_segments(task.core, load=body.load, rounds=body.rounds, message=unit)
    if choice is None:
        return []
    segments, seconds = choice
    return [Variant(seconds, segments * body.transfers, "segments", segments)]


def _with_several_slow_hosts(task: Task) -> list[Variant]:
    slow, per_host = task.slow_hosts
    hosts = task.rank_count // per_host
    if len(slow) < 2 or hosts > _MOST_PLANNED:
        return []
    body = open_shop_body(hosts, slow)
    units = body.transfers // (2 * (hosts - 1))
    return [best_rail_variant(task.core, load=body.load, rounds=body.rounds, chunks=units)]


def too_few_ranks(task: Task) -> str:
    """Return the reason why an exchange cannot run, if there is one."""
    return "" if task.rank_count >= 2 else f"expected at least 2 ranks, found {task.rank_count}"


_PAPER = Paper("OptCC", "Chen, Jiang, Yu, Wang, Xiong, Wang, Liu 2026")

ALGORITHMS = (
    Algorithm(
        name="all_reduce_open_shop_exchange",
        kind="all_reduce",
        paper=_PAPER,
        idea="The weighted exchange for several slow ranks, its messages cut into slots in each of which every rank "
        "has one partner, so that no port waits for another.",
        sizes="any n ≥ 2",
        function=all_reduce_open_shop_exchange,
        needs="slow",
        formula="T(K+1)/K·N·β for the busiest port's load T, bandwidth only",
        unable=too_few_ranks,
    ),
    Algorithm(
        name="all_reduce_paced_exchange",
        kind="all_reduce",
        paper=_PAPER,
        idea="The weighted exchange with all messages of a segment in flight at once, in units of one size, for ports "
        "that share their bandwidth fairly.",
        sizes="any n ≥ 2",
        function=all_reduce_paced_exchange,
        needs="slow",
        steps_formula="K+1",
        formula="max(2(n-1)/Σ 1/l, max l)(K+1)/K·N·β, bandwidth only",
        unable=too_few_ranks,
        variants=_with_several_slow_ranks,
    ),
    Algorithm(
        name="all_reduce_rail_open_shop_exchange",
        kind="all_reduce",
        paper=_PAPER,
        idea="The open-shop exchange over hosts on every rail, for several slow hosts, phases inside the hosts one "
        "segment ahead and one behind.",
        sizes="q ≥ 2 hosts of g ranks",
        function=all_reduce_rail_open_shop_exchange,
        needs="slow",
        formula="(T(K+1)+2)/(gK)·N·β for the busiest NIC's load T, bandwidth only",
        variants=_with_several_slow_hosts,
    ),
)
