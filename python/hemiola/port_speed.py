"""One latency and one bandwidth that stand for a whole topology, as cost formulas need them."""

from __future__ import annotations

import heapq
import statistics
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError

#: Ranks whose surroundings are looked at; more change the median little.
_SAMPLES = 64


@dataclass(frozen=True)
class PortSpeed:
    """Latency in seconds to a neighbour, and bandwidth in bytes per second of a rank's port."""

    latency_s: float
    bandwidth: float


def port_speed(topology: Topology, conditions: Conditions | None = None) -> PortSpeed:
    """Condense a topology into the two numbers of a one-port network.

    Parameters
    ----------
    topology : Topology.
    conditions : Conditions, optional; a slow rank's port counts with its factor.

    Returns
    -------
    PortSpeed: the median latency from a rank to the nearest other one, through switches where there is no
    link; and the bandwidth of the fastest link out of the rank whose port is slowest, because a
    collective waits for that rank. A topology of one rank costs nothing: latency 0 at 1 TB/s.

    Raises
    ------
    ArgumentError
        naming a rank from which no other can be reached.

    Notes
    -----
    Looks at 64 ranks, evenly spread, for the latency and at every link for the bandwidth. It is meant for
    ranking algorithms, not for predicting: a torus has several ports a rank, a rack has distant ranks.
    """
    if topology.rank_count == 1:
        return PortSpeed(0.0, 1e12)
    links = np.asarray(topology.links)
    order = np.argsort(links["src"], kind="stable")
    out = links[order]
    begins = np.searchsorted(out["src"], np.arange(topology.rank_count + topology.switch_count + 1))
    fastest = np.zeros(topology.rank_count)
    from_rank = links["src"] < topology.rank_count
    np.maximum.at(fastest, links["src"][from_rank], links["bandwidth"][from_rank])
    for rank, factor in (conditions.slow if conditions else {}).items():
        fastest[rank] /= factor
    samples = np.unique(np.linspace(0, topology.rank_count - 1, _SAMPLES).astype(int)).tolist()
    latency_s = statistics.median(_nearest_rank(out, begins, topology.rank_count, rank) for rank in samples)
    return PortSpeed(latency_s, float(fastest.min()))


def _nearest_rank(out: NDArray[Any], begins: NDArray[np.int64], rank_count: int, start: int) -> float:
    """Return the latency of the quickest path to any other rank (Dijkstra, stopped at the first one)."""
    reached: set[int] = set()
    queue = [(0.0, start)]
    while queue:
        latency_s, vertex = heapq.heappop(queue)
        if vertex < rank_count and vertex != start:
            return latency_s
        if vertex in reached:
            continue
        reached.add(vertex)
        for link in out[begins[vertex] : begins[vertex + 1]]:
            heapq.heappush(queue, (latency_s + float(link["latency_s"]), int(link["dst"])))
    raise ArgumentError(f"rank {start} cannot reach any other rank; give it a link")
