# SPDX-License-Identifier: Apache-2.0
"""Copies: degraded, with something missing, repeated, unwound. The original stays as it was."""

import networkx as nx
import numpy as np
import pytest

import hemiola as hm
from hemiola import topologies
from hemiola.errors import ArgumentError

COST = {"latency_s": 1e-6, "bandwidth": 6e9}


def costs(t):
    return {(int(r["src"]), int(r["dst"])): (r["latency_s"], r["bandwidth"]) for r in t.links}


def bandwidths(t):
    return {pair: bandwidth for pair, (_, bandwidth) in costs(t).items()}


def test_a_copy_leaves_the_original_alone():
    t = topologies.ring(4, **COST)
    before = t.links.tolist()
    t.without_links([(0, 1)])
    t.without_ranks([0])
    t.degraded({0: 2.0})
    assert t.links.tolist() == before


def test_without_links_cuts_both_ways_unless_told():
    t = topologies.ring(3, **COST)
    assert set(costs(t)) - set(costs(t.without_links([(0, 1)]))) == {(0, 1), (1, 0)}
    assert set(costs(t)) - set(costs(t.without_links([(0, 1)], both_ways=False))) == {(0, 1)}


def test_without_links_takes_all_parallel_ones():
    t = hm.Topology(2, [(0, 1, 0.0, 1e9), (0, 1, 0.0, 2e9), (1, 0, 0.0, 1e9)])
    assert t.without_links([(0, 1)], both_ways=False).links.tolist() == [(1, 0, 0.0, 1e9, 0.0)]


def test_seven_of_eight_gpus():
    t = topologies.dgx_a100(2).without_ranks([7])
    assert (t.rank_count, t.switch_count, t.node_count) == (15, 10, 2)
    assert t.nodes.tolist() == [0] * 7 + [1] * 8
    links = set(costs(t))
    assert links == {(a, b) for a, b in links if a < 25 and b < 25}
    assert {(6, 15), (7, 16), (14, 16), (14, 24)} <= links  # NVSwitches 15 and 16, rail 7 is switch 24
    assert not any(rank < 7 for rank, rail in links if rail == 24)


def test_of_ranks_numbers_those_that_stay_in_the_order_given():
    # Given a chain 0 -> 1 -> 2 of two speeds on hosts 0, 0 and 1, and ranks 2, 0, 1 as numbers 0, 1, 2.
    t = hm.Topology(3, [(0, 1, 0.0, 1e9), (1, 2, 0.0, 2e9)], nodes=[0, 0, 1])
    turned = t.of_ranks([2, 0, 1])
    assert turned.links.tolist() == [(1, 2, 0.0, 1e9, 0.0), (2, 0, 0.0, 2e9, 0.0)]
    assert turned.nodes.tolist() == [1, 0, 0]
    assert turned.name == f"{t.name} in another order"
    assert t.of_ranks([1, 2]) == t.without_ranks([0])
    assert t.of_ranks([2, 1]).links.tolist() == [(1, 0, 0.0, 2e9, 0.0)]
    assert t.of_ranks([0, 1, 2]) == t


@pytest.mark.parametrize("ranks", [[], [0, 0], [3], [-1]])
def test_of_ranks_refuses_what_is_no_list_of_its_ranks(ranks):
    with pytest.raises(ArgumentError):
        topologies.ring(3, **COST).of_ranks(ranks)


def test_without_ranks_drops_hosts_that_are_gone():
    t = topologies.dgx_a100(3).without_ranks(range(8, 16))
    assert t.nodes.tolist() == [0] * 8 + [1] * 8


def test_without_ranks_keeps_the_order_of_hosts():
    t = hm.Topology(4, [], nodes=[2, 0, 1, 1])
    assert t.without_ranks([1]).nodes.tolist() == [1, 0, 0]


def test_degraded_divides_the_bandwidth_of_a_ranks_links():
    t = topologies.ring(3, **COST).degraded({0: 3.0})
    assert bandwidths(t) == {(0, 1): 2e9, (1, 0): 2e9, (0, 2): 2e9, (2, 0): 2e9, (1, 2): 6e9, (2, 1): 6e9}


