# SPDX-License-Identifier: Apache-2.0
"""None of what a plan weighs promises more than the bound allows, on any builder's networks from 2 to 2,048 ranks."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola import topologies

LINK = {"latency_s": 1e-6, "bandwidth": 50e9}
NIC = {"nic_latency_s": 2e-6, "nic_bandwidth": 25e9}
CABLE = {"cable_latency_s": 2e-6, "cable_bandwidth": 12.5e9}
#: Every builder, small and up to 2,048 ranks.
NETWORKS = {
    "ring of 2": lambda: topologies.ring(2, **LINK),
    "ring of 120": lambda: topologies.ring(120, **LINK),
    "one-way ring of 9": lambda: topologies.ring(9, bidirectional=False, **LINK),
    "switch of 5": lambda: topologies.switch(5, **LINK),
    "switch of 2048": lambda: topologies.switch(2048, **LINK),
    "fully connected 6": lambda: topologies.fully_connected(6, **LINK),
    "fully connected 200": lambda: topologies.fully_connected(200, **LINK),
    "mesh 3x5": lambda: topologies.mesh([3, 5], **LINK),
    "mesh 32x32": lambda: topologies.mesh([32, 32], **LINK),
    "torus 17x17": lambda: topologies.torus([17, 17], **LINK),
    "torus 16x8x16": lambda: topologies.torus([16, 8, 16], **LINK),
    "hypercube 2x2x2": lambda: topologies.hypercube([2, 2, 2], **LINK),
    "hypercube 4x4x8": lambda: topologies.hypercube([4, 4, 8], **LINK),
    "grid 4x6": lambda: topologies.grid([4, 6], ["ring", "line"], **LINK),
    "dragonfly 4x5": lambda: topologies.dragonfly([4, 5], latency_s=1e-6, bandwidth=[200e9, 50e9]),
    "switch 2D 4x4": lambda: topologies.switch_2d([4, 4], latency_s=1e-6, bandwidth=[300e9, 25e9]),
    "rfs 2x4x32": lambda: topologies.rfs_3d([2, 4, 32], latency_s=1e-6, bandwidth=[200e9, 100e9, 50e9]),
    "dgx1": lambda: topologies.dgx1(),
    "3 dgx_a100": lambda: topologies.dgx_a100(3),
    "128 dgx_h100": lambda: topologies.dgx_h100(128),
    "boxes 4x4": lambda: topologies.boxes(4, ranks_per_box=4, **CABLE),
    "hosts 3x4": lambda: topologies.hosts(3, 4, **LINK, **NIC),
    "hosts 16x8": lambda: topologies.hosts(16, 8, **LINK, **NIC),
}


@pytest.mark.parametrize("network", NETWORKS)
def test_no_prediction_is_below_the_bound(network: str) -> None:
    topology = NETWORKS[network]()
    large = topology.rank_count > 100
    for kind, nbytes in (("all_reduce", 1 << 20), ("all_gather", 64 << 20), ("broadcast", 8 << 20)):
        plan = hm.plan(topology, kind, nbytes, effort=0.2 if large else 1.0)
        for other in plan.alternatives:
            if other is plan.alternatives[0] or other.is_comparable:
                assert other.seconds >= plan.bound_s * (1 - 1e-9), (kind, other)
