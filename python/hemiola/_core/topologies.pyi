# SPDX-License-Identifier: Apache-2.0
"""Builders of common networks."""

from collections.abc import Sequence

import hemiola._core

def ring(
    rank_count: int, *, latency_s: float, bandwidth: float, message_s: float = 0.0, bidirectional: bool = True
) -> hemiola._core.Topology:
    """
    Link every rank to the next one and to the one before. Two ranks have one link each way.

    Parameters
    ----------
    rank_count : int, at least 1.
    latency_s : float >= 0, seconds.
    bandwidth : float > 0, bytes per second in each direction.
    message_s : float >= 0, seconds that a message occupies a link beside its bytes.
    bidirectional : bool; without, ranks have links to the next one only.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def fully_connected(
    rank_count: int, *, latency_s: float, bandwidth: float, message_s: float = 0.0
) -> hemiola._core.Topology:
    """
    Give every rank a link of its own, of the given bandwidth, to every other rank.

    Parameters
    ----------
    rank_count : int, at least 1.
    latency_s : float >= 0, seconds.
    bandwidth : float > 0, bytes per second in each direction.
    message_s : float >= 0, seconds that a message occupies a link beside its bytes.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def switch(
    rank_count: int,
    *,
    latency_s: float,
    bandwidth: float,
    message_s: float = 0.0,
    reduces: bool = False,
    multicasts: bool = False,
) -> hemiola._core.Topology:
    """
    Give every rank one port of the given bandwidth on one switch.

    The latency is that from rank to rank; each of the two hops has half of it.

    Parameters
    ----------
    rank_count : int, at least 1.
    latency_s : float >= 0, seconds.
    bandwidth : float > 0, bytes per second in each direction.
    message_s : float >= 0, seconds that a message occupies a link beside its bytes.
    reduces, multicasts : bool, whether the switch adds what several ranks send, and forwards one message to
        several ranks, as SHARP does.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def mesh(
    dims: Sequence[int],
    *,
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
    message_s: float | Sequence[float] = 0.0,
) -> hemiola._core.Topology:
    """
    Join ranks on an n-dimensional grid by lines: neighbours differ by 1 in one coordinate.

    Parameters
    ----------
    dims : sizes of the dimensions, each at least 1; the first varies fastest: rank = x0 + dims[0] * (x1 + dims[1] * …).
    latency_s, bandwidth : one number, or one per dimension; seconds and bytes per second, of a link, or of a port of a switch.
    message_s : the same, seconds that a message occupies a link beside its bytes.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def torus(
    dims: Sequence[int],
    *,
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
    message_s: float | Sequence[float] = 0.0,
) -> hemiola._core.Topology:
    """
    Join ranks on an n-dimensional grid by two-way rings.

    A dimension of size 2 has one link each way, not two.

    Parameters
    ----------
    dims : sizes of the dimensions, each at least 1; the first varies fastest: rank = x0 + dims[0] * (x1 + dims[1] * …).
    latency_s, bandwidth : one number, or one per dimension; seconds and bytes per second, of a link, or of a port of a switch.
    message_s : the same, seconds that a message occupies a link beside its bytes.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def hypercube(
    dims: Sequence[int],
    *,
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
    message_s: float | Sequence[float] = 0.0,
) -> hemiola._core.Topology:
    """
    Join ranks on a 3D grid by lines, the 3D hypercube of [TACOS, Table IV].

    The same as mesh with three dimensions. The binary n-cube that other papers call a hypercube is mesh([2] * n).

    Parameters
    ----------
    dims : sizes of the dimensions, each at least 1; the first varies fastest: rank = x0 + dims[0] * (x1 + dims[1] * …).
    latency_s, bandwidth : one number, or one per dimension; seconds and bytes per second, of a link, or of a port of a switch.
    message_s : the same, seconds that a message occupies a link beside its bytes.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def grid(
    dims: Sequence[int],
    wires: Sequence[str],
    *,
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
    message_s: float | Sequence[float] = 0.0,
) -> hemiola._core.Topology:
    """
    Join ranks on an n-dimensional grid, each dimension in its own way.

    Parameters
    ----------
    dims : sizes of the dimensions, each at least 1; the first varies fastest: rank = x0 + dims[0] * (x1 + dims[1] * …).
    latency_s, bandwidth : one number, or one per dimension; seconds and bytes per second, of a link, or of a port of a switch.
    message_s : the same, seconds that a message occupies a link beside its bytes.
    wires : per dimension 'line', 'ring', 'fully_connected' or 'switch' (a switch for every row).

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def switch_2d(
    dims: Sequence[int],
    *,
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
    message_s: float | Sequence[float] = 0.0,
) -> hemiola._core.Topology:
    """
    Join ranks on a 2D grid by a switch for every row and every column: the 2D switch of [TACOS, Table IV].

    The paper's is switch_2d([8, 4], latency_s=0.5e-6, bandwidth=[300e9, 25e9]); bandwidths are those of ports.

    Parameters
    ----------
    dims : sizes of the dimensions, each at least 1; the first varies fastest: rank = x0 + dims[0] * (x1 + dims[1] * …).
    latency_s, bandwidth : one number, or one per dimension; seconds and bytes per second, of a link, or of a port of a switch.
    message_s : the same, seconds that a message occupies a link beside its bytes.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def rfs_3d(
    dims: Sequence[int],
    *,
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
    message_s: float | Sequence[float] = 0.0,
) -> hemiola._core.Topology:
    """
    Join ranks on a 3D grid by rings, all pairs and switches: the 3D ring-FC-switch of [TACOS, Table IV].

    The paper's has dims [2, 4, nodes] and bandwidths [200e9, 100e9, 50e9]; we read them as those of one link of a ring (each
    way), one link of a pair, and one port of a switch. A ring of two is one link each way.

    Parameters
    ----------
    dims : sizes of the dimensions, each at least 1; the first varies fastest: rank = x0 + dims[0] * (x1 + dims[1] * …).
    latency_s, bandwidth : one number, or one per dimension; seconds and bytes per second, of a link, or of a port of a switch.
    message_s : the same, seconds that a message occupies a link beside its bytes.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def dragonfly(
    dims: Sequence[int],
    *,
    latency_s: float | Sequence[float],
    bandwidth: float | Sequence[float],
    message_s: float | Sequence[float] = 0.0,
) -> hemiola._core.Topology:
    """
    Join ranks into fully connected groups, and every two groups by one global link [kim2008].

    Parameters
    ----------
    dims : [ranks per group, groups]. With one group more than ranks in a group, every rank has one global link. The
        DragonFly of [TACOS, §VI-B] is dragonfly([4, 5], latency_s=0.5e-6, bandwidth=[400e9, 200e9]).
    latency_s, bandwidth : one number, or [within a group, between groups]; seconds and bytes per second, of a link.
    message_s : the same, seconds that a message occupies a link beside its bytes.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def hosts(
    host_count: int,
    ranks_per_host: int,
    nics_per_host: int = 1,
    *,
    latency_s: float,
    bandwidth: float,
    nic_latency_s: float | Sequence[float],
    nic_bandwidth: float | Sequence[float],
    inside: str = "switch",
    rails: bool = False,
    message_s: float = 0.0,
    nic_message_s: float | Sequence[float] = 0.0,
    nodes_per_group: int | None = None,
    taper: float = 1.0,
) -> hemiola._core.Topology:
    """
    Build equal hosts with several ranks and NICs behind a switch.

    Parameters
    ----------
    host_count, ranks_per_host, nics_per_host : int. Ranks are numbered host by host. With fewer NICs than ranks, rank r of
        a host uses NIC r * nics // ranks, a vertex of its own where several ranks share it; with more, a rank has several.
    latency_s, bandwidth : float, seconds and bytes per second between ranks of one host.
    nic_latency_s, nic_bandwidth : float, seconds from NIC to NIC across the network; bytes per second of one NIC. One
        number, or one per NIC where they are mixed.
    inside : 'switch', 'fully_connected', 'ring' or 'line', how the ranks of a host are joined.
    rails : bool, whether NIC i of every host is on a switch of its own; otherwise all are on one switch.
    message_s, nic_message_s : float, seconds that a message occupies a link inside a host, and one of a NIC, beside its bytes.
    nodes_per_group : int, optional; so many consecutive hosts have a switch of their own (one for each rail), which is linked with
        the core. From group to group a message takes nic_latency_s more.
    taper : float >= 1; a group's uplink has the bandwidth of all its NICs on that switch together, divided by this.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

class Host:
    """
    One host of a `cluster`: its ranks, how they are joined, its NICs.

    Parameters
    ----------
    rank_count, nic_count : int; which rank uses which NIC is as with `hosts`.
    latency_s, bandwidth : float, seconds and bytes per second between the host's ranks.
    nic_latency_s, nic_bandwidth : float, seconds and bytes per second of a NIC; one number, or one per NIC.
    inside : 'switch', 'fully_connected', 'ring' or 'line', how the ranks are joined.
    message_s, nic_message_s : float, seconds that a message occupies a link inside, and one of a NIC, beside its bytes.

    Raises
    ------
    ArgumentError
        A number out of its range, a list that has not one entry per NIC, or other words for `inside`.
    """

    def __init__(
        self,
        rank_count: int,
        nic_count: int = 1,
        *,
        latency_s: float,
        bandwidth: float,
        nic_latency_s: float | Sequence[float],
        nic_bandwidth: float | Sequence[float],
        inside: str = "switch",
        message_s: float = 0.0,
        nic_message_s: float | Sequence[float] = 0.0,
    ) -> None: ...
    def __repr__(self) -> str: ...
    def __getstate__(self) -> tuple[int, int, tuple[int, float, int], list[tuple[int, float, int]]]: ...
    def __setstate__(
        self, arg: tuple[int, int, tuple[int, float, int], Sequence[tuple[int, float, int]]], /
    ) -> None: ...
    def __eq__(self, arg: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def cluster(
    hosts: Sequence[Host], *, rails: bool = False, nodes_per_group: int | None = None, taper: float = 1.0
) -> hemiola._core.Topology:
    """
    Build hosts that differ in ranks, inner links or NICs, behind a switch.

    Parameters
    ----------
    hosts : list of Host; ranks are numbered in this order.
    rails : bool, whether NIC i of every host is on a switch of its own; otherwise all are on one switch.
    nodes_per_group, taper : groups of hosts behind uplinks, as with `hosts`.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def boxes(
    box_count: int,
    cables: str | Sequence[tuple[int, int]] = "ring",
    *,
    ranks_per_box: int = 1,
    cable_latency_s: float | Sequence[float],
    cable_bandwidth: float | Sequence[float],
    latency_s: float = 1e-06,
    bandwidth: float = 25000000000.0,
    inside: str = "fully_connected",
    message_s: float = 0.0,
    cable_message_s: float | Sequence[float] = 0.0,
) -> hemiola._core.Topology:
    """
    Cable boxes directly to each other, without a switch: rings and partial meshes of a few machines.

    Parameters
    ----------
    box_count : int, 1 … 4096.
    cables : 'ring', 'fully_connected', or pairs of boxes such as [(0, 1), (1, 2)]; each cable carries both ways at once.
    ranks_per_box : int; several ranks of a box share its cables, each of which ends in a vertex of its own there.
    cable_latency_s, cable_bandwidth : float, seconds from rank to rank and bytes per second; one number, or one per cable
        (mixed NICs).
    latency_s, bandwidth : float, seconds and bytes per second between ranks of one box; no use where a box is one rank.
    inside : 'fully_connected', 'switch', 'ring' or 'line', how the ranks of a box are joined.
    message_s, cable_message_s : seconds that a message occupies a link inside a box, and a cable (or one per cable), beside its
        bytes.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def dgx1(
    *,
    latency_s: float = 7e-07,
    bandwidth: float = 25000000000.0,
    parallel_links: bool = False,
    message_s: float = 0.0,
) -> hemiola._core.Topology:
    """
    Build a DGX-1 with eight V100s: NVLink as a hybrid cube mesh, six NVLinks at every GPU.

    Parameters
    ----------
    latency_s, bandwidth : float, seconds and bytes per second, of one NVLink [TACOS, §VI-B5].
    parallel_links : bool. Half of the pairs share two NVLinks: two links with True, else one of twice the bandwidth.
    message_s : float, seconds that a message occupies a link beside its bytes.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def dgx_a100(
    box_count: int = 1,
    *,
    latency_s: float = 7e-07,
    bandwidth: float = 300000000000.0,
    nic_latency_s: float = 5e-06,
    nic_bandwidth: float = 25000000000.0,
    rails: bool = True,
    message_s: float = 0.0,
    nic_message_s: float = 0.0,
) -> hemiola._core.Topology:
    """
    Build DGX A100 boxes: eight GPUs on an NVSwitch, 12 NVLinks and a 200 Gbit/s NIC for each.

    Parameters
    ----------
    box_count : int, at least 1. Several boxes are joined by their NICs; a single one has none.
    latency_s, bandwidth : float, seconds from GPU to GPU of a box; bytes per second of all NVLinks of a GPU together,
        nominal, in one direction.
    nic_latency_s, nic_bandwidth : float, seconds from NIC to NIC; bytes per second of one NIC.
    rails : bool, whether NIC i of all boxes is on switch i; otherwise all are on one switch.
    message_s, nic_message_s : float, seconds that a message occupies an NVLink, and a link of a NIC, beside its bytes.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """

