# SPDX-License-Identifier: Apache-2.0
"""Every row of the registry keeps its word: where it can run, what its candidates cost, that a recipe makes them."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import pytest

import hemiola as hm
from hemiola.algorithms import Algorithm, Task
from hemiola.algorithms.from_task import arguments_from
from hemiola.errors import ArgumentError
from hemiola.topology.port_speed import PortSpeed

ROWS = [hm.algorithms.get(name) for name in hm.algorithms.names(needs=None)]
ALPHA, BANDWIDTH = 1e-6, 1e10
#: For what a task does not state and nobody chooses.
COUNTS = {"segments": 2, "reduced": 1}


def rails(hosts: int, ranks_per_host: int, slow: dict[int, float]) -> hm.Topology:
    """Every rank has a NIC to its rail's switch, and four times that to its host's."""
    ranks, links = hosts * ranks_per_host, []
    for rank in range(ranks):
        host, rail = divmod(rank, ranks_per_host)
        for vertex, speed in ((ranks + host, 4 * BANDWIDTH), (ranks + hosts + rail, BANDWIDTH)):
            links += [(rank, vertex, ALPHA, speed), (vertex, rank, ALPHA, speed)]
    nodes = [rank // ranks_per_host for rank in range(ranks)]
    return hm.Topology(ranks, links, switch_count=hosts + ranks_per_host, nodes=nodes).with_slow_hosts(slow)


@functools.cache
def switches() -> list[hm.Topology]:
    return [hm.topologies.switch(n, latency_s=ALPHA, bandwidth=BANDWIDTH) for n in (1, *range(2, 10), 12)]


@functools.cache
def networks() -> list[hm.Topology]:
    cost = {"latency_s": ALPHA, "bandwidth": BANDWIDTH}
    return [
        *switches(),
        *(hm.topologies.ring(n, **cost) for n in (3, 8)),
        hm.topologies.fully_connected(8, **cost),
        hm.topologies.mesh([2, 3], **cost),
        hm.topologies.dgx1(),
        hm.topologies.switch_2d([4, 3], latency_s=ALPHA, bandwidth=[4 * BANDWIDTH, BANDWIDTH]),
        rails(3, 2, {1: 2.0}),
        rails(4, 2, {0: 2.0, 3: 1.5}),
        hm.Topology(3, [(0, 1, ALPHA, BANDWIDTH), (1, 0, ALPHA, BANDWIDTH), (1, 2, ALPHA, BANDWIDTH)]),
    ]


def conditions(n: int) -> list[hm.Conditions]:
    if n == 1:
        return [hm.Conditions()]
    late = [{n - 1: 1e-3}, {0: 1e-3, 1: 2e-3}, dict.fromkeys(range(n - 1), 1e-3)]
    slow = [{0: 2.0}, {n - 1: 1.25}, {0: 2.0, 1: 1.5}, dict.fromkeys(range(n), 2.0)]
    return [hm.Conditions(), *(hm.Conditions(late=x) for x in late), *(hm.Conditions(slow=x) for x in slow)]


def tasks(row: Algorithm) -> Iterator[Task]:
    """Tasks of the row's collective; where a rank count is all that it needs, these differ in nothing else."""
    for network in networks() if row.needs else switches():
        n = network.rank_count
        for now in conditions(n) if row.needs else [hm.Conditions()]:
            root = n - 1 if row.is_rooted else 0
            yield Task(row.kind, n, 1 << 20, PortSpeed(ALPHA, BANDWIDTH), now, root, network)


def is_linked(schedule: hm.Schedule, network: hm.Topology) -> bool:
    """Whether a schedule is for a network's ranks and sends over links between them."""
    linked = set(np.asarray(network.links)[["src", "dst"]].tolist())
    used = set(np.asarray(schedule.transfers)[["src", "dst"]].tolist())
    return schedule.rank_count == network.rank_count and used <= linked


