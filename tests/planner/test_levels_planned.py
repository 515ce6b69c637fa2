# SPDX-License-Identifier: Apache-2.0
"""The planner on nodes with several ranks: its choice, and that it needs no transfers for thousands of ranks."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.algorithms import Task
from hemiola.algorithms.fewest_pieces import AS_GOOD
from hemiola.topology.port_speed import port_speed

KINDS = ("all_gather", "reduce_scatter", "all_reduce")


def nodes_of(count: int, ranks: int, nics: int) -> hm.Topology:
    return hm.topologies.hosts(
        count, ranks, nics, latency_s=2e-6, bandwidth=100e9, nic_latency_s=5e-6, nic_bandwidth=25e9
    )


@pytest.mark.parametrize(
    ("kind", "nodes"), [("all_gather", 16384), ("reduce_scatter", 2048), ("all_reduce", 2048)]
)
def test_plans_for_thousands_of_ranks_are_made_without_transfers(kind: str, nodes: int) -> None:
    plan = hm.plan(nodes_of(nodes, 8, 4), kind, 1 << 30)
    assert plan.name == f"{kind}_hierarchical"
    assert plan.alternatives[0].is_predicted
    assert plan.is_simulated
    assert "schedule" not in vars(plan)
    assert plan.bound_s <= plan.seconds <= 1.03 * plan.bound_s
    assert "by what one rank does" in plan.explain()
    if nodes == 2048:
        assert plan.parts is not None
        assert len(plan.parts.part(5)) > 0


def test_sizes_that_do_not_divide_are_planned_alike_at_scale() -> None:
    network = nodes_of(2048, 8, 4)
    for nbytes in (1_000_000, 64_000_000, 1_000_000_000):
        plan = hm.plan(network, "all_gather", nbytes)
        near = hm.plan(network, "all_gather", 1 << (nbytes - 1).bit_length())
        assert plan.name == near.name == "all_gather_hierarchical"
        assert plan.seconds < near.seconds


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(2, 8, 4), (4, 2, 1), (3, 4, 4)])
@pytest.mark.parametrize("nbytes", [1 << 12, 1 << 16, 1 << 20, 1 << 26])
def test_no_known_schedule_beats_the_planned_one(kind: str, shape: tuple[int, int, int], nbytes: int) -> None:
    network = nodes_of(*shape)
    nodes, ranks, nics = shape
    plan = hm.plan(network, kind, nbytes)
    seconds = hm.simulate(plan.schedule, network, nbytes).seconds
    assert plan.seconds == pytest.approx(seconds, rel=3e-4)
    task = Task(kind, network.rank_count, nbytes, port_speed(network), hm.Conditions(), 0, network)
    others = [candidate.generate() for candidate in hm.algorithms.candidates(task)]
    for between in ("ring", "recursive") if nodes != 3 else ("ring",):
        others.append(getattr(hm.algorithms, f"{kind}_pccl")(nodes, ranks, between))
    others.append(getattr(hm.algorithms, f"{kind}_multi_ring")(nodes, ranks, nics))
    best = min(hm.simulate(other, network, nbytes).seconds for other in others)
    assert seconds <= best * AS_GOOD * (1 + 6e-4)


@pytest.mark.parametrize("nodes", [[8, 8, 7], [2, 1, 2, 2]])
def test_unequal_nodes_and_a_slow_nic_are_planned(nodes: list[int]) -> None:
    hosts = [
        hm.topologies.Host(
            ranks, ranks, latency_s=2e-6, bandwidth=100e9, nic_latency_s=5e-6, nic_bandwidth=25e9
        )
        for ranks in nodes
    ]
    network, nbytes = hm.topologies.cluster(hosts), 1 << 25
    for now in (hm.Conditions(), hm.Conditions(slow={0: 2.0})):
        plan = hm.plan(network, "all_gather", nbytes, now)
        ring = hm.algorithms.all_gather_ring(network.rank_count)
        rings = hm.algorithms.all_gather_multi_ring(len(nodes), nodes, min(nodes))
        for other in (ring, rings):
            assert plan.seconds <= hm.simulate(other, network, nbytes, conditions=now).seconds
        assert plan.bound_s <= plan.seconds
