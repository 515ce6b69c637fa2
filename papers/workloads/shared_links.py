# SPDX-License-Identifier: Apache-2.0
"""Two collectives at once: the model of a step, against one simulation of both on the same wires."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from hemiola import algorithms, plan, topologies
from hemiola._core import Collective, Schedule, Topology
from hemiola.arguments.names import as_kind
from hemiola.simulate import Timeline, simulate
from hemiola.workload.course import Course
from hemiola.workload.running import Cost, run
from hemiola.workload.task import Call, Step, Task
from papers.report import Report

_MIB, _KIB = 1 << 20, 1 << 10
#: A wire that takes no time.
_FREE = 1e15
NETWORKS = (
    topologies.switch(8, latency_s=2e-6, bandwidth=25e9),
    topologies.torus([2, 4], latency_s=0.5e-6, bandwidth=50e9),
    topologies.ring(6, latency_s=0.5e-6, bandwidth=50e9),
    topologies.hosts(2, 4, 1, latency_s=1e-6, bandwidth=150e9, nic_latency_s=3e-6, nic_bandwidth=25e9),
)
_RINGS = ("all_reduce_ring", "all_reduce_ring_two_way", "all_gather_ring", "reduce_scatter_ring")
#: Where every two ranks are as near.
_DIRECT = ("all_reduce_direct", "all_gather_direct", "reduce_scatter_direct")
_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
_CLOSE = 0.02


@dataclass(frozen=True)
class Job:
    """A collective on one of the networks.

    Attributes
    ----------
    name : str, an algorithm; or a collective, which is planned.
    nbytes : int, one rank's buffer.
    """

    name: str
    nbytes: int

    def schedule(self, place: int) -> Schedule:
        """Return its schedule on the network of that place."""
        return _planned(place, self.name, self.nbytes) if self.name in _KINDS else _made(place, self.name)


@lru_cache(maxsize=256)
def _planned(place: int, kind: str, nbytes: int) -> Schedule:
    found = plan(NETWORKS[place], as_kind(kind), nbytes).schedule
    assert isinstance(found, Schedule)
    return found


@lru_cache(maxsize=64)
def _made(place: int, name: str) -> Schedule:
    return algorithms.get(name).generate(NETWORKS[place].rank_count)


def _ring_job(dice: random.Random, place: int) -> Job:
    names = _RINGS + _DIRECT if NETWORKS[place].switch_count else _RINGS
    return Job(dice.choice(names), dice.choice([64, 128, 256]) * _MIB)


def _planned_job(kinds: Sequence[str], sizes: Sequence[int], dice: random.Random, _: int) -> Job:
    return Job(dice.choice(kinds), dice.choice(sizes))


#: What pairs are drawn from, by a name.
SETS: Mapping[str, Callable[[random.Random, int], Job]] = {
    "rings and direct, 64 to 256 MiB": _ring_job,
    "planned, 1 to 64 MiB": partial(_planned_job, _KINDS, [_MIB, 8 * _MIB, 64 * _MIB]),
    "planned all-to-alls, 64 KiB to 4 MiB": partial(
        _planned_job, ("all_to_all",), [64 * _KIB, 256 * _KIB, _MIB, 4 * _MIB]
    ),
}


def drawn(name: str, count: int = 100, seed: int = 7) -> list[tuple[int, tuple[Job, Job]]]:
    """Draw pairs of a set, each with the place of its network; slots aside are those of one collective alone."""
    dice = random.Random(seed)
    found: list[tuple[int, tuple[Job, Job]]] = []
    while len(found) < count:
        place = dice.randrange(len(NETWORKS))
        pair = SETS[name](dice, place), SETS[name](dice, place)
        if not any(job.schedule(place).scratch_count for job in pair):
            found.append((place, pair))
    return found


@lru_cache(maxsize=256)
def alone(place: int, job: Job) -> Timeline:
    """Simulate a collective alone."""
    return simulate(job.schedule(place), NETWORKS[place], job.nbytes, unchecked=True)


@lru_cache(maxsize=256)
def course(place: int, job: Job) -> Course:
    """Return how it uses links alone."""
    return Course(alone(place, job).seconds, partial(alone, place, job), lambda busy_s: busy_s)


def shared_s(place: int, pair: tuple[Job, Job], *, is_even: bool = False) -> float:
    """Return when both are done by the model; with uses that are even over the time, or that follow their courses."""
    costs = {}
    for label, job in zip("ab", pair, strict=True):
        timeline = alone(place, job)
        even = np.minimum(timeline.link_busy_s / timeline.seconds, 1.0)
        costs[label] = Cost(timeline.seconds, even if is_even else course(place, job))
    tasks = tuple(Task(("all",), label, (), 0.0, Call("all_reduce", 1, label)) for label in costs)
    return run(Step("pair", tasks, ("all",)), lambda call, _: costs[call.group]).seconds


@lru_cache(maxsize=8)
def twofold(network: Topology) -> Topology:
    """Return the network with every rank twice, on the same wires.

    A port leaves in the order of steps. In one rank's schedule a collective would wait for the other's steps.
    """
    n, links = network.rank_count, np.asarray(network.links).tolist()
    first = 2 * n + network.switch_count
    rows = []
    for place, (src, dst, latency_s, bandwidth, message_s) in enumerate(links):
        begin, end = first + 2 * place, first + 2 * place + 1
        rows += [(rank, begin, 0.0, _FREE, 0.0) for rank in _ends_of(src, n)]
        rows += [(end, rank, 0.0, _FREE, 0.0) for rank in _ends_of(dst, n)]
        rows.append((begin, end, latency_s, bandwidth, message_s))
    nodes = [int(node) for node in network.nodes]
    return Topology(2 * n, rows, switch_count=network.switch_count + 2 * len(links), nodes=[*nodes, *nodes])


def _ends_of(vertex: int, n: int) -> tuple[int, ...]:
    """Return both ranks of one, or a switch in the new numbers."""
    return (vertex, n + vertex) if vertex < n else (n + vertex,)


def simulated_s(place: int, jobs: Sequence[Job]) -> float:
    """Simulate one or two collectives on the same wires, as one schedule."""
    n, network = NETWORKS[place].rank_count, twofold(NETWORKS[place])
    rows: list[NDArray[np.int64]] = []
    weights: list[int] = []
    for copy, job in enumerate(jobs):
        schedule = job.schedule(place)
        told = np.asarray(schedule.transfers)
        ends = told["src"] + copy * n, told["dst"] + copy * n
        columns = told["step"], *ends, told["chunk"] + len(weights), told["reduce"]
        rows.append(np.stack([np.asarray(one, dtype=np.int64) for one in columns], axis=1))
        shares = np.asarray(schedule.chunk_weights, dtype=np.float64)
        nbytes = job.nbytes * (n if schedule.collective.kind == "all_to_all" else 1)
        weights += [round(share) for share in shares / shares.sum() * nbytes]
    whole = Collective.with_owners("all_reduce", 2 * n, [chunk % (2 * n) for chunk in range(len(weights))])
    merged = Schedule.from_transfers(whole, np.concatenate(rows), weights)
    return simulate(merged, network, sum(weights), unchecked=True).seconds


def pairs(report: Report, command: str, *, count: int = 100, names: Sequence[str] = tuple(SETS)) -> None:
    """Table how many pairs the model meets."""
    report.section(
        f"Collectives that share links: {count} random pairs against one simulation of both",
        "Both begin at once, on a switch of 8, a torus of 2×4, a ring of 6, or two hosts of four. The simulation has "
        "each rank twice on the same wires, since a port that both shared would keep the steps of one behind the "
        "other's. The model runs both through their courses, as they are alone. Latencies share nothing. Even: "
        "the same with each link's use even over a collective's time. Percent from the simulation to the model.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for name in names:
        errors: dict[bool, list[float]] = {True: [], False: []}
        for place, pair in drawn(name, count):
            both_s = simulated_s(place, pair)
            for is_even, found in errors.items():
                found.append(shared_s(place, pair, is_even=is_even) / both_s - 1)
        within = [sum(abs(one) <= _CLOSE for one in errors[is_even]) for is_even in (False, True)]
        worst = (100 * max(errors[is_even], key=abs) for is_even in (False, True))
        rows.append((name, *within, *worst))
    columns = ("pairs of", "within 2 %", "even: within 2 %", "farthest, %", "even: farthest, %")
    report.table("shared_links", columns, rows)
