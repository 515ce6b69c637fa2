# SPDX-License-Identifier: Apache-2.0
"""The two network models once more, written for plainness: exact fractions, no event queue, no counters. At
every instant each rule is asked of every transfer. Slow, and therefore only for a few dozen transfers."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import networkx as nx

NEVER = Fraction(10**30)

#: (step, src, dst)
Message = tuple[int, int, int]
#: A transfer, and the link that its message takes for itself, or none where these are the transfer's bytes.
Flow = tuple[int, int | None]


@dataclass(frozen=True)
class Transfer:
    step: int
    src: int
    dst: int
    chunk: int
    src_slot: int = 0
    dst_slot: int = 0


@dataclass
class Case:
    """Transfers by (step, src, dst, src_slot, dst_slot, chunk); links are (src, dst, latency, time per byte), no two
    parallel; `messages` is what a message costs each link, nothing where it is empty."""

    transfers: list[Transfer]
    sizes: list[int]
    links: list[tuple[int, int, int, int]]
    arrival: list[int]
    messages: list[int] = field(default_factory=list)
    paths: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.messages = self.messages or [0] * len(self.links)
        graph = nx.DiGraph()
        number = {(src, dst): i for i, (src, dst, _, _) in enumerate(self.links)}
        graph.add_edges_from(number)
        for t in self.transfers:
            if t.src == t.dst:
                self.paths.append([])
                continue
            ways = [
                [number[edge] for edge in pairwise(way)] for way in nx.all_shortest_paths(graph, t.src, t.dst)
            ]
            self.paths.append(min(ways, key=self.time_along))

    def time_along(self, way: list[int]) -> int:
        """Of a message of the largest chunk, alone: the latencies, its own time and its bytes at the slowest link."""
        links = [self.links[link] for link in way]
        own = max(self.messages[link] for link in way)
        return sum(link[2] for link in links) + own + max(self.sizes) * max(link[3] for link in links)

    def size(self, t: int) -> int:
        return self.sizes[self.transfers[t].chunk]

    def message(self, t: int) -> Message:
        """What t is part of: all that its rank sends the other in its step."""
        me = self.transfers[t]
        return (me.step, me.src, me.dst)


class Rules:
    """What a transfer waits for, asked of the history so far."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.all = range(len(case.transfers))
        self.left = [NEVER for _ in self.all]
        self.arrived = [NEVER for _ in self.all]
        self.landed = [NEVER for _ in self.all]

    def may_read(self, t: int, now: Fraction) -> bool:
        """Every write of an earlier step to the slot that t reads has landed."""
        me = self.case.transfers[t]
        return all(
            self.landed[u] <= now
            for u in self.all
            if self.case.transfers[u].step < me.step and self.slot_written(u) == self.slot_read(t)
        )

    def may_land(self, t: int, now: Fraction) -> bool:
        """Writes before t have landed, reads of no later step have left, and the rank is there."""
        me = self.case.transfers[t]
        slot = self.slot_written(t)
        writes = [u for u in self.all if u < t and self.slot_written(u) == slot]
        reads = [u for u in self.all if self.case.transfers[u].step <= me.step and self.slot_read(u) == slot]
        return (
            self.arrived[t] <= now
            and self.case.arrival[me.dst] <= now
            and all(self.landed[u] <= now for u in writes)
            and all(self.left[u] <= now for u in reads)
        )

    def has_turn(self, t: int, now: Fraction, end: int) -> bool:
        """Every transfer of an earlier step on the same port (end 0: out, -1: in) has left."""
        port = self.case.paths[t][end]
        return all(
            self.left[u] <= now
            for u in self.all
            if self.case.paths[u]
            and self.case.paths[u][end] == port
            and self.case.transfers[u].step < self.case.transfers[t].step
        )

    def slot_written(self, u: int) -> tuple[int, int, int]:
        return (self.case.transfers[u].dst, self.case.transfers[u].dst_slot, self.case.transfers[u].chunk)

    def slot_read(self, u: int) -> tuple[int, int, int]:
        return (self.case.transfers[u].src, self.case.transfers[u].src_slot, self.case.transfers[u].chunk)

    def move_within_ranks(self, now: Fraction) -> bool:
        """From slot to slot of one rank, once it is there: no port and no time; says whether anything moved."""
        moving = [
            t
            for t in self.all
            if not self.case.paths[t]
            and self.left[t] == NEVER
            and self.case.arrival[self.case.transfers[t].src] <= now
            and self.may_read(t, now)
        ]
        for t in moving:
            self.left[t] = self.arrived[t] = now
        return bool(moving)

    def land_all(self, now: Fraction) -> bool:
        """Lands what may land now; says whether anything did."""
        landing = [t for t in self.all if self.landed[t] == NEVER and self.may_land(t, now)]
        for t in landing:
            self.landed[t] = now
        return bool(landing)

    def finish(self) -> list[Fraction]:
        done = [Fraction(a) for a in self.case.arrival]
        for t, me in enumerate(self.case.transfers):
            done[me.src] = max(done[me.src], self.left[t])
            done[me.dst] = max(done[me.dst], self.landed[t])
        return done


