# SPDX-License-Identifier: Apache-2.0
"""Bounds beside the exact optimum of small networks: never above it, and within a hundredth of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from exact_optimum import all_reduce_s, all_to_all_s

import hemiola as hm

GB = 10**9
NBYTES = 1 << 30

T = hm.topologies
EXAMPLES = Path(__file__).parents[2] / "examples"


def hosts(count: int, ranks: int) -> hm.Topology:
    return T.hosts(count, ranks, latency_s=0, bandwidth=8 * GB, nic_latency_s=0, nic_bandwidth=GB)


def boxes(
    count: int, cables: str | list[tuple[int, int]], ranks: int, cable_bandwidth: float | list[float] = GB
) -> hm.Topology:
    return T.boxes(
        count,
        cables,
        ranks_per_box=ranks,
        cable_latency_s=0,
        cable_bandwidth=cable_bandwidth,
        latency_s=0,
        bandwidth=8 * GB,
    )


#: Networks of one kind, and those on which an all-to-all is judged too.
FLAT: dict[str, Callable[[], hm.Topology]] = {
    "ring": lambda: T.ring(8, latency_s=0, bandwidth=GB),
    "mesh": lambda: T.mesh([3, 3], latency_s=0, bandwidth=GB),
    "mesh with faster rows": lambda: T.mesh([2, 4], latency_s=0, bandwidth=[GB, 3 * GB]),
    "torus": lambda: T.torus([3, 3], latency_s=0, bandwidth=GB),
    "hypercube": lambda: T.hypercube([2, 2, 2], latency_s=0, bandwidth=GB),
    "dgx1": lambda: T.dgx1(latency_s=0, bandwidth=25 * GB),
    "switch": lambda: T.switch(8, latency_s=0, bandwidth=GB),
    "fully connected": lambda: T.fully_connected(6, latency_s=0, bandwidth=GB),
    "dragonfly": lambda: T.dragonfly([2, 4], latency_s=0, bandwidth=[4 * GB, 2 * GB]),
    "2D switch": lambda: T.switch_2d([2, 4], latency_s=0, bandwidth=[3 * GB, GB]),
    "3D-RFS": lambda: T.rfs_3d([2, 2, 2], latency_s=0, bandwidth=[4 * GB, 2 * GB, GB]),
}
LEVELS: dict[str, Callable[[], hm.Topology]] = {
    "3 hosts of 2": lambda: hosts(3, 2),
    "4 hosts of 4": lambda: hosts(4, 4),
    "ring of 4 boxes of 4": lambda: boxes(4, "ring", 4),
    "ring of 3 boxes of 2": lambda: boxes(3, "ring", 2),
    "6 boxes, 8 cables": lambda: boxes(
        6, [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5), (0, 5)], 2
    ),
    "4 boxes, each with each": lambda: boxes(4, "fully_connected", 2),
    "ring of unlike cables": lambda: boxes(5, "ring", 2, [GB, 2 * GB, GB, 4 * GB, GB]),
    "larger 3D-RFS": lambda: T.rfs_3d([2, 4, 2], latency_s=0, bandwidth=[200 * GB, 100 * GB, 50 * GB]),
    "mixed hosts": lambda: hm.Topology.load(EXAMPLES / "mixed_hosts.yaml"),
    "ring of boxes": lambda: hm.Topology.load(EXAMPLES / "box_ring.yaml"),
}

_SLOW = "larger 3D-RFS"  #: for the judge, with its 48 ranks and switches


def random_network(seed: int) -> hm.Topology:
    """Return a tree of 4 to 8 ranks with as many links more, of 1, 2 or 4 GB/s; every other one has a switch."""
    draw = random.Random(seed)
    ranks, switches = draw.randint(4, 8), seed % 2
    vertices = list(range(ranks + switches))
    pairs = {(v, draw.randrange(v)) for v in vertices[1:]}
    pairs |= {(max(pair), min(pair)) for pair in (draw.sample(vertices, 2) for _ in range(ranks))}
    rows = []
    for a, b in sorted(pairs):
        bandwidth = draw.choice((1, 2, 4)) * GB
        rows += [(a, b, 0.0, bandwidth), (b, a, 0.0, bandwidth)]
    return hm.Topology(ranks, rows, switch_count=switches)


def share_of_exact(topology: hm.Topology, kind: str) -> float:
    """Return a bound over the optimum, of which latencies are no part."""
    links = topology.links.copy()
    links["latency_s"] = 0
    topology = topology.replaced(links=links)
    exact = {"all_reduce": all_reduce_s, "all_to_all": all_to_all_s}[kind]
    return hm.lower_bound(topology, kind, NBYTES).seconds / exact(topology, NBYTES)


@pytest.mark.parametrize(
    "name", [*FLAT, *(name for name in LEVELS if name != _SLOW), pytest.param(_SLOW, marks=pytest.mark.long)]
)
def test_an_all_reduce_is_bound_within_a_hundredth(name: str) -> None:
    assert 1 / 1.01 <= share_of_exact((FLAT | LEVELS)[name](), "all_reduce") <= 1 + 1e-6


@pytest.mark.parametrize("dims", [(4, 4), (2, 4), (4, 2), (8, 4)])
@pytest.mark.parametrize("factor", [1.5, 2.0, 4.0])
def test_a_slow_rank_among_rows_and_columns_is_bound_exactly(dims: tuple[int, int], factor: float) -> None:
    network = T.switch_2d(dims, latency_s=0, bandwidth=[300 * GB, 25 * GB])
    bound = hm.lower_bound(network, "all_reduce", NBYTES, hm.Conditions(slow={0: factor}))
    assert bound.seconds == pytest.approx(all_reduce_s(network.degraded({0: factor}), NBYTES), rel=1e-4)


@pytest.mark.parametrize("name", FLAT)
def test_an_all_to_all_is_bound_within_a_hundredth(name: str) -> None:
    assert 1 / 1.01 <= share_of_exact(FLAT[name](), "all_to_all") <= 1 + 1e-6


@pytest.mark.parametrize("kind", ["all_reduce", "all_to_all"])
@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(5, 20))]
)
def test_a_random_network_is_bound_within_a_hundredth(seed: int, kind: str) -> None:
    assert 1 / 1.01 <= share_of_exact(random_network(seed), kind) <= 1 + 1e-6
