# SPDX-License-Identifier: Apache-2.0
"""Gradients of the papers' steps on large grids: the planner's schedule beside the baselines that the project has."""

from __future__ import annotations

import pytest

import hemiola as hm

#: Of ResNet-50, as in python -m papers workloads.
NBYTES = 51_005_824
SPEEDS = {"latency_s": 0.5e-6, "bandwidth": 50e9}
RFS = {"latency_s": 0.5e-6, "bandwidth": [200e9, 100e9, 50e9]}
GRIDS = {
    "torus 16×8×8": (hm.topologies.torus([16, 8, 8], **SPEEDS), [16, 8, 8], ["ring"] * 3, SPEEDS),
    "RFS 2×4×8": (hm.topologies.rfs_3d([2, 4, 8], **RFS), [2, 4, 8], ["ring", "fully_connected", "switch"], RFS),
    "RFS 2×4×32": (
        hm.topologies.rfs_3d([2, 4, 32], **RFS), [2, 4, 32], ["ring", "fully_connected", "switch"], RFS,
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", GRIDS)
def test_a_plan_is_at_most_a_fiftieth_slower_than_ring_themis_and_synthesis(name: str) -> None:
    network, dims, wires, speeds = GRIDS[name]
    n = network.rank_count
    others = [
        hm.algorithms.all_reduce_ring_two_way(n),
        *(
            hm.algorithms.all_reduce_themis(dims, wires, nbytes=NBYTES, chunk_count=count, **speeds)
            for count in ((4,) if n >= 1024 else (4, 16, 64))
        ),
        hm.synthesize(network, "all_reduce", 1, nbytes=NBYTES, trials=1, progress=False),
    ]
    best_s = min(hm.simulate(one, network, NBYTES, unchecked=True).seconds for one in others)
    assert hm.plan(network, "all_reduce", NBYTES).seconds <= 1.02 * best_s
