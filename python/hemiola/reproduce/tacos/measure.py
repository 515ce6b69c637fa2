"""How TACOS's sections measure: the paper's ideal, simulated times, and the best that the synthesizer finds."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from hemiola._core import Schedule, Topology
from hemiola.bounds import lower_bound
from hemiola.simulate import simulate
from hemiola.synthesis import search

MB, GB, GIB = 10**6, 10**9, 1 << 30
#: The paper's links unless it says otherwise [TACOS, §V-B].
LINK = {"latency_s": 0.5e-6, "bandwidth": 50e9}
KIND = "all_reduce"
#: Chunks per rank that are tried; schedules of more transfers than the limit are not.
CHUNKS_PER_RANK = (1, 2, 4, 8, 16)
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
    """Return what each rank can send and receive, the smaller of the two, in bytes per second."""
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
    """Return what no all-reduce can beat."""
    return lower_bound(topology, KIND, nbytes).seconds


@dataclass(frozen=True)
class Found:
    """The fastest schedule of a few searches.

    Attributes
    ----------
    seconds : float, simulated.
    search_s : float, the wall time of one trial of the winning search on one thread.
    """

    schedule: Schedule
    seconds: float
    chunks_per_rank: int
    search_s: float


def synthesized(topology: Topology, nbytes: int, chunks_per_rank: Iterable[int] = CHUNKS_PER_RANK) -> Found:
    """Search with several chunk counts and keep the all-reduce that simulates fastest; switches are unwound."""
    graph = topology.unwind_switches(1) if topology.switch_count else topology
    n, found = topology.rank_count, []
    for count in chunks_per_rank:
        if count > 1 and 2 * n * (n - 1) * count > _MOST_TRANSFERS:
            break
        schedule = search(graph, KIND, count, nbytes=nbytes, progress=False).schedule
        found.append((seconds(schedule, topology, nbytes), count, schedule))
    best, count, schedule = min(found, key=lambda one: one[:2])
    return Found(schedule, best, count, one_trial_s(graph, count, nbytes))


def one_trial_s(graph: Topology, chunks_per_rank: int, nbytes: int) -> float:
    """Return how long one trial of a search takes on one thread, the better of two: other work may disturb one."""
    times = []
    for _ in range(2):
        started = time.perf_counter()
        search(graph, KIND, chunks_per_rank, nbytes=nbytes, trials=1, threads=1, progress=False)
        times.append(time.perf_counter() - started)
    return min(times)


def link_bytes(schedule: Schedule, topology: Topology, nbytes: int) -> NDArray[np.float64]:
    """Return what each link carries."""
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
