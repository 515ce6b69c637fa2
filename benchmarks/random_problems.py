# SPDX-License-Identifier: Apache-2.0
"""Random collectives on random networks, each with a random schedule that is right: what a bound must hold for.

A problem is a function of its seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

import hemiola as hm

KINDS: tuple[hm.Kind, ...] = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
)
NETWORKS = ("fluid", "fifo")

#: (step, src, dst, chunk, whether it is added)
Row = tuple[int, int, int, int, bool]

_LATENCIES_S = (0.0, 1e-6, 10e-6)
_BANDWIDTHS = (1e8, 1e9, 10e9)


@dataclass(frozen=True)
class Problem:
    """A collective with all that its time depends on."""

    topology: hm.Topology
    kind: hm.Kind
    root: int
    nbytes: int
    conditions: hm.Conditions
    schedule: hm.Schedule

    def bound(self) -> hm.LowerBound:
        """Return what no schedule can beat."""
        return hm.lower_bound(self.topology, self.kind, self.nbytes, self.conditions, self.root)

    def seconds(self, network: str) -> float:
        """Return what the schedule takes."""
        return hm.simulate(self.schedule, self.topology, self.nbytes, self.conditions, network).seconds

    @property
    def rounding_s(self) -> float:
        """What the simulator may round down: half a picosecond for each message on each link of its path, and as much
        for what it costs the link beside its bytes."""
        longest_path = self.topology.rank_count + self.topology.switch_count - 1
        costs = 2 if self.topology.links["message_s"].any() else 1
        return 0.5e-12 * self.schedule.transfer_count * longest_path * costs


def random_problem(seed: int) -> Problem:
    """Make the problem of a seed: 2 to 6 ranks, up to two switches, hosts now and then; a third with messages that cost
    something, a quarter each with late and slow ranks; a registered algorithm every fifth time, else random trees."""
    rng = random.Random(seed)
    ranks = rng.randint(2, 6)
    kind, root = rng.choice(KINDS), rng.randrange(ranks)
    topology = with_messages(random.Random(f"{seed}: messages"), random_topology(rng, ranks))
    conditions = hm.Conditions(
        late={r: rng.uniform(0, 30e-6) for r in range(ranks) if rng.random() < 0.1},
        slow={r: rng.choice((1.5, 2.0, 10.0)) for r in range(ranks) if rng.random() < 0.1},
    )
    nbytes = rng.choice((1, rng.randint(1, 100), rng.randint(100, 10_000), 1000 * rng.randint(1, 1000)))
    if not is_rooted(kind):
        root = 0
    schedule = registered_schedule(rng, kind, ranks, root) if rng.random() < 0.2 else None
    if schedule is None:
        schedule = tree_schedule(rng, kind, ranks, root)
    return Problem(topology, kind, root, nbytes, conditions, schedule)


def is_rooted(kind: str) -> bool:
    """Whether one rank is special."""
    return kind in ("broadcast", "reduce", "gather", "scatter")


def random_topology(rng: random.Random, ranks: int) -> hm.Topology:
    """Return a random tree of two-way links over ranks and switches, often lopsided, and some one-way links more."""
    switches = rng.choice((0, 0, 1, 2))
    vertices = list(range(ranks + switches))
    rng.shuffle(vertices)
    rows: list[tuple[int, int, float, float]] = []
    for number in range(1, len(vertices)):
        there, here = vertices[number], vertices[rng.randrange(number)]
        one_way = _speed(rng)
        rows.append((here, there, *one_way))
        rows.append((there, here, *(one_way if rng.random() < 0.5 else _speed(rng))))
    for _ in range(rng.randrange(ranks)):
        src, dst = rng.sample(vertices, 2)
        rows.append((src, dst, *_speed(rng)))
    nodes = sorted(rng.randrange(2) for _ in range(ranks)) if rng.random() < 0.3 else []
    nodes = [node - nodes[0] for node in nodes]
    return hm.Topology(ranks, rows, switch_count=switches, nodes=nodes)


def with_messages(rng: random.Random, topology: hm.Topology) -> hm.Topology:
    """Let a message cost links something, often the same; two of three networks stay as they are."""
    if rng.random() < 2 / 3:
        return topology
    links = topology.links.copy()
    links["message_s"] = [rng.choice((0.0, 1e-6, 1e-6, 3e-6, 7.3e-6)) for _ in range(len(links))]
    return hm.Topology(
        topology.rank_count, links, switch_count=topology.switch_count, nodes=topology.nodes.tolist()
    )


def _speed(rng: random.Random) -> tuple[float, float]:
    """Draw a latency and a bandwidth, often equal to another link's."""
    latency_s = rng.choice(_LATENCIES_S) if rng.random() < 0.7 else rng.randrange(20_000_000) * 1e-12
    return latency_s, rng.choice(_BANDWIDTHS) if rng.random() < 0.7 else rng.uniform(1e8, 1e10)


