# SPDX-License-Identifier: Apache-2.0
"""Plans on networks that are more than one switch or a link for every pair, where a port's formula says nothing."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola._core import estimate_by_steps_s, estimate_exchange_s
from hemiola.errors import ArgumentError
from hemiola.planner.budget import IN_SIMULATION, SHARES, WORK
from hemiola.planner.question import is_uneven
from hemiola.synthesis import topology_algorithms
from hemiola.verify import first_violation

MIB = 1 << 20
LINK = {"latency_s": 1e-6, "bandwidth": 50e9}
HOSTS = {**LINK, "nic_latency_s": 2e-6, "nic_bandwidth": 25e9}


def may_simulate(monkeypatch: pytest.MonkeyPatch, transfers: int) -> None:
    share = transfers * IN_SIMULATION["fluid"] / WORK
    monkeypatch.setitem(SHARES, "simulated", (share, share))


@pytest.mark.parametrize("nbytes", [64 << 10, 64 * MIB])
@pytest.mark.parametrize(
    "name", ["all_reduce_direct", "all_reduce_ring", "all_reduce_recursive_halving_doubling"]
)
@pytest.mark.parametrize(
    "network",
    [
        hm.topologies.torus([4, 4], **LINK),
        hm.topologies.mesh([2] * 4, **LINK),
        hm.topologies.hosts(4, 4, **HOSTS),
        hm.topologies.dgx1(),
    ],
    ids=["torus", "cube", "hosts", "dgx1"],
)
def test_an_estimate_by_steps_is_near_what_a_simulation_finds(
    network: hm.Topology, name: str, nbytes: int
) -> None:
    schedule = hm.algorithms.get(name).generate(network.rank_count)
    estimated_s, work = estimate_by_steps_s(schedule, network, nbytes, {}, {})
    assert estimated_s == pytest.approx(hm.simulate(schedule, network, nbytes).seconds, rel=0.25)
    assert work >= schedule.transfer_count


@pytest.mark.parametrize("nbytes", [50_000, 1_000_000, 20_000_000])
@pytest.mark.parametrize(
    "network",
    [hm.topologies.torus([7, 9], **LINK), hm.topologies.mesh([6, 8], **LINK), hm.topologies.ring(40, **LINK)],
    ids=["torus", "mesh", "ring"],
)
@pytest.mark.parametrize("name", ["all_to_all_pairwise", "all_gather_direct_rounds"])
def test_steps_in_which_nothing_waits_for_what_lands_overlap(
    network: hm.Topology, name: str, nbytes: int
) -> None:
    # As if each step waited for the one before, or each flow had its way for itself, up to 3.5 times as long.
    schedule = hm.algorithms.get(name).generate(network.rank_count)
    estimated_s, _ = estimate_by_steps_s(schedule, network, nbytes, {}, {})
    assert estimated_s == pytest.approx(hm.simulate(schedule, network, nbytes).seconds, rel=0.1)


def test_flows_that_share_links_cost_more_and_a_late_or_slow_rank_takes_longer() -> None:
    # Given a line of 3 whose ranks 0 and 1 send 50 kB each to rank 2. They share the link 1 -> 2: 1/6 of 2 * 2 comes on
    # top. One after the other: 1 us each, and 2 us of latency for the first, 1 us for the second, are over after 3 us.
    line = hm.topologies.mesh([3], **LINK)
    schedule = hm.Schedule.from_transfers(
        hm._core.Collective.custom(3, 2, [(0, 0), (1, 1)], [(2, 0), (2, 1)]),
        [(0, 0, 2, 0, False), (0, 1, 2, 1, False)],
    )
    plain_s, work = estimate_by_steps_s(schedule, line, 100_000, {}, {})
    assert work == pytest.approx(2 + 4 / 6)
    assert plain_s == pytest.approx(3e-6)
    assert estimate_by_steps_s(schedule, line, 100_000, {0: 1e-3}, {})[0] == pytest.approx(plain_s + 1e-3)
    assert estimate_by_steps_s(schedule, line, 100_000, {}, {1: 2.0})[0] == pytest.approx(5e-6)


def test_flows_that_shared_links_join_to_others_cost_for_all_of_these() -> None:
    # Given a line of 40 and 38 flows of two hops, i -> i + 2. Derivation: the 37 links in the middle carry two each, a
    # sixth of 37 * 4; but each end may change the rates of all: 0.06 * 37 * 38, which is more.
    line = hm.topologies.mesh([40], **LINK)
    places = range(38)
    collective = hm._core.Collective.custom(40, 38, [(i, i) for i in places], [(i + 2, i) for i in places])
    schedule = hm.Schedule.from_transfers(collective, [(0, i, i + 2, i, False) for i in places])
    assert estimate_by_steps_s(schedule, line, 38_000, {}, {})[1] == pytest.approx(38 + 0.06 * 37 * 38)


@pytest.mark.parametrize("now", [hm.Conditions(), hm.Conditions(late={1: 1e-3}, slow={2: 2.0})])
@pytest.mark.parametrize(
    "network",
    [
        hm.topologies.mesh([3, 5], **LINK),
        hm.topologies.hosts(4, 4, 1, **HOSTS),
        hm.topologies.rfs_3d([2, 4, 4], latency_s=1e-6, bandwidth=[200e9, 100e9, 50e9]),
        hm.topologies.ring(70, **LINK, message_s=1e-7),
    ],
    ids=["mesh", "hosts", "rfs", "ring"],
)
def test_a_direct_exchange_is_estimated_without_its_schedule(
    network: hm.Topology, now: hm.Conditions
) -> None:
    ranks = network.rank_count
    nbytes, told = ranks * 100_003, (now.late, now.slow_ranks)
    schedule = hm.algorithms.all_to_all_direct(ranks)
    estimated_s, work = estimate_exchange_s(network, nbytes, *told)
    by_steps_s, work_by_steps = estimate_by_steps_s(schedule, network, nbytes, *told)
    assert estimated_s == pytest.approx(by_steps_s)
    assert work <= work_by_steps * (1 + 1e-9)


def test_a_large_all_to_all_is_planned_without_its_schedule() -> None:
    plan = hm.plan(hm.topologies.torus([10, 10, 9], **LINK), "all_to_all", MIB)
    assert plan.name == "all_to_all_direct"
    assert plan.alternatives[0].estimated_s == plan.seconds >= plan.bound_s
    assert {"all_to_all_pairwise", "all_to_all_bruck", "all_to_all_far_first"} <= {
        one.label for one in plan.left_out
    }
    assert "schedule" not in vars(plan)


def test_a_slow_rank_on_a_large_torus_leaves_enough_to_synthesize_once() -> None:
    plan = hm.plan(
        hm.topologies.torus([10, 10, 9], **LINK), "all_reduce", 64 * MIB, hm.Conditions(slow={7: 2.0})
    )
    assert plan.alternatives[0].label.startswith("synthesized (1 chunks a rank")
    assert plan.seconds <= 2.0 * plan.bound_s


@pytest.mark.parametrize(
    ("network", "kind", "most"),
    [
        (hm.topologies.torus([17, 17], **LINK), "all_reduce", 1.01),
        (hm.topologies.torus([18, 18], **LINK), "all_reduce", 1.01),
        (hm.topologies.torus([16, 8, 8], **LINK), "all_gather", 1.04),
    ],
    ids=["17", "18", "16x8x8"],
)
def test_a_large_torus_is_planned_by_what_is_made_for_it(
    network: hm.Topology, kind: str, most: float
) -> None:
    plan = hm.plan(network, kind, 64 * MIB)
    assert plan.name == "synthesized"
    assert 1 <= plan.seconds / plan.bound_s <= most


def test_a_grid_behind_switches_is_planned_in_as_many_chunks_as_may_be_made() -> None:
    # [TACOS]'s 3D-RFS of 32 nodes. One chunk a rank takes 1.29 times the bound, Themis' 16 parts 1.16.
    network = hm.topologies.rfs_3d([2, 4, 32], latency_s=0.5e-6, bandwidth=[200e9, 100e9, 50e9])
    plan = hm.plan(network, "all_reduce", 48_600_000)
    assert plan.alternatives[0].label == "synthesized (4 chunks a rank)"
    assert plan.is_simulated
    assert plan.seconds <= 1.06 * plan.bound_s
    assert "all_reduce_themis (64 parts)" in {one.label for one in plan.left_out}


def test_nodes_that_cables_join_are_not_told_by_one_of_them() -> None:
    # Given groups of 6 behind a switch each, joined by links between ranks: over these, some ways are two hops.
    network = hm.topologies.rfs_3d([2, 2, 6], latency_s=0.5e-6, bandwidth=[200e9, 100e9, 50e9])
    plan = hm.plan(network, "all_gather", MIB)
    levels = [other for other in plan.alternatives if other.name == "all_gather_hierarchical"]
    assert levels
    assert not any(other.is_predicted for other in levels)


def test_a_gather_over_rings_and_switches_is_synthesized() -> None:
    # 56 ranks, each with ten others next to it, or behind one switch. Direct takes eight times the bound.
    network = hm.topologies.rfs_3d([2, 4, 7], latency_s=0.5e-6, bandwidth=[200e9, 100e9, 50e9])
    plan = hm.plan(network, "gather", 600_344_708, hm.Conditions(), root=3)
    assert plan.alternatives[0].label == "synthesized (4 chunks a rank)"
    assert plan.seconds <= 1.05 * plan.bound_s


@pytest.mark.parametrize(
    "network", [hm.topologies.torus([3, 2, 2], **LINK), hm.topologies.switch_2d([3, 4], **LINK)]
)
def test_parts_on_a_grid_are_what_they_are_said_to_be(network: hm.Topology) -> None:
    plan = hm.plan(network, "all_reduce", MIB)
    parts = [other for other in plan.alternatives if other.name == "all_reduce_themis"]
    assert {other.variant for other in parts} == {"1 parts", "4 parts", "16 parts", "64 parts"}
    for other in parts:
        schedule = topology_algorithms.generate(
            other.name, network, nbytes=MIB, chunk_count=int(other.variant.split()[0])
        )
        assert schedule.transfer_count == other.transfer_count
        assert first_violation(schedule) is None


def test_what_an_estimate_puts_first_is_simulated_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is left when everything else has been simulated is not enough for the last; what is set aside is.
    network = hm.topologies.torus([4, 4], **LINK)
    budget = sum(other.transfer_count for other in hm.plan(network, "broadcast", MIB).alternatives) // 2
    may_simulate(monkeypatch, budget)
    plan = hm.plan(network, "broadcast", MIB)
    assert plan.is_simulated
    assert any(other.estimated_s is not None for other in plan.alternatives)


def test_what_is_too_large_to_simulate_is_estimated_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    network = hm.topologies.torus([4, 4], **LINK)
    simulated = hm.plan(network, "all_reduce", MIB)
    may_simulate(monkeypatch, 0)
    estimated = hm.plan(network, "all_reduce", MIB)
    assert simulated.is_simulated
    assert not estimated.is_simulated
    assert estimated.alternatives[0].estimated_s == estimated.seconds
    assert simulated.seconds <= estimated.seconds * 1.15
    assert "estimated, step by step" in estimated.explain()
    assert "by the links that its steps use" in estimated.explain()


def test_ways_that_are_too_many_to_follow_are_left_out() -> None:
    # All pairs of this ring are 375 links apart on average: 844 million in all, more than a simulation holds.
    plan = hm.plan(hm.topologies.ring(1500, **LINK), "all_gather", MIB)
    direct = next(other for other in plan.alternatives if other.name == "all_gather_direct")
    assert not direct.is_comparable
    assert plan.alternatives[0].is_comparable


def test_little_effort_leaves_candidates_out_and_much_leaves_none() -> None:
    network = hm.topologies.torus([6, 6], **LINK)
    little, much = (hm.plan(network, "all_reduce", MIB, effort=effort) for effort in (1e-4, 20))
    unknown = [other.label for other in little.alternatives if not other.is_comparable]
    assert unknown
    left_out = {one.label: one.reason for one in little.left_out}
    assert set(unknown) <= set(left_out)
    assert "operations" in left_out["forest (2 pieces)"]
    assert "transfers, at most" in left_out["all_reduce_themis (64 parts)"]
    assert all(f"{label} ({reason})" in little.explain() for label, reason in left_out.items())
    assert all(other.is_comparable for other in much.alternatives)
    assert not much.left_out
    assert much.seconds <= little.seconds
    with pytest.raises(ArgumentError, match="effort"):
        hm.plan(network, "all_reduce", MIB, effort=0.0)


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "broadcast", "all_to_all"])
@pytest.mark.parametrize(
    "network",
    [
        hm.topologies.ring(2, **LINK),
        hm.topologies.switch(2048, **LINK),
        hm.topologies.ring(33, **LINK),
        hm.topologies.mesh([2, 16], **LINK),
        hm.topologies.torus([12, 12], **LINK),
        hm.topologies.mesh([2] * 6, **LINK),
        hm.topologies.fully_connected(24, **LINK),
        hm.topologies.dgx1(),
        hm.topologies.hosts(8, 8, **HOSTS),
        hm.topologies.rfs_3d([2, 4, 4], latency_s=1e-6, bandwidth=[200e9, 100e9, 50e9]),
        hm.topologies.switch_2d([8, 4], latency_s=1e-6, bandwidth=[300e9, 25e9]),
        hm.topologies.torus([8, 8, 8], **LINK),
    ],
    ids=lambda network: f"{network.name}{network.rank_count}" if isinstance(network, hm.Topology) else None,
)
def test_no_prediction_is_below_the_bound(network: hm.Topology, kind: str) -> None:
    for nbytes in (4096, 16 * MIB):
        plan = hm.plan(network, kind, nbytes)
        assert plan.seconds >= plan.bound_s * (1 - 1e-6), plan.explain()


@pytest.mark.parametrize("kind", ["scatter", "gather"])
@pytest.mark.parametrize(
    ("network", "most"),
    [(hm.topologies.torus([16, 24], **LINK), 1.05), (hm.topologies.dgx_a100(32), 1.07)],
    ids=["torus", "hosts"],
)
def test_ways_from_one_root_are_found_on_large_networks(network: hm.Topology, kind: str, most: float) -> None:
    plan = hm.plan(network, kind, 20 << 20, root=1)
    assert plan.seconds <= most * plan.bound_s
    assert first_violation(plan.schedule) is None


def test_small_networks_are_searched_more_than_once() -> None:
    # The first search takes 1.16 times the bound with 16 chunks a rank; those that choose by lot find better.
    network = hm.topologies.boxes(3, ranks_per_box=2, cable_latency_s=2e-6, cable_bandwidth=12.5e9)
    plan = hm.plan(network, "all_gather", 73_283_367)
    assert plan.seconds <= 1.04 * plan.bound_s


def test_large_networks_are_searched_twice_where_more_chunks_do_not_fit() -> None:
    # The first search takes 1.31 times the bound, the second, by lot, 1.20.
    network = hm.topologies.dgx_a100(31)
    plan = hm.plan(network, "all_gather", 434_077_568, hm.Conditions(slow={124: 2.0, 177: 4.0}))
    assert plan.alternatives[0].label == "synthesized (1 chunks a rank, of slow links)"
    assert plan.seconds <= 1.21 * plan.bound_s
    assert any(one.label.startswith("synthesized (16 chunks") for one in plan.left_out)


@pytest.mark.parametrize(
    ("sides", "most"), [([10, 12], 1.11), ([8, 15], 1.13), ([16, 16], 1.08), ([8, 8, 8], 1.08)]
)
def test_many_chunks_or_trees_fill_the_ways_from_one_root_of_a_torus(sides: list[int], most: float) -> None:
    plan = hm.plan(hm.topologies.torus(sides, **LINK), "reduce", 920_020_016, root=7)
    assert {"forest (256 pieces)", "synthesized (1024 chunks)"} & {one.label for one in plan.alternatives}
    assert plan.seconds <= most * plan.bound_s


def test_hundreds_of_ranks_behind_switches_are_synthesized() -> None:
    # 102 thousand transfers, each with 312 ranks to choose from: too many where pairs of ranks counted for them. Levels
    # take five times the bound.
    plan = hm.plan(hm.topologies.dgx_h100(40, rails=False), "reduce_scatter", 1 << 20)
    assert plan.alternatives[0].label == "synthesized (1 chunks a rank)"
    assert plan.seconds <= 2.0 * plan.bound_s


def _joined(ranks: int, pairs: list[tuple[int, int]], speeds: tuple[float, ...] = (1e9,)) -> hm.Topology:
    links = [
        (src, dst, 1e-6, speeds[number % len(speeds)])
        for number, (a, b) in enumerate(pairs)
        for src, dst in ((a, b), (b, a))
    ]
    return hm.Topology(ranks, links)


@pytest.mark.parametrize(
    ("network", "uneven"),
    [
        (_joined(2, [(0, 1)]), False),
        (_joined(3, [(0, 1), (1, 2), (0, 2)]), False),
        (hm.topologies.switch(3, latency_s=1e-6, bandwidth=1e9), False),
        (hm.topologies.switch(8, latency_s=1e-6, bandwidth=1e9), False),
        (_joined(3, [(0, 1), (1, 2)]), True),
        (_joined(3, [(0, 1), (1, 2), (0, 2)], (1e9, 2e9)), True),
        (_joined(4, [(0, 1), (1, 2), (2, 3), (3, 0)]), True),
        (hm.topologies.switch_2d([2, 2], latency_s=1e-6, bandwidth=1e9), True),
    ],
    ids=["pair", "triangle", "switch of 3", "switch of 8", "line of 3", "two speeds", "ring", "two switches"],
)
def test_ranks_are_joined_unevenly_unless_by_one_switch_or_all_alike(
    network: hm.Topology, uneven: bool
) -> None:
    assert is_uneven(network) == uneven
