# SPDX-License-Identifier: Apache-2.0
"""Builders of the networks that papers evaluate and people own, against what is known about each."""

from collections import Counter

import networkx as nx
import pytest

import hemiola as hm
from hemiola import topologies
from hemiola.errors import ArgumentError

COST = {"latency_s": 0.5e-6, "bandwidth": 50e9}


def pairs(t):
    return sorted(zip(t.links["src"].tolist(), t.links["dst"].tolist(), strict=True))


def both_ways(edges):
    return sorted([*edges, *[(b, a) for a, b in edges]])


def rank_bandwidth(t, rank):
    """What leaves a rank in all."""
    return float(t.links["bandwidth"][t.links["src"] == rank].sum())


def test_2d_switch_has_a_switch_for_every_row_and_column():
    """Given 8 x 4: 4 rows of 8 ranks at 300 GB/s and 8 columns of 4 ranks at 25 GB/s [TACOS, §VI-B1]."""
    t = topologies.switch_2d([8, 4], latency_s=0.5e-6, bandwidth=[300e9, 25e9])
    assert (t.rank_count, t.switch_count) == (32, 12)
    assert {rank_bandwidth(t, r) for r in range(32)} == {325e9}
    ports = Counter(t.links["src"].tolist())
    assert [ports[s] for s in range(32, 44)] == [8] * 4 + [4] * 8


@pytest.mark.parametrize("hosts", [2, 4, 8, 16])
def test_3d_rfs_has_rings_pairs_and_switches(hosts):
    """Given 2 x 4 x hosts [TACOS, Table V]: each rank has one ring link (a ring of two), three pair links, one port."""
    t = topologies.rfs_3d([2, 4, hosts], latency_s=0.5e-6, bandwidth=[200e9, 100e9, 50e9])
    assert t.rank_count == 8 * hosts
    assert t.switch_count == 8
    assert {rank_bandwidth(t, r) for r in range(t.rank_count)} == {200e9 + 3 * 100e9 + 50e9}


