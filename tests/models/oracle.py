"""The two network models once more, written for plainness: exact fractions, no event queue, no counters. At
every instant each rule is asked of every transfer. Slow, and therefore only for a few dozen transfers."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import networkx as nx

NEVER = Fraction(10**30)


@dataclass(frozen=True)
class Transfer:
    step: int
    src: int
    dst: int
    chunk: int


@dataclass
class Case:
    """Transfers by (step, src, dst, chunk); links are (src, dst, latency, time per byte), no two parallel."""

    transfers: list[Transfer]
    sizes: list[int]
    links: list[tuple[int, int, int, int]]
    arrival: list[int]
    paths: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        graph = nx.DiGraph()
        number = {(src, dst): i for i, (src, dst, _, _) in enumerate(self.links)}
        graph.add_edges_from(number)
        for t in self.transfers:
            ways = [
                [number[edge] for edge in pairwise(way)] for way in nx.all_shortest_paths(graph, t.src, t.dst)
            ]
            self.paths.append(min(ways, key=lambda way: sum(self.links[link][2] for link in way)))

    def size(self, t: int) -> int:
        return self.sizes[self.transfers[t].chunk]


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
            if (w := self.case.transfers[u]).step < me.step and (w.dst, w.chunk) == (me.src, me.chunk)
        )

    def may_land(self, t: int, now: Fraction) -> bool:
        """Writes before t have landed, reads of no later step have left, and the rank is there."""
        me = self.case.transfers[t]
        slot = (me.dst, me.chunk)
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
            if self.case.paths[u][end] == port and self.case.transfers[u].step < self.case.transfers[t].step
        )

    def slot_written(self, u: int) -> tuple[int, int]:
        return (self.case.transfers[u].dst, self.case.transfers[u].chunk)

    def slot_read(self, u: int) -> tuple[int, int]:
        return (self.case.transfers[u].src, self.case.transfers[u].chunk)

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
            free[link] = now + case.size(t) * per_byte
            flying.append((free[link] + latency, t, hop))
            if hop == 0:
                rules.left[t] = free[link]
            served = True
        return served

    now = Fraction(0)
    while now < NEVER:
        while deliver(now) or rules.land_all(now) or ask(now) or serve(now):
            pass
        times = [f[0] for f in flying] + free + rules.left + [Fraction(a) for a in case.arrival]
        now = min((t for t in times if t > now), default=NEVER)
    return rules.finish()


def fair_rates(paths: dict[int, list[int]], capacity: list[Fraction]) -> dict[int, Fraction]:
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


def fluid(case: Case) -> list[Fraction]:
    """When each rank is done where flows share links."""
    rules = Rules(case)
    capacity = [Fraction(1, per_byte) for _, _, _, per_byte in case.links]
    flowing: dict[int, Fraction] = {}  # transfer -> bytes left
    started: set[int] = set()

    def start(now: Fraction) -> bool:
        new = [
            t
            for t in rules.all
            if t not in started
            and max(case.arrival[case.transfers[t].src], case.arrival[case.transfers[t].dst]) <= now
            and rules.may_read(t, now)
            and rules.has_turn(t, now, 0)
            and rules.has_turn(t, now, -1)
        ]
        started.update(new)
        flowing.update({t: Fraction(case.size(t)) for t in new})
        return bool(new)

    def end(now: Fraction) -> bool:
        done = [t for t, left in flowing.items() if left == 0]
        for t in done:
            del flowing[t]
            rules.left[t] = now
            rules.arrived[t] = now + sum(case.links[link][2] for link in case.paths[t])
        return bool(done)

    now = Fraction(0)
    while now < NEVER:
        while end(now) or rules.land_all(now) or start(now):
            pass
        rates = fair_rates({t: case.paths[t] for t in flowing}, capacity)
        times = [now + left / rates[t] for t, left in flowing.items()]
        times += rules.arrived + [Fraction(a) for a in case.arrival]
        later = min((t for t in times if t > now), default=NEVER)
        for t in flowing:
            flowing[t] -= rates[t] * (later - now)
        now = later
    return rules.finish()
