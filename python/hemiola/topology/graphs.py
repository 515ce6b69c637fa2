"""Topologies as NetworkX graphs, both ways."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import networkx as nx

from hemiola import Topology
from hemiola.errors import ArgumentError


def to_networkx(topology: Topology) -> nx.MultiDiGraph[int]:
    """Return vertices with `switch` and `node`, edges with `latency_s`, `bandwidth`, `link` (its index)."""
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(name=topology.name)
    for rank, node in enumerate(topology.nodes.tolist()):
        graph.add_node(rank, switch=False, node=node)
    for switch in range(topology.rank_count, topology.rank_count + topology.switch_count):
        graph.add_node(switch, switch=True)
    for link, (src, dst, latency_s, bandwidth) in enumerate(topology.links.tolist()):
        graph.add_edge(src, dst, latency_s=latency_s, bandwidth=bandwidth, link=link)
    return graph


def from_networkx(graph: nx.Graph[Any]) -> Topology:
    """Number ranks, then switches, in the graph's order; edges without direction become links both ways.

    Links come in the order of their edges' `link`; edges without one follow, in the graph's order.
    """
    ranks = [v for v, data in graph.nodes(data=True) if not data.get("switch", False)]
    switches = [v for v, data in graph.nodes(data=True) if data.get("switch", False)]
    number: dict[Hashable, int] = {v: i for i, v in enumerate([*ranks, *switches])}
    links = []
    edges = sorted(graph.edges(data=True), key=lambda edge: edge[2].get("link", math.inf))
    for src, dst, data in edges:
        cost = _cost(src, dst, data)
        links.append((number[src], number[dst], *cost))
        if not graph.is_directed():
            links.append((number[dst], number[src], *cost))
    return Topology(
        len(ranks),
        links,
        switch_count=len(switches),
        nodes=_nodes([graph.nodes[rank].get("node", ("own host of", rank)) for rank in ranks]),
        name=str(graph.name),
    )


def _cost(src: object, dst: object, data: dict[str, Any]) -> tuple[float, float]:
    try:
        return float(data["latency_s"]), float(data["bandwidth"])
    except KeyError as missing:
        raise ArgumentError(
            f"edge {src!r} - {dst!r}: expected the attributes 'latency_s' (seconds) and 'bandwidth' (bytes "
            f"per second), found no {missing}"
        ) from None
    except (TypeError, ValueError):
        raise ArgumentError(
            f"edge {src!r} - {dst!r}: expected numbers as 'latency_s' and 'bandwidth', found "
            f"{data['latency_s']!r} and {data['bandwidth']!r}"
        ) from None


def _nodes(hosts: list[Hashable]) -> list[int]:
    """Keep numbers 0 … without gaps; number any other names by first appearance."""
    if set(hosts) == set(range(len(set(hosts)))):
        return [int(host) for host in hosts]  # type: ignore[call-overload]
    number: dict[Hashable, int] = {}
    return [number.setdefault(host, len(number)) for host in hosts]
