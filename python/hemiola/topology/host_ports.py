# SPDX-License-Identifier: Apache-2.0
"""By which ports ranks reach other hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hemiola._core import Topology
from hemiola.conditions import NIC_KEY
from hemiola.topology.port_speed import PortSpeed, port_speed


@dataclass(frozen=True)
class HostPorts:
    """By rank: the first rank that has the same port, bytes per second that it carries, and the NIC that it is, as
    `Conditions.slow` calls it. `nics` is empty where every rank has a host to itself."""

    sharing: Sequence[int]
    bandwidths: Sequence[float]
    nics: Sequence[str]


def ports_between_hosts(topology: Topology) -> HostPorts | None:
    """Return the port by which each rank reaches other hosts: its host's, where that has no other rank, or the one NIC
    that it is linked to; nothing where a rank has none, or several."""
    ranks = range(topology.rank_count)
    if topology.node_count == topology.rank_count:
        bandwidths = topology.host_bandwidths()
        return HostPorts(list(ranks), [bandwidths[node] for node in topology.nodes], ())
    found: dict[int, tuple[int, float, str]] = {}
    for name, host, links in topology.nics:
        of_nic = topology.links[links]
        users = {rank for rank in of_nic["src"].tolist() if rank in ranks and topology.nodes[rank] == host}
        cards = users if len(users) == 1 else set(of_nic["dst"][np.isin(of_nic["src"], list(users))].tolist())
        goes_out = np.isin(of_nic["src"], list(cards)) & ~np.isin(of_nic["dst"], list(users | cards))
        bandwidth = float(of_nic["bandwidth"][goes_out].sum())
        for rank in users:
            if rank in found:
                return None
            found[rank] = min(users), bandwidth, f"{NIC_KEY}{host}/{name}"
    if len(found) < topology.rank_count:
        return None
    of_ranks = [found[rank] for rank in ranks]
    return HostPorts(
        [first for first, _, _ in of_ranks],
        [bandwidth for _, bandwidth, _ in of_ranks],
        [nic for _, _, nic in of_ranks],
    )


def speed_between_hosts(topology: Topology) -> PortSpeed | None:
    """Return the cost of a message and its bytes to a host's ranks together on their way to other hosts.

    Returns
    -------
    PortSpeed of the host with the least bandwidth, a message being one of each of its ranks; nothing where hosts differ
    in their numbers of ranks, or nobody knows by which port a rank reaches others.
    """
    nodes = topology.nodes.tolist()
    ranks_per_host = set(Counter(nodes).values())
    ports = ports_between_hosts(topology)
    if len(ranks_per_host) != 1 or ports is None:
        return None
    of_host = dict.fromkeys(nodes, 0.0)
    for first in set(ports.sharing):
        of_host[nodes[first]] += ports.bandwidths[first]
    firsts = {node: rank for rank, node in reversed(list(enumerate(nodes)))}
    others = sorted(set(range(topology.rank_count)) - set(firsts.values()))
    alone = port_speed(topology.without_ranks(others) if others else topology)
    latency_s = alone.latency_s + (ranks_per_host.pop() - 1) * alone.message_s
    return PortSpeed(latency_s, min(of_host.values()), alone.message_s)