def fifo(case: Case) -> list[Fraction]:
    """When each rank is done on a network of queues."""
    rules = Rules(case)
    queues: list[list[tuple[Fraction, int, int]]] = [[] for _ in case.links]  # (since, transfer, hop)
    free = [Fraction(0) for _ in case.links]
    flying: list[tuple[Fraction, int, int]] = []  # (arrival, transfer, hop)
    asked: set[int] = set()
    paid: set[tuple[Message, int]] = set()  # which messages have paid on which links

    def deliver(now: Fraction) -> bool:
        here = [f for f in flying if f[0] <= now]
        for f in sorted(here):
            flying.remove(f)
            _, t, hop = f
            if hop + 1 < len(case.paths[t]):
                queues[case.paths[t][hop + 1]].append((now, t, hop + 1))
            else:
                rules.arrived[t] = now
        return bool(here)

    def ask(now: Fraction) -> bool:
        new = [
            t
            for t in rules.all
            if t not in asked
            and case.paths[t]
            and case.arrival[case.transfers[t].src] <= now
            and rules.may_read(t, now)
            and rules.has_turn(t, now, 0)
        ]
        asked.update(new)
        for t in new:
            queues[case.paths[t][0]].append((now, t, 0))
        return bool(new)

    def serve(now: Fraction) -> bool:
        served = False
        for link, (_, _, latency, per_byte) in enumerate(case.links):
            if not queues[link] or free[link] > now:
                continue
            first = min(queues[link])
            queues[link].remove(first)
            _, t, hop = first
            message = (case.message(t), link)
            free[link] = now + case.size(t) * per_byte + (0 if message in paid else case.messages[link])
            paid.add(message)
            flying.append((free[link] + latency, t, hop))
            if hop == 0:
                rules.left[t] = free[link]
            served = True
        return served

    now = Fraction(0)
    while now < NEVER:
        while deliver(now) or rules.move_within_ranks(now) or rules.land_all(now) or ask(now) or serve(now):
            pass
        times = [f[0] for f in flying] + free + rules.left + [Fraction(a) for a in case.arrival]
        now = min((t for t in times if t > now), default=NEVER)
    return rules.finish()


def fair_rates(paths: dict[Flow, list[int]], capacity: list[Fraction]) -> dict[Flow, Fraction]:
    """Raise all rates together; a full link stops the flows on it."""
    rates = {t: Fraction(0) for t in paths}
    spare = list(capacity)
    rising = set(paths)
    while rising:
        users = {link: sum(link in paths[t] for t in rising) for link in range(len(spare))}
        rise = min(spare[link] / count for link, count in users.items() if count)
        for t in rising:
            rates[t] += rise
        for link, count in users.items():
            spare[link] -= rise * count
        full = {link for link, count in users.items() if count and spare[link] == 0}
        rising = {t for t in rising if not full & set(paths[t])}
    return rates


