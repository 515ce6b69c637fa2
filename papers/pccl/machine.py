# SPDX-License-Identifier: Apache-2.0
"""The paper's two machines as networks of hosts, with their makers' figures and our assumptions.

A rank is a GCD on Frontier (two to a GPU), a GPU on Perlmutter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hemiola import topologies
from hemiola._core import Topology
from hemiola.arguments.names import Kind
from hemiola.errors import ArgumentError

MIB = 1 << 20
#: [PCCL, §5.1]; its MB are taken as 2^20 bytes.
SIZES_MIB = (16, 32, 64, 128, 256, 512, 1024)
RANK_COUNTS = (32, 64, 128, 256, 512, 1024, 2048)
ALL_GATHER: Final = "all_gather"
REDUCE_SCATTER: Final = "reduce_scatter"
KINDS: tuple[Kind, ...] = (ALL_GATHER, REDUCE_SCATTER)


@dataclass(frozen=True)
class Machine:
    """Equal nodes behind one network.

    Attributes
    ----------
    name, vendor : str; the name of its GPUs' maker's library.
    ranks_per_node, nics : int.
    inside_s, inside : float, latency in seconds and bytes per second of a rank's port inside its node.
    nic_s, nic : float, the same of one NIC.
    message_s : float, seconds that a message occupies a NIC beside its bytes.
    memory : float, bytes per second that a rank reads and writes together in its own memory.
    """

    name: str
    vendor: str
    ranks_per_node: int
    nics: int
    inside_s: float
    inside: float
    nic_s: float
    nic: float
    message_s: float
    memory: float

    def nodes(self, rank_count: int) -> int:
        """Return how many nodes so many ranks fill; ArgumentError where that is no whole number."""
        if rank_count % self.ranks_per_node:
            raise ArgumentError(
                f"expected ranks in multiples of {self.ranks_per_node}, as {self.name}'s nodes have them, "
                f"found {rank_count}"
            )
        return rank_count // self.ranks_per_node

    def network(self, rank_count: int) -> Topology:
        """Return the nodes that so many ranks fill, on one switch."""
        return topologies.hosts(
            self.nodes(rank_count),
            self.ranks_per_node,
            self.nics,
            latency_s=self.inside_s,
            bandwidth=self.inside,
            nic_latency_s=self.nic_s,
            nic_bandwidth=self.nic,
            nic_message_s=self.message_s,
        )


FRONTIER = Machine("Frontier", "RCCL", 8, 4, 2e-6, 100e9, 5e-6, 25e9, 1e-6, 1.6e12)
PERLMUTTER = Machine("Perlmutter", "NCCL", 4, 4, 2e-6, 200e9, 5e-6, 25e9, 1e-6, 1.555e12)

#: Where the physical constants come from, for the report.
SOURCES = (
    "Frontier: 8 GCDs and 4 Slingshot NICs a node [PCCL, §3.1]; a NIC carries 200 Gbit/s each way. A node's DRAM "
    "has 205 GB/s, and an MI250X's memory 3.2 TB/s, half of it a GCD's (OLCF's Frontier user guide, as quoted by "
    "glennklockwood.com/garden/systems/frontier). A GCD and the processor exchange 36 GB/s each way (the same, of "
    "Crusher).",
    "Perlmutter: 4 A100 (40 GB) and 4 Slingshot 11 NICs a node (docs.nersc.gov/systems/perlmutter/architecture); "
    "1,555 GB/s of memory (NVIDIA's A100 datasheet).",
    "The paper has no figures for these, so they are assumed: 5 µs from NIC to NIC, 2 µs inside a node, and 1 µs "
    "that a message occupies a NIC. A rank's port inside its node has 100 GB/s (Frontier) and 200 GB/s "
    "(Perlmutter), between one link's and all links' of a GPU. RCCL, NCCL, MPICH and PCCL are taken as "
    "the algorithms that they run, at these costs: no launches of kernels, no registration of memory.",
)