def registered_schedule(rng: random.Random, kind: str, ranks: int, root: int) -> hm.Schedule | None:
    """Return one of the library's, None if it has none of that kind for so many ranks."""
    fitting = [
        algorithm for algorithm in _algorithms() if algorithm.kind == kind and algorithm.is_valid(ranks)
    ]
    return rng.choice(fitting).generate(ranks, root) if fitting else None


@cache
def _algorithms() -> list[hm.algorithms.Algorithm]:
    return [hm.algorithms.get(name) for name in hm.algorithms.names()]


def tree_schedule(rng: random.Random, kind: str, ranks: int, root: int) -> hm.Schedule:
    """Return a schedule in which every chunk goes along a random tree, or is added up along one, at random times."""
    per_owner = rng.choice((1, 1, 2, 3))
    chunks = per_owner * {"all_to_all": ranks**2, "broadcast": 1, "reduce": 1}.get(kind, ranks)
    collective = hm.Collective.make(kind, ranks, chunks, root)
    rows: list[Row] = []
    for chunk, owner in enumerate(np.asarray(collective.owner).tolist()):
        rows += _chunk_rows(rng, collective, owner, chunk)
    weights = None
    if kind in ("all_reduce", "broadcast", "reduce"):
        weights = [rng.randint(1, 4) for _ in range(chunks)]
    return hm.Schedule.from_transfers(collective, rows, weights)


def _chunk_rows(rng: random.Random, collective: hm.Collective, owner: int, chunk: int) -> Iterator[Row]:
    ranks, root = collective.rank_count, collective.root or 0
    everyone = set(range(ranks))
    match collective.kind:
        case "all_gather" | "broadcast":
            yield from _spreading(rng, ranks, owner, everyone, chunk)
        case "gather":
            yield from _spreading(rng, ranks, owner, {root}, chunk)
        case "scatter":
            yield from _spreading(rng, ranks, root, {owner}, chunk)
        case "all_to_all":
            receiver = chunk // (collective.chunk_count // ranks**2) % ranks
            yield from _spreading(rng, ranks, owner, {receiver}, chunk)
        case "reduce_scatter" | "reduce":
            yield from _adding(rng, ranks, owner, chunk)
        case _:
            hub = rng.randrange(ranks)
            added = list(_adding(rng, ranks, hub, chunk))
            yield from added
            end = max(row[0] for row in added) + 1
            for step, src, dst, _, add in _spreading(rng, ranks, hub, everyone, chunk):
                yield (end + step, src, dst, chunk, add)


def _spreading(rng: random.Random, ranks: int, start: int, wanted: set[int], chunk: int) -> Iterator[Row]:
    """Copy along a random tree, of which only what leads to a rank that wants the chunk is kept."""
    tree, parent, came = [start], [start] * ranks, [-1] * ranks
    for rank in rng.sample(range(ranks), ranks):
        if rank == start:
            continue
        parent[rank] = tree[int(rng.random() * len(tree))]
        came[rank] = came[parent[rank]] + (1 if rng.random() < 0.7 else 2)
        tree.append(rank)
    useful = {start}
    for rank in wanted:
        while rank not in useful:
            useful.add(rank)
            rank = parent[rank]
    for rank in tree[1:]:
        if rank in useful:
            yield (came[rank], parent[rank], rank, chunk, False)


def _adding(rng: random.Random, ranks: int, end: int, chunk: int) -> Iterator[Row]:
    """A spreading turned round."""
    spreading = list(_spreading(rng, ranks, end, set(range(ranks)), chunk))
    last = max(row[0] for row in spreading)
    for step, src, dst, _, _ in spreading:
        yield (last - step, dst, src, chunk, True)
