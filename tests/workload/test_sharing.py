# SPDX-License-Identifier: Apache-2.0
"""Collectives that share links: progressive filling, against rules and against simulations of both at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hemiola as hm
from hemiola.workload.course import Course
from hemiola.workload.libraries import HEMIOLA
from hemiola.workload.pricing import Prices
from hemiola.workload.running import Cost, run
from hemiola.workload.sharing import _IDLE, shared_rates
from hemiola.workload.task import Call, Step, Task
from papers.workloads import shared_links
from papers.workloads.shared_links import Job

MIB = 1 << 20


@settings(max_examples=100, deadline=None)
@given(uses=st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=5))
def test_no_link_carries_more_than_it_can_and_nobody_could_be_faster(uses: list[list[float]]) -> None:
    loads = [np.array(use) for use in uses]
    rates = shared_rates(loads)
    carried = sum(rate * load for rate, load in zip(rates, loads, strict=True))
    assert np.all(carried <= 1 + 1e-6)
    for rate, load in zip(rates, loads, strict=True):
        is_held_up = np.any((load > _IDLE) & (carried > 1 - 1e-6))
        assert rate == pytest.approx(1.0) or is_held_up


def course_of(schedule: hm.Schedule, network: hm.Topology, nbytes: int) -> Course:
    timeline = hm.simulate(schedule, network, nbytes, unchecked=True)
    return Course(timeline.seconds, lambda: timeline, lambda busy_s: busy_s)


def test_latencies_of_two_exchanges_pass_together() -> None:
    """Given: two direct all-to-alls of L + B seconds at once. Expect: L + 2·B, of which L shares no bandwidth.

    Derivation: 7 blocks of 32 KiB a rank take B = 7·32 KiB / 25 GB/s = 9.175 µs, and L is 2 µs.
    """
    network = hm.topologies.switch(8, latency_s=2e-6, bandwidth=25e9)
    own = course_of(hm.algorithms.all_to_all_direct(8), network, 256 << 10)
    busy_s = 7 * (32 << 10) / 25e9
    assert own.seconds == pytest.approx(2e-6 + busy_s, rel=1e-3)
    tasks = tuple(Task(("all",), label, (), 0.0, Call("all_to_all", 1, "dp")) for label in "ab")
    found = run(Step("pair", tasks, ("all",)), lambda _call, _late: Cost(own.seconds, own))
    assert found.seconds == pytest.approx(2e-6 + 2 * busy_s, rel=1e-3)


def test_equal_calls_one_after_the_other_go_through_their_course_again() -> None:
    """Given: three equal exchanges in a row beside three others. Expect: three times what one pair takes."""
    network = hm.topologies.switch(8, latency_s=2e-6, bandwidth=25e9)
    own = course_of(hm.algorithms.all_to_all_direct(8), network, 256 << 10)

    def seconds(count: int) -> float:
        calls = (Task(("all",), label, (), 0.0, Call("all_to_all", 1, "dp", count)) for label in "ab")
        return run(Step("pair", tuple(calls), ("all",)), lambda _call, _late: Cost(own.seconds, own)).seconds

    assert seconds(3) == pytest.approx(3 * seconds(1), rel=1e-6)


def test_a_course_carries_what_the_collective_does() -> None:
    network = hm.topologies.torus([2, 4], latency_s=0.5e-6, bandwidth=50e9)
    timeline = hm.simulate(hm.algorithms.all_reduce_ring(8), network, MIB, unchecked=True)
    own = Course(timeline.seconds, lambda: timeline, lambda busy_s: busy_s)
    busy_s, at_s = np.zeros(network.link_count), 0.0
    while at_s < own.seconds * (1 - 1e-6):
        phase, left_s = own.phase(at_s)
        busy_s += left_s * own.use(phase)
        at_s += left_s
    assert busy_s == pytest.approx(timeline.link_busy_s, rel=1e-3, abs=1e-12)
    assert 0 <= own.elasticity <= 1


@pytest.mark.parametrize("kind", ["all_to_all", "all_gather", "all_reduce"])
def test_groups_behind_one_switch_take_what_one_of_them_takes(kind: str) -> None:
    """Given: two groups of four, which share no port. Expect: the time of one group's plan, of any collective."""
    network = hm.topologies.switch(8, latency_s=2e-6, bandwidth=25e9)
    parallel = hm.Parallel(dp=2, tp=4)
    found = Prices(network, parallel, hm.Conditions(), HEMIOLA)(Call(kind, 4 * MIB, "tp"), 0.0)
    one = hm.topologies.switch(4, latency_s=2e-6, bandwidth=25e9)
    assert found.seconds == pytest.approx(hm.plan(one, kind, 4 * MIB).seconds, rel=0.02)


@pytest.mark.parametrize("place", range(len(shared_links.NETWORKS)))
def test_a_collective_alone_takes_as_long_where_every_rank_stands_twice(place: int) -> None:
    for name in ("all_reduce_ring", "all_to_all"):
        job = Job(name, MIB)
        assert shared_links.simulated_s(place, [job]) == pytest.approx(
            shared_links.alone(place, job).seconds, rel=1e-3
        )


def within_two_percent(name: str) -> int:
    found = 0
    for place, pair in shared_links.drawn(name):
        both_s = shared_links.simulated_s(place, pair)
        found += abs(shared_links.shared_s(place, pair) / both_s - 1) <= 0.02
    return found


@pytest.mark.parametrize("name", shared_links.SETS)
def test_a_hundred_random_pairs_take_what_a_simulation_of_both_says(name: str) -> None:
    """Given: 100 pairs on four networks. Expect: within 2 % of one simulation of both, each of them."""
    for place, pair in shared_links.drawn(name):
        both_s = shared_links.simulated_s(place, pair)
        assert shared_links.shared_s(place, pair) == pytest.approx(both_s, rel=0.02), (place, pair)
