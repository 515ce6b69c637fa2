# SPDX-License-Identifier: Apache-2.0
"""What `hemiola topology show` counts."""

import hemiola as hm
from hemiola import topologies
from hemiola.topology.summary import LinkKind, size_in_words, summarize

COST = {"latency_s": 1e-6, "bandwidth": 1e9}


def test_links_are_counted_by_what_they_join_and_cost():
    """Given 2 hosts of 2 ranks, all pairs inside, a NIC of 2 GB/s each: 4 inner links, 8 to NICs, 4 to the core."""
    t = topologies.hosts(
        2, 2, latency_s=1e-6, bandwidth=9e9, nic_latency_s=4e-6, nic_bandwidth=2e9, inside="fully_connected"
    )
    assert summarize(t).kinds == [
        LinkKind("rank - rank, one host", 1e-6, 9e9, 4),
        LinkKind("rank - switch", 1e-6, 2e9, 8),
        LinkKind("switch - switch", 1e-6, 2e9, 4),
    ]


def test_bandwidth_of_ranks_is_the_sum_of_their_links():
    corner, middle = 2e9, 4e9
    summary = summarize(topologies.mesh([3, 3], **COST))
    assert summary.out_bandwidth == summary.in_bandwidth == (corner, middle)
    one_way = summarize(hm.Topology(2, [(0, 1, 0.0, 5.0)]))
    assert (one_way.out_bandwidth, one_way.in_bandwidth) == ((0.0, 5.0), (0.0, 5.0))


def test_hops_are_the_longest_of_the_shortest_ways():
    assert summarize(topologies.mesh([4, 3], **COST)).hops == 5
    assert summarize(topologies.ring(6, bidirectional=False, **COST)).hops == 5
    assert summarize(topologies.switch(4, **COST)).hops == 2
    assert summarize(topologies.ring(1, **COST)).hops == 0


def test_a_cut_names_a_rank_and_one_it_does_not_reach():
    assert summarize(hm.Topology(3, [(0, 1, 0.0, 1.0), (1, 0, 0.0, 1.0), (2, 0, 0.0, 1.0)])).cut == (0, 2)
    assert summarize(topologies.ring(4, bidirectional=False, **COST)).cut is None


def test_large_topologies_are_searched_from_one_rank():
    ring = topologies.ring(5000, bidirectional=False, **COST)
    assert (summarize(ring).hops, summarize(ring).cut) == (None, None)
    broken = ring.without_links([(4999, 0)], both_ways=False)
    assert summarize(broken).cut == (1, 0)


def test_sizes_are_said_in_words():
    assert size_in_words(hm.Topology(1, [])) == "1 rank, 0 links"
    assert size_in_words(topologies.switch(2, **COST)) == "2 ranks, 1 switch, 4 links"
    assert size_in_words(topologies.dgx_a100(2)) == "16 ranks, 10 switches, 64 links, 2 hosts"


def test_what_a_message_costs_makes_another_kind():
    links = [(0, 1, 1e-6, 1e9, 2e-6), (1, 0, 1e-6, 1e9), (1, 0, 1e-6, 1e9, 2e-6)]
    assert summarize(hm.Topology(2, links)).kinds == [
        LinkKind("rank - rank", 1e-6, 1e9, 1),
        LinkKind("rank - rank", 1e-6, 1e9, 2, 2e-6),
    ]
