# SPDX-License-Identifier: Apache-2.0
"""Finds ports of a switch that are slower than the others', so that schedules for slow ranks can be used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology
from hemiola.conditions import Conditions

#: The least factor by which a slow port is slower; less is within the measurements' variation.
_LEAST_FACTOR = 1.2


def with_even_ports(topology: Topology, conditions: Conditions) -> tuple[Topology, Conditions]:
    """Say of a switch with some slower ports that it has even ones, and that their ranks are slow.

    The time of messages is the same. Returns the same objects of other networks, and where no minority of the ports is
    slower. `conditions` name no NICs: see `settled`.
    """
    slow = slow_ports(topology)
    if not slow:
        return topology, conditions
    factors = np.ones(topology.rank_count + 1)
    factors[list(slow)] = list(slow.values())
    links = topology.links.copy()
    links["bandwidth"] *= np.maximum(factors[links["src"]], factors[links["dst"]])
    even = topology.replaced(links=links)
    now = conditions.slow_ranks
    both = {rank: slow.get(rank, 1.0) * now.get(rank, 1.0) for rank in sorted(slow.keys() | now.keys())}
    return even, replace(conditions, slow=both)


def slow_ports(topology: Topology) -> dict[int, float]:
    """Return by how much ports of a switch are slower than the usual one; nothing of other networks."""
    ports = _ports_of_switch(topology)
    if ports is None:
        return {}
    usual = np.sort(ports)[(len(ports) - 1) // 2]  # of which there are as many as slower ones, at least
    slow = np.flatnonzero(usual >= _LEAST_FACTOR * ports)
    return {int(rank): float(usual / ports[rank]) for rank in slow}


def _ports_of_switch(topology: Topology) -> NDArray[np.float64] | None:
    """Return the bandwidth of each rank's port where one switch joins all of them, the slower way of the two."""
    n, links = topology.rank_count, topology.links
    if topology.switch_count != 1 or len(links) != 2 * n:
        return None
    ports = []
    for end, other in (("src", "dst"), ("dst", "src")):
        goes = links[links[other] == n]
        if (np.bincount(goes[end], minlength=n) != 1).any():
            return None
        one_way = np.empty(n)
        one_way[goes[end]] = goes["bandwidth"]
        ports.append(one_way)
    return np.minimum(*ports)