def test_degraded_takes_the_slower_rank_and_the_links_own_factor_on_top():
    t = topologies.ring(3, **COST).degraded({0: 3.0, 1: 2.0, (0, 1): 10.0})
    assert bandwidths(t)[0, 1] == pytest.approx(6e9 / 30)
    assert bandwidths(t)[1, 0] == pytest.approx(6e9 / 3)
    assert bandwidths(t)[1, 2] == pytest.approx(6e9 / 2)


def test_degraded_ports_equal_what_slow_conditions_mean():
    t = topologies.switch(3, **COST)
    slow = bandwidths(t.degraded({1: 2.0}))
    assert slow == {(0, 3): 6e9, (3, 0): 6e9, (1, 3): 3e9, (3, 1): 3e9, (2, 3): 6e9, (3, 2): 6e9}


def test_repeated_puts_boxes_side_by_side_around_what_they_share():
    """Given a box of 2 ranks with its own switch 2 and a network 3, twice.

    Derivation: ranks 0 1 | 2 3, own switches 4 | 5, network 6.
    """
    rows = [(0, 2), (2, 0), (1, 2), (2, 1), (1, 3), (3, 1)]
    box = hm.Topology(2, [(a, b, 1e-6, 1e9) for a, b in rows], switch_count=2, nodes=[0, 0], name="box")
    t = box.repeated(2, shared=[3])
    assert (t.rank_count, t.switch_count, t.name) == (4, 3, "2 x box")
    assert set(costs(t)) == {
        *[(0, 4), (4, 0), (1, 4), (4, 1), (1, 6), (6, 1)],
        *[(2, 5), (5, 2), (3, 5), (5, 3), (3, 6), (6, 3)],
    }
    assert t.nodes.tolist() == [0, 0, 1, 1]


def test_repeated_boxes_are_racks():
    rack = topologies.dgx_a100(3, rails=False)
    box = topologies.dgx_a100(2, rails=False).without_ranks(range(8, 16))
    # the box keeps the other box's empty NVSwitch (9); the core is 10
    made = box.repeated(3, shared=[9, 10])
    assert nx.is_isomorphic(
        nx.DiGraph(rack.to_networkx()),
        nx.DiGraph(made.to_networkx()).subgraph(
            v for v in range(made.rank_count + 5) if v != made.rank_count + 3
        ),
    )


def test_links_between_shared_switches_are_there_once():
    box = hm.Topology(1, [(0, 1, 0.0, 1e9), (1, 2, 0.0, 1e9)], switch_count=2)
    assert sorted(costs(box.repeated(3, shared=[1, 2]))) == [(0, 3), (1, 3), (2, 3), (3, 4)]
    assert box.repeated(3, shared=[1, 2]).link_count == 4


def test_one_copy_is_the_box():
    box = topologies.dgx_a100(2)
    assert box.repeated(1, shared=[20]).links.tolist() != []
    assert box.repeated(1) == box


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_unwinding_a_switch_of_four_as_in_the_papers_figure_13(degree):
    """[TACOS, §IV-G]: links from i to i+1 … i+d (mod 4), α as before, β times d."""
    t = topologies.switch(4, **COST).unwind_switches(degree)
    assert t.switch_count == 0
    expected = {(i, (i + j) % 4): (1e-6, 6e9 / degree) for i in range(4) for j in range(1, degree + 1)}
    assert costs(t) == expected
    assert t.link_count == len(expected)


def test_unwinding_by_more_than_there_are_ranks_is_all_pairs():
    t = topologies.switch(4, **COST).unwind_switches(99)
    assert set(costs(t)) == {(a, b) for a in range(4) for b in range(4) if a != b}
    assert set(bandwidths(t).values()) == {2e9}


def test_unwinding_keeps_links_between_ranks():
    """Given the 2 x 2 grid with rings along x and switches along y: rows 0-1, 2-3; columns 0-2, 1-3."""
    t = topologies.grid([2, 2], ["ring", "switch"], latency_s=[1e-6, 2e-6], bandwidth=[9e9, 3e9])
    unwound = costs(t.unwind_switches(1))
    rows = {(0, 1): (1e-6, 9e9), (1, 0): (1e-6, 9e9), (2, 3): (1e-6, 9e9), (3, 2): (1e-6, 9e9)}
    columns = {(0, 2): (2e-6, 3e9), (2, 0): (2e-6, 3e9), (1, 3): (2e-6, 3e9), (3, 1): (2e-6, 3e9)}
    assert unwound == rows | columns


