# SPDX-License-Identifier: Apache-2.0
"""The class: what it holds, what it refuses, and that copies are equal."""

import pickle

import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError

ROWS = [(0, 2, 1e-6, 1e9), (2, 0, 1e-6, 1e9), (1, 2, 2e-6, 3e9), (2, 1, 2e-6, 3e9)]


def star():
    return hm.Topology(2, ROWS, switch_count=1, nodes=[0, 0], name="star")


def test_topology_shows_the_links_it_was_given():
    t = star()
    assert (t.rank_count, t.switch_count, t.link_count, t.node_count, t.name) == (2, 1, 4, 1, "star")
    assert t.links.dtype.names == ("src", "dst", "latency_s", "bandwidth", "message_s")
    assert t.links.tolist() == [(*row, 0.0) for row in ROWS]
    assert t.nodes.tolist() == [0, 0]


def test_topology_is_immutable():
    t = star()
    with pytest.raises(ValueError, match="read-only"):
        t.links["src"][0] = 1
    with pytest.raises(ValueError, match="read-only"):
        t.nodes[0] = 1
    with pytest.raises(AttributeError):
        t.rank_count = 3


def test_one_rank_without_links_is_a_topology():
    t = hm.Topology(1, [])
    assert t.links.tolist() == []
    assert t.nodes.tolist() == [0]


def test_rows_arrays_and_pickles_build_equal_topologies():
    t = star()
    from_array = hm.Topology(2, t.links, switch_count=1, nodes=t.nodes.tolist(), name="star")
    wider = t.links.astype(
        [("src", "i8"), ("dst", "i8"), ("latency_s", "f8"), ("bandwidth", "f8"), ("message_s", "f8")]
    )
    from_wider = hm.Topology(2, wider, switch_count=1, nodes=[0, 0], name="star")
    for other in (from_array, from_wider, pickle.loads(pickle.dumps(t))):
        assert other == t
        assert hash(other) == hash(t)


def test_a_strided_view_of_links_is_read_as_it_looks():
    t = star()
    every_other = hm.Topology(2, t.links[::2], switch_count=1)
    assert every_other.links.tolist() == [(*row, 0.0) for row in ROWS[::2]]


@pytest.mark.parametrize(
    "other",
    [
        hm.Topology(2, ROWS, switch_count=1, nodes=[0, 0], name="other"),
        hm.Topology(2, ROWS, switch_count=1, nodes=[0, 1], name="star"),
        hm.Topology(2, ROWS, switch_count=2, nodes=[0, 0], name="star"),
        hm.Topology(2, ROWS[:3], switch_count=1, nodes=[0, 0], name="star"),
        "star",
    ],
)
def test_topologies_that_differ_in_anything_are_unequal(other):
    assert star() != other


def test_saying_that_every_rank_is_its_own_node_changes_nothing():
    assert hm.Topology(2, [], nodes=[0, 1]) == hm.Topology(2, [])


def test_repr_says_how_big_it_is():
    assert repr(star()) == "<Topology 'star': 2 ranks, 1 switches, 1 nodes, 4 links>"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rank_count": 0, "links": []}, "found 0 ranks"),
        ({"rank_count": -1, "links": []}, "found -1 ranks"),
        ({"rank_count": 2, "links": [], "switch_count": -1}, "-1 switches"),
        ({"rank_count": 1 << 30, "links": []}, "expected 1 … 4194304"),
        ({"rank_count": 2, "links": [(0, 0, 0.0, 1.0)]}, "two different vertices"),
        ({"rank_count": 2, "links": [(0, 2, 0.0, 1.0)]}, "expected vertices 0 … 1"),
        ({"rank_count": 2, "links": [(-1, 1, 0.0, 1.0)]}, "expected vertices 0 … 1"),
        ({"rank_count": 2, "links": [(0, 1, 0.0, 0.0)]}, "bandwidth above 0"),
        ({"rank_count": 2, "links": [(0, 1, 0.0, float("inf"))]}, "finite bandwidth"),
        ({"rank_count": 2, "links": [(0, 1, 0.0, float("nan"))]}, "finite bandwidth"),
        ({"rank_count": 2, "links": [(0, 1, 0.0, 2e18)]}, "at most 1e\\+06 TB/s, found 2e\\+06 TB/s"),
        ({"rank_count": 2, "links": [(0, 1, -1e-6, 1.0)]}, "between 0 and 9e6 seconds"),
        ({"rank_count": 2, "links": [(0, 1, 1001.0, 1.0)]}, "latency of 0 … 1000 s, found 1001 s"),
        ({"rank_count": 2, "links": [(0, 1, float("nan"), 1.0)]}, "between 0 and 9e6 seconds"),
        ({"rank_count": 2, "links": [(0, 1, 0.0)]}, r"link 0: expected \(src, dst, latency_s, bandwidth\)"),
        ({"rank_count": 2, "links": [(0, "x", 0.0, 1.0)]}, "link 0: expected"),
        ({"rank_count": 2, "links": [(0, 1 << 40, 0.0, 1.0)]}, "link 0: expected"),
        ({"rank_count": 2, "links": np.zeros((1, 2))}, "link 0: expected"),
        ({"rank_count": 2, "links": [], "nodes": [0]}, "one node per rank"),
        ({"rank_count": 2, "links": [], "nodes": [0, 2]}, "node numbers 0 … 1"),
        ({"rank_count": 2, "links": [], "nodes": [-1, 0]}, "node numbers 0 … 1"),
        ({"rank_count": 2, "links": [], "nodes": [1, 1]}, "no rank on node 0"),
    ],
)
def test_topology_refuses(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        hm.Topology(**arguments)
