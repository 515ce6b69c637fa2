"""Builders of common networks."""

from collections.abc import Sequence

import hemiola._core

def ring(
    rank_count: int, *, latency_s: float, bandwidth: float, bidirectional: bool = True
) -> hemiola._core.Topology:
    """
    Link every rank to the next one, and to the one before unless bidirectional is False.

    Two ranks have one link each way. Latency in seconds, bandwidth in bytes per second and direction.
    """

def fully_connected(rank_count: int, *, latency_s: float, bandwidth: float) -> hemiola._core.Topology:
    """
    Give every rank a link of its own, of the given bandwidth, to every other rank.
    """

def switch(rank_count: int, *, latency_s: float, bandwidth: float) -> hemiola._core.Topology:
    """
    Give every rank one port of the given bandwidth on one switch.

    latency_s is that from rank to rank; each of the two hops has half of it.
    """

def mesh(
    dims: Sequence[int], *, latency_s: float | Sequence[float], bandwidth: float | Sequence[float]
) -> hemiola._core.Topology:
    """
    Join ranks on an n-dimensional grid by lines: a rank's neighbours differ by 1 in one coordinate.

    Rank = x0 + dims[0] * (x1 + dims[1] * …). latency_s and bandwidth are one number, or one per dimension.
    """

def torus(
    dims: Sequence[int], *, latency_s: float | Sequence[float], bandwidth: float | Sequence[float]
) -> hemiola._core.Topology:
    """
    Join ranks on an n-dimensional grid by two-way rings.

    Rank = x0 + dims[0] * (x1 + dims[1] * …). A dimension of size 2 has one link each way, not two. latency_s and bandwidth
    are one number, or one per dimension.
    """

def hypercube(
    dims: Sequence[int], *, latency_s: float | Sequence[float], bandwidth: float | Sequence[float]
) -> hemiola._core.Topology:
    """
    Join ranks on a 3D grid by lines: what [TACOS, Table IV] calls a 3D hypercube.

    The same as mesh with three dimensions. The binary n-cube that other papers call a hypercube is mesh([2] * n).
    """

def grid(
    dims: Sequence[int],
    wires: Sequence[str],
    *,
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
) -> hemiola._core.Topology:
    """
    Join ranks on an n-dimensional grid, each dimension in its own way.

    Parameters
    ----------
    dims : sizes of the dimensions, the first varies fastest.
    wires : per dimension 'line', 'ring', 'fully_connected' or 'switch' (a switch for every row).
    latency_s, bandwidth : one number, or one per dimension; of a link, or of a port for 'switch'.
    """

def hosts(
    host_count: int,
    ranks_per_host: int,
    nics_per_host: int = 1,
    *,
    latency_s: float,
    bandwidth: float,
    nic_latency_s: float,
    nic_bandwidth: float,
    inside: str = "switch",
    rails: bool = False,
) -> hemiola._core.Topology:
    """
    Build equal hosts with several ranks and NICs behind a switch.

    Parameters
    ----------
    host_count, ranks_per_host, nics_per_host : int. Ranks are numbered host by host. With fewer NICs than ranks, rank r of
        a host uses NIC r * nics // ranks, a vertex of its own where several ranks share it; with more, a rank has several.
    latency_s, bandwidth : float, between ranks of one host.
    nic_latency_s, nic_bandwidth : float, from NIC to NIC across the network; the bandwidth of one NIC.
    inside : 'switch', 'fully_connected', 'ring' or 'line', how the ranks of a host are joined.
    rails : bool, whether NIC i of every host is on a switch of its own; otherwise all are on one switch.
    """
