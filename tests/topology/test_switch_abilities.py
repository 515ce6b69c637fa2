# SPDX-License-Identifier: Apache-2.0
"""Switches that reduce and multicast: in every form of a topology, in readers, and in bounds."""

import pickle
from pathlib import Path

import pytest

import hemiola as hm
from hemiola import topologies
from hemiola.errors import ArgumentError, FormatError

DATA = Path(__file__).parent / "data"
COST = {"latency_s": 1e-6, "bandwidth": 1e9}


def star(**able):
    return topologies.switch(8, **COST, **able)


def test_abilities_are_named_by_their_vertices():
    assert (star().reduces, star().multicasts) == ([], [])
    t = star(reduces=True)
    assert (t.reduces, t.multicasts) == ([8], [])
    assert t != star()
    assert hash(t) != hash(star())
    assert t.replaced(reduces=[]) == star()
    assert star().replaced(reduces=[8], multicasts=[8]) == star(reduces=True, multicasts=True)


def test_abilities_survive_every_form():
    t = topologies.dgx_h100(2).replaced(multicasts=[17])
    assert pickle.loads(pickle.dumps(t)) == t
    assert hm.Topology.from_yaml(t.to_yaml()) == t
    assert hm.Topology.from_networkx(t.to_networkx()) == t
    assert "reduces: [16, 17]\nmulticasts: [17]\n" in t.to_yaml()


def test_copies_keep_abilities_at_their_switches():
    t = topologies.dgx_h100(2)
    assert t.without_ranks([3]).reduces == [15, 16]
    assert t.degraded({0: 2.0}).reduces == t.without_links([(0, 16)]).reduces == [16, 17]
    assert t.unwind_switches(1).reduces == []
    shared = topologies.dgx_h100(1).repeated(2, shared=[8])
    assert (shared.switch_count, shared.reduces) == (1, [16])
    own = topologies.dgx_h100(1).repeated(2)
    assert (own.switch_count, own.multicasts) == (2, [16, 17])


@pytest.mark.parametrize("ability", ["reduces", "multicasts"])
@pytest.mark.parametrize("vertex", [0, 9, -1])
def test_only_switches_have_abilities(ability, vertex):
    with pytest.raises(ArgumentError, match=f"expected switches in {ability}"):
        star().replaced(**{ability: [vertex]})
    with pytest.raises(ArgumentError, match=f"expected switches in {ability}"):
        hm.Topology(8, star().links, switch_count=1, **{ability: [vertex]})


@pytest.mark.parametrize("value", ["[8", "8", "[NVSwitch]", "[-1]", "[0]", "[1.5]", "true"])
def test_a_file_with_another_list_is_refused(value):
    text = star(reduces=True).to_yaml().replace("reduces: [8]", f"reduces: {value}")
    with pytest.raises(FormatError):
        hm.Topology.from_yaml(text)


@pytest.mark.parametrize("value", ["yes", 2, None])
def test_a_graph_with_another_mark_is_refused(value):
    graph = star().to_networkx()
    graph.nodes[8]["reduces"] = value
    with pytest.raises(ArgumentError, match="expected True or False as 'reduces'"):
        hm.Topology.from_networkx(graph)


def test_a_graph_whose_rank_reduces_is_refused():
    graph = star().to_networkx()
    graph.nodes[3]["reduces"] = True
    with pytest.raises(ArgumentError, match="found vertex 3"):
        hm.Topology.from_networkx(graph)


def test_a_builders_file_sets_them():
    text = "topology: switch\nranks: 8\nlatency: 1 us\nbandwidth: 1 GB/s\nreduces: true\nmulticasts: true\n"
    assert hm.Topology.from_yaml(text) == star(reduces=True, multicasts=True)


def test_nvswitches_have_them_from_the_third_generation_on():
    assert topologies.dgx_a100().reduces == []
    assert topologies.dgx_h100(2).reduces == topologies.dgx_h100(2).multicasts == [16, 17]
    h100 = hm.Topology.load(DATA / "h100_four.xml")
    assert h100.reduces == h100.multicasts == [h100.vertex("NVSwitch")]
    assert hm.Topology.load(DATA / "dgx_a100.topo").reduces == []


def matrix(nvlinks):
    names = [f"GPU{gpu}" for gpu in range(8)]
    rows = [
        "\t".join([name, *("X" if name == other else nvlinks for other in names), "0-7", "0", "N/A"])
        for name in names
    ]
    return (
        "\n".join(["\t" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]), *rows]) + "\n"
    )