def dgx_h100(
    box_count: int = 1,
    *,
    latency_s: float = 7e-07,
    bandwidth: float = 450000000000.0,
    nic_latency_s: float = 5e-06,
    nic_bandwidth: float = 50000000000.0,
    rails: bool = True,
    message_s: float = 0.0,
    nic_message_s: float = 0.0,
) -> hemiola._core.Topology:
    """
    Build DGX H100 boxes: eight GPUs on an NVSwitch, 18 NVLinks and a 400 Gbit/s NIC for each.

    The NVSwitch, of the third generation, reduces and multicasts (NVLink SHARP).

    Parameters
    ----------
    box_count : int, at least 1. Several boxes are joined by their NICs; a single one has none.
    latency_s, bandwidth : float, seconds from GPU to GPU of a box; bytes per second of all NVLinks of a GPU together,
        nominal, in one direction.
    nic_latency_s, nic_bandwidth : float, seconds from NIC to NIC; bytes per second of one NIC.
    rails : bool, whether NIC i of all boxes is on switch i; otherwise all are on one switch.
    message_s, nic_message_s : float, seconds that a message occupies an NVLink, and a link of a NIC, beside its bytes.

    Returns
    -------
    Topology

    Raises
    ------
    ArgumentError
        A number out of its range, a list that does not fit the others, or a network larger than a Topology may be.
    """
