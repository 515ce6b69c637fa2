# SPDX-License-Identifier: Apache-2.0
"""A slow rank behind one switch: in how many segments its exchange is planned where nobody has to tell ports apart."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.algorithms import Task
from hemiola.planner.budget import Searches
from hemiola.planner.in_segments import in_segments
from hemiola.planner.question import Question, traits_of
from hemiola.planner.sources import SOURCES
from hemiola.topology.port_speed import port_speed

MIB = 1 << 20


def switch(ranks: int, message_s: float = 0.0) -> hm.Topology:
    return hm.topologies.switch(ranks, latency_s=2.5e-6, bandwidth=25e9, message_s=message_s)


def asked(task: Task) -> Question:
    assert task.topology is not None
    return Question(task, task.topology, 0.0, Searches(), traits=traits_of(task, task.topology))


@pytest.mark.parametrize("message_s", [0.0, 0.2e-6])
@pytest.mark.parametrize("factor", [1.25, 1.5, 2.0, 4.0])
@pytest.mark.parametrize(("ranks", "nbytes"), [(16, 16 << 10), (64, 256 << 10), (64, 4 * MIB)])
def test_the_formula_of_segments_is_what_a_simulation_finds_or_a_little_more(
    ranks: int, nbytes: int, factor: float, message_s: float
) -> None:
    network, now = switch(ranks, message_s), hm.Conditions(slow={7: factor})
    task = Task("all_reduce", ranks, nbytes, port_speed(network, now), now, 0, network)
    (one,) = in_segments(asked(task))
    schedule = one.generate()
    assert schedule.transfer_count == one.transfer_count
    assert 0.93 <= hm.simulate(schedule, network, nbytes, now).seconds / one.formula_s <= 1.002


@pytest.mark.parametrize(
    ("ranks", "nbytes", "most"), [(256, MIB, 1.37), (512, 16 * MIB, 1.1), (1024, 256 * MIB, 1.07)]
)
def test_a_slow_rank_behind_one_switch_takes_no_direct_exchange(ranks: int, nbytes: int, most: float) -> None:
    # A direct exchange takes twice the bound: its second half waits for the last byte of its first.
    plan = hm.plan(switch(ranks), "all_reduce", nbytes, hm.Conditions(slow={7: 2.0}))
    assert plan.name == "all_reduce_weighted_exchange"
    assert plan.seconds <= most * plan.bound_s
    assert plan.parts is not None


def test_ranks_that_must_tell_ports_apart_are_given_no_shorter_messages() -> None:
    # Given 16 MiB on 64 ranks, messages of a latency's length are those of 4 segments at most.
    now = hm.Conditions(slow={7: 2.0})
    segments = []
    for combine_bandwidth in (float("inf"), 1e12):
        plan = hm.plan(switch(64), "all_reduce", 16 * MIB, now, combine_bandwidth=combine_bandwidth)
        names = [other for other in plan.alternatives if other.name == "all_reduce_weighted_exchange"]
        segments.append(max(int(other.variant.split()[0]) for other in names))
    assert segments == [16, 4]


@pytest.mark.parametrize(
    ("network", "slow"),
    [
        (switch(8), {}),
        (switch(8), {1: 2.0, 2: 2.0}),
        (hm.topologies.torus([4, 4], latency_s=1e-6, bandwidth=50e9), {1: 2.0}),
    ],
    ids=["none", "two", "torus"],
)
def test_segments_are_for_one_slow_rank_behind_one_switch(
    network: hm.Topology, slow: dict[int, float]
) -> None:
    now = hm.Conditions(slow=slow)
    task = Task("all_reduce", network.rank_count, MIB, port_speed(network, now), now, 0, network)
    (source,) = (one for one in SOURCES if one.make is in_segments)
    assert not source.concerns(asked(task))


def test_it_leaves_algorithms_for_a_late_rank_their_chance() -> None:
    # The exchange of 992,000 transfers would take all that may be simulated, and hide nothing of the delay.
    now = hm.Conditions(late={3: 0.064}, slow={7: 1.5})
    plan = hm.plan(switch(125), "all_reduce", 1 << 30, now)
    assert plan.seconds <= 1.02 * plan.bound_s


def test_a_delay_counts_for_no_fewer_segments() -> None:
    network, nbytes = switch(64), 4 * MIB
    labels = []
    for late in ({}, {3: 10.0}):
        now = hm.Conditions(late=late, slow={7: 2.0})
        task = Task("all_reduce", 64, nbytes, port_speed(network, now), now, 0, network)
        (one,) = in_segments(asked(task))
        labels.append(one.variant)
    assert labels[0] == labels[1]
