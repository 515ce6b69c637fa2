# SPDX-License-Identifier: Apache-2.0
"""Files for NCCL_GRAPH_FILE hold a schedule's rings and chains, and read as NCCL reads them."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import hemiola as hm
from hemiola.errors import FormatError
from hemiola.export.nccl_graph import nccl_graph
from hemiola.export.nccl_graph_reader import read_graphs
from hemiola.export.ring_packing import packed_rings

DATA = Path(__file__).parents[1] / "topology" / "data"
DGX1, H100 = (DATA / "dgx1_v100.xml").read_text(), (DATA / "h100_four.xml").read_text()


def test_a_ring_is_a_channel_of_the_ring_and_the_tree_graph() -> None:
    graphs = read_graphs(nccl_graph(hm.algorithms.all_reduce_ring(8), DGX1), "x", 8)
    assert sorted(graphs) == [0, 1]
    assert {channel for graph in graphs.values() for channel in graph.channels} == {tuple(range(8))}


def test_both_directions_are_two_channels() -> None:
    graph = read_graphs(nccl_graph(hm.algorithms.all_gather_ring_two_way(8), DGX1, channels=2), "x", 8)[0]
    assert set(graph.channels) == {(0, 1, 2, 3, 4, 5, 6, 7), (0, 7, 6, 5, 4, 3, 2, 1)}


def test_behind_an_nvswitch_a_ring_is_divided_among_channels_that_keep_its_speed() -> None:
    """The port of an H100 of this file gives about 371 GB/s: ten channels of 37 by default, or four of 93."""
    ring = hm.algorithms.all_reduce_ring(4)
    usual, four = (read_graphs(nccl_graph(ring, H100, channels=count), "x", 4)[0] for count in (None, 4))
    assert (len(usual.channels), len(four.channels), usual.path_type) == (10, 4, "NVL")
    assert usual.speed * 10 == pytest.approx(four.speed * 4, rel=1e-4)
    assert usual.speed <= 40


def up_and_down(*ups: tuple[int, int, int]) -> hm.Schedule:
    """An all-reduce of four ranks that sums one chunk by these (step, src, dst), and sends it back the same way."""
    last = max(step for step, _, _ in ups)
    rows = [(step, src, dst, 0, True) for step, src, dst in ups]
    rows += [(2 * last + 1 - step, dst, src, 0, False) for step, src, dst in ups]
    schedule = hm.Schedule.from_transfers(hm.Collective.with_owners("all_reduce", 4, [ups[-1][2]]), rows)
    assert hm.verify(schedule) == []
    return schedule


@pytest.mark.parametrize("ranks", [(2, 0, 1, 3), (3, 1, 0, 2)])
def test_a_chain_whose_messages_go_both_ways_is_a_tree_alone_from_the_rank_that_makes_the_sum(
    ranks: tuple[int, ...],
) -> None:
    root, second, third, leaf = ranks
    schedule = up_and_down((0, leaf, third), (1, third, second), (2, second, root))
    graphs = read_graphs(nccl_graph(schedule, H100), "x", 4)
    assert sorted(graphs) == [1]
    assert set(graphs[1].channels) == {ranks}


def test_rings_packed_for_a_machine_use_only_its_direct_links_and_crowd_none() -> None:
    """A V100 of a DGX-1 has six NVLinks of one rate, so at most six rings leave it."""
    topology = hm.Topology.load(DATA / "dgx1_v100.xml")
    rings = packed_rings(topology)
    assert len(rings) == 6
    room = {
        (int(a), int(b)): float(rate) for a, b, rate in topology.links[["src", "dst", "bandwidth"]].tolist()
    }
    rate = min(value for (a, b), value in room.items() if max(a, b) < 8)
    for ring in rings:
        assert sorted(ring) == list(range(8))
        for pair in pairwise((*ring, ring[0])):
            room[pair] -= rate
            assert room[pair] > -1e-3
    graph = read_graphs(nccl_graph(None, DGX1), "x", 8)[0]
    assert sorted(set(graph.channels)) == sorted(set(rings))
    assert graph.path_type == "NVL"
    assert graph.speed == pytest.approx(rate / 1e9, rel=1e-3)


def test_gpus_have_the_numbers_of_the_machines_file() -> None:
    """NCCL reads `dev` as a hexadecimal number."""
    renumbered = re.sub(r'<gpu dev="(\d)"', lambda found: f'<gpu dev="{int(found[1]) + 10}"', H100)
    text = nccl_graph(hm.algorithms.all_reduce_ring(4), renumbered)
    assert '<gpu dev="0xa" rank="0"/>' in text
    assert '<gpu dev="0xd" rank="3"/>' in text


@pytest.mark.parametrize(
    ("schedule", "machine", "options", "words"),
    [
        (hm.algorithms.all_reduce_direct(4), H100, {}, "chunk 0 forks at rank"),
        (hm.algorithms.broadcast_binomial(8), DGX1, {}, "chunk 0 forks at rank 0, to ranks 1, 2, 4"),
        (hm.algorithms.gather_direct(4), H100, {}, "expected chunk"),
        (
            up_and_down((0, 3, 1), (0, 2, 0), (1, 1, 0)),
            H100,
            {},
            "is summed at rank 0 of the chain 2, 0, 1, 3",
        ),
        (
            up_and_down((0, 3, 0), (1, 2, 0), (2, 1, 0)),
            H100,
            {},
            "each GPU of a host has one child, the GPU behind it",
        ),
        (
            hm.algorithms.all_reduce_ring(5),
            H100,
            {},
            "a schedule of 4 ranks, one per GPU of the machine, found 5",
        ),
        (hm.algorithms.all_reduce_ring(4), H100, {"channels": 0}, "channels of 1 … 64, found 0"),
        (hm.algorithms.all_reduce_ring(4), H100, {"channels": 65}, "channels of 1 … 64, found 65"),
        (hm.algorithms.all_gather_ring_two_way(4), H100, {"channels": 1}, "channels of 2 … 64, found 1"),
        (hm.algorithms.all_reduce_ring(4), "ranks: 4\nlinks: []\n", {}, "expected a machine in NCCL's XML"),
        (hm.algorithms.all_reduce_ring(4), "<graphs/>", {}, "expected NCCL's topology"),
    ],
)
def test_what_a_graph_cannot_say_is_refused(
    schedule: hm.Schedule, machine: str, options: dict[str, int], words: str
) -> None:
    with pytest.raises((hm.ArgumentError, FormatError)) as caught:
        nccl_graph(schedule, machine, **options)
    assert words in str(caught.value)


def test_several_hosts_are_refused() -> None:
    two = H100.replace('host_hash="0x1"', 'host_hash="0x2"', 1)
    hosts = set(re.findall(r'host_hash="([^"]*)"', two))
    if len(hosts) < 2:  # the file's own hash is another
        two = re.sub(r'host_hash="[^"]*"', 'host_hash="0x7"', H100, count=1)
        two = two if two != H100 else H100.replace("<cpu ", '<cpu host_hash="0x7" ', 1)
    with pytest.raises(FormatError, match="expected one host"):
        nccl_graph(hm.algorithms.all_reduce_ring(4), two)


GRAPH = nccl_graph(hm.algorithms.all_reduce_ring(4), H100, channels=2)
BROKEN = {
    "a declaration": ('<graphs version', '<?xml version="1.0"?><graphs version', "found a declaration"),
    "a tab": ("  <graph", "\t<graph", "found a tab"),
    "blanks": ('crossnic="0" ', 'crossnic="0"  ', "one blank between attributes"),
    "another root": ("graphs", "system", "expected NCCL's <graphs>"),
    "another version": ('version="1"', 'version="2"', "expected the version 1, found '2'"),
    "no speed": ('speedintra="', 'speed="', "expected the attribute 'speedintra'"),
    "no pattern": ('pattern="', 'shape="', "expected the attribute 'pattern'"),
    "speed 0": (r'speedintra="[^"]*"', 'speedintra="0"', "a speedintra above 0"),
    "unknown type": ('typeintra="NVL"', 'typeintra="NVLINK"', "expected one of LOC, NVL"),
    "wrong count": ('nchannels="2"', 'nchannels="3"', "expected nchannels=2, as there are channels, found 3"),
    "a rank twice": ('rank="3"', 'rank="2"', "expected each of the ranks 0 … 3 once, found rank 2 2 times"),
    "no device": ('dev="0x1" ', "", "expected the attribute 'dev'"),
    "no channel": (r"(?s)<channel>.*?</channel>", "", "expected 1 … 64 channels, found 0"),
    "twice": ('id="1"', 'id="0"', "graph 0 is there twice"),
    "cut": ("</graphs>", "", "x, line"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_graph_that_nccl_refuses_or_misreads_is_refused_with_its_line(name: str) -> None:
    assert len(read_graphs(GRAPH, "x", 4)) == 2
    old, new, words = BROKEN[name]
    with pytest.raises(FormatError) as caught:
        read_graphs(re.sub(old, new, GRAPH), "x", 4)
    assert words in str(caught.value)
    assert str(caught.value).startswith("x")
