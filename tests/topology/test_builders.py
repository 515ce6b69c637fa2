# SPDX-License-Identifier: Apache-2.0
"""Builders against what each network is by definition: degrees, neighbours, distances, cuts."""

from collections import Counter

import networkx as nx
import pytest

import hemiola as hm
from hemiola import topologies
from hemiola.errors import ArgumentError

COST = {"latency_s": 0.5e-6, "bandwidth": 50e9}


def pairs(t):
    return sorted(zip(t.links["src"].tolist(), t.links["dst"].tolist(), strict=True))


def graph(t):
    g = nx.MultiDiGraph()
    g.add_nodes_from(range(t.rank_count + t.switch_count))
    g.add_edges_from(pairs(t))
    return g


def both_ways(edges):
    return sorted([*edges, *[(b, a) for a, b in edges]])


def test_ring_links_each_rank_to_both_neighbours():
    assert pairs(topologies.ring(4, **COST)) == both_ways([(0, 1), (1, 2), (2, 3), (3, 0)])


def test_one_way_ring_sends_to_the_next_rank_only():
    assert pairs(topologies.ring(3, bidirectional=False, **COST)) == [(0, 1), (1, 2), (2, 0)]


@pytest.mark.parametrize("bidirectional", [True, False])
def test_ring_of_two_has_one_link_each_way(bidirectional):
    assert pairs(topologies.ring(2, bidirectional=bidirectional, **COST)) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_fully_connected_has_every_ordered_pair_once(n):
    t = topologies.fully_connected(n, **COST)
    assert pairs(t) == sorted((a, b) for a in range(n) for b in range(n) if a != b)


def test_links_carry_the_cost_that_was_asked_for():
    t = topologies.fully_connected(3, **COST)
    assert set(t.links["latency_s"]) == {0.5e-6}
    assert set(t.links["bandwidth"]) == {50e9}


def test_switch_splits_the_latency_over_two_hops_and_keeps_the_bandwidth():
    t = topologies.switch(3, latency_s=1e-6, bandwidth=2e9)
    assert pairs(t) == both_ways([(0, 3), (1, 3), (2, 3)])
    assert set(t.links["latency_s"]) == {0.5e-6}
    assert set(t.links["bandwidth"]) == {2e9}


def test_switch_does_not_lose_the_odd_picosecond():
    t = topologies.switch(2, latency_s=3e-12, bandwidth=1e9)
    up, down = (t.links[t.links[end] == 2]["latency_s"][0] for end in ("dst", "src"))
    assert round((up + down) * 1e12) == 3


@pytest.mark.parametrize("dims", [[4], [3, 5], [2, 3, 4], [1, 4, 1], [2, 2, 2, 2]])
def test_mesh_is_the_grid_graph(dims):
    t = topologies.mesh(dims, **COST)
    # networkx names a vertex by its coordinates, the last one fastest; ours has the first fastest
    reference = nx.grid_graph(dims)
    number = {at: i for i, at in enumerate(sorted(reference.nodes))}
    assert pairs(t) == both_ways([(number[a], number[b]) for a, b in reference.edges])


@pytest.mark.parametrize("dims", [[5], [3, 5], [3, 4, 5]])
def test_torus_is_the_periodic_grid_graph(dims):
    t = topologies.torus(dims, **COST)
    reference = nx.grid_graph(dims, periodic=True)
    number = {at: i for i, at in enumerate(sorted(reference.nodes))}
    assert pairs(t) == both_ways([(number[a], number[b]) for a, b in reference.edges])


def test_torus_dimension_of_two_has_one_link_each_way():
    assert pairs(topologies.torus([2, 2], **COST)) == both_ways([(0, 1), (2, 3), (0, 2), (1, 3)])


def test_dimensions_have_costs_of_their_own():
    t = topologies.mesh([2, 2], latency_s=[1e-6, 2e-6], bandwidth=[10e9, 20e9])
    cost = {(int(r["src"]), int(r["dst"])): (r["latency_s"], r["bandwidth"]) for r in t.links}
    assert cost[0, 1] == cost[3, 2] == (1e-6, 10e9)
    assert cost[0, 2] == cost[3, 1] == (2e-6, 20e9)


def test_hypercube_is_the_papers_3d_grid():
    assert pairs(topologies.hypercube([3, 4, 5], **COST)) == pairs(topologies.mesh([3, 4, 5], **COST))
    with pytest.raises(ArgumentError, match="expected 3 dimensions, found 2"):
        topologies.hypercube([3, 4], **COST)


