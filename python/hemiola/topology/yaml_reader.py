# SPDX-License-Identifier: Apache-2.0
"""Topology files in YAML, reading: links, or a builder with its arguments (docs/reference/formats/topology.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hemiola._core import Topology
from hemiola.conditions import NIC_KEY
from hemiola.errors import ArgumentError
from hemiola.progress import ProgressBar
from hemiola.topology import yaml_values as read
from hemiola.topology.place import quote
from hemiola.topology.yaml_builders import BUILDERS, check_keys
from hemiola.topology.yaml_tree import Document, Node, parse
from hemiola.topology.yaml_written import as_written

_LISTED = (
    "name",
    "ranks",
    "switches",
    "nodes",
    "latency",
    "bandwidth",
    "message",
    "launch",
    "reduces",
    "multicasts",
    "names",
    "link_count",
    "links",
)
_CHANGES = ("without_ranks", "without_links", "without_nics", "degraded")
_MAX_NAME = 1000
#: The text's share of the time, before its links are read.
_PARSING = 0.8
#: Links, some milliseconds.
_BETWEEN_REPORTS = 1 << 10

_Link = tuple[int, int, float, float, float]
_Nic = tuple[str, int, list[int]]


def from_yaml(text: str, source: str = "topology text") -> Topology:
    """Read a topology from YAML; FormatError names `source`, line and key."""
    with ProgressBar("loading") as bar:
        if (topology := as_written(text)) is not None:
            return topology
        with bar.part(_PARSING):
            document = parse(text, source)
        with bar.part(1 - _PARSING):
            return _topology(document)


def _topology(document: Document) -> Topology:
    root = document.root
    entries = dict(read.mapping(root))
    if "link_count" in entries and not document.is_ended:
        root.place.fail(
            "expected '...' in the last line, as a file with a link_count has it; it is cut short"
        )
    changes = {key: entries.pop(key) for key in _CHANGES if key in entries}
    try:
        topology = _built(root, entries) if "topology" in entries else _listed(root, entries)
        return _changed(topology, changes)
    except ArgumentError as error:  # the parts were readable, but not possible together
        root.place.fail(str(error))


def _built(root: Node, entries: dict[str, Node]) -> Topology:
    builder_node = entries.pop("topology")
    name = entries.pop("name", None)
    builder = BUILDERS.get(read.text(builder_node))
    if builder is None:
        builder_node.place.fail(
            f"expected one of: {', '.join(BUILDERS)}, found {quote(read.text(builder_node))}"
        )
    check_keys(root, entries, builder.arguments, builder.required)
    built = builder.from_entries(entries)
    return built if name is None else built.replaced(name=_name(name))


def _listed(root: Node, entries: Mapping[str, Node]) -> Topology:
    check_keys(root, entries, dict.fromkeys((*_LISTED, "topology", *_CHANGES)), ("ranks", "links"))
    rank_count = read.count(entries["ranks"])
    switch_count = read.count(entries["switches"]) if "switches" in entries else 0
    reader = _LinkReader(
        rank_count + switch_count,
        read.seconds(entries["latency"]) if "latency" in entries else None,
        read.bandwidth(entries["bandwidth"]) if "bandwidth" in entries else None,
        read.seconds(entries["message"]) if "message" in entries else 0.0,
    )
    read_links = _read_links(reader, read.list_of(lambda item: item)(entries["links"]))
    links = [link for _, of_item in read_links for link in of_item]
    if "link_count" in entries and read.count(entries["link_count"]) != len(links):
        entries["links"].place.fail(
            f"expected {read.count(entries['link_count'])} links, as link_count says, found {len(links)}"
        )
    nodes = read.list_of(read.count)(entries["nodes"]) if "nodes" in entries else []
    return Topology(
        rank_count,
        links,
        switch_count=switch_count,
        nodes=nodes,
        nics=_nics(read_links, nodes or range(rank_count)),
        names=read.list_of(read.text)(entries["names"]) if "names" in entries else [],
        launch_s=read.seconds(entries["launch"]) if "launch" in entries else 0.0,
        reduces=read.list_of(read.count)(entries["reduces"]) if "reduces" in entries else [],
        multicasts=read.list_of(read.count)(entries["multicasts"]) if "multicasts" in entries else [],
        name=_name(entries["name"]) if "name" in entries else "",
    )


def _read_links(reader: _LinkReader, items: Sequence[Node]) -> list[tuple[Node, list[_Link]]]:
    """Read the entries of `links`, each with the links that it stands for."""
    found = []
    with ProgressBar("linking") as bar:
        for index, item in enumerate(items):
            if index % _BETWEEN_REPORTS == 0:
                bar(index, len(items))
            found.append((item, reader.links(item)))
    return found


def _nics(read_links: list[tuple[Node, list[_Link]]], nodes: Sequence[int]) -> list[_Nic]:
    """Gather what the entries of `links` say about NICs."""
    found: list[_Nic] = []
    first = 0
    for item, links in read_links:
        if isinstance(item.value, dict) and "nic" in item.value:
            places = list(range(first, first + len(links)))
            hosts = {nodes[end] for end in links[0][:2] if end < len(nodes)}
            named = item.value["nic"]
            texts = read.list_of(lambda text: text)(named) if isinstance(named.value, list) else [named]
            found += [(*_nic(text, hosts), places) for text in texts]
        first += len(links)
    return found


def _nic(node: Node, hosts: set[int]) -> tuple[str, int]:
    """Read HOST/NAME, or NAME where `hosts`, those of the ranks that the link joins, are one."""
    host, slash, name = read.text(node).rpartition("/")
    if slash:
        if not (host.isascii() and host.isdigit() and len(host) < 10):
            node.place.fail(f"expected a NIC as HOST/NAME such as 0/mlx5_1, found {quote(read.text(node))}")
        return name, int(host)
    if len(hosts) != 1:
        node.place.fail(
            f"expected HOST/NAME such as 0/{quote(name)[1:-1]}: the link's ends do not say which host has the NIC"
        )
    return name, next(iter(hosts))


def _name(node: Node) -> str:
    name = read.text(node)
    if len(name) > _MAX_NAME:
        node.place.fail(f"expected at most {_MAX_NAME} characters, found {len(name)}")
    return name


@dataclass(frozen=True)
class _LinkReader:
    """Reads the entries of `links`; knows which vertices there are, and what a link costs that does not say."""

    vertex_count: int
    latency_s: float | None
    bandwidth: float | None
    message_s: float

    def links(self, node: Node) -> list[_Link]:
        """Read one entry of `links`: [src, dst], [src, dst, latency, bandwidth], or a mapping."""
        if isinstance(node.value, dict):
            return self._from_mapping(node, node.value)
        items = read.list_of(lambda item: item)(node)
        if len(items) not in (2, 4):
            node.place.fail(
                f"expected [src, dst] or [src, dst, latency, bandwidth], found {len(items)} values"
            )
        latency, bandwidth = items[2:] if len(items) == 4 else (None, None)
        return [self._link(node, items[0], items[1], latency, bandwidth)]

    def _from_mapping(self, node: Node, entries: Mapping[str, Node]) -> list[_Link]:
        known = dict.fromkeys(("src", "dst", "latency", "bandwidth", "message", "nic", "both_ways"))
        check_keys(node, entries, known, ("src", "dst"))
        link = self._link(
            node, entries["src"], entries["dst"], entries.get("latency"), entries.get("bandwidth")
        )
        src, dst, latency_s, bandwidth, message_s = link
        if "message" in entries:
            message_s = read.seconds(entries["message"])
        there, back = ((*ends, latency_s, bandwidth, message_s) for ends in ((src, dst), (dst, src)))
        both_ways = "both_ways" in entries and read.boolean(entries["both_ways"])
        return [there, back] if both_ways else [there]

    def _link(self, node: Node, src: Node, dst: Node, latency: Node | None, bandwidth: Node | None) -> _Link:
        latency_s = read.seconds(latency) if latency else self.latency_s
        rate = read.bandwidth(bandwidth) if bandwidth else self.bandwidth
        if latency_s is None or rate is None:
            node.place.fail("expected latency and bandwidth, here or for all links at the top of the file")
        ends = self._vertex(src), self._vertex(dst)
        if ends[0] == ends[1]:
            node.place.fail(f"expected a link between two different vertices, found {ends[0]} twice")
        return *ends, latency_s, rate, self.message_s

    def _vertex(self, node: Node) -> int:
        vertex = read.count(node)
        if vertex >= self.vertex_count:
            node.place.fail(
                f"expected vertices 0 … {self.vertex_count - 1} (ranks first, then switches), found {vertex}"
            )
        return vertex


def _changed(topology: Topology, changes: Mapping[str, Node]) -> Topology:
    """Apply what the file says is broken: links first, so that the numbers in it are those of the whole."""
    if "degraded" in changes:
        items = read.list_of(lambda item: item)(changes["degraded"])
        topology = topology.degraded(dict(_slowdown(item) for item in items))
    if "without_links" in changes:
        pairs = read.list_of(read.list_of(read.count))(changes["without_links"])
        for pair in pairs:
            if len(pair) != 2:
                changes["without_links"].place.fail(
                    f"expected pairs such as [0, 1], found {len(pair)} numbers"
                )
        topology = topology.without_links([(src, dst) for src, dst in pairs])
    if "without_nics" in changes:
        topology = topology.without_nics(read.list_of(read.text)(changes["without_nics"]))
    if "without_ranks" in changes:
        topology = topology.without_ranks(read.list_of(read.count)(changes["without_ranks"]))
    return topology


def _slowdown(node: Node) -> tuple[int | tuple[int, int] | str, float]:
    """Read [rank, factor], [src, dst, factor] or [nic:NAME, factor]."""
    items = read.list_of(lambda item: item)(node)
    if len(items) not in (2, 3):
        node.place.fail(
            f"expected [rank, factor], [src, dst, factor] or [nic:NAME, factor], found {len(items)} values"
        )
    factor = read.factor(items[-1])
    if len(items) == 2 and (text := read.text(items[0]).strip()).startswith(NIC_KEY):
        return text, factor
    if len(items) == 2:
        return read.count(items[0]), factor
    return (read.count(items[0]), read.count(items[1])), factor
