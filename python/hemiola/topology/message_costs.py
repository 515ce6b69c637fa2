# SPDX-License-Identifier: Apache-2.0
"""The launch of an operation and the cost of a message, which no machine's file states: one table, each row with its
public source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hemiola._core import Topology
from hemiola.topology.assumed import Assumed


@dataclass(frozen=True)
class Cost:
    """An assumed time.

    Attributes
    ----------
    of : str, the device or the transport.
    seconds : Assumed.
    source : str, the address of the public text that has the figure, and its name there.
    """

    of: str
    seconds: Assumed
    source: str


_NCCL = "https://github.com/NVIDIA/nccl/blob/v2.28.7-1/src/graph/tuning.cc"
_RCCL = "https://github.com/ROCm/rccl/blob/develop/src/graph/tuning.cc"
_TACCL = "https://github.com/microsoft/taccl/blob/main/taccl/examples/topo/topo-ndv2-1MB.json"

LAUNCH_NVIDIA = Cost("launch on an NVIDIA GPU", Assumed(6.6e-6), f"{_NCCL} (baseLatencies, ring, LL)")
LAUNCH_AMD = Cost("launch on an AMD GPU", Assumed(12e-6), f"{_RCCL} (baseLat, ring, LL)")
GPU_LINK = Cost("NVLink, xGMI, C2C, PCIe at a GPU", Assumed(0.3e-6), f"{_TACCL} (alpha)")
NIC = Cost("NIC", Assumed(1e-6), f"{_NCCL} (getNetOverhead)")
NIC_BESIDE_AMD_CPU = Cost("NIC of a host with AMD CPUs", Assumed(2e-6), f"{_NCCL} (getNetOverhead)")

COSTS = (LAUNCH_NVIDIA, LAUNCH_AMD, GPU_LINK, NIC, NIC_BESIDE_AMD_CPU)


def messages_are_free(topology: Topology) -> bool:
    """Say whether no link has a cost of a message."""
    return not bool((topology.links["message_s"] > 0).any())


def with_message_cost(topology: Topology, message_s: float) -> Topology:
    """Return a copy in which every message costs the links of ranks and of named NICs that much; between switches it is
    free, as the ends of a message pay for it."""
    links = topology.links.copy()
    of_ends = (links["src"] < topology.rank_count) | (links["dst"] < topology.rank_count)
    of_nics = [link for _, _, of_nic in topology.nics for link in of_nic]
    of_ends[np.array(of_nics, int)] = True
    links["message_s"][of_ends] = message_s
    return topology.replaced(links=links)


def nic_message_s(cpu_vendor: str) -> Assumed:
    """Return the cost of a message to a NIC of a host whose CPUs are of that vendor, as CPUs name it."""
    return (NIC_BESIDE_AMD_CPU if cpu_vendor == "AuthenticAMD" else NIC).seconds


def launch_s(*, is_amd: bool) -> Assumed:
    """Return the time of a launch on GPUs of AMD, or else of NVIDIA."""
    return (LAUNCH_AMD if is_amd else LAUNCH_NVIDIA).seconds