def test_grid_wires_each_dimension_in_its_own_way():
    """Given 2 x 3: a ring of two, then a switch per column.

    Derivation: rows {0,1} {2,3} {4,5} are joined directly; columns {0,2,4} and {1,3,5} get switches 6 and 7.
    """
    t = topologies.grid([2, 3], ["ring", "switch"], latency_s=1e-6, bandwidth=[9e9, 3e9])
    rows = [(0, 1), (2, 3), (4, 5)]
    ports = [(0, 6), (2, 6), (4, 6), (1, 7), (3, 7), (5, 7)]
    assert pairs(t) == both_ways(rows + ports)
    on_switch = (t.links["src"] >= 6) | (t.links["dst"] >= 6)
    assert set(t.links["bandwidth"][on_switch]) == {3e9}
    assert set(t.links["bandwidth"][~on_switch]) == {9e9}


def cluster(*shape, **options):
    cost = {"latency_s": 1e-6, "bandwidth": 300e9, "nic_latency_s": 5e-6, "nic_bandwidth": 25e9}
    return topologies.hosts(*shape, **cost, **options)


def test_hosts_share_their_nics_evenly():
    """Given 2 hosts of 4 ranks and 2 NICs each.

    Derivation: ranks 0-7; host 0: switch 8, NICs 9 and 10; host 1: switch 11, NICs 12 and 13; core 14.
    """
    t = cluster(2, 4, 2)
    inner = [(r, 8 if r < 4 else 11) for r in range(8)]
    nics = [(0, 9), (1, 9), (2, 10), (3, 10), (4, 12), (5, 12), (6, 13), (7, 13)]
    core = [(9, 14), (10, 14), (12, 14), (13, 14)]
    assert pairs(t) == both_ways(inner + nics + core)
    assert t.nodes.tolist() == [0] * 4 + [1] * 4


def test_hosts_cross_the_network_at_the_nic_latency():
    t = cluster(2, 4, 2)
    g = nx.DiGraph()
    for row in t.links:
        g.add_edge(int(row["src"]), int(row["dst"]), weight=float(row["latency_s"]))
    assert nx.shortest_path_length(g, 0, 1, weight="weight") == pytest.approx(1e-6, abs=1e-15)
    assert nx.shortest_path_length(g, 0, 7, weight="weight") == pytest.approx(5e-6, abs=1e-15)


def test_a_nic_of_one_rank_is_that_ranks_port():
    t = cluster(3, 1, 1)
    assert pairs(t) == both_ways([(0, 3), (1, 3), (2, 3)])
    assert t == hm.Topology(3, t.links, switch_count=1, nics=t.nics, name="hosts 3x1")


def test_a_rank_with_two_nics_has_two_ports():
    t = cluster(2, 1, 2)
    assert Counter(pairs(t)) == Counter({(0, 2): 2, (2, 0): 2, (1, 2): 2, (2, 1): 2})


def test_rails_join_equal_nics_of_all_hosts():
    t = cluster(2, 2, 2, rails=True, inside="fully_connected")
    assert pairs(t) == both_ways([(0, 1), (2, 3), (0, 4), (2, 4), (1, 5), (3, 5)])


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("nics", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("inside", ["switch", "fully_connected", "ring", "line"])
def test_every_rank_of_every_host_reaches_every_other(ranks, nics, inside):
    t = cluster(3, ranks, nics, inside=inside)
    assert nx.is_strongly_connected(nx.DiGraph(graph(t)))
    core = t.rank_count + t.switch_count - 1
    assert sum(1 for _, dst in pairs(t) if dst == core) == 3 * nics


@pytest.mark.parametrize(
    "build",
    [
        lambda: topologies.ring(0, **COST),
        lambda: topologies.ring(3, latency_s=0, bandwidth=0),
        lambda: topologies.fully_connected(1_000_000, **COST),
        lambda: topologies.switch(-4, **COST),
        lambda: topologies.mesh([], **COST),
        lambda: topologies.mesh([0, 4], **COST),
        lambda: topologies.mesh([1 << 20, 1 << 20], **COST),
        lambda: topologies.mesh([1] * 17, **COST),
        lambda: topologies.mesh([2, 2], latency_s=0, bandwidth=[1.0]),
        lambda: topologies.grid([2, 2], ["ring"], **COST),
        lambda: topologies.grid([2], ["string"], **COST),
        lambda: topologies.grid([1 << 20], ["fully_connected"], **COST),
        lambda: cluster(0, 1, 1),
        lambda: cluster(1, 0, 1),
        lambda: cluster(1, 1, -1),
        lambda: cluster(1 << 22, 4, 4),
    ],
)
def test_builders_refuse_impossible_sizes(build):
    with pytest.raises(ArgumentError):
        build()