class Inflows:
    """What comes to each link, from the rates at which flows leave their sources, and what waits there."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.rates: list[tuple[Fraction, Fraction, dict[Flow, Fraction]]] = []  # (from, to, of each flow)

    def latency_before(self, t: int, link: int) -> int:
        path = self.case.paths[t]
        return sum(self.case.links[before][2] for before in path[: path.index(link)])

    def stretches(self, link: int) -> list[tuple[Fraction, Fraction, Fraction]]:
        """From when to when what comes at which rate, flow by flow."""
        return [
            (begin + self.latency_before(t, link), end + self.latency_before(t, link), rate)
            for begin, end, rates in self.rates
            for (t, only), rate in rates.items()
            if link in self.case.paths[t] and only in (None, link)
        ]

    def waiting(self, link: int, until: Fraction) -> Fraction:
        """How long what comes to the link at `until` waits there: of what has come since it was idle last, what
        it has not carried."""
        stretches = [
            (begin, min(end, until), rate) for begin, end, rate in self.stretches(link) if begin < until
        ]
        per_byte = self.case.links[link][3]
        return max(
            (
                sum((end - max(begin, since)) * rate for begin, end, rate in stretches if end > since)
                * per_byte
                - (until - since)
                for since in {begin for begin, _, _ in stretches} | {until}
            ),
        )

    def longest_wait(self, t: int, left: Fraction) -> Fraction:
        """Of the last byte of t, over the links of its path."""
        return max(self.waiting(link, left + self.latency_before(t, link)) for link in self.case.paths[t])


def fluid(case: Case) -> list[Fraction]:
    """When each rank is done where flows share links."""
    rules = Rules(case)
    inflows = Inflows(case)
    capacity = [Fraction(1, per_byte) for _, _, _, per_byte in case.links]
    flowing: dict[Flow, Fraction] = {}  # bytes left
    flying: dict[int, Fraction] = {}  # transfer -> when its last byte arrives if it waits nowhere
    started: set[int] = set()
    paying: dict[Message, set[int]] = {}  # the links that a message still takes for itself
    waiting: list[int] = []  # for their messages to have paid

    def start(now: Fraction) -> bool:
        new = [
            t
            for t in rules.all
            if t not in started
            and case.paths[t]
            and max(case.arrival[case.transfers[t].src], case.arrival[case.transfers[t].dst]) <= now
            and rules.may_read(t, now)
            and rules.has_turn(t, now, 0)
            and rules.has_turn(t, now, -1)
        ]
        started.update(new)
        waiting.extend(new)
        for t in new:
            if case.message(t) not in paying:
                paying[case.message(t)] = {link for link in case.paths[t] if case.messages[link]}
                for link in paying[case.message(t)]:
                    flowing[t, link] = case.messages[link] * capacity[link]
        free = [t for t in waiting if not paying[case.message(t)]]
        for t in free:
            waiting.remove(t)
            flowing[t, None] = Fraction(case.size(t))
        return bool(new or free)

    def end(now: Fraction) -> bool:
        done = [flow for flow, left in flowing.items() if left == 0]
        for t, link in done:
            del flowing[t, link]
            if link is not None:
                paying[case.message(t)].remove(link)
                continue
            rules.left[t] = now
            flying[t] = now + sum(case.links[link][2] for link in case.paths[t])
        return bool(done)

    def arrive(now: Fraction) -> bool:
        here = [t for t, arrival in flying.items() if arrival == now]
        for t in here:
            rules.arrived[t] = flying.pop(t) + inflows.longest_wait(t, rules.left[t])
        return bool(here)

    now = Fraction(0)
    while now < NEVER:
        while end(now) or arrive(now) or rules.move_within_ranks(now) or rules.land_all(now) or start(now):
            pass
        paths = {(t, only): case.paths[t] if only is None else [only] for t, only in flowing}
        rates = fair_rates(paths, capacity)
        times = [now + left / rates[flow] for flow, left in flowing.items()]
        times += list(flying.values()) + rules.arrived + [Fraction(a) for a in case.arrival]
        later = min((t for t in times if t > now), default=NEVER)
        for flow in flowing:
            flowing[flow] -= rates[flow] * (later - now)
        inflows.rates.append((now, later, rates))
        now = later
    return rules.finish()
