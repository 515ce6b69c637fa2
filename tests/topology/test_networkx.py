# SPDX-License-Identifier: Apache-2.0
"""Topologies from and to NetworkX graphs."""

import networkx as nx
import pytest

import hemiola as hm
from hemiola import topologies
from hemiola.errors import ArgumentError

COST = {"latency_s": 1e-6, "bandwidth": 1e9}


def test_a_topology_becomes_a_multidigraph_with_its_attributes():
    g = topologies.hosts(
        2, 2, latency_s=1e-6, bandwidth=9e9, nic_latency_s=4e-6, nic_bandwidth=1e9, inside="line"
    ).to_networkx()
    assert isinstance(g, nx.MultiDiGraph)
    assert g.name == "hosts 2x2"
    assert [data for _, data in g.nodes(data=True)] == [
        {"switch": False, "node": 0},
        {"switch": False, "node": 0},
        {"switch": False, "node": 1},
        {"switch": False, "node": 1},
        {"switch": True},
        {"switch": True},
        {"switch": True},
    ]
    assert g.edges[0, 1, 0] == {"latency_s": 1e-6, "bandwidth": 9e9, "message_s": 0.0, "link": 0}


def test_an_undirected_graph_becomes_links_both_ways():
    g = nx.grid_2d_graph(3, 2)
    nx.set_edge_attributes(g, COST["latency_s"], "latency_s")
    nx.set_edge_attributes(g, COST["bandwidth"], "bandwidth")
    ours = topologies.mesh([2, 3], **COST)  # networkx has the last coordinate fastest
    assert sorted(hm.Topology.from_networkx(g).links.tolist()) == sorted(ours.links.tolist())


def test_switches_come_after_ranks_and_hosts_by_any_name():
    g = nx.DiGraph(name="star")
    g.add_node("core", switch=True)
    g.add_node("a", node="left")
    g.add_node("b", node="right")
    g.add_node("c", node="left")
    for rank in "abc":
        g.add_edge(rank, "core", **COST)
        g.add_edge("core", rank, **COST)
    t = hm.Topology.from_networkx(g)
    assert (t.rank_count, t.switch_count, t.name, t.nodes.tolist()) == (3, 1, "star", [0, 1, 0])
    assert sorted((r["src"], r["dst"]) for r in t.links) == [(0, 3), (1, 3), (2, 3), (3, 0), (3, 1), (3, 2)]


def test_parallel_edges_stay_parallel():
    g = nx.MultiGraph()
    g.add_edge(0, 1, **COST)
    g.add_edge(0, 1, **COST)
    assert hm.Topology.from_networkx(g).link_count == 4


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"latency_s": 1.0}, "'bandwidth'"),
        ({"bandwidth": 1.0}, "'latency_s'"),
        ({"latency_s": "soon", "bandwidth": 1.0}, "expected numbers"),
        ({"latency_s": None, "bandwidth": 1.0}, "expected numbers"),
        ({"latency_s": 1.0, "bandwidth": 0.0}, "bandwidth above 0"),
        ({"latency_s": -1.0, "bandwidth": 1.0}, "between 0 and"),
    ],
)
def test_edges_need_their_cost(attributes, words):
    g = nx.Graph()
    g.add_edge(0, 1, **attributes)
    with pytest.raises(ArgumentError, match=words):
        hm.Topology.from_networkx(g)


def test_a_graph_without_ranks_is_refused():
    with pytest.raises(ArgumentError, match="found 0 ranks"):
        hm.Topology.from_networkx(nx.Graph())


def test_a_graph_of_which_only_some_vertices_are_marked_is_refused():
    g = nx.Graph()
    g.add_node("tor0", switch=True)
    for rank in range(2):
        g.add_edge("tor0", rank, **COST)
    with pytest.raises(ArgumentError, match=r"found none of 0 \(2 of 3 vertices have none\)"):
        hm.Topology.from_networkx(g)
    g.add_nodes_from([0, 1], switch=False)
    assert hm.Topology.from_networkx(g).rank_count == 2


def test_self_loops_are_refused():
    g = nx.Graph()
    g.add_edge(0, 0, **COST)
    with pytest.raises(ArgumentError, match="two different vertices"):
        hm.Topology.from_networkx(g)