def test_unwinding_shares_a_nic_among_its_ranks():
    """Given 2 hosts of 2 ranks, one NIC of 10 GB/s each, 300 GB/s inside.

    Derivation: inside each host two ranks on a switch: 0<->1, 2<->3. The network's circle visits host 0's and host 1's
    first ranks, then their second ones: 0 -> 2 -> 1 -> 3 -> 0; each NIC carries two of these out and two in: 5 GB/s.
    """
    t = topologies.hosts(2, 2, 1, latency_s=1e-6, bandwidth=300e9, nic_latency_s=4e-6, nic_bandwidth=10e9)
    inside = {pair: (1e-6, 300e9) for pair in [(0, 1), (1, 0), (2, 3), (3, 2)]}
    across = {pair: (4e-6, 5e9) for pair in [(0, 2), (2, 1), (1, 3), (3, 0)]}
    assert costs(t.unwind_switches(1)) == inside | across


def test_unwinding_adds_up_parallel_ports():
    t = topologies.hosts(3, 1, 2, latency_s=0, bandwidth=1e9, nic_latency_s=4e-6, nic_bandwidth=10e9)
    assert costs(t.unwind_switches(1)) == {pair: (4e-6, 20e9) for pair in [(0, 1), (1, 2), (2, 0)]}


def test_unwinding_takes_the_fewest_switches_and_lets_equal_ways_take_turns():
    """Given ranks 0, 1 on leaf 4, ranks 2, 3 on leaf 5, and two equal spines 6, 7 between the leaves.

    Derivation: wires 0->1, 1->2, 2->3, 3->0 (degree 1). 1->2 (sum 3) takes one spine, 3->0 (sum 3) the same, but in the
    other direction; all other links are crossed once in each direction.
    """
    ports = [(0, 4), (1, 4), (2, 5), (3, 5)]
    trunks = [(leaf, spine) for leaf in (4, 5) for spine in (6, 7)]
    rows = [(a, b, 1e-6, 8e9) for x, y in ports + trunks for a, b in ((x, y), (y, x))]
    t = hm.Topology(4, rows, switch_count=4)
    cost = costs(t.unwind_switches(1))
    assert cost == {(0, 1): (2e-6, 8e9), (1, 2): (4e-6, 8e9), (2, 3): (2e-6, 8e9), (3, 0): (4e-6, 8e9)}
    shared = costs(t.unwind_switches(3))
    # 0->2, 0->3, 1->2, 1->3 cross the trunk: sums 2, 3, 3, 4 take spines 6, 7, 7, 6, two on each
    assert shared[0, 2] == (
        4e-6,
        pytest.approx(8e9 / 3),
    )  # its port, shared by three, is narrower than half a trunk
    assert {pair for pair in shared} == {(a, b) for a in range(4) for b in range(4) if a != b}


@pytest.mark.parametrize("degree", [1, 2, 5])
@pytest.mark.parametrize(
    "t",
    [
        topologies.dgx_h100(3),
        topologies.switch_2d([8, 4], latency_s=0.5e-6, bandwidth=[300e9, 25e9]),
        topologies.rfs_3d([2, 4, 4], latency_s=0.5e-6, bandwidth=[200e9, 100e9, 50e9]),
        topologies.boxes(4, ranks_per_box=3, cable_latency_s=1e-6, cable_bandwidth=1e9),
        topologies.hosts(3, 5, 2, latency_s=1e-6, bandwidth=9e9, nic_latency_s=4e-6, nic_bandwidth=1e9),
    ],
    ids=lambda t: t.name,
)
def test_unwound_topologies_stay_connected_and_ask_for_no_more_than_the_ports_give(t, degree):
    unwound = t.unwind_switches(degree)
    assert unwound.switch_count == 0
    assert nx.is_strongly_connected(nx.DiGraph(unwound.to_networkx()))
    for rank in range(t.rank_count):
        had, has = (x.links["bandwidth"][x.links["src"] == rank].sum() for x in (t, unwound))
        assert has <= had * (1 + 1e-12)


