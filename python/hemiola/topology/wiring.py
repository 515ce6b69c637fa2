# SPDX-License-Identifier: Apache-2.0
"""Ranks, switches and links collected by name, then numbered: for readers that meet devices in any order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology
from hemiola.topology import message_costs
from hemiola.topology.assumed import Assumed

#: Defaults for figures that these files lack; the path's figures are those of NCCL's cost model (src/graph/tuning.cc,
#: topo.h).
NVLINK_LATENCY_S = Assumed(0.6e-6)
"""From GPU to GPU."""
PCIE_HOP_S = Assumed(0.5e-6)
"""Of one PCIe link, or one link between CPU sockets."""
NETWORK_LATENCY_S = Assumed(5e-6)
"""From NIC to NIC."""


#: Characters that names of NICs may not hold, and their greatest length (topology/nics.hpp).
_NOT_IN_NAMES = re.compile(r"""[^!-~]|[/,=:#{}\[\]'"]""")
_MAX_NAME = 64

#: Stands for the switch between hosts until all others have been counted: it becomes the last vertex, so that code
#: that puts boxes side by side finds it.
NETWORK = -1


def _told_apart(names: Sequence[str]) -> list[str]:
    """Number names that are there several times: PCIe0, PCIe1, …; those with a number already get a part: GPU0.0."""
    taken, found = set(names), []
    often = {name for name, count in Counter(names).items() if name and count > 1}
    seen: Counter[str] = Counter()
    for name in names:
        told = name
        while name in often and (told == name or told in taken):
            told = f"{name}{'.' if name[-1].isdigit() else ''}{seen[name]}"
            seen[name] += 1
        taken.add(told)
        found.append(told)
    return found


def on_host(name: str, host: int, host_count: int) -> str:
    """Return a vertex's name: with its host's number where there are several hosts."""
    return f"{host}/{name}" if host_count > 1 else name


def nic_name(text: str) -> str:
    """Return the name of a NIC as a topology may hold it: each illegal character becomes an underscore."""
    return _NOT_IN_NAMES.sub("_", text[:_MAX_NAME])


@dataclass(frozen=True)
class Speeds:
    """A user's figures for links of which a file gives only the kind; None where the figure is assumed.

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
    """A topology that was read, and the figures that the file does not give.

    lacks_network : the file gives no speed for NICs, which then are left out, so that nothing joins several such hosts.
    assumed : per link, whether its latency, its bandwidth and its cost of a message are assumed; None where the file
        says all.
    is_launch_assumed : whether the time of a launch is.
    """

    topology: Topology
    lacks_network: bool = False
    assumed: NDArray[np.bool_] | None = None
    is_launch_assumed: bool = False

    def of(self, topology: Topology) -> TopologyFile:
        """Return the same of a copy, with other speeds or without some links: assumptions about links stay so."""
        if self.assumed is None:
            return replace(self, topology=topology)
        left = _places(self.topology.links, topology.links)
        return replace(self, topology=topology, assumed=self.assumed[left])


def _places(links: NDArray[np.void], left: NDArray[np.void]) -> list[int]:
    """Return where the links that are left stood; they keep their order, ends and latencies."""
    if len(links) == len(left):
        return list(range(len(links)))
    rows = iter(enumerate(links[["src", "dst", "latency_s", "bandwidth"]].tolist()))
    wanted = left[["src", "dst", "latency_s", "bandwidth"]].tolist()
    return [next(place for place, row in rows if row == link) for link in wanted]


class Wiring:
    """Ranks are 0 … rank_count-1; switches are added one by one, and links between any two of them."""

    def __init__(self, rank_names: Sequence[str]) -> None:
        self._names = list(rank_names)
        self._rank_count = len(self._names)
        self._links: list[tuple[int, int, float, float, float]] = []
        self._nics: list[tuple[str, int, list[int]]] = []
        self._able: list[int] = []

    def is_rank(self, vertex: int) -> bool:
        """Whether a vertex is a rank's."""
        return 0 <= vertex < self._rank_count

    def add_switch(self, name: str) -> int:
        """Return the vertex of a new switch; where several have one name, they get numbers."""
        self._names.append(name)
        return len(self._names) - 1

    def add_nvswitch(self, name: str, *, computes: bool) -> int:
        """Return the vertex of a new NVSwitch. From the third generation on, beside GPUs of compute capability 9.0 or
        more, it `computes`: it reduces and multicasts."""
        vertex = self.add_switch(name)
        self._able += [vertex] * computes
        return vertex

    def one_way(self, src: int, dst: int, latency_s: float, bandwidth: float, message_s: float = 0.0) -> None:
        """Add a link."""
        self._links.append((src, dst, latency_s, bandwidth, message_s))

    def both_ways(self, a: int, b: int, latency_s: float, bandwidth: float, message_s: float = 0.0) -> None:
        """Add a link each way."""
        self.one_way(a, b, latency_s, bandwidth, message_s)
        self.one_way(b, a, latency_s, bandwidth, message_s)

    def gpu_link(self, a: int, b: int, latency_s: float, bandwidth: float) -> None:
        """Add a link of a GPU each way: NVLink, xGMI, C2C or PCIe."""
        self.both_ways(a, b, latency_s, bandwidth, message_costs.GPU_LINK.seconds)

    def bandwidth_from(self, vertex: int) -> float:
        """Return the bandwidth of all links out of a vertex together so far."""
        return sum(bandwidth for src, _, _, bandwidth, _ in self._links if src == vertex)

    def nic(
        self, name: str, host: int, card: int, latency_s: float, bandwidth: float, cpu_vendor: str = ""
    ) -> None:
        """Add a link each way between a card's vertex and the network: the NIC of that name, if it has one."""
        first = len(self._links)
        self.both_ways(card, NETWORK, latency_s, bandwidth, message_costs.nic_message_s(cpu_vendor))
        if name:
            self._nics.append((nic_name(name), host, [first, first + 1]))

    def read(
        self, name: str, hosts: Sequence[int], *, lacks_network: bool = False, is_amd: bool = False
    ) -> TopologyFile:
        """Build the topology from the collected parts; the ranks' hosts get numbers without gaps, in their order."""
        number = {host: i for i, host in enumerate(sorted(set(hosts)))}
        assumed = [[isinstance(cost, Assumed) for cost in link[2:]] for link in self._links]
        if any(NETWORK in link[:2] for link in self._links):
            network = self.add_switch("network")
            at = {NETWORK: network}
            self._links = [
                (at.get(link[0], link[0]), at.get(link[1], link[1]), *link[2:]) for link in self._links
            ]
        topology = Topology(
            self._rank_count,
            self._links,
            switch_count=len(self._names) - self._rank_count,
            nodes=[number[host] for host in hosts],
            nics=[(nic, number[host], links) for nic, host, links in self._nics if host in number],
            names=_told_apart(self._names),
            launch_s=message_costs.launch_s(is_amd=is_amd),
            reduces=self._able,
            multicasts=self._able,
            name=name,
        )
        marks = np.array(assumed, bool).reshape(-1, 3)
        return TopologyFile(topology, lacks_network, marks, is_launch_assumed=True)
