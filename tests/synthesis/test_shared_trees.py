# SPDX-License-Identifier: Apache-2.0
"""All-reduces up and down the same trees where links are shared behind switches or differ by direction: right, never
faster than their bound, and near to it."""

from __future__ import annotations

import numpy as np
import pytest
from grids import GIB, boxes, grid, star
from strength import strength

import hemiola as hm
from hemiola._core import busiest_link_s, synthesize_forest
from hemiola.synthesis import Synthesis


def up_and_down(topology: hm.Topology, pieces: int = 2, trees: int = 0, nbytes: int = GIB) -> Synthesis:
    found = synthesize_forest(
        topology, "all_reduce", trees=trees, pieces=pieces, nbytes=nbytes, up_and_down_only=True
    )
    return Synthesis(found.schedule, found.seconds, found.bound_s, found.trials, found.stopped)


def host(ranks: int) -> hm.topologies.Host:
    return hm.topologies.Host(
        ranks, latency_s=1e-6, bandwidth=450e9, nic_latency_s=5e-6, nic_bandwidth=50e9, nic_count=ranks
    )


def with_one_link_faster(topology: hm.Topology) -> hm.Topology:
    first, *others = [tuple(link) for link in topology.links.tolist()]
    return hm.Topology(topology.rank_count, [(*first[:3], 2 * first[3]), *others])


NETWORKS = {
    "two ranks behind a switch": star(2),
    "star": star(5),
    "boxes behind a switch": boxes(2, 3, 9e9, 2e9),
    "ring of boxes": hm.topologies.boxes(
        4, ranks_per_box=4, cable_latency_s=2e-6, cable_bandwidth=12.5e9, latency_s=1e-6, bandwidth=25e9
    ),
    "hosts of 8, 2 and 1": hm.topologies.cluster([host(8), host(2), host(1)]),
    "a faster direction": with_one_link_faster(grid([3, 3])),
}


@pytest.mark.parametrize("topology", NETWORKS.values(), ids=NETWORKS)
def test_every_schedule_is_right_and_no_faster_than_its_bound(topology: hm.Topology) -> None:
    nbytes = up_and_down(topology, pieces=3).schedule.chunk_count * 100_000
    found = up_and_down(topology, pieces=3, nbytes=nbytes)
    assert hm.verify(found.schedule, topology=topology) == []
    assert found.bound_s <= busiest_link_s(found.schedule, topology, nbytes, {})
    for network in ("fifo", "fluid"):
        assert found.bound_s <= hm.simulate(found.schedule, topology, nbytes, network=network).seconds
    assert found.bound_s <= found.seconds


@pytest.mark.parametrize(
    ("name", "Bps"),
    [("ring of boxes", 4 / 3 * 12.5e9), ("hosts of 8, 2 and 1", 50e9), ("star", 5 / 8 * 1e9)],
    ids=str,
)
def test_the_bound_is_what_the_parts_between_which_links_are_thin_allow(name: str, Bps: float) -> None:
    # Derivation: boxes in a ring are four parts with four cables between, 4 / (4 - 1) of one; the last host has one NIC
    # of 50 GB/s; five ranks behind a switch have five ports, an edge takes two of them, and a tree has four edges.
    topology = NETWORKS[name]
    found = up_and_down(topology, pieces=32)
    assert found.bound_s == pytest.approx(GIB / Bps, rel=0.01)
    assert busiest_link_s(found.schedule, topology, GIB, {}) <= found.bound_s / 0.97
    assert hm.simulate(found.schedule, topology, GIB).seconds <= found.bound_s / 0.9


def test_on_random_links_that_differ_by_direction_trees_take_what_the_slower_ones_can() -> None:
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 8))
        pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if b == a + 1 or rng.random() < 0.5]
        links = [
            (src, dst, 1e-6, float(Bps) * 1e9)
            for a, b in pairs
            for (src, dst), Bps in zip(
                [(a, b), (b, a)], rng.permutation([4, rng.integers(4, 7)]), strict=True
            )
        ]
        topology = hm.Topology(n, links)
        found = up_and_down(topology, pieces=1)
        assert hm.verify(found.schedule, topology=topology) == [], f"seed {seed}"
        busiest_s = busiest_link_s(found.schedule, topology, GIB, {})
        Bps = {(src, dst): each for src, dst, _, each in links}
        slower = strength(n, {(a, b): min(Bps[a, b], Bps[b, a]) for a, b in pairs})
        assert found.bound_s <= busiest_s <= GIB / slower / 0.95, f"seed {seed}"
        # Were links as fast as their two directions are on average, nothing could be lost.
        mean = strength(n, {(a, b): (Bps[a, b] + Bps[b, a]) / 2 for a, b in pairs})
        assert found.bound_s >= 0.85 * GIB / mean, f"seed {seed}"


def test_equal_arguments_give_equal_schedules() -> None:
    ring = NETWORKS["ring of boxes"]
    assert up_and_down(ring).schedule == up_and_down(ring).schedule
    assert up_and_down(ring, trees=4).schedule.chunk_count % 4 == 0