def made(row: Algorithm, task: Task) -> hm.Schedule:
    """Call the row's function with what the task states, whether the row can run it or not."""
    required = {name: count for name, count in COUNTS.items() if row.parameters.get(name)}
    return row.function(**arguments_from(task, row.parameters), **required)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_runs_exactly_where_it_says_that_it_can(row: Algorithm) -> None:
    able = 0
    for task in tasks(row):
        assert task.topology is not None
        if row.why_not(task):
            with pytest.raises(ArgumentError, match="does not run here"):
                row.schedule_for(task)
            try:
                schedule = made(row, task)
            except ArgumentError:
                continue
            assert row.knows_topology
            assert not is_linked(schedule, task.topology), task
        else:
            able += 1
            schedule = made(row, task)
            assert schedule.collective.kind == row.kind
            assert hm.verify(schedule) == [], task
            assert schedule.rank_count == task.rank_count
    assert able > 0


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_candidates_are_what_they_say_and_a_recipe_is_enough_to_make_them(row: Algorithm) -> None:
    for task in tasks(row):
        found = row.candidates(task)
        assert not (found and row.why_not(task))
        for candidate in found:
            schedule = candidate.generate()
            assert hm.verify(schedule) == []
            assert schedule.transfer_count == candidate.transfer_count, candidate.label
            assert schedule == row.function(**candidate.arguments)
            if candidate.parts is not None:
                rows = np.asarray(schedule.transfers)
                assert np.array_equal(
                    candidate.parts().part(0), rows[(rows["src"] == 0) | (rows["dst"] == 0)]
                )


@pytest.mark.parametrize("row", [row for row in ROWS if row.knows_topology], ids=lambda row: row.name)
def test_what_is_made_for_a_topology_asks_for_one(row: Algorithm) -> None:
    task = Task(row.kind, 8, 1 << 20, PortSpeed(ALPHA, BANDWIDTH), hm.Conditions(slow={0: 2.0}))
    assert "expected a topology" in row.why_not(task)
    assert row.candidates(task) == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_runs_one_collective(row: Algorithm) -> None:
    other = "broadcast" if row.kind == "all_reduce" else "all_reduce"
    task = Task(other, 8, 1 << 20, PortSpeed(ALPHA, BANDWIDTH), hm.Conditions())
    assert row.why_not(task) == f"expected the collective {row.kind}, found {other}"
    assert row.candidates(task) == []


def test_the_chunk_count_that_is_planned_for_a_late_rank_is_the_best_one() -> None:
    # Given 16 ranks, 1 GiB, and one rank that comes when the others have just reduced, in 14(1 us + s·β/15) = 20 ms.
    # Derivation: M* = sqrt(3 · (2^30 / 50e9) / 1 us) = 253.8; of the multiples of 15 next to it, the
    # formula (M + 3)(1 us + s·β/M) is 21,985.5 us for 255 and 21,986.3 us for 240.
    network = hm.topologies.switch(16, latency_s=1e-6, bandwidth=50e9)
    plan = hm.plan(network, "all_reduce", 1 << 30, hm.Conditions(late={3: 20e-3}))
    ours = next(one for one in plan.alternatives if one.label == "all_reduce_late (255 chunks)")
    all_s = {
        chunks: hm.simulate(
            hm.algorithms.all_reduce_late(16, 3, chunks), network, 1 << 30, plan.conditions
        ).seconds
        for chunks in (15, 240, 254, 255, 256, 270)
    }
    assert ours.seconds == all_s[255] <= 1.001 * min(all_s.values())
    assert all_s[256] > 1.02 * all_s[255]  # owners of unequally many chunks reduce for longer


@pytest.mark.parametrize(("ranks", "nbytes"), [(4, 1 << 20), (5, 1 << 20), (8, 1 << 24), (12, 1 << 24)])
def test_no_chunk_count_is_much_better_than_the_planned_one(ranks: int, nbytes: int) -> None:
    network = hm.topologies.switch(ranks, latency_s=1e-6, bandwidth=50e9)
    now = hm.Conditions(late={1: 1e-4})
    plan = hm.plan(network, "all_reduce", nbytes, now)
    ours = next(one for one in plan.alternatives if one.name == "all_reduce_late")
    all_s = [
        hm.simulate(hm.algorithms.all_reduce_late(ranks, 1, chunks), network, nbytes, now).seconds
        for chunks in range(1, 120)
    ]
    assert plan.seconds <= ours.seconds <= 1.01 * min(all_s)
