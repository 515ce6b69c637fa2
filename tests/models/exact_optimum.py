# SPDX-License-Identifier: Apache-2.0
"""Exact optima of small networks by linear programs, for judging bounds: an all-reduce by column generation over trees,
an all-to-all by flows. They count bandwidths alone: latencies are 0, and buffers as finely divisible as they like."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

import hemiola as hm

Floats = NDArray[np.float64]


def all_to_all_s(topology: hm.Topology, nbytes: int) -> float:
    """Return the least time of an all-to-all: each source's blocks are one flow, of which every rank takes its own."""
    links, ranks = topology.links, topology.rank_count
    vertices, count = ranks + topology.switch_count, len(topology.links)
    share = 1 / ranks
    one = np.arange(count)
    rows, columns, values, wanted = [], [], [], []
    for source in range(ranks):
        others = [v for v in range(vertices) if v != source]
        row_of = np.full(vertices, -1)
        row_of[others] = len(wanted) + np.arange(len(others))
        wanted += [share if v < ranks else 0.0 for v in others]
        for ends, sign in ((links["dst"], 1.0), (links["src"], -1.0)):
            seen = row_of[ends] >= 0
            rows.append(row_of[ends][seen])
            columns.append((source * count + one)[seen])
            values.append(np.full(seen.sum(), sign))
    flows = ranks * count
    conserved = coo_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(wanted), flows + 1),
    )
    speeds = links["bandwidth"] / links["bandwidth"].max()
    loads = coo_matrix(
        (
            np.concatenate([np.ones(flows), -speeds]),
            (
                np.concatenate([np.tile(one, ranks), one]),
                np.concatenate([np.arange(flows), np.full(count, flows)]),
            ),
        ),
        shape=(count, flows + 1),
    )
    cost = np.zeros(flows + 1)
    cost[-1] = 1
    found = linprog(cost, A_ub=loads, b_ub=np.zeros(count), A_eq=conserved, b_eq=wanted, method="highs")
    assert found.status == 0, found.message
    return float(found.fun) * nbytes / float(links["bandwidth"].max())


@dataclass
class _TwoWay:
    """A network whose links are as fast back as there: what goes up a tree can come down it."""

    ranks: int
    graph: nx.Graph
    pairs: dict[tuple[int, int], int] = field(default_factory=dict)
    Bps: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, topology: hm.Topology) -> _TwoWay:
        speed: dict[tuple[int, int], float] = {}
        for link in topology.links:
            ends = int(link["src"]), int(link["dst"])
            speed[ends] = speed.get(ends, 0.0) + float(link["bandwidth"])
        network = cls(topology.rank_count, nx.Graph())
        for (a, b), there in sorted(speed.items()):
            assert speed.get((b, a)) == there, "links must be as fast back as there"
            if a < b:
                network.pairs[a, b] = len(network.Bps)
                network.Bps.append(there)
                network.graph.add_edge(a, b)
        return network

    def shortest_tree(self, length: Floats) -> tuple[float, Floats]:
        """Return the least length of a tree that joins ranks by ways through switches, and how often it uses a pair."""
        for ends, pair in self.pairs.items():
            self.graph.edges[ends]["length"] = max(float(length[pair]), 0.0)
        ways = nx.Graph()
        paths = {}
        for source in range(self.ranks):
            # Ranks end a way; switches neither copy nor add.
            through = self.graph.subgraph([source, *(v for v in self.graph if v >= self.ranks)])
            far, path = nx.single_source_dijkstra(through, source, weight="length")
            for v, distance in far.items():
                for _, rank, data in self.graph.edges(v, data=True):
                    if rank >= self.ranks or rank == source:
                        continue
                    way = distance + data["length"]
                    known = ways.get_edge_data(source, rank)
                    if known is None or way < known["length"]:
                        ways.add_edge(source, rank, length=way)
                        paths[frozenset((source, rank))] = [*path[v], rank]
        used = np.zeros(len(self.Bps))
        total = 0.0
        for a, b, data in nx.minimum_spanning_edges(ways, weight="length", data=True):
            total += data["length"]
            hops = paths[frozenset((a, b))]
            for u, v in pairwise(hops):
                used[self.pairs[min(u, v), max(u, v)]] += 1
        return total, used


def all_reduce_s(topology: hm.Topology, nbytes: int) -> float:
    """Return the least time of an all-reduce up and down trees, from below and within 1e-6.

    Rates of trees are a linear program with a column per tree; its prices are lengths of links, and where the shortest
    tree by those is as long as the program says, no tree is missing."""
    network = _TwoWay.of(topology)
    scale = max(network.Bps)
    capacity = np.array(network.Bps) / scale
    most, trees, length = np.inf, [], 1 / capacity
    for _ in range(1000):
        total, used = network.shortest_tree(length)
        most = min(most, float(length @ capacity) / total)
        trees.append(used)
        found = linprog(-np.ones(len(trees)), A_ub=np.array(trees).T, b_ub=capacity, method="highs")
        assert found.status == 0, found.message
        if most <= -found.fun * (1 + 1e-6):
            return nbytes / (most * scale)
        length = np.maximum(-found.ineqlin.marginals, 1e-12)
    raise AssertionError(f"between {-found.fun} and {most} after 1,000 trees")


def one_port_all_reduce(factors: Floats) -> float:
    """Return the least time over N·β of an all-reduce up and down trees where a port carries one message at a time, at
    the pace of its slower end: by column generation over all trees, again."""
    n = len(factors)
    pace = np.maximum.outer(factors, factors)
    price, loads, best = np.full(n, 1 / n), [], np.inf
    for _ in range(500):
        graph = nx.Graph()
        graph.add_weighted_edges_from(
            (a, b, pace[a, b] * (price[a] + price[b])) for a in range(n) for b in range(a)
        )
        load, length = np.zeros(n), 0.0
        for a, b, data in nx.minimum_spanning_edges(graph, data=True):
            load[[a, b]] += pace[a, b]
            length += data["weight"]
        if length >= best * (1 - 1e-9):
            return best
        loads.append(load)
        found = linprog(
            [*[0.0] * len(loads), 1.0],
            A_ub=np.column_stack([np.array(loads).T, -np.ones(n)]),
            b_ub=np.zeros(n),
            A_eq=[[*[1.0] * len(loads), 0.0]],
            b_eq=[1.0],
        )
        assert found.status == 0, found.message
        best, price = float(found.fun), -found.ineqlin.marginals
    raise AssertionError("no end after 500 trees")
