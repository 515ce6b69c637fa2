# SPDX-License-Identifier: Apache-2.0
"""What takes long to search for is not made where another schedule is as good as the bound."""

from __future__ import annotations

import pytest

import hemiola as hm


def hosts() -> hm.Topology:
    return hm.topologies.hosts(
        16, 8, bandwidth=80e9, nic_bandwidth=12.5e9, latency_s=1e-6, nic_latency_s=5e-6
    )


@pytest.mark.parametrize("conditions", [None, hm.Conditions(slow={3: 2.0})])
def test_what_takes_long_is_spared_within_a_percent_of_the_bound(conditions: hm.Conditions | None) -> None:
    plan = hm.plan(hosts(), "all_reduce", 64 << 20, conditions)
    spared = [one.label for one in plan.left_out if "comes near enough to the bound" in one.reason]
    assert any(label.startswith("forest") for label in spared)
    assert not {one.label for one in plan.alternatives} & set(spared)
    best = min(one.simulated_s for one in plan.alternatives if one.simulated_s is not None)
    assert best <= 1.01 * plan.bound.seconds
    assert plan.name == "synthesized"  # not in 32 slices, which save 0.2 % by their formula


def test_nothing_is_spared_farther_from_the_bound() -> None:
    plan = hm.plan(hosts(), "all_reduce", 64 << 10)
    assert plan.seconds > 1.01 * plan.bound.seconds
    assert {"synthesized", "forest"} <= {one.name for one in plan.alternatives}
    assert not any("comes near enough" in one.reason for one in plan.left_out)


def test_with_more_effort_near_enough_is_nearer() -> None:
    cube = hm.topologies.mesh([2, 2, 2], latency_s=50e-6, bandwidth=20e6)
    usual, thorough = (hm.plan(cube, "all_reduce", 256 << 10, effort=effort) for effort in (1.0, 20.0))
    assert "forest (32 pieces)" in {one.label for one in usual.left_out}
    assert "forest (32 pieces)" in {one.label for one in thorough.alternatives}


def test_a_late_ranks_wait_makes_nothing_near() -> None:
    # Beside a wait of a second a few milliseconds are nothing; what follows it is what counts.
    cube = hm.topologies.mesh([2, 2, 2], latency_s=50e-6, bandwidth=20e6)
    plan = hm.plan(cube, "all_gather", 256 << 10, hm.Conditions(late={0: 1.0}))
    first = next(one for one in plan.alternatives if one.label == "synthesized (1 chunks a rank)")
    assert first.simulated_s is not None
    assert first.simulated_s <= 1.01 * plan.bound.seconds
    assert "synthesized (16 chunks a rank)" in {one.label for one in plan.alternatives}


def test_what_cannot_be_made_is_left_out_with_the_reason() -> None:
    one_way = hm.Topology(60, [(rank, (rank + 1) % 60, 1e-6, 1e9) for rank in range(60)])
    plan = hm.plan(one_way, "all_reduce", 1 << 10)
    reasons = {one.label: one.reason for one in plan.left_out}
    assert "joined both ways" in reasons["forest (2 pieces)"]
    assert not hm.verify(plan.schedule)


@pytest.mark.parametrize("times", [0.3, 4.0])
def test_on_a_small_network_nothing_around_a_late_rank_is_enough(times: float) -> None:
    # What is matched comes near the bound of nobody late; packed trees take three quarters of its time.
    nbytes = 64 << 20
    delay_s = times * nbytes / 25e9
    plan = hm.plan(hm.topologies.dgx1(), "all_reduce", nbytes, hm.Conditions(late={3: delay_s}))
    matched = min(one.seconds for one in plan.alternatives if one.name == "late_matched")
    assert plan.name == "late_forest"
    assert plan.seconds - delay_s < 0.75 * (matched - delay_s)
