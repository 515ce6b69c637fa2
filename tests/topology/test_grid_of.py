# SPDX-License-Identifier: Apache-2.0
"""Which grid a topology is: the arguments of `topologies.grid` back from its links."""

import pytest

import hemiola as hm
from hemiola import topologies
from hemiola.topology.grid_of import grid_of

COST = {"latency_s": 1e-6, "bandwidth": 1e9}


@pytest.mark.parametrize(
    ("dims", "wires"),
    [
        ([5], ["line"]),
        ([5], ["ring"]),
        ([5], ["fully_connected"]),
        ([5], ["switch"]),
        ([4, 3], ["ring", "line"]),
        ([3, 4], ["switch", "switch"]),
        ([3, 4, 4], ["ring", "fully_connected", "switch"]),
        ([4, 4, 4, 4], ["ring", "ring", "line", "fully_connected"]),
    ],
)
def test_a_grid_is_found_with_its_wires_and_costs(dims, wires):
    latency_s = [1e-6 * (d + 1) for d in range(len(dims))]
    bandwidth = [1e9 * (d + 2) for d in range(len(dims))]
    grid = grid_of(topologies.grid(dims, wires, latency_s=latency_s, bandwidth=bandwidth))
    assert grid is not None
    assert grid.dims == tuple(dims)
    assert grid.wires == tuple(wires)
    assert grid.latency_s == pytest.approx(latency_s)
    assert grid.bandwidth == tuple(bandwidth)


def test_a_square_is_no_ring_because_its_ranks_are_numbered_otherwise():
    grid = grid_of(topologies.mesh([2, 2], **COST))
    assert grid is not None
    assert grid.dims == (2, 2)


@pytest.mark.parametrize(
    "topology",
    [
        topologies.dgx1(latency_s=1e-6, bandwidth=1e9),
        topologies.mesh([3, 3], **COST).without_links([(0, 1)]),
        hm.Topology(4, [(a, b, 1e-6, 1e9 * (a + 1)) for a in range(4) for b in range(4) if a != b]),
        topologies.dragonfly([4, 5], **COST),
        hm.Topology(1, []),
        hm.Topology(3, []),
        topologies.hosts(2, 4, nic_latency_s=1e-6, nic_bandwidth=1e9, **COST),
    ],
    ids=["DGX-1", "a link missing", "unequal links", "dragonfly", "one rank", "no links", "hosts"],
)
def test_what_is_no_grid_is_none(topology):
    assert grid_of(topology) is None
