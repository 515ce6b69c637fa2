# SPDX-License-Identifier: Apache-2.0
"""The builders that a topology file may name, with their arguments' names and units in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hemiola import topologies
from hemiola._core import Topology
from hemiola.topology import yaml_values as read
from hemiola.topology.yaml_tree import Node

Built = TypeVar("Built")


@dataclass(frozen=True)
class Argument:
    """One argument: its name in Python and how its text is read."""

    name: str
    reader: Callable[[Node], Any]


@dataclass(frozen=True)
class Builder(Generic[Built]):
    """A function of hemiola.topologies, its arguments by their names in files, which of them are required."""

    build: Callable[..., Built]
    arguments: Mapping[str, Argument]
    required: tuple[str, ...]

    def from_entries(self, entries: Mapping[str, Node]) -> Built:
        """Call the builder; entries are known and complete. ArgumentError passes through."""
        values = {self.arguments[key].name: self.arguments[key].reader(node) for key, node in entries.items()}
        return self.build(**values)


_COST = {
    "latency": Argument("latency_s", read.seconds),
    "bandwidth": Argument("bandwidth", read.bandwidth),
}
_MESSAGE = {"message": Argument("message_s", read.seconds)}
_COSTS = {
    "latency": Argument("latency_s", read.one_or_list_of(read.seconds)),
    "bandwidth": Argument("bandwidth", read.one_or_list_of(read.bandwidth)),
}
_MESSAGES = {"message": Argument("message_s", read.one_or_list_of(read.seconds))}
_NIC_COSTS = {
    "nic_latency": Argument("nic_latency_s", read.one_or_list_of(read.seconds)),
    "nic_bandwidth": Argument("nic_bandwidth", read.one_or_list_of(read.bandwidth)),
}
_NIC_MESSAGES = {"nic_message": Argument("nic_message_s", read.one_or_list_of(read.seconds))}
_RANKS = {"ranks": Argument("rank_count", read.count)}
_DIMS = {"dims": Argument("dims", read.list_of(read.count))}
_INSIDE = {"inside": Argument("inside", read.text)}
_GROUPS = {
    "nodes_per_group": Argument("nodes_per_group", read.count),
    "taper": Argument("taper", read.factor),
}
_RAILS = {"rails": Argument("rails", read.boolean)}


def _flat(build: Callable[..., Topology], **more: Argument) -> Builder[Topology]:
    return Builder(build, _RANKS | _COST | _MESSAGE | more, ("ranks", *_COST))


def _grid(build: Callable[..., Topology], **more: Argument) -> Builder[Topology]:
    return Builder(build, _DIMS | _COSTS | _MESSAGES | more, ("dims", *_COSTS, *more))


def _dgx_rack(build: Callable[..., Topology]) -> Builder[Topology]:
    nic = {
        "nic_latency": Argument("nic_latency_s", read.seconds),
        "nic_bandwidth": Argument("nic_bandwidth", read.bandwidth),
        "nic_message": Argument("nic_message_s", read.seconds),
    }
    return Builder(build, {"boxes": Argument("box_count", read.count)} | _COST | _MESSAGE | nic | _RAILS, ())


_HOST = Builder(
    topologies.Host,
    _RANKS
    | {"nics": Argument("nic_count", read.count)}
    | _COST
    | _MESSAGE
    | _NIC_COSTS
    | _NIC_MESSAGES
    | _INSIDE,
    ("ranks", *_COST, *_NIC_COSTS),
)


def _host(node: Node) -> topologies.Host:
    entries = read.mapping(node)
    check_keys(node, entries, _HOST.arguments, _HOST.required)
    return _HOST.from_entries(entries)


def _cables(node: Node) -> str | list[tuple[int, int]]:
    if isinstance(node.value, str):
        return node.value
    return [_pair(item) for item in read.list_of(lambda item: item)(node)]


def _pair(node: Node) -> tuple[int, int]:
    values = read.list_of(read.count)(node)
    if len(values) != 2:
        node.place.fail(f"expected a pair such as [0, 1], found {len(values)} numbers")
    return values[0], values[1]


def check_keys(
    node: Node, entries: Mapping[str, Node], known: Mapping[str, object], required: tuple[str, ...]
) -> None:
    """Refuse keys that are not known and the absence of those that are required."""
    for key, entry in entries.items():
        if key not in known:
            entry.place.fail(f"unknown key; expected one of: {', '.join(known)}")
    missing = [key for key in required if key not in entries]
    if missing:
        node.place.fail(
            f"expected {' and '.join(repr(key) for key in missing)}, found only: {', '.join(entries)}"
        )


BUILDERS: dict[str, Builder[Topology]] = {
    "ring": _flat(topologies.ring, bidirectional=Argument("bidirectional", read.boolean)),
    "fully_connected": _flat(topologies.fully_connected),
    "switch": _flat(
        topologies.switch,
        reduces=Argument("reduces", read.boolean),
        multicasts=Argument("multicasts", read.boolean),
    ),
    "mesh": _grid(topologies.mesh),
    "torus": _grid(topologies.torus),
    "hypercube": _grid(topologies.hypercube),
    "grid": _grid(topologies.grid, wires=Argument("wires", read.list_of(read.text))),
    "switch_2d": _grid(topologies.switch_2d),
    "rfs_3d": _grid(topologies.rfs_3d),
    "dragonfly": _grid(topologies.dragonfly),
    "hosts": Builder(
        topologies.hosts,
        {
            "hosts": Argument("host_count", read.count),
            "ranks_per_host": Argument("ranks_per_host", read.count),
            "nics_per_host": Argument("nics_per_host", read.count),
        }
        | _COST
        | _MESSAGE
        | _NIC_COSTS
        | _NIC_MESSAGES
        | _INSIDE
        | _RAILS
        | _GROUPS,
        ("hosts", "ranks_per_host", *_COST, *_NIC_COSTS),
    ),
    "cluster": Builder(
        topologies.cluster, {"hosts": Argument("hosts", read.list_of(_host))} | _RAILS | _GROUPS, ("hosts",)
    ),
    "boxes": Builder(
        topologies.boxes,
        {
            "boxes": Argument("box_count", read.count),
            "cables": Argument("cables", _cables),
            "ranks_per_box": Argument("ranks_per_box", read.count),
            "cable_latency": Argument("cable_latency_s", read.one_or_list_of(read.seconds)),
            "cable_bandwidth": Argument("cable_bandwidth", read.one_or_list_of(read.bandwidth)),
            "cable_message": Argument("cable_message_s", read.one_or_list_of(read.seconds)),
        }
        | _COST
        | _MESSAGE
        | _INSIDE,
        ("boxes", "cable_latency", "cable_bandwidth"),
    ),
    "dgx1": Builder(
        topologies.dgx1, _COST | _MESSAGE | {"parallel_links": Argument("parallel_links", read.boolean)}, ()
    ),
    "dgx_a100": _dgx_rack(topologies.dgx_a100),
    "dgx_h100": _dgx_rack(topologies.dgx_h100),
}
