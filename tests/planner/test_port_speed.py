# SPDX-License-Identifier: Apache-2.0
"""One latency and one bandwidth for a whole topology."""

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.topology.port_speed import port_speed


def test_a_switch_costs_both_of_its_links() -> None:
    # Given: a switch of latency 5 us in all, so 2.5 us on either side.
    speed = port_speed(hm.topologies.switch(4, latency_s=5e-6, bandwidth=1e9))
    assert speed.latency_s == pytest.approx(5e-6)
    assert speed.bandwidth == 1e9


def test_a_rank_with_several_links_counts_with_its_fastest() -> None:
    links = [(0, 1, 1e-6, 1e9), (0, 2, 1e-6, 4e9), (1, 0, 1e-6, 3e9), (2, 0, 1e-6, 3e9)]
    assert port_speed(hm.Topology(3, links)).bandwidth == 3e9


def test_the_slowest_rank_sets_the_bandwidth() -> None:
    ring = hm.topologies.ring(4, latency_s=1e-6, bandwidth=8e9)
    assert port_speed(ring, hm.Conditions(slow={2: 4.0})).bandwidth == 2e9


def test_the_latency_is_the_median_way_to_the_nearest_rank() -> None:
    # Given: ranks 0, 1, 2 in a line of 1 us and 9 us; the nearest are 1, 1 and 9 us away. Expect: the
    # median, 1 us.
    links = [(0, 1, 1e-6, 1e9), (1, 0, 1e-6, 1e9), (1, 2, 9e-6, 1e9), (2, 1, 9e-6, 1e9)]
    assert port_speed(hm.Topology(3, links)).latency_s == pytest.approx(1e-6)


def test_the_quicker_of_two_parallel_ways_counts() -> None:
    # A direct link of 5 us, and one over a switch (vertex 2) of 1 + 1 us.
    links = [(0, 1, 5e-6, 1e9), (1, 0, 5e-6, 1e9)]
    links += [(rank, 2, 1e-6, 1e9) for rank in (0, 1)] + [(2, rank, 1e-6, 1e9) for rank in (0, 1)]
    assert port_speed(hm.Topology(2, links, switch_count=1)).latency_s == pytest.approx(2e-6)


def test_one_rank_costs_no_latency() -> None:
    assert port_speed(hm.Topology(1, [])).latency_s == 0


def test_a_rank_without_a_way_out_is_named() -> None:
    with pytest.raises(ArgumentError, match="rank 1"):
        port_speed(hm.Topology(2, [(0, 1, 1e-6, 1e9)]))


def test_a_thousand_ranks_are_condensed_from_a_sample() -> None:
    torus = hm.topologies.torus([32, 32], latency_s=1e-6, bandwidth=1e9)
    assert port_speed(torus).latency_s == pytest.approx(1e-6)


def test_a_rank_alone_waits_for_nobody() -> None:
    assert port_speed(hm.topologies.ring(1, latency_s=5e-6, bandwidth=1e9)).latency_s == 0