def test_unwinding_a_thousand_port_switch_is_quick_enough_to_test():
    t = topologies.switch(4000, **COST).unwind_switches(2)
    assert t.link_count == 8000
    assert np.unique(t.links["bandwidth"]).tolist() == [3e9]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.without_links([(0, 2)]), "no link 0 -> 2"),
        (lambda t: t.without_links([(0, 99)]), "no link 0 -> 99"),
        (lambda t: t.without_links([(-1, 0)]), "no link -1 -> 0"),
        (lambda t: t.without_ranks([4]), "ranks 0 … 3, found 4"),
        (lambda t: t.without_ranks([0, 1, 2, 3]), "no rank would be left"),
        (lambda t: t.degraded({4: 2.0}), "ranks 0 … 3, found 4"),
        (lambda t: t.degraded({0: 0.5}), "at least 1 for rank 0"),
        (lambda t: t.degraded({0: float("nan")}), "at least 1 for rank 0"),
        (lambda t: t.degraded({(0, 2): 2.0}), "no link 0 -> 2"),
        (lambda t: t.degraded({"0": 2.0}), "expected a rank, a pair"),
        (lambda t: t.degraded({0: "2"}), "expected a number as factor"),
        (lambda t: t.repeated(0), "at least one copy"),
        (lambda t: t.repeated(2, shared=[1]), "shared switches"),
        (lambda t: t.repeated(1 << 21), "more than a topology may hold"),
        (lambda t: t.unwind_switches(0), "degree of at least 1"),
    ],
)
def test_copies_refuse(change, words):
    with pytest.raises(ArgumentError, match=words):
        change(topologies.ring(4, **COST))


def one_way_switches(edges):
    return hm.Topology(2, [(a, b, 0.0, 1e9) for a, b in edges], switch_count=2)


def test_unwinding_needs_a_way_through_the_switches_in_each_direction():
    """Both ranks send into switch 2 or 3 and receive from one; whether rank 1 reaches rank 0 depends on 3's links."""
    there_and_back = one_way_switches([(0, 2), (3, 0), (1, 3), (2, 1), (2, 3)])
    assert set(costs(there_and_back.unwind_switches(1))) == {(0, 1), (1, 0)}
    only_there = one_way_switches([(0, 2), (2, 1), (1, 3), (2, 3), (2, 0)])
    with pytest.raises(ArgumentError, match="rank 1 does not reach rank 0"):
        only_there.unwind_switches(1)


def two_hosts() -> hm.Topology:
    """Two hosts of two ranks: a switch in each (4, 5), and one between them (6) that every rank has a NIC to."""
    links = []
    for rank in range(4):
        for vertex in (4 + rank // 2, 6):
            links += [(rank, vertex, 1e-6, 6e9), (vertex, rank, 1e-6, 6e9)]
    return hm.Topology(4, links, switch_count=3, nodes=[0, 0, 1, 1])


def test_a_slow_host_is_slower_towards_others_and_as_fast_inside():
    slow = two_hosts().with_slow_hosts({1: 3.0})
    by_ends = bandwidths(slow)
    assert by_ends[2, 6] == by_ends[6, 2] == by_ends[3, 6] == 2e9
    assert by_ends[0, 6] == by_ends[2, 5] == by_ends[5, 3] == 6e9


def test_a_switch_that_ranks_of_two_hosts_share_belongs_to_neither():
    # Given hosts 0 and 1, each a rank behind a switch (2, 3), which are linked: one network between the hosts.
    pairs = [(0, 2), (2, 0), (1, 3), (3, 1), (2, 3), (3, 2)]
    line = hm.Topology(2, [(a, b, 0.0, 6e9) for a, b in pairs], switch_count=2)
    slow = line.with_slow_hosts({0: 2.0, 1: 3.0})
    assert slow.links["bandwidth"].tolist() == [3e9, 3e9, 2e9, 2e9, 6e9, 6e9]


@pytest.mark.parametrize("factors", [{2: 2.0}, {-1: 2.0}, {0: 0.5}, {0: float("inf")}, {0: float("nan")}])
def test_slow_hosts_that_cannot_be_are_refused(factors):
    with pytest.raises(ArgumentError, match="host"):
        two_hosts().with_slow_hosts(factors)
