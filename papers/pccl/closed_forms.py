# SPDX-License-Identifier: Apache-2.0
"""The times of rings, PCCL's phases and its last shuffle in closed form; and the paper's two equations as printed.

m is the bytes of the whole buffer: an all-gather's output, a reduce-scatter's input."""

from __future__ import annotations

from papers.pccl.machine import Machine


def equation_1(rank_count: int, nbytes: float, alpha_s: float, bandwidth: float) -> float:
    """Return the seconds of a ring by [PCCL, eq. 1]: α(p-1) + β·m·(p-1)/p."""
    return alpha_s * (rank_count - 1) + (rank_count - 1) / rank_count * nbytes / bandwidth


def equation_2(rank_count: int, nbytes: float, alpha_s: float, bandwidth: float) -> float:
    """Return the seconds of recursive halving by [PCCL, eq. 2]: α·log2 p + β·m·(p-1)/p; p is a power of two."""
    return alpha_s * (rank_count.bit_length() - 1) + (rank_count - 1) / rank_count * nbytes / bandwidth


def nic_s(machine: Machine, nodes: int, nbytes: float) -> float:
    """Return X = (N-1)/N·m/(K·B), the time of each NIC of a node for the bytes that the node needs of others."""
    return (nodes - 1) / nodes * nbytes / (machine.nics * machine.nic)


def inside_s(machine: Machine, nbytes: float) -> float:
    """Return Y = (M-1)/M·m/b, the time of a rank's port for the bytes that it needs of its neighbours."""
    return (machine.ranks_per_node - 1) / machine.ranks_per_node * nbytes / machine.inside


def rings_s(machine: Machine, nodes: int, rings: int, nbytes: float) -> float:
    """Return the time of so many rings through all ranks, each out of a node by a NIC of its own.

    The longest of three: the path of a chunk that crosses from node to node N times, the time of a NIC, the time of a
    rank's port. On the way a chunk is taken to have ports for itself, which flatters several rings by up to a fifth
    where latency and bytes take as long. One ring is that of ranks in order.
    """
    ranks = nodes * machine.ranks_per_node
    chunk = nbytes / (ranks * rings)
    across = machine.message_s + chunk / machine.nic
    hops_inside = nodes * (machine.ranks_per_node - 1) - 1
    way = hops_inside * (machine.inside_s + chunk / machine.inside) + nodes * (machine.nic_s + across)
    return max(way, (ranks - 1) * across + machine.nic_s, (ranks - 1) * rings * chunk / machine.inside)


def pccl_s(machine: Machine, nodes: int, between: str, nbytes: float) -> float:
    """Return the time of PCCL's two phases, one after the other, without its shuffle; `between`: "ring" or "recursive".

    M/K ranks share a NIC, so that as many messages of a round occupy it. Recursive: nodes in a power of two.
    """
    rounds = nodes - 1 if between == "ring" else (nodes - 1).bit_length()
    sharing = max(1, machine.ranks_per_node // machine.nics)
    between_s = rounds * (machine.nic_s + sharing * machine.message_s) + nic_s(machine, nodes, nbytes)
    return between_s + (machine.ranks_per_node - 1) * machine.inside_s + inside_s(machine, nbytes)


def shuffle_s(machine: Machine, nbytes: float) -> float:
    """Return the time of the copy that puts the gathered buffer into order [PCCL, Figure 5]: all is read and written
    once."""
    return 2 * nbytes / machine.memory


def reduction_s(rank_count: int, nbytes: float, bandwidth: float) -> float:
    """Return a rank's time for adding in a reduce-scatter: (p-1)/p of the buffer, two operands read and one written."""
    return 3 * (rank_count - 1) / rank_count * nbytes / bandwidth
