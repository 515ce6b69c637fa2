"""The schedule of one call's blocks. Sizes seldom come again, so a rule decides, and no race."""

from __future__ import annotations

import numpy as np

from hemiola import algorithms
from hemiola._core import Schedule, Topology, busiest_link_s
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.synthesis.exchange_through_hosts import Integers, exchange_through_hosts
from hemiola.topology.host_ports import ports_between_hosts

#: Seconds of a core for each pair of ranks: making two schedules and comparing them took 8 to 16 us (8 to 64 ranks,
#: Xeon); then one is compiled.
_MAKING_S = 20e-6


def schedule_of_blocks(network: Topology, sizes: BlockSizes, *, has_messages: bool) -> Schedule | None:
    """Choose how blocks move, in the same way on all ranks that know the network and the sizes.

    Parameters
    ----------
    network : Topology of the ranks.
    sizes : BlockSizes, in bytes.
    has_messages : bool, whether ranks can send blocks without a schedule.

    Returns
    -------
    Schedule that shares each host's blocks between its NICs, where the busiest link has so much less to do that making
    the schedule pays. Else None: blocks go as messages; or a direct exchange, where there are none.
    """
    if not sizes.total:
        return None
    made_s = _MAKING_S * sizes.rank_count**2
    may_share = _most_saved_s(network, sizes.table) > made_s
    if has_messages and not may_share:
        return None
    direct = sizes.given_to(algorithms.get("all_to_all_direct").generate(sizes.rank_count))
    if may_share:
        per_host = sizes.rank_count // network.node_count
        turns = np.ones((network.node_count, network.node_count), np.int64)
        shared = exchange_through_hosts(sizes.table, turns, per_host)
        direct_s, shared_s = (busiest_link_s(one, network, sizes.per_rank, {}) for one in (direct, shared))
        if direct_s - shared_s > made_s:
            return shared
    return None if has_messages else direct


def _most_saved_s(network: Topology, table: Integers) -> float:
    """Return how much longer the busiest NIC takes than all NICs of the busiest host together, if each rank has one."""
    nodes, hosts = network.nodes, network.node_count
    per_host = np.bincount(nodes)
    ports = ports_between_hosts(network)
    if hosts == 1 or hosts == len(nodes) or len(set(per_host.tolist())) > 1 or (np.diff(nodes) < 0).any():
        return 0.0
    if ports is None or len(set(ports.sharing)) < len(nodes):
        return 0.0
    between = np.where(nodes[:, None] == nodes[None, :], 0, table)
    by_rank = np.stack([between.sum(axis=1), between.sum(axis=0)])
    by_host = by_rank.reshape(2, hosts, -1).sum(axis=2)
    saved = int(by_rank.max()) - int(by_host.max()) // int(per_host[0])
    return saved / min(ports.bandwidths)
