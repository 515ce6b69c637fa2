"""Ranks, switches and links collected by name, then numbered: for readers that meet devices in any order."""

from __future__ import annotations

from collections.abc import Sequence

from hemiola import Topology

#: What these files do not say; the path's figures are those of NCCL's cost model (src/graph/tuning.cc,
#: topo.h).
NVLINK_LATENCY_S = 0.6e-6
"""From GPU to GPU."""
PCIE_HOP_S = 0.5e-6
"""Of one PCIe link, or one link between CPU sockets."""
NETWORK_LATENCY_S = 5e-6
"""From NIC to NIC."""


#: Stands for the switch between hosts until all others have been counted: it becomes the last vertex, so that
#: whoever puts boxes side by side finds it.
NETWORK = -1


class Wiring:
    """Ranks are 0 … rank_count-1; switches are added one by one, and links between any two of them."""

    def __init__(self, rank_count: int) -> None:
        self._rank_count = rank_count
        self._switch_count = 0
        self._links: list[tuple[int, int, float, float]] = []

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

    def topology(self, name: str, nodes: Sequence[int]) -> Topology:
        """Build what has been collected."""
        if any(NETWORK in link[:2] for link in self._links):
            network = self.add_switch()
            self._links = [
                (network if src == NETWORK else src, network if dst == NETWORK else dst, latency_s, bandwidth)
                for src, dst, latency_s, bandwidth in self._links
            ]
        return Topology(
            self._rank_count, self._links, switch_count=self._switch_count, nodes=list(nodes), name=name
        )