def test_dragonfly_4x5_gives_every_rank_one_global_link():
    t = topologies.dragonfly([4, 5], latency_s=0.5e-6, bandwidth=[400e9, 200e9])
    assert (t.rank_count, t.switch_count) == (20, 0)
    assert {rank_bandwidth(t, r) for r in range(20)} == {3 * 400e9 + 200e9}
    between = {(a // 4, b // 4) for a, b in pairs(t) if a // 4 != b // 4}
    assert between == {(g, h) for g in range(5) for h in range(5) if g != h}
    assert len([pair for pair in pairs(t) if pair[0] // 4 != pair[1] // 4]) == 20


@pytest.mark.parametrize(("size", "groups"), [(1, 1), (1, 6), (5, 4), (4, 9), (3, 2), (2, 1)])
def test_dragonfly_of_any_shape_joins_every_two_groups_once(size, groups):
    t = topologies.dragonfly([size, groups], **COST)
    between = Counter((a // size, b // size) for a, b in pairs(t) if a // size != b // size)
    assert between == {(g, h): 1 for g in range(groups) for h in range(groups) if g != h}
    gateways = Counter(a for a, b in pairs(t) if a // size != b // size)
    counts = [gateways[r] for r in range(size * groups)]
    assert max(counts) - min(counts) <= 1


def test_dgx1_is_a_hybrid_cube_mesh_with_six_nvlinks_at_every_gpu():
    t = topologies.dgx1()
    assert t.node_count == 1
    assert {rank_bandwidth(t, r) for r in range(8)} == {6 * 25e9}
    quads = {(a, b) for a in range(4) for b in range(a)} | {(a, b) for a in range(4, 8) for b in range(4, a)}
    across = {(r, r + 4) for r in range(4)}
    assert pairs(t) == both_ways(quads | across)


def test_dgx1_with_parallel_links_has_48_equal_ones():
    t = topologies.dgx1(parallel_links=True)
    assert t.link_count == 48
    assert set(t.links["bandwidth"]) == {25e9}
    assert [rank_bandwidth(t, r) for r in range(8)] == [150e9] * 8


@pytest.mark.parametrize(
    ("build", "nvlinks", "nic"), [(topologies.dgx_a100, 300e9, 25e9), (topologies.dgx_h100, 450e9, 50e9)]
)
def test_dgx_racks_have_an_nvswitch_a_box_and_a_nic_a_gpu(build, nvlinks, nic):
    box = build()
    assert (box.rank_count, box.switch_count, box.node_count) == (8, 1, 1)
    assert rank_bandwidth(box, 3) == nvlinks
    rack = build(4)
    assert (rack.rank_count, rack.switch_count, rack.node_count) == (32, 4 + 8, 4)
    assert rank_bandwidth(rack, 31) == nvlinks + nic
    assert build(4, rails=False).switch_count == 4 + 1


def test_rail_i_joins_gpu_i_of_every_box():
    rack = topologies.dgx_a100(3)
    rails = {s: sorted(b for a, b in pairs(rack) if a == s) for s in range(24 + 3, 24 + 3 + 8)}
    assert list(rails.values()) == [[i, 8 + i, 16 + i] for i in range(8)]


def test_cluster_takes_unequal_hosts_and_mixed_nics():
    """Given a host of 2 ranks with 2 NICs and a host of 3 ranks with 1.

    Derivation: ranks 0-4; host 0: switch 5, its NICs are its ranks' ports; host 1: switch 6, shared NIC 7; core 8.
    """
    fast = topologies.Host(
        2, 2, latency_s=1e-6, bandwidth=300e9, nic_latency_s=4e-6, nic_bandwidth=[50e9, 25e9]
    )
    old = topologies.Host(3, latency_s=1e-6, bandwidth=100e9, nic_latency_s=8e-6, nic_bandwidth=10e9)
    t = topologies.cluster([fast, old])
    assert pairs(t) == both_ways(
        [(0, 5), (1, 5), (0, 8), (1, 8), (2, 6), (3, 6), (4, 6), (2, 7), (3, 7), (4, 7), (7, 8)]
    )
    assert t.nodes.tolist() == [0, 0, 1, 1, 1]
    cost = {(int(r["src"]), int(r["dst"])): (r["latency_s"], r["bandwidth"]) for r in t.links}
    assert cost[0, 8] == (2e-6, 50e9)
    assert cost[1, 8] == (2e-6, 25e9)
    assert cost[2, 7] == (2e-6, 10e9)


def test_equal_hosts_are_a_cluster_of_equal_hosts():
    cost = {"latency_s": 1e-6, "bandwidth": 300e9, "nic_latency_s": 4e-6, "nic_bandwidth": 25e9}
    assert topologies.cluster([topologies.Host(4, 2, **cost)] * 3) == topologies.hosts(3, 4, 2, **cost)


CABLE = {"cable_latency_s": 4e-6, "cable_bandwidth": 25e9}


@pytest.mark.parametrize("boxes", [3, 4, 5, 6, 7, 8])
def test_switchless_ring_of_boxes_of_one_gpu_is_a_ring(boxes):
    t = topologies.boxes(boxes, **CABLE)
    assert pairs(t) == pairs(topologies.ring(boxes, **COST))


def test_partial_mesh_has_the_cables_it_was_given_each_at_its_speed():
    t = topologies.boxes(
        4, [(0, 1), (1, 2), (1, 3)], cable_latency_s=4e-6, cable_bandwidth=[25e9, 25e9, 12.5e9]
    )
    assert pairs(t) == both_ways([(0, 1), (1, 2), (1, 3)])
    slow = t.links[t.links["bandwidth"] == 12.5e9]
    assert pairs(hm.Topology(4, slow)) == [(1, 3), (3, 1)]


def test_ranks_of_a_box_share_its_cables():
    """Given two boxes of two ranks and one cable.

    Derivation: ports 4 and 5; a quarter of the cable's latency between rank and port, half on the cable.
    """
    t = topologies.boxes(2, ranks_per_box=2, **CABLE)
    assert pairs(t) == both_ways([(0, 1), (2, 3), (0, 4), (1, 4), (4, 5), (5, 2), (5, 3)])
    cost = {(int(r["src"]), int(r["dst"])): r["latency_s"] for r in t.links}
    assert (cost[0, 4], cost[4, 5], cost[5, 3]) == (1e-6, 2e-6, 1e-6)


def test_fully_connected_boxes_have_a_cable_for_every_two():
    assert pairs(topologies.boxes(5, "fully_connected", **CABLE)) == pairs(
        topologies.fully_connected(5, **COST)
    )


@pytest.mark.parametrize("inside", ["switch", "fully_connected", "ring", "line"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_all_ranks_of_cabled_boxes_reach_each_other(inside, ranks):
    t = topologies.boxes(3, ranks_per_box=ranks, inside=inside, **CABLE)
    assert nx.is_strongly_connected(nx.DiGraph(t.to_networkx()))


@pytest.mark.parametrize(
    "build",
    [
        lambda: topologies.switch_2d([4, 4, 4], **COST),
        lambda: topologies.rfs_3d([4, 4], **COST),
        lambda: topologies.dragonfly([4], **COST),
        lambda: topologies.dragonfly([4, 0], **COST),
        lambda: topologies.dragonfly([1 << 20, 1 << 20], **COST),
        lambda: topologies.dragonfly([4, 5], latency_s=0, bandwidth=[1e9, 1e9, 1e9]),
        lambda: topologies.dgx_a100(0),
        lambda: topologies.dgx1(bandwidth=0),
        lambda: topologies.cluster([]),
        lambda: topologies.Host(2, 2, latency_s=0, bandwidth=1, nic_latency_s=0, nic_bandwidth=[1.0]),
        lambda: topologies.Host(
            2, 2, latency_s=0, bandwidth=1, nic_latency_s=0, nic_bandwidth=1, inside="glue"
        ),
        lambda: topologies.boxes(0, **CABLE),
        lambda: topologies.boxes(1 << 30, **CABLE),
        lambda: topologies.boxes(3, [(0, 3)], **CABLE),
        lambda: topologies.boxes(3, [(1, 1)], **CABLE),
        lambda: topologies.boxes(3, "star", **CABLE),
        lambda: topologies.boxes(3, cable_latency_s=0, cable_bandwidth=[1e9]),
    ],
)
def test_builders_refuse(build):
    with pytest.raises(ArgumentError):
        build()
