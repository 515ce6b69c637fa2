# SPDX-License-Identifier: Apache-2.0
"""One latency and one bandwidth that stand for a whole topology, as cost formulas need them."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.topology.named_nics import settled

#: Ranks whose surroundings are looked at; more change the median little.
_SAMPLES = 64


@dataclass(frozen=True)
class PortSpeed:
    """The cost of a message to a rank's port, and its bandwidth in bytes per second.

    latency_s : seconds that a message takes beside its bytes: to a neighbour, and while it occupies the port.
    message_s : the latter alone, which every further message of a step costs, too.
    """

    latency_s: float
    bandwidth: float
    message_s: float = 0.0


def port_speed(topology: Topology, conditions: Conditions | None = None) -> PortSpeed:
    """Condense a topology into the two numbers of a one-port network.

    Parameters
    ----------
    topology : Topology.
    conditions : Conditions, optional; a slow rank's port, or NIC, counts with its factor.

    Returns
    -------
    PortSpeed: the median latency from a rank to the nearest other one, through switches where there is no
    link, with the message cost of the costliest link on that path; and the bandwidth of the fastest link out of the
    rank whose port is slowest, because a collective waits for that rank. A topology of one rank costs nothing: latency
    0 at 1 TB/s.

    Raises
    ------
    ArgumentError
        naming a rank from which no other can be reached, or a NIC that the topology has not.

    Notes
    -----
    Looks at 64 ranks, evenly spread, for the latency and at every link for the bandwidth. It is meant for
    ranking algorithms, not for predicting: a torus has several ports a rank, a rack has distant ranks.
    """
    topology, now = settled(topology, conditions or Conditions())
    if topology.rank_count == 1:
        return PortSpeed(0.0, 1e12)
    links = np.asarray(topology.links)
    fastest = np.zeros(topology.rank_count)
    from_rank = links["src"] < topology.rank_count
    np.maximum.at(fastest, links["src"][from_rank], links["bandwidth"][from_rank])
    for rank, factor in now.slow_ranks.items():
        fastest[rank] /= factor
    latency_s, message_s = _message_costs(topology)
    return PortSpeed(latency_s + message_s, float(fastest.min()), message_s)


@lru_cache(maxsize=4)
def _message_costs(topology: Topology) -> tuple[float, float]:
    """Return the median latency from a rank to the nearest other one, and that of what a message costs on the way."""
    links = np.asarray(topology.links)
    out = links[np.argsort(links["src"], kind="stable")]
    begins = np.searchsorted(out["src"], np.arange(topology.rank_count + topology.switch_count + 1))
    # No np.unique and no np.median: they import numpy.ma, which takes ten times as long as a plan.
    samples = sorted(set(np.linspace(0, topology.rank_count - 1, _SAMPLES).astype(int).tolist()))
    costs = [_nearest_rank(out, begins, topology.rank_count, rank) for rank in samples]
    latency_s, message_s = np.sort(costs, axis=0)[[(len(costs) - 1) // 2, len(costs) // 2]].mean(axis=0)
    return float(latency_s), float(message_s)


def _nearest_rank(
    out: NDArray[Any], begins: NDArray[np.int64], rank_count: int, start: int
) -> tuple[float, float]:
    """Return the latency of the quickest path to any other rank (Dijkstra, stopped at the first one), and the most that
    a message costs a link of it."""
    reached: set[int] = set()
    queue = [(0.0, 0.0, start)]
    while queue:
        latency_s, message_s, vertex = heapq.heappop(queue)
        if vertex < rank_count and vertex != start:
            return latency_s, message_s
        if vertex in reached:
            continue
        reached.add(vertex)
        links = out[begins[vertex] : begins[vertex + 1]]
        for _, dst, link_s, _, cost_s in links.tolist():
            heapq.heappush(queue, (latency_s + link_s, max(message_s, cost_s), dst))
    raise ArgumentError(f"rank {start} cannot reach any other rank; give it a link")
