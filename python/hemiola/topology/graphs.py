# SPDX-License-Identifier: Apache-2.0
"""Topologies as NetworkX graphs, both ways."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

from hemiola._core import Topology
from hemiola.environment.packages import require
from hemiola.errors import ArgumentError
from hemiola.topology.named_nics import nics_of_links
from hemiola.topology.wiring import nic_name

require("networkx")

import networkx as nx


def to_networkx(topology: Topology) -> nx.MultiDiGraph[int]:
    """Return vertices with `switch` and `node`, edges with a link's figures, `link` (its index) and `nic`."""
    nics = nics_of_links(topology)
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(name=topology.name)
    if topology.launch_s > 0:
        graph.graph["launch_s"] = topology.launch_s
    names = topology.names
    abilities = {"reduces": set(topology.reduces), "multicasts": set(topology.multicasts)}

    def named(vertex: int) -> dict[str, str]:
        return {"name": names[vertex]} if names and names[vertex] else {}

    for rank, node in enumerate(topology.nodes.tolist()):
        graph.add_node(rank, switch=False, node=node, **named(rank))
    for switch in range(topology.rank_count, topology.rank_count + topology.switch_count):
        able = {ability: True for ability, switches in abilities.items() if switch in switches}
        graph.add_node(switch, switch=True, **able, **named(switch))
    for link, (src, dst, latency_s, bandwidth, message_s) in enumerate(topology.links.tolist()):
        data: dict[str, Any] = {"latency_s": latency_s, "bandwidth": bandwidth, "message_s": message_s}
        data["link"] = link
        if link in nics:
            data["nic"] = nics[link] if len(nics[link]) > 1 else nics[link][0]
        graph.add_edges_from([(src, dst, data)])
    return graph


def from_networkx(graph: nx.Graph[Any]) -> Topology:
    """Number ranks, then switches, in the graph's order; edges without direction become links both ways.

    A vertex with `switch=True` is a switch; one with `switch=False`, or with a `node`, is a rank. Where no vertex is
    marked, all are ranks. A graph in which only some are marked is refused.

    Links come in the order of their edges' `link`; edges without one follow, in the graph's order.
    """
    _check_marks(graph)
    ranks = [v for v, data in graph.nodes(data=True) if not data.get("switch", False)]
    switches = [v for v, data in graph.nodes(data=True) if data.get("switch", False)]
    number: dict[Hashable, int] = {v: i for i, v in enumerate([*ranks, *switches])}
    hosts = [graph.nodes[rank].get("node", ("own host of", rank)) for rank in ranks]
    nodes = _nodes(hosts)
    host_numbers = {str(host): node for host, node in zip(hosts, nodes, strict=True)}
    links: list[tuple[int, int, float, float, float]] = []
    nics: list[tuple[str, int, list[int]]] = []
    edges = sorted(graph.edges(data=True), key=lambda edge: edge[2].get("link", math.inf))
    for src, dst, data in edges:
        cost = _cost(src, dst, data)
        first = len(links)
        links.append((number[src], number[dst], *cost))
        if not graph.is_directed():
            links.append((number[dst], number[src], *cost))
        of_link = list(range(first, len(links)))
        nics += [(name, host, of_link) for host, name in _nics(src, dst, data, host_numbers)]
    return Topology(
        len(ranks),
        links,
        switch_count=len(switches),
        nodes=nodes,
        nics=nics,
        names=_names([str(graph.nodes[v].get("name", "")) for v in number]),
        launch_s=_launch_s(graph),
        reduces=_able(graph, number, "reduces"),
        multicasts=_able(graph, number, "multicasts"),
        name=str(graph.name),
    )


def _able(graph: nx.Graph[Any], number: Mapping[Hashable, int], ability: str) -> list[int]:
    """Return the vertices that say of themselves that they reduce, or multicast."""
    able = []
    for vertex, data in graph.nodes(data=True):
        given = data.get(ability, False)
        if given not in (True, False):
            raise ArgumentError(f"vertex {vertex!r}: expected True or False as '{ability}', found {given!r}")
        if given:
            able.append(number[vertex])
    return able


def _launch_s(graph: nx.Graph[Any]) -> float:
    given = graph.graph.get("launch_s", 0.0)
    try:
        return float(given)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"expected a number of seconds as the graph's 'launch_s', found {given!r}"
        ) from None


def _names(texts: list[str]) -> list[str]:
    """Return names as a topology may hold them; none where two are the same, or one is a number."""
    names = []
    for text in texts:
        host, slash, name = text.partition("/")
        names.append(f"{host}/{nic_name(name)}" if slash and host.isdigit() else nic_name(text))
    given = [name for name in names if name]
    return [] if len(set(given)) < len(given) or any(name.isdigit() for name in given) else names


def _check_marks(graph: nx.Graph[Any]) -> None:
    """Refuse a graph of which only some vertices say whether they are switches."""
    of_all = dict(graph.nodes(data=True))
    marked = [v for v, data in of_all.items() if "switch" in data or "node" in data]
    unmarked = [v for v in of_all if v not in set(marked)]
    if marked and unmarked:
        raise ArgumentError(
            f"expected the attribute 'switch' (True or False) of every vertex or of none, found none of "
            f"{unmarked[0]!r} ({len(unmarked)} of {len(of_all)} vertices have none); mark ranks with switch=False"
        )
    for vertex in marked:
        if of_all[vertex].get("switch", False) not in (True, False):
            found = of_all[vertex]["switch"]
            raise ArgumentError(f"vertex {vertex!r}: expected True or False as 'switch', found {found!r}")


def _cost(src: object, dst: object, data: dict[str, Any]) -> tuple[float, float, float]:
    try:
        return float(data["latency_s"]), float(data["bandwidth"]), float(data.get("message_s", 0.0))
    except KeyError as missing:
        raise ArgumentError(
            f"edge {src!r} - {dst!r}: expected the attributes 'latency_s' (seconds) and 'bandwidth' (bytes "
            f"per second), found no {missing}"
        ) from None
    except (TypeError, ValueError):
        raise ArgumentError(
            f"edge {src!r} - {dst!r}: expected numbers as 'latency_s', 'bandwidth' and 'message_s', found "
            f"{data['latency_s']!r}, {data['bandwidth']!r} and {data.get('message_s', 0.0)!r}"
        ) from None


def _nics(src: object, dst: object, data: dict[str, Any], hosts: Mapping[str, int]) -> list[tuple[int, str]]:
    """Read an edge's `nic`: HOST/NAME, or several of them, as numbers of hosts and names."""
    given = data.get("nic", [])
    found = []
    for text in [given] if isinstance(given, str) else given:
        host, slash, name = str(text).rpartition("/")
        if not slash or host not in hosts:
            raise ArgumentError(
                f"edge {src!r} - {dst!r}: expected as 'nic' HOST/NAME, HOST being a rank's 'node', found {text!r}"
            )
        found.append((hosts[host], name))
    return found


def _nodes(hosts: list[Hashable]) -> list[int]:
    """Keep numbers 0 … without gaps; number any other names by first appearance."""
    if set(hosts) == set(range(len(set(hosts)))):
        return [int(host) for host in hosts]  # type: ignore[call-overload]
    number: dict[Hashable, int] = {}
    return [number.setdefault(host, len(number)) for host in hosts]
