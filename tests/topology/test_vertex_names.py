# SPDX-License-Identifier: Apache-2.0
"""Vertices have names: they travel through files, copies and graphs, and commands and errors use them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.topology.yaml_reader import from_yaml
from hemiola.topology.yaml_writer import to_yaml

DATA = Path(__file__).parent / "data"


@pytest.fixture
def box() -> hm.Topology:
    return hm.Topology.load(DATA / "h100_four.xml")


def test_readers_name_gpus_nics_switches_and_the_network(box: hm.Topology) -> None:
    assert box.names[:4] == ["GPU0", "GPU1", "GPU2", "GPU3"]
    assert {"NVSwitch", "CPU0", "network"} <= set(box.names)
    assert {name for name, _, _ in box.nics} <= set(box.names)
    assert len(set(box.names)) == box.rank_count + box.switch_count


@pytest.mark.parametrize(
    "way",
    [
        lambda t: from_yaml(to_yaml(t)),
        lambda t: from_yaml("# read by the other reader\n" + to_yaml(t)),
        lambda t: hm.Topology.from_networkx(t.to_networkx()),
        lambda t: pickle.loads(pickle.dumps(t)),
        copy.deepcopy,
    ],
    ids=["yaml", "yaml by hand", "networkx", "pickle", "copy"],
)
def test_names_travel(box: hm.Topology, way) -> None:
    assert way(box) == box
    assert way(box).names == box.names
    rack = box.repeated(2, shared=[box.rank_count + box.switch_count - 1])
    assert way(rack).names == rack.names


def test_copies_keep_names_and_repeated_ones_get_their_host(box: hm.Topology) -> None:
    last = box.rank_count + box.switch_count - 1
    rack = box.repeated(3, shared=[last])
    assert rack.names[5] == "1/GPU1"
    assert rack.names[-1] == "network"
    assert rack.without_ranks(list(range(4))).names[0] == "0/GPU0"
    assert rack.degraded({0: 2.0}).names == rack.names
    assert rack.without_links([(rack.vertex("2/GPU0"), rack.vertex("2/NVSwitch"))]).names == rack.names
    assert box.of_ranks([2, 0]).names[:2] == ["GPU2", "GPU0"]
    assert box.unwind_switches(2).names == box.names[:4]


def test_a_vertex_is_found_by_number_name_and_host(box: hm.Topology) -> None:
    rack = box.repeated(2, shared=[box.rank_count + box.switch_count - 1])
    assert rack.vertex("7") == rack.vertex("1/GPU3") == 7
    assert rack.called(7) == "rank 7 (1/GPU3)"
    assert rack.called(rack.vertex("network")) == "network"
    with pytest.raises(ArgumentError, match="several hosts have a 'GPU3'; say which, such as '0/GPU3'"):
        rack.vertex("GPU3")
    with pytest.raises(ArgumentError, match="has no vertex 'NVSwich'; did you mean 'NVSwitch'"):
        box.vertex("NVSwich")
    with pytest.raises(ArgumentError, match="its vertices have no names: say numbers"):
        hm.topologies.ring(3, latency_s=0, bandwidth=1e9).vertex("GPU0")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a"], "expected a name per vertex"),
        (["a", "a"], "two vertices are called 'a'"),
        (["a", "b c"], "found 'b c'"),
        (["a", "7"], "that is no number"),
        (["a", "x/b"], "found 'x/b'"),
    ],
)
def test_names_that_cannot_be_are_refused(names: list[str], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        hm.Topology(2, [(0, 1, 0, 1e9)], names=names)


def test_bounds_and_errors_name_ranks(box: hm.Topology) -> None:
    assert "rank 0 (GPU0)" in hm.lower_bound(box, "all_gather", 1 << 20).witness
    with pytest.raises(ArgumentError, match="there is no link GPU0 -> GPU1"):
        box.without_links([(0, 1)])


def test_without_nics_leaves_out_the_links_of_a_nic(box: hm.Topology) -> None:
    name, _, links = box.nics[0]
    left = box.without_nics([name])
    assert left.link_count == box.link_count - len(links)
    assert name not in [nic for nic, _, _ in left.nics]
    with pytest.raises(ArgumentError, match="has no NIC 'eth9'"):
        box.without_nics(["eth9"])
    assert from_yaml(to_yaml(box).replace("links:", f"without_nics: [{name}]\nlinks:", 1)) == left
