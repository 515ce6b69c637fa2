# SPDX-License-Identifier: Apache-2.0
"""Topology files in YAML: what they say is what one gets, and what is written is read back equal."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hemiola as hm
from hemiola import topologies
from hemiola.errors import FormatError
from hemiola.topology import yaml_reader, yaml_tree, yaml_writer, yaml_written

COST = {"latency_s": 0.5e-6, "bandwidth": 50e9}


def rows(text):
    return hm.Topology.from_yaml(text).links.tolist()


def test_links_are_read_in_all_their_forms():
    text = """
        name: all forms
        ranks: 3
        switches: 1
        nodes: [0, 0, 1]
        latency: 0.5 us
        bandwidth: 50 GB/s
        links:
          - [0, 1]
          - [1, 0, 2 ms, 200 Gbit/s]
          - {src: 0, dst: 2}
          - {src: 2, dst: 3, latency: 7 ns, bandwidth: 64 MiB/s, both_ways: true}
    """
    t = hm.Topology.from_yaml(text)
    assert (t.name, t.rank_count, t.switch_count, t.nodes.tolist()) == ("all forms", 3, 1, [0, 0, 1])
    assert t.links.tolist() == [
        (0, 1, 0.5e-6, 50e9, 0.0),
        (1, 0, 2e-3, 25e9, 0.0),
        (0, 2, 0.5e-6, 50e9, 0.0),
        (2, 3, 7e-9, 67108864.0, 0.0),
        (3, 2, 7e-9, 67108864.0, 0.0),
    ]


def test_what_a_message_costs_is_said_once_or_per_link():
    text = (
        "ranks: 2\nlatency: 1 us\nbandwidth: 1 GB/s\nmessage: 2 us\nlinks:\n  - [0, 1]\n  - [1, 0, 2 us, 2 GB/s]\n"
        "  - {src: 0, dst: 1, message: 0 s}\n"
    )
    t = hm.Topology.from_yaml(text)
    assert [row[2:] for row in t.links.tolist()] == [(1e-6, 1e9, 2e-6), (2e-6, 2e9, 2e-6), (1e-6, 1e9, 0.0)]
    assert hm.Topology.from_yaml(t.to_yaml()) == t
    assert "message: 2 us" in t.to_yaml()
    assert "message" not in topologies.ring(3, **COST).to_yaml()
    with pytest.raises(FormatError, match="a time such as"):
        hm.Topology.from_yaml(text.replace("message: 2 us", "message: 2"))


@pytest.mark.parametrize(
    ("text", "build"),
    [
        (
            "topology: ring\nranks: 3\nmessage: 2 us\n",
            lambda cost: topologies.ring(3, **cost, message_s=2e-6),
        ),
        (
            "topology: mesh\ndims: [2, 2]\nmessage: [2 us, 3 us]\n",
            lambda cost: topologies.mesh([2, 2], **cost, message_s=[2e-6, 3e-6]),
        ),
        (
            "topology: hosts\nhosts: 4\nranks_per_host: 2\nnic_latency: 5 us\nnic_bandwidth: 25 GB/s\nmessage: 1 us\n"
            "nic_message: 2 us\nnodes_per_group: 2\ntaper: 2\n",
            lambda cost: topologies.hosts(
                4,
                2,
                **cost,
                nic_latency_s=5e-6,
                nic_bandwidth=25e9,
                message_s=1e-6,
                nic_message_s=2e-6,
                nodes_per_group=2,
                taper=2.0,
            ),
        ),
        (
            "topology: boxes\nboxes: 3\ncable_latency: 1 us\ncable_bandwidth: 1 GB/s\ncable_message: 3 us\n",
            lambda cost: topologies.boxes(
                3, **cost, cable_latency_s=1e-6, cable_bandwidth=1e9, cable_message_s=3e-6
            ),
        ),
    ],
)
def test_builders_in_files_take_what_a_message_costs(text, build):
    t = hm.Topology.from_yaml(text + "latency: 0.5 us\nbandwidth: 50 GB/s\n")
    assert t == build(COST)
    assert t.links["message_s"].max() > 0
    assert hm.Topology.from_yaml(t.to_yaml()) == t


def test_a_rank_without_links():
    assert hm.Topology.from_yaml("ranks: 1\nlinks: []") == hm.Topology(1, [])


HOSTS = {"latency_s": 1e-6, "bandwidth": 300e9, "nic_latency_s": 5e-6, "nic_bandwidth": 25e9}
HOST_LINES = "latency: 1 us\nbandwidth: 300 GB/s\nnic_latency: 5 us\nnic_bandwidth: 200 Gbit/s\n"
COST_LINES = "latency: 0.5 us\nbandwidth: 50 GB/s\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("topology: ring\nranks: 4\n" + COST_LINES, topologies.ring(4, **COST)),
        (
            "topology: ring\nbidirectional: false\nranks: 4\n" + COST_LINES,
            topologies.ring(4, bidirectional=False, **COST),
        ),
        ("topology: fully_connected\nranks: 4\n" + COST_LINES, topologies.fully_connected(4, **COST)),
        ("topology: switch\nranks: 4\n" + COST_LINES, topologies.switch(4, **COST)),
        ("topology: mesh\ndims: [4, 3]\n" + COST_LINES, topologies.mesh([4, 3], **COST)),
        ("topology: hypercube\ndims: [4, 3, 2]\n" + COST_LINES, topologies.hypercube([4, 3, 2], **COST)),
        (
            "topology: torus\ndims: [4, 3]\nlatency: [1 us, 2 us]\nbandwidth: [50 GB/s, 75 GB/s]\n",
            topologies.torus([4, 3], latency_s=[1e-6, 2e-6], bandwidth=[50e9, 75e9]),
        ),
        (
            "topology: grid\ndims: [4, 3]\nwires: [ring, switch]\n" + COST_LINES,
            topologies.grid([4, 3], ["ring", "switch"], **COST),
        ),
        ("topology: switch_2d\ndims: [4, 3]\n" + COST_LINES, topologies.switch_2d([4, 3], **COST)),
        ("topology: rfs_3d\ndims: [2, 4, 3]\n" + COST_LINES, topologies.rfs_3d([2, 4, 3], **COST)),
        ("topology: dragonfly\ndims: [4, 5]\n" + COST_LINES, topologies.dragonfly([4, 5], **COST)),
        (
            "topology: hosts\nhosts: 3\nranks_per_host: 4\nnics_per_host: 2\nrails: yes\ninside: ring\n"
            + HOST_LINES,
            topologies.hosts(3, 4, 2, rails=True, inside="ring", **HOSTS),
        ),
        (
            "topology: cluster\nhosts:\n"
            "  - {ranks: 2, latency: 1 us, bandwidth: 300 GB/s, nic_latency: 5 us, nic_bandwidth: 200 Gbit/s}\n"
            "  - {ranks: 1, nics: 2, latency: 1 us, bandwidth: 1 GB/s, nic_latency: 5 us,\n"
            "     nic_bandwidth: [100 Gbit/s, 200 Gbit/s]}\n",
            topologies.cluster(
                [
                    topologies.Host(2, **HOSTS),
                    topologies.Host(
                        1, 2, latency_s=1e-6, bandwidth=1e9, nic_latency_s=5e-6, nic_bandwidth=[12.5e9, 25e9]
                    ),
                ]
            ),
        ),
        (
            "topology: boxes\nboxes: 4\ncable_latency: 2 us\ncable_bandwidth: 25 GB/s\n",
            topologies.boxes(4, cable_latency_s=2e-6, cable_bandwidth=25e9),
        ),
        (
            "topology: boxes\nboxes: 3\ncables: [[0, 1], [1, 2]]\nranks_per_box: 2\n"
            "cable_latency: 2 us\ncable_bandwidth: [25 GB/s, 10 GB/s]\nlatency: 1 us\nbandwidth: 50 GB/s\n",
            topologies.boxes(
                3,
                [(0, 1), (1, 2)],
                ranks_per_box=2,
                cable_latency_s=2e-6,
                cable_bandwidth=[25e9, 10e9],
                latency_s=1e-6,
                bandwidth=50e9,
            ),
        ),
        ("topology: dgx1\nparallel_links: true\n", topologies.dgx1(parallel_links=True)),
        ("topology: dgx_a100\n", topologies.dgx_a100()),
        ("topology: dgx_h100\nboxes: 2\nrails: false\n", topologies.dgx_h100(2, rails=False)),
    ],
)
def test_a_file_names_a_builder_and_its_arguments(text, expected):
    assert hm.Topology.from_yaml(text) == expected


def test_a_builders_topology_can_be_given_a_name():
    t = hm.Topology.from_yaml("name: mine\ntopology: ring\nranks: 3\n" + COST_LINES)
    assert t.name == "mine"
    assert t.links.tolist() == topologies.ring(3, **COST).links.tolist()


def test_what_is_broken_is_taken_from_the_whole_ranks_last():
    text = (
        "topology: ring\nranks: 4\n"
        + COST_LINES
        + "degraded: [[3, 2.0], [0, 1, 5]]\nwithout_links: [[1, 2]]\nwithout_ranks: [0]\n"
    )
    whole = topologies.ring(4, **COST)
    expected = whole.degraded({3: 2.0, (0, 1): 5.0}).without_links([(1, 2)]).without_ranks([0])
    assert hm.Topology.from_yaml(text) == expected


def test_numbers_are_text_until_someone_says_what_they_are():
    """YAML 1.1 would read 010 as eight, 1:30 as ninety, 1_0 as ten and `no` as false."""
    assert hm.Topology.from_yaml("ranks: 010\nlinks: []").rank_count == 10
    assert hm.Topology.from_yaml("name: no\nranks: 1\nlinks: []").name == "no"
    for body in ("1:30", "1_0", "0x10", "1e1", "1.0", "-1", "+1", "٣"):
        with pytest.raises(FormatError, match="whole number"):
            hm.Topology.from_yaml(f"ranks: {body}\nlinks: []")


@pytest.mark.parametrize(
    "t",
    [
        topologies.ring(5, **COST),
        topologies.dgx_a100(2).without_ranks([7]),
        topologies.mesh([3, 3], latency_s=[1e-6, 3e-12], bandwidth=[1 / 3, 50e9]),
        hm.Topology(1, []),
        hm.Topology(2, [(0, 1, 0.0, 5e-324), (1, 0, 999.999999999999, 1e18)]),
        hm.Topology(2, [], nodes=[1, 0]),
        hm.Topology(3, [(0, 1, 1e-6, 1e9)] * 3, switch_count=4, nodes=[0, 1, 0]),
    ],
    ids=lambda t: t.name or "nameless",
)
def test_what_is_saved_is_loaded_equal(t, tmp_path):
    path = tmp_path / "t.yaml"
    t.save(path)
    assert hm.Topology.load(path) == t
    assert hm.Topology.from_yaml(t.to_yaml()) == t


@st.composite
def any_topology(draw):
    ranks, switches = draw(st.integers(1, 6)), draw(st.integers(0, 3))
    vertex = st.integers(0, ranks + switches - 1)
    latency = st.integers(0, 10**15).map(lambda ps: ps * 1e-12)
    bandwidth = st.floats(min_value=0, exclude_min=True, max_value=1e18)
    link = st.tuples(vertex, vertex, latency, bandwidth).filter(lambda row: row[0] != row[1])
    nodes = draw(st.lists(st.integers(0, ranks - 1), min_size=ranks, max_size=ranks))
    number = {node: i for i, node in enumerate(sorted(set(nodes)))}
    return hm.Topology(
        ranks,
        draw(st.lists(link, max_size=8)),
        switch_count=switches,
        nodes=[number[node] for node in nodes],
        name=draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=30)),
    )


@given(any_topology())
def test_any_topology_survives_yaml_and_networkx(t):
    assert hm.Topology.from_yaml(t.to_yaml()) == t
    assert hm.Topology.from_networkx(t.to_networkx()) == t


@given(st.floats(min_value=1e-12, max_value=1000, allow_nan=False))
def test_times_are_written_exactly_to_the_picosecond(seconds):
    t = hm.Topology(2, [(0, 1, seconds, 1.0)])
    assert hm.Topology.from_yaml(t.to_yaml()).links["latency_s"][0] == t.links["latency_s"][0]
    assert math.isclose(t.links["latency_s"][0], seconds, abs_tol=0.7e-12, rel_tol=0)  # half a ps, and an ulp


def test_texts_are_short_and_in_plain_units():
    text = topologies.ring(3, latency_s=1.5e-6, bandwidth=12.5e9).to_yaml()
    assert "latency: 1.5 us\nbandwidth: 12.5 GB/s\n" in text
    assert "  - [0, 1]\n" in text


def row_by_row(t):
    """Write as docs/reference/formats/topology.md says, one link after the other and nothing at once."""
    rows, nics = t.links.tolist(), {}
    for name, host, links in t.nics:
        for link in links:
            nics.setdefault(link, []).append(f"{host}/{name}")
    text = {row[2:]: hm.Topology(2, [(0, 1, *row[2:])]).to_yaml().splitlines() for row in rows}
    said = {cost: dict(line.split(": ") for line in lines if ": " in line) for cost, lines in text.items()}
    common = max(said, key=lambda cost: sum(row[2:] == cost for row in rows))
    for link, (src, dst, *cost) in enumerate(rows):
        own = {key: said[tuple(cost)].get(key, "0 s") for key in ("latency", "bandwidth", "message")}
        own = {key: value for key, value in own.items() if value != said[common].get(key, "0 s")}
        if link not in nics and set(own) in (set(), {"latency", "bandwidth"}):
            yield f"  - [{', '.join((str(src), str(dst), *own.values()))}]"
            continue
        entries = {"src": src, "dst": dst, **own}
        if named := nics.get(link):
            entries["nic"] = named[0] if len(named) == 1 else f"[{', '.join(named)}]"
        yield f"  - {{{', '.join(f'{key}: {value}' for key, value in entries.items())}}}"


MANY_KINDS = [
    topologies.ring(5, **COST),
    topologies.dgx_h100(3),
    topologies.torus([3, 4], latency_s=[1e-6, 2e-6], bandwidth=[1e9, 2.5e9]),
    topologies.hosts(3, 4, 2, rails=True, **HOSTS, nic_message_s=1e-6),
    topologies.hosts(2, 2, 1, **HOSTS, message_s=2e-6),
    hm.Topology(2, [(0, 1, 1e-6, 1e9), (1, 0, 2e-6, 1e9), (0, 1, 2e-6, 7e9, 1e-6)], name='a "%d" b'),
    hm.Topology(
        3, [(0, 1, 1e-6, 1e9), (1, 2, 1e-6, 1e9)], nodes=[0, 1, 0], nics=[("a%", 0, [0, 1]), ("b", 1, [0])]
    ),
]


@pytest.mark.parametrize("t", MANY_KINDS, ids=lambda t: t.name or "nameless")
def test_links_written_many_at_a_time_are_the_same_bytes_as_one_by_one(t, monkeypatch):
    monkeypatch.setattr(yaml_writer, "_BLOCK", 3)
    lines = t.to_yaml().splitlines()
    assert lines[lines.index("links:") + 1 : -1] == list(row_by_row(t))


@pytest.mark.parametrize("t", MANY_KINDS, ids=lambda t: t.name or "nameless")
def test_what_was_written_is_read_without_a_parser_of_yaml(t, monkeypatch):
    monkeypatch.setattr(yaml_written, "_BLOCK", 40)
    text = t.to_yaml()
    assert yaml_written.as_written(text) == t
    monkeypatch.setattr(yaml_reader, "as_written", lambda text: None)
    assert hm.Topology.from_yaml(text) == t


@given(any_topology(), st.data())
def test_a_changed_text_is_never_taken_for_a_written_one(t, data):
    """What is read without a parser is what the parser reads."""
    text = list(t.to_yaml())
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at] = data.draw(
            st.sampled_from(
                ["", " ", "0", "1", "٣", "_", "[", "]", "{", "-", "\n", ",", "nic: ", text[at] * 2]
            )
        )
    changed = "".join(text)
    found = yaml_written.as_written(changed)
    if found is not None:
        assert found == yaml_reader._topology(yaml_tree.parse(changed, "text"))


def test_a_million_links_are_written_and_read_back(tmp_path):
    t = topologies.switch(1 << 19, **COST)
    t.save(tmp_path / "large.yaml")
    assert (tmp_path / "large.yaml").stat().st_size > yaml_tree.MAX_BYTES
    assert hm.Topology.load(tmp_path / "large.yaml") == t
