# SPDX-License-Identifier: Apache-2.0
"""The schedule of one call's blocks. Sizes seldom come again, so a rule decides, and no race."""

from __future__ import annotations

import numpy as np

from hemiola import algorithms
from hemiola._core import Schedule, Topology, busiest_link_s
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.synthesis.exchange_through_hosts import Integers, exchange_through_hosts
from hemiola.topology.host_ports import HostPorts, ports_between_hosts

#: Seconds of a core for each pair of ranks: making two schedules and comparing them took 8 to 16 us (8 to 64 ranks,
#: Xeon); then one is compiled.
_MAKING_S = 20e-6


def schedule_of_blocks(network: Topology, sizes: BlockSizes) -> Schedule | None:
    """Choose how blocks move, in the same way on all ranks that know the network and the sizes.

    Parameters
    ----------
    network : Topology of the ranks.
    sizes : BlockSizes, in bytes.

    Returns
    -------
    Schedule that shares each host's blocks between its NICs, where the busiest link has so much less to do than when
    each block goes directly that making the schedule pays. Else None: the schedule for blocks of one size serves.
    """
    ports = None if network.node_count == 1 else ports_between_hosts(network)
    if ports is None:
        return None
    made_s = _MAKING_S * sizes.rank_count**2
    busiest_s, shared_s = _seconds_of_nics(network, ports, sizes.table)
    if busiest_s - shared_s <= made_s:
        return None
    per_host = sizes.rank_count // network.node_count
    turns = np.ones((network.node_count, network.node_count), np.int64)
    shared = exchange_through_hosts(sizes.table, turns, per_host)
    direct = sizes.given_to(algorithms.get("all_to_all_direct").generate(sizes.rank_count))
    direct_s, shared_s = (busiest_link_s(one, network, sizes.per_rank, {}) for one in (direct, shared))
    return shared if direct_s - shared_s > made_s else None


def _seconds_of_nics(network: Topology, ports: HostPorts, table: Integers) -> tuple[float, float]:
    """Return how long the busiest NIC takes, and how long if ranks of a NIC each shared the work of their host."""
    nodes, hosts = network.nodes, network.node_count
    between = np.where(nodes[:, None] == nodes[None, :], 0, table)
    by_rank = np.stack([between.sum(axis=1), between.sum(axis=0)])
    by_nic = np.stack([np.bincount(ports.sharing, way, len(nodes)) for way in by_rank])
    busiest_s = float((by_nic / np.asarray(ports.bandwidths)).max())
    per_host = np.bincount(nodes)
    if hosts == len(nodes) or len(set(per_host.tolist())) > 1 or (np.diff(nodes) < 0).any():
        return busiest_s, busiest_s
    if len(set(ports.sharing)) < len(nodes):
        return busiest_s, busiest_s
    by_host = by_rank.reshape(2, hosts, -1).sum(axis=2)
    return busiest_s, int(by_host.max()) / int(per_host[0]) / min(ports.bandwidths)
