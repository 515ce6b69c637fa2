# SPDX-License-Identifier: Apache-2.0
"""The times of other libraries' collectives on a group's network: simulated, or by formula where that is too large."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hemiola import algorithms
from hemiola._core import Schedule, Topology
from hemiola.conditions import Conditions
from hemiola.simulate import simulate
from hemiola.topology.port_speed import PortSpeed
from hemiola.workload.group_network import GroupNetwork, group_network, ways_of
from hemiola.workload.libraries import algorithms_of, ranks_of_hosts
from hemiola.workload.rings import ring_time
from hemiola.workload.timed import Timed, in_turn

#: Transfers of a schedule that is simulated.
MOST_TRANSFERS = 40_000
#: Ranks whose ways are looked at; of more, evenly spread ones.
_MOST_RANKS = 256


def compared(library: str, topology: Topology, kind: str, nbytes: int, slow: dict[int, float]) -> Timed:
    """Return the time of a library's fastest algorithm for a collective.

    Parameters
    ----------
    library : str, one of `libraries.OTHERS`.
    topology : Topology of the ranks that run it.
    kind : str, a collective.
    nbytes : int >= 0, one rank's buffer.
    slow : dict of rank to factor >= 1.

    Returns
    -------
    Timed

    Raises
    ------
    ArgumentError
        Two ranks have no way to each other.
    """
    if topology.rank_count == 1 or nbytes == 0:
        return Timed(0.0, np.zeros(topology.link_count), "simulated")
    factors: dict[int | tuple[int, int] | str, float] = {rank: factor for rank, factor in slow.items()}
    degraded = topology.degraded(factors) if slow else topology
    names = algorithms_of(library, kind, topology)
    return min((_timed(name, degraded, kind, nbytes) for name in names), key=lambda one: one.seconds)


@lru_cache(maxsize=64)  # libraries have algorithms in common
def _timed(name: str, topology: Topology, kind: str, nbytes: int) -> Timed:
    n = topology.rank_count
    if kind == "reduce_scatter" and name.startswith("all_reduce_"):
        kind = "all_reduce"
    pattern = name.removeprefix(f"{kind}_")
    if pattern == "pccl":
        return _two_levels(name, topology, kind, nbytes)
    if pattern == "multi_ring":
        rings = nics_per_host(topology)
        if rings * (2 if kind == "all_reduce" else 1) * n * n > MOST_TRANSFERS:
            found = ring_time(topology, kind, nbytes, rings)
            return Timed(found.seconds, found.busy_s, found.source, name)
        counts = ranks_of_hosts(topology)
        made = getattr(algorithms, name)(len(counts), counts[0], rings)
        return _simulated(name, made, topology, nbytes)
    algorithm = algorithms.get(name)
    if algorithm.transfer_count(n) <= MOST_TRANSFERS:
        return _simulated(name, algorithm.generate(n), topology, nbytes)
    if pattern == "ring":
        found = ring_time(topology, kind, nbytes)
        return Timed(found.seconds, found.busy_s, found.source, name)
    return _by_formula(name, topology, nbytes)


def _simulated(name: str, schedule: Schedule, topology: Topology, nbytes: int) -> Timed:
    timeline = simulate(schedule, topology, nbytes, unchecked=True)
    return Timed(timeline.seconds, timeline.link_busy_s, "simulated", name, schedule)


def _by_formula(name: str, topology: Topology, nbytes: int) -> Timed:
    """Return the cost on one port: the least bandwidth and the largest latency of a hop to the next rank."""
    speed = slowest_hop(topology)
    algorithm = algorithms.get(name)
    seconds = algorithm.seconds(
        topology.rank_count, nbytes, speed.latency_s, speed.bandwidth, message_s=speed.message_s
    )
    busy_s = np.full(topology.link_count, 0.0)
    links = np.asarray(topology.links)
    busy_s[:] = np.minimum(seconds, seconds * speed.bandwidth / links["bandwidth"])
    return Timed(seconds, busy_s, "formula", name)


@lru_cache(maxsize=16)
def slowest_hop(topology: Topology) -> PortSpeed:
    """Return the largest latency and the least bandwidth of the ways from each rank to the next."""
    n, links = topology.rank_count, np.asarray(topology.links)
    local = ranks_of_hosts(topology)[0]
    step = 1 if n <= _MOST_RANKS else max(1, n // _MOST_RANKS // local * local)
    near = [(rank, (rank + 1) % n) for first in range(0, n, step) for rank in range(first, min(n, first + 1))]
    ways = ways_of(topology, [*near, *((local - 1, local),) * (local < n)])
    latency_s = max(float(links["latency_s"][way].sum()) for way in ways)
    bandwidth = min(float(links["bandwidth"][way].min()) for way in ways)
    message_s = max(float(links["message_s"][way].max()) for way in ways)
    return PortSpeed(latency_s + message_s, bandwidth, message_s)


def _two_levels(name: str, topology: Topology, kind: str, nbytes: int) -> Timed:
    """Return rings inside hosts, and halving and doubling between them, one phase after the other."""
    inside, between = _levels(topology)
    share = nbytes // inside.topology.rank_count
    phases: list[tuple[GroupNetwork, str, int]] = []
    if kind in ("all_reduce", "reduce_scatter"):
        phases += [
            (inside, "reduce_scatter_ring", nbytes),
            (between, "reduce_scatter_recursive_halving", share),
        ]
    if kind in ("all_reduce", "all_gather"):
        phases += [(between, "all_gather_recursive_doubling", share), (inside, "all_gather_ring", nbytes)]
    return in_turn([_phase(network, phase, size) for network, phase, size in phases], name)


@lru_cache(maxsize=16)
def _levels(topology: Topology) -> tuple[GroupNetwork, GroupNetwork]:
    """Return the network of a host's ranks, and that of the ranks of one place in all hosts."""
    counts = ranks_of_hosts(topology)
    places = np.argsort(topology.nodes, kind="stable").reshape(len(counts), counts[0])
    return (
        group_network(topology, places, Conditions()),
        group_network(topology, places.T.copy(), Conditions()),
    )


def _phase(network: GroupNetwork, name: str, nbytes: int) -> Timed:
    kind = next(kind for kind in ("reduce_scatter", "all_gather") if name.startswith(kind))
    found = _timed(name, network.topology, kind, nbytes)
    busy_s = network.cut.on_whole(found.busy_s, network.whole.link_count)
    return Timed(found.seconds, busy_s, found.source, name)


@lru_cache(maxsize=16)
def nics_per_host(topology: Topology) -> int:
    """Return how many different links lead out of the first host, at least 1: as many rings use all of its NICs."""
    nodes = np.asarray(topology.nodes)
    here, there = np.flatnonzero(nodes == nodes[0]), np.flatnonzero(nodes != nodes[0])
    if not there.size:
        return 1
    ways = ways_of(topology, [(int(rank), int(there[place % there.size])) for place, rank in enumerate(here)])
    links = np.asarray(topology.links)
    narrow = [way[int(np.argmin(links["bandwidth"][way]))] for way in ways]
    return max(1, len(set(narrow)))
