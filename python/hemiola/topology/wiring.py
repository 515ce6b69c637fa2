"""Ranks, switches and links collected by name, then numbered: for readers that meet devices in any order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology


class Assumed(float):
    """A figure that a file does not say; what is reckoned from it by a factor is assumed, too."""

    def __mul__(self, factor: float) -> Assumed:
        return Assumed(float(self) * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Assumed:
        return Assumed(float(self) / divisor)

    def __add__(self, other: float) -> Assumed:
        return Assumed(float(self) + other)

    __radd__ = __add__


#: What these files do not say; the path's figures are those of NCCL's cost model (src/graph/tuning.cc,
#: topo.h).
NVLINK_LATENCY_S = Assumed(0.6e-6)
"""From GPU to GPU."""
PCIE_HOP_S = Assumed(0.5e-6)
"""Of one PCIe link, or one link between CPU sockets."""
NETWORK_LATENCY_S = Assumed(5e-6)
"""From NIC to NIC."""


#: What names of NICs may not hold, and how long they may be (topology/nics.hpp).
_NOT_IN_NAMES = re.compile(r"""[^!-~]|[/,=:#{}\[\]'"]""")
_MAX_NAME = 64

#: Stands for the switch between hosts until all others have been counted: it becomes the last vertex, so that
#: whoever puts boxes side by side finds it.
NETWORK = -1


def nic_name(text: str) -> str:
    """Return the name of a NIC as a topology may hold it: what it may not hold becomes an underscore."""
    return _NOT_IN_NAMES.sub("_", text[:_MAX_NAME])


@dataclass(frozen=True)
class Speeds:
    """What a user says about links of which a file gives only the kind; None where that is assumed.

    gpu_link : one NVLink or xGMI link in one direction. nic, pcie : one NIC, one PCIe link. Bytes per second.
    """

    gpu_link: float | None = None
    nic: float | None = None
    pcie: float | None = None

    @property
    def are_given(self) -> bool:
        """Whether the user says anything."""
        return (self.gpu_link, self.nic, self.pcie) != (None, None, None)


NO_SPEEDS = Speeds()


@dataclass(frozen=True)
class TopologyFile:
    """A topology that was read, and what of it the file does not say.

    lacks_network : the file gives no speed for NICs, which then are left out, so that nothing joins several such hosts.
    assumed : per link, whether its latency and its bandwidth are assumed; None where the file says all.
    """

    topology: Topology
    lacks_network: bool = False
    assumed: NDArray[np.bool_] | None = None


class Wiring:
    """Ranks are 0 … rank_count-1; switches are added one by one, and links between any two of them."""

    def __init__(self, rank_count: int) -> None:
        self._rank_count = rank_count
        self._switch_count = 0
        self._links: list[tuple[int, int, float, float]] = []
        self._nics: list[tuple[str, int, list[int]]] = []

    def add_switch(self) -> int:
        """Return the vertex of a new switch."""
        self._switch_count += 1
        return self._rank_count + self._switch_count - 1

    def one_way(self, src: int, dst: int, latency_s: float, bandwidth: float) -> None:
        """Add a link."""
        self._links.append((src, dst, latency_s, bandwidth))

    def both_ways(self, a: int, b: int, latency_s: float, bandwidth: float) -> None:
        """Add a link each way."""
        self.one_way(a, b, latency_s, bandwidth)
        self.one_way(b, a, latency_s, bandwidth)

    def bandwidth_from(self, vertex: int) -> float:
        """Return what all links out of a vertex carry together so far."""
        return sum(bandwidth for src, _, _, bandwidth in self._links if src == vertex)

    def nic(self, name: str, host: int, card: int, latency_s: float, bandwidth: float) -> None:
        """Add a link each way between a card's vertex and the network: the NIC of that name, if it has one."""
        first = len(self._links)
        self.both_ways(card, NETWORK, latency_s, bandwidth)
        if name:
            self._nics.append((nic_name(name), host, [first, first + 1]))

    def read(self, name: str, hosts: Sequence[int], *, lacks_network: bool = False) -> TopologyFile:
        """Build what has been collected; the ranks' hosts get numbers without gaps, in their order."""
        number = {host: i for i, host in enumerate(sorted(set(hosts)))}
        assumed = [[isinstance(cost, Assumed) for cost in link[2:]] for link in self._links]
        if any(NETWORK in link[:2] for link in self._links):
            network = self.add_switch()
            self._links = [
                (network if src == NETWORK else src, network if dst == NETWORK else dst, latency_s, bandwidth)
                for src, dst, latency_s, bandwidth in self._links
            ]
        topology = Topology(
            self._rank_count,
            self._links,
            switch_count=self._switch_count,
            nodes=[number[host] for host in hosts],
            nics=[(nic, number[host], links) for nic, host, links in self._nics if host in number],
            name=name,
        )
        return TopologyFile(topology, lacks_network, np.array(assumed, bool).reshape(-1, 2))
