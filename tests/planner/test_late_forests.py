# SPDX-License-Identifier: Apache-2.0
"""What is made around a late rank is in the race on large networks, too, and named where it is not."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.synthesis import late_forest

NBYTES, DELAY_S = 256 << 20, 1.0
LINKS = {"latency_s": 0.5e-6, "bandwidth": 50e9}
HOSTS = {"latency_s": 1e-6, "bandwidth": 80e9, "nic_latency_s": 3e-6, "nic_bandwidth": 12.5e9}


@pytest.mark.parametrize(
    "topology",
    [
        hm.topologies.torus([8, 8], **LINKS),
        hm.topologies.mesh([8, 8], **LINKS),
        hm.topologies.torus([10, 10], **LINKS),
        hm.topologies.hosts(12, 8, **HOSTS),
    ],
    ids=str,
)
def test_a_plan_is_no_slower_than_the_forest_that_the_project_makes(topology: hm.Topology) -> None:
    late = hm.Conditions(late={1: DELAY_S})
    made = late_forest(topology, 1, pieces=256, nbytes=NBYTES)
    by_hand_s = hm.simulate(made, topology, NBYTES, late).seconds - DELAY_S
    planned_s = hm.plan(topology, "all_reduce", NBYTES, late).seconds - DELAY_S
    assert planned_s <= 1.001 * by_hand_s


@pytest.mark.parametrize("dims", [[12, 12], [14, 14]])
def test_what_is_too_large_is_named(dims: list[int]) -> None:
    plan = hm.plan(hm.topologies.torus(dims, **LINKS), "all_reduce", NBYTES, hm.Conditions(late={1: DELAY_S}))
    assert "late_forest" in plan.explain()


#: Networks, and times the bound after the arrival; before, 1.9 to 2.0 on each.
LARGE = [
    (hm.topologies.torus([5, 5, 5], **LINKS), "late_matched", 1.05),
    (hm.topologies.torus([16, 16], **LINKS), "late_matched", 1.22),
    (hm.topologies.hosts(32, 8, **HOSTS), "late_hosts", 1.06),
    (hm.topologies.dgx_a100(32), "late_hosts", 1.08),
]


@pytest.mark.parametrize(("topology", "name", "most"), LARGE, ids=str)
def test_on_hundreds_of_ranks_about_a_broadcast_is_left_after_the_arrival(
    topology: hm.Topology, name: str, most: float
) -> None:
    plan = hm.plan(topology, "all_reduce", NBYTES, hm.Conditions(late={topology.rank_count // 2: DELAY_S}))
    assert plan.name == name
    assert 1 <= (plan.seconds - DELAY_S) / (plan.bound_s - DELAY_S) <= most
    assert "of which nobody is late" in plan.explain()


def test_more_effort_leaves_out_nothing_for_what_is_near_the_bound() -> None:
    topology = hm.topologies.torus([5, 5, 5], **LINKS)
    late = hm.Conditions(late={62: DELAY_S})
    plan, more = (hm.plan(topology, "all_reduce", NBYTES, late, effort=effort) for effort in (1, 2))
    assert "of which nobody is late" not in more.explain()
    assert more.seconds <= plan.seconds
    assert {one.name for one in plan.alternatives} <= {one.name for one in more.alternatives}


def test_a_short_delay_has_nothing_matched_for_it() -> None:
    topology = hm.topologies.torus([16, 16], **LINKS)
    plan = hm.plan(topology, "all_reduce", NBYTES, hm.Conditions(late={1: 1e-6}))
    assert not any(one.name == "late_matched" for one in plan.alternatives)


@pytest.mark.parametrize("dims", [[9, 11], [10, 10]])
def test_a_grid_whose_last_dimension_is_not_the_slowest_has_no_hosts(dims: list[int]) -> None:
    # Before, its lines were taken for hosts, which shut out what is made for any network, at twice the bound.
    network = hm.topologies.switch_2d(dims, latency_s=1e-6, bandwidth=[50e9, 50e9])
    plan = hm.plan(network, "all_reduce", NBYTES, hm.Conditions(late={network.rank_count // 2: DELAY_S}))
    assert plan.name in ("late_forest", "late_matched")
    assert (plan.seconds - DELAY_S) / (plan.bound_s - DELAY_S) <= 1.1


def test_hosts_that_are_near_enough_do_not_shut_out_trees_of_which_there_are_few() -> None:
    # Given lines twice as fast as what joins them: as hosts they take 1.93 times the bound after the arrival.
    network = hm.topologies.switch_2d([10, 10], latency_s=1e-6, bandwidth=[100e9, 50e9])
    plan = hm.plan(network, "all_reduce", NBYTES, hm.Conditions(late={3: DELAY_S}))
    assert plan.name == "late_forest"
    assert "late_hosts" in {one.name for one in plan.alternatives}
    assert (plan.seconds - DELAY_S) / (plan.bound_s - DELAY_S) <= 1.1


def test_hosts_of_thousands_of_ranks_are_named_before_anything_is_made_for_them() -> None:
    # Given 8,192 ranks: the smallest would have 33 million transfers, which took 37 CPU seconds.
    network = hm.topologies.switch_2d([512, 16], latency_s=1e-6, bandwidth=[300e9, 25e9])
    plan = hm.plan(network, "all_reduce", NBYTES, hm.Conditions(late={1: DELAY_S}))
    assert "late_hosts (4 pieces)" in plan.explain()
    assert not any(one.name == "late_hosts" for one in plan.alternatives)


@pytest.mark.parametrize("ranks", [3, 8, 16])
@pytest.mark.parametrize("wait", [0.35, 1.0, 3.0])
def test_behind_one_switch_a_short_wait_is_used_for_a_share_of_the_buffer(ranks: int, wait: float) -> None:
    """Given a wait in parts of the time of a buffer. Expect no more than a forest takes that knows the best share."""
    nbytes, network = 4 << 20, hm.topologies.switch(ranks, latency_s=1e-6, bandwidth=25e9)
    delay_s = wait * nbytes / 25e9
    late = hm.Conditions(late={1: delay_s})
    plan = hm.plan(network, "all_reduce", nbytes, late)
    assert hm.verify(plan.schedule) == []
    rivals = [
        late_forest(network, 1, pieces=256, nbytes=nbytes, share=share) for share in (1.0, 0.75, 0.5, 0.25)
    ]
    best_s = min(hm.simulate(one, network, nbytes, late).seconds for one in rivals)
    assert plan.seconds - delay_s <= 1.02 * (best_s - delay_s)


def test_behind_one_switch_stars_are_simulated_and_their_formula_comes_near() -> None:
    network = hm.topologies.switch(12, latency_s=1e-6, bandwidth=25e9)
    plan = hm.plan(network, "all_reduce", 8 << 20, hm.Conditions(late={5: 2e-4}))
    stars = [one for one in plan.alternatives if one.name == "late_stars"]
    assert len(stars) >= 4
    assert plan.name == "late_stars"
    for one in stars:
        assert one.simulated_s is not None
        assert one.formula_s == pytest.approx(one.simulated_s, rel=0.15), one