@pytest.mark.parametrize(("nvlinks", "able"), [("NV12", []), ("NV18", [8])])
def test_a_matrix_of_eighteen_nvlinks_has_them(tmp_path, nvlinks, able):
    path = tmp_path / "box.topo"
    path.write_text(matrix(nvlinks))
    t = hm.Topology.load(path)
    assert t.reduces == t.multicasts == able


def test_bounds_count_what_switches_do():
    # Given 8 ranks, 1 GB/s a port, 8 MB. Derivation: ranks alone send 2 * 7 buffers through 8 ports, 14 ms; where the
    # switch adds and copies, each port carries the buffer once each way, 8 ms, and 1 us of the first hop to a rank.
    size = 8_000_000
    forwarding = hm.lower_bound(star(), "all_reduce", size)
    able = hm.lower_bound(star(reduces=True, multicasts=True), "all_reduce", size)
    assert forwarding.seconds == pytest.approx(14.001e-3, rel=1e-9)
    assert able.seconds == pytest.approx(8.001e-3, rel=1e-9)
    assert forwarding.assumes.endswith("switches only forward")
    traffic = next(bound for bound in able.bounds if bound.name == "traffic")
    assert traffic.assumes.endswith("switches reduce and multicast")


@pytest.mark.parametrize("able", [{"reduces": True}, {"multicasts": True}])
def test_one_ability_alone_leaves_one_direction_as_it_was(able):
    # Each sum that a rank sends, or each copy that it gets, still takes its port.
    one = hm.lower_bound(star(**able), "all_reduce", 8_000_000)
    assert one.seconds == pytest.approx(14.001e-3, rel=1e-9)
    assert one.assumes.endswith(f"switches {'reduce' if 'reduces' in able else 'multicast'}")


@pytest.mark.parametrize(
    "kind", ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather"]
)
@pytest.mark.parametrize("late", [{}, {3: 4e-3}])
def test_abilities_never_raise_a_bound(kind, late):
    now = hm.Conditions(late=late)
    for forwarding in (star(), topologies.dgx_h100(2).replaced(reduces=[], multicasts=[])):
        switches = range(forwarding.rank_count, forwarding.rank_count + forwarding.switch_count)
        able = forwarding.replaced(reduces=list(switches), multicasts=list(switches))
        bounds = [hm.lower_bound(t, kind, 8_000_000, now).seconds for t in (able, forwarding)]
        assert bounds[0] <= bounds[1]


def test_a_switch_inside_a_host_saves_hosts_nothing():
    t = topologies.dgx_h100(2)
    bounds = {b.name: b for b in hm.lower_bound(t, "all_reduce", 1 << 30).bounds}
    assert bounds["hosts"].seconds > 0.99 * max(b.seconds for b in bounds.values())
    assert bounds["hosts"].assumes.endswith("switches between hosts only forward")
    network = t.replaced(reduces=[18], multicasts=[18])
    hosts = next(b for b in hm.lower_bound(network, "all_reduce", 1 << 30).bounds if b.name == "hosts")
    assert hosts.seconds == 0


def test_one_port_says_that_a_port_carries_one_message():
    bound = hm.lower_bound(star(), "all_reduce", 1 << 20, hm.Conditions(slow={0: 2.0}), ports="one")
    one_port = next(b for b in bound.bounds if b.name == "one_port")
    assert "one message at a time" in one_port.assumes
    assert all(b.assumes for b in bound.bounds)


def test_plans_run_on_ranks_and_are_the_same_beside_able_switches():
    able = hm.plan(star(reduces=True, multicasts=True), "all_reduce", 1 << 20)
    plain = hm.plan(star(), "all_reduce", 1 << 20)
    assert able.schedule == plain.schedule
    assert (able.seconds, able.bound_s) == (plain.seconds, plain.bound_s)
    assert "The bound assumes: adding takes no time" in able.explain()


@pytest.mark.parametrize("kind", ["all_reduce", "broadcast", "reduce_scatter", "all_gather"])
def test_boxes_that_each_have_such_a_switch_get_no_collective_in_it(kind: str) -> None:
    boxes = topologies.dgx_h100(2)
    assert hm.plan(boxes, kind, 1 << 20).in_switch is None
    with pytest.raises(ArgumentError, match="topology '2 x DGX H100' has none"):
        getattr(hm.algorithms, f"{kind}_in_switch")(boxes)
