# SPDX-License-Identifier: Apache-2.0
"""Slower ports of a switch: which they are, and that messages take as long either way of saying it."""

from __future__ import annotations

import numpy as np
import pytest

import hemiola as hm
from hemiola.topology.slow_ports import slow_ports, with_even_ports

MIB = 1 << 20


def switch(rank_count: int) -> hm.Topology:
    return hm.topologies.switch(rank_count, latency_s=5e-5, bandwidth=6e6)


@pytest.mark.parametrize(
    ("factors", "slow"),
    [
        ({}, {}),
        ({3: 2.0}, {3: 2.0}),
        ({3: 2.0, 4: 1.1}, {3: 2.0}),  # within what measurements differ by
        ({0: 1.5, 1: 3.0, 2: 1.25}, {0: 1.5, 1: 3.0, 2: 1.25}),
        ({0: 2.0, 1: 2.0, 2: 2.0, 3: 2.0}, {}),  # no minority: the others are fast
        ({(6, 8): 2.0}, {6: 2.0}),  # one way
    ],
)
def test_a_minority_of_slower_ports_is_found(factors: dict, slow: dict[int, float]) -> None:
    assert slow_ports(switch(8).degraded(factors)) == pytest.approx(slow)


@pytest.mark.parametrize(
    "topology",
    [
        hm.topologies.fully_connected(4, latency_s=1e-6, bandwidth=1e9).degraded({1: 2.0}),
        hm.topologies.ring(5, latency_s=1e-6, bandwidth=1e9).degraded({1: 2.0}),
        hm.topologies.dgx1(latency_s=1e-6, bandwidth=25e9),
    ],
    ids=["mesh", "ring", "dgx1"],
)
def test_other_networks_are_as_they_were(topology: hm.Topology) -> None:
    conditions = hm.Conditions(slow={0: 3.0})
    assert with_even_ports(topology, conditions) == (topology, conditions)


def test_simulations_and_bounds_are_the_same_either_way() -> None:
    told = hm.Conditions(late={2: 0.01}, slow={2: 1.5, 3: 1.2})
    uneven = switch(8).degraded({3: 2.0, 5: 4.0, (1, 8): 1.1})
    even, conditions = with_even_ports(uneven, told)
    assert conditions.slow == pytest.approx({2: 1.5, 3: 2.4, 5: 4.0})
    assert conditions.late == told.late
    usual = np.delete(np.arange(8), 1)
    assert np.asarray(even.links["bandwidth"])[np.isin(even.links["src"], usual)] == pytest.approx(6e6)
    for name in ("all_reduce_ring", "all_reduce_direct"):
        schedule = hm.algorithms.get(name).generate(8)
        ways = [hm.simulate(schedule, *way).seconds for way in ((uneven, MIB, told), (even, MIB, conditions))]
        assert ways[0] == pytest.approx(ways[1])
    bounds = [
        hm.lower_bound(way[0], "all_reduce", MIB, way[1]).seconds
        for way in ((uneven, told), (even, conditions))
    ]
    assert bounds[0] == pytest.approx(bounds[1])


@pytest.mark.parametrize("kind", ["all_reduce", "broadcast", "all_gather"])
def test_the_same_is_planned_whoever_says_that_a_port_is_slow(kind: str) -> None:
    by_conditions = hm.plan(switch(8), kind, 4 * MIB, hm.Conditions(slow={3: 2.0}))
    by_links = hm.plan(switch(8).degraded({3: 2.0}), kind, 4 * MIB)
    assert by_links.name == by_conditions.name
    assert by_links.seconds == pytest.approx(by_conditions.seconds)
    assert by_links.seconds <= 1.05 * by_links.bound.seconds
