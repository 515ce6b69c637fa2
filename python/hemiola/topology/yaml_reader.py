"""Topology files in YAML, reading: links, or a builder with its arguments (docs/formats/topology.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hemiola import Topology
from hemiola.errors import ArgumentError
from hemiola.topology import yaml_values as read
from hemiola.topology.place import quote
from hemiola.topology.yaml_builders import BUILDERS, check_keys
from hemiola.topology.yaml_tree import Node, parse

_LISTED = ("name", "ranks", "switches", "nodes", "latency", "bandwidth", "links")
_CHANGES = ("without_ranks", "without_links", "degraded")
_MAX_NAME = 1000

_Link = tuple[int, int, float, float]


def from_yaml(text: str, source: str = "topology text") -> Topology:
    """Read a topology from YAML; FormatError names `source`, line and key."""
    root = parse(text, source)
    entries = dict(read.mapping(root))
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
    if name is None:
        return built
    return Topology(
        built.rank_count,
        built.links,
        switch_count=built.switch_count,
        nodes=built.nodes.tolist(),
        name=_name(name),
    )


def _listed(root: Node, entries: Mapping[str, Node]) -> Topology:
    check_keys(root, entries, dict.fromkeys((*_LISTED, "topology", *_CHANGES)), ("ranks", "links"))
    rank_count = read.count(entries["ranks"])
    switch_count = read.count(entries["switches"]) if "switches" in entries else 0
    reader = _LinkReader(
        rank_count + switch_count,
        read.seconds(entries["latency"]) if "latency" in entries else None,
        read.bandwidth(entries["bandwidth"]) if "bandwidth" in entries else None,
    )
    links = [
        link for item in read.list_of(lambda item: item)(entries["links"]) for link in reader.links(item)
    ]
    return Topology(
        rank_count,
        links,
        switch_count=switch_count,
        nodes=read.list_of(read.count)(entries["nodes"]) if "nodes" in entries else [],
        name=_name(entries["name"]) if "name" in entries else "",
    )


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
        known = dict.fromkeys(("src", "dst", "latency", "bandwidth", "both_ways"))
        check_keys(node, entries, known, ("src", "dst"))
        src, dst, latency_s, bandwidth = self._link(
            node, entries["src"], entries["dst"], entries.get("latency"), entries.get("bandwidth")
        )
        both_ways = "both_ways" in entries and read.boolean(entries["both_ways"])
        back = [(dst, src, latency_s, bandwidth)] if both_ways else []
        return [(src, dst, latency_s, bandwidth), *back]

    def _link(self, node: Node, src: Node, dst: Node, latency: Node | None, bandwidth: Node | None) -> _Link:
        latency_s = read.seconds(latency) if latency else self.latency_s
        rate = read.bandwidth(bandwidth) if bandwidth else self.bandwidth
        if latency_s is None or rate is None:
            node.place.fail("expected latency and bandwidth, here or for all links at the top of the file")
        ends = self._vertex(src), self._vertex(dst)
        if ends[0] == ends[1]:
            node.place.fail(f"expected a link between two different vertices, found {ends[0]} twice")
        return *ends, latency_s, rate

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
    if "without_ranks" in changes:
        topology = topology.without_ranks(read.list_of(read.count)(changes["without_ranks"]))
    return topology


def _slowdown(node: Node) -> tuple[int | tuple[int, int], float]:
    """Read [rank, factor] or [src, dst, factor]."""
    items = read.list_of(lambda item: item)(node)
    if len(items) not in (2, 3):
        node.place.fail(f"expected [rank, factor] or [src, dst, factor], found {len(items)} values")
    factor = read.factor(items[-1])
    if len(items) == 2:
        return read.count(items[0]), factor
    return (read.count(items[0]), read.count(items[1])), factor
