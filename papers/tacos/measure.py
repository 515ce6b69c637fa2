# SPDX-License-Identifier: Apache-2.0
"""How TACOS's sections measure: the paper's ideal, simulated times, and the best that the synthesizer finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from hemiola._core import Schedule, Topology
from hemiola.bounds import lower_bound
from hemiola.simulate import simulate
from hemiola.synthesis import forest, search

MB, GB, GIB = 10**6, 10**9, 1 << 30
#: The paper's links unless it says otherwise [TACOS, §V-B].
LINK = {"latency_s": 0.5e-6, "bandwidth": 50e9}
KIND: Final = "all_reduce"
#: Chunks per rank that are tried; schedules of more transfers than the limit are not.
CHUNKS_PER_RANK = (1, 2, 4, 8, 16, 32)
#: Pieces down each tree of the other generator that are tried, on networks that it serves.
FOREST_PIECES = (8, 32, 128)
_MOST_VERTICES_OF_FOREST = 256
_MOST_TRANSFERS = 4_000_000


def network_model(topology: Topology) -> str:
    """Return the simulator's model: the paper's, one message a link at a time, where ranks are linked directly.

    A switch that stored and forwarded whole chunks would halve every bandwidth, so flows pass through switches.
    """
    return "fluid" if topology.switch_count else "fifo"


def seconds(schedule: Schedule, topology: Topology, nbytes: int) -> float:
    """Simulate an all-reduce."""
    return simulate(schedule, topology, nbytes, network=network_model(topology)).seconds


def port_bandwidth(topology: Topology) -> NDArray[np.float64]:
    """Return the rate at which each rank can send and receive, the smaller of the two, in bytes per second."""
    links, ends = topology.links, topology.rank_count + topology.switch_count
    out = np.bincount(links["src"], links["bandwidth"], ends)
    into = np.bincount(links["dst"], links["bandwidth"], ends)
    smaller: NDArray[np.float64] = np.minimum(out, into)[: topology.rank_count]
    return smaller


def diameter_s(topology: Topology) -> float:
    """Return the latency between the two ranks farthest from each other."""
    links, ends = topology.links, topology.rank_count + topology.switch_count
    graph = csr_array((links["latency_s"], (links["src"], links["dst"])), shape=(ends, ends))
    away = shortest_path(graph)[: topology.rank_count, : topology.rank_count]
    return float(away.max())


def ideal_s(topology: Topology, nbytes: int) -> float:
    """Return the paper's ideal time of an all-reduce [TACOS, §V-A]; it is no bound where ranks' bandwidths differ."""
    n = topology.rank_count
    moved = nbytes * 2 * (n - 1) / n
    return float(moved / port_bandwidth(topology).min()) + diameter_s(topology)


def bound_s(topology: Topology, nbytes: int) -> float:
    """Return a time that no all-reduce can beat."""
    return lower_bound(topology, KIND, nbytes).seconds


@dataclass(frozen=True)
class Found:
    """The fastest schedule of a few searches.

    Attributes
    ----------
    seconds : float, simulated.
    search_s : float, the wall time of one trial of the winning search on one thread.
    how : str, the kind of search: "16 chunks" a rank, or a forest of "8 pieces".
    """

    schedule: Schedule
    seconds: float
    search_s: float
    how: str


def synthesized(topology: Topology, nbytes: int, chunks_per_rank: Iterable[int] = CHUNKS_PER_RANK) -> Found:
    """Search with several chunk counts and forests, and keep the all-reduce that simulates fastest.

    Switches are unwound for the search, not for the forests, which replace them by links on their own.
    """
    graph = topology.unwind_switches(1) if topology.switch_count else topology
    n = topology.rank_count
    ways: list[tuple[str, Callable[[], Schedule]]] = [
        (f"{count} chunks", partial(_searched, graph, nbytes, count))
        for count in chunks_per_rank
        if count == 1 or 2 * n * (n - 1) * count <= _MOST_TRANSFERS
    ]
    if n + topology.switch_count <= _MOST_VERTICES_OF_FOREST:
        pieces = [count for count in FOREST_PIECES if 2 * n * (n - 1) * count <= _MOST_TRANSFERS]
        ways += [(f"{count} pieces", partial(_planted, topology, nbytes, count)) for count in pieces]
    timed = [(seconds(way(), topology, nbytes), index) for index, (_, way) in enumerate(ways)]
    best, index = min(timed)
    how, way = ways[index]
    schedule, search_s = one_trial(way)
    return Found(schedule, best, search_s, how)


def _searched(graph: Topology, nbytes: int, chunks: int) -> Schedule:
    return search(graph, KIND, chunks, nbytes=nbytes, trials=1, threads=1, progress=False).schedule


def _planted(topology: Topology, nbytes: int, pieces: int) -> Schedule:
    return forest(topology, KIND, pieces=pieces, nbytes=nbytes).schedule


def one_trial(way: Callable[[], Schedule]) -> tuple[Schedule, float]:
    """Return a schedule and how long it took to make on one thread, the best of three: other work may disturb one."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        schedule = way()
        times.append(time.perf_counter() - started)
    return schedule, min(times)


def link_bytes(schedule: Schedule, topology: Topology, nbytes: int) -> NDArray[np.float64]:
    """Return the bytes that each link carries."""
    busy = simulate(schedule, topology, nbytes, network=network_model(topology)).link_busy_s
    carried: NDArray[np.float64] = busy * topology.links["bandwidth"]
    return carried


def utilization(
    schedule: Schedule, topology: Topology, nbytes: int, edges_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of all links' time that is used between each two of the given moments."""
    spans = np.asarray(simulate(schedule, topology, nbytes, network=network_model(topology)).spans)
    start, end = spans["start_s"], spans["end_s"]
    used = np.array([np.clip(edge - start, 0, end - start).sum() for edge in edges_s])
    shares: NDArray[np.float64] = np.diff(used) / np.diff(edges_s) / topology.link_count
    return shares
