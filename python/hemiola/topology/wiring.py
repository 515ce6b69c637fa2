"""Ranks, switches and links collected by name, then numbered: for readers that meet devices in any order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hemiola._core import Topology

#: What these files do not say; the path's figures are those of NCCL's cost model (src/graph/tuning.cc,
#: topo.h).
NVLINK_LATENCY_S = 0.6e-6
"""From GPU to GPU."""
PCIE_HOP_S = 0.5e-6
"""Of one PCIe link, or one link between CPU sockets."""
NETWORK_LATENCY_S = 5e-6
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

    def nic(self, name: str, host: int, card: int, latency_s: float, bandwidth: float) -> None:
        """Add a link each way between a card's vertex and the network: the NIC of that name, if it has one."""
        first = len(self._links)
        self.both_ways(card, NETWORK, latency_s, bandwidth)
        if name:
            self._nics.append((nic_name(name), host, [first, first + 1]))

    def topology(self, name: str, hosts: Sequence[int]) -> Topology:
        """Build what has been collected; the ranks' hosts get numbers without gaps, in their order."""
        number = {host: i for i, host in enumerate(sorted(set(hosts)))}
        if any(NETWORK in link[:2] for link in self._links):
            network = self.add_switch()
            self._links = [
                (network if src == NETWORK else src, network if dst == NETWORK else dst, latency_s, bandwidth)
                for src, dst, latency_s, bandwidth in self._links
            ]
        return Topology(
            self._rank_count,
            self._links,
            switch_count=self._switch_count,
            nodes=[number[host] for host in hosts],
            nics=[(nic, number[host], links) for nic, host, links in self._nics if host in number],
            name=name,
        )
