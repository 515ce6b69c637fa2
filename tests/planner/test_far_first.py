# SPDX-License-Identifier: Apache-2.0
"""Direct exchanges that send to the farthest ranks first, and estimates of them."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola._core import estimate_by_steps_s, far_first_exchange

US = 1e-6
LINK = {"latency_s": 1e-6, "bandwidth": 50e9}
HOSTS = {**LINK, "nic_latency_s": 5e-6, "nic_bandwidth": 25e9}


@pytest.mark.parametrize(
    "network",
    [
        hm.topologies.ring(2, **LINK),
        hm.topologies.ring(70, **LINK),
        hm.topologies.mesh([3, 5], **LINK),
        hm.topologies.hosts(3, 4, 1, **HOSTS),
        hm.topologies.dragonfly([4, 3], latency_s=0.5e-6, bandwidth=[400e9, 200e9]),
        hm.topologies.switch(5, latency_s=0.0, bandwidth=1e9),
    ],
    ids=["two", "ring", "mesh", "hosts", "dragonfly", "without latency"],
)
def test_a_far_first_exchange_is_right(network: hm.Topology) -> None:
    schedule = far_first_exchange(network)
    assert hm.verify(schedule) == []
    assert schedule.transfer_count == network.rank_count * (network.rank_count - 1)


def test_each_distance_has_a_step_the_longest_first() -> None:
    # A line of 4: the ends are 3 links apart.
    rows = far_first_exchange(hm.topologies.mesh([4], **LINK)).transfers
    assert (abs(rows["dst"] - rows["src"]) == 3 - rows["step"]).all()


def test_latencies_pass_while_nearer_ranks_are_sent_to() -> None:
    # Given a ring of 5 and parts that take a link 0.1 us. Derivation: a link carries 2 flows of two hops and 1 of one.
    # All at once, they have left after 0.3 us and the farthest land 2 us later. The farthest first, they have left
    # after 0.2 us and land at 2.2 us; the nearest follow in 0.1 us and land at 1.3 us.
    ring = hm.topologies.ring(5, latency_s=1e-6, bandwidth=1e9)
    for schedule, expected_s in (
        (hm.algorithms.all_to_all_direct(5), 2.3 * US),
        (far_first_exchange(ring), 2.2 * US),
    ):
        assert hm.simulate(schedule, ring, 500).seconds == pytest.approx(expected_s)
        assert estimate_by_steps_s(schedule, ring, 500, {}, {})[0] == pytest.approx(expected_s)


def test_an_estimate_does_not_see_that_near_and_far_meet_on_their_way() -> None:
    # Given a line of 3 and parts that take a link 1 us, as long as its latency. Derivation: 0 -> 2 leaves in 1 us and
    # is at the second link from 1 us to 2 us; so is 1 -> 2, which had to wait for its in-port. One waits for the other.
    line = hm.topologies.mesh([3], latency_s=1e-6, bandwidth=1e9)
    schedule = far_first_exchange(line)
    assert hm.simulate(schedule, line, 3_000).seconds == pytest.approx(4 * US)
    assert estimate_by_steps_s(schedule, line, 3_000, {}, {})[0] == pytest.approx(3 * US)


def test_of_a_late_rank_no_estimate_is_below_its_arrival_and_what_it_sends() -> None:
    # Given a ring of 40 and parts that take a link 0.05 us: the late rank sends 10 each way, 20 links far at most.
    ring = hm.topologies.ring(40, latency_s=1e-6, bandwidth=25e9)
    schedule = far_first_exchange(ring)
    estimated_s, _ = estimate_by_steps_s(schedule, ring, 50_000, {13: 30 * US}, {})
    assert estimated_s >= 30 * US + 20 * US + 0.05 * US


def test_a_small_all_to_all_on_a_torus_is_planned_far_first() -> None:
    # Sent all at once, 1.073 times the bound, which is the longest latency.
    plan = hm.plan(hm.topologies.torus([21, 29], latency_s=0.5e-6, bandwidth=12.5e9), "all_to_all", 2_943)
    assert plan.alternatives[0].label == "all_to_all_far_first"
    assert 1 <= plan.seconds / plan.bound_s <= 1.005
