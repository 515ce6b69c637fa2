# SPDX-License-Identifier: Apache-2.0
"""Broadcasts and reduces down trees that share a root: right, as many trees as the weakest cut around it lets out, and
each link in no more of them than it can carry."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from grids import GIB, boxes, grid, ring, star

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.synthesis import Synthesis, forest

NETWORKS = {
    "two ranks": grid([2]),
    "one-way ring": ring(4),
    "mesh": grid([3, 3]),
    "two speeds": grid([3, 4], [9e9, 5e9]),
    "DGX-1": hm.topologies.dgx1(latency_s=0.7e-6, bandwidth=25e9),
    "complete": hm.topologies.fully_connected(5, latency_s=1e-6, bandwidth=25e9),
    "star": star(5),
    "boxes": boxes(2, 3, 9e9, 2e9),
    "shared cables": hm.topologies.boxes(
        4, ranks_per_box=2, cable_latency_s=2e-6, cable_bandwidth=12.5e9, latency_s=1e-6, bandwidth=25e9
    ),
}


def weakest_cut_Bps(topology: hm.Topology, root: int) -> float:
    """Return the least bandwidth out of any set that holds the root and not every rank, by trying all."""
    others = [vertex for vertex in range(topology.rank_count + topology.switch_count) if vertex != root]
    return min(
        sum(Bps for src, dst, _, Bps, _ in topology.links.tolist() if src in inside and dst not in inside)
        for size in range(len(others))
        for chosen in combinations(others, size)
        if not set(range(topology.rank_count)) <= (inside := {root, *chosen})
    )


def busiest_s(found: Synthesis, topology: hm.Topology) -> float:
    """Return how long the busiest of links between ranks takes for GIB."""
    bandwidth = {(src, dst): Bps for src, dst, _, Bps, _ in topology.links.tolist()}
    carried: dict[tuple[int, int], float] = defaultdict(float)
    for t in found.schedule.transfers:
        carried[int(t["src"]), int(t["dst"])] += GIB / found.schedule.chunk_count
    return max(nbytes / bandwidth[pair] for pair, nbytes in carried.items())


@pytest.mark.parametrize("kind", ["broadcast", "reduce"])
@pytest.mark.parametrize("topology", NETWORKS.values(), ids=NETWORKS)
def test_every_schedule_is_right_and_takes_no_longer_than_it_says(topology: hm.Topology, kind: str) -> None:
    for root in (0, topology.rank_count - 1):
        chunk_count = forest(topology, kind, pieces=3, root=root).schedule.chunk_count
        nbytes = chunk_count * 100_000
        found = forest(topology, kind, pieces=3, root=root, nbytes=nbytes)
        assert hm.verify(found.schedule, topology=topology) == []
        assert found.schedule.collective.root == root
        assert found.schedule.transfer_count == chunk_count * (topology.rank_count - 1)
        simulated = hm.simulate(found.schedule, topology, nbytes, network="fifo").seconds
        assert found.bound_s <= simulated
        if topology.switch_count == 0:
            assert simulated == pytest.approx(found.seconds, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "root", "trees"), [("mesh", 0, 2), ("mesh", 4, 2), ("DGX-1", 0, 6), ("complete", 3, 4)]
)
def test_so_many_trees_fit_as_the_weakest_cut_around_the_root_has_links(
    name: str, root: int, trees: int
) -> None:
    # Given links all alike. Derivation: a corner of a mesh has 2 links, whoever the root is; each GPU of a DGX-1 six
    # NVLinks; each of five ranks joined pairwise four links.
    topology = NETWORKS[name]
    found = forest(topology, "broadcast", pieces=1, root=root, nbytes=GIB)
    assert found.schedule.chunk_count == trees
    assert busiest_s(found, topology) == pytest.approx(found.bound_s, rel=1e-9)


@pytest.mark.parametrize("topology", NETWORKS.values(), ids=NETWORKS)
def test_many_pieces_come_within_five_per_cent_of_the_cut(topology: hm.Topology) -> None:
    found = forest(topology, "broadcast", pieces=512, nbytes=GIB)
    seconds = hm.simulate(found.schedule, topology, GIB, network="fifo").seconds
    assert seconds <= found.bound_s / 0.95


def test_the_bound_is_the_weakest_cut_and_no_link_carries_more_than_its_share() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        pairs = {(r, (r + 1) % n) for r in range(n)}
        pairs |= {(int(a), int(b)) for a, b in rng.integers(0, n, (2 * n, 2)) if a != b}
        links = [(a, b, 1e-6, float(rng.integers(1, 5)) * 1e9) for a, b in sorted(pairs)]
        topology, root = hm.Topology(n, links), int(rng.integers(n))
        found = forest(topology, "broadcast", pieces=1, root=root, nbytes=GIB)
        assert hm.verify(found.schedule, topology=topology) == [], f"seed {seed}"
        bound_s = GIB / weakest_cut_Bps(topology, root)
        assert found.bound_s == pytest.approx(bound_s, rel=1e-9), f"seed {seed}"
        # Whole numbers of GB/s below 16: as many trees of 1 GB/s as the cut has GB/s fit exactly.
        assert busiest_s(found, topology) <= bound_s / 0.99, f"seed {seed}"


def test_a_reduce_is_a_broadcast_on_the_turned_network_turned_round() -> None:
    topology = grid([3, 4], [9e9, 5e9])
    links = [(dst, src, latency_s, Bps) for src, dst, latency_s, Bps, _ in topology.links.tolist()]
    there = forest(hm.Topology(12, links), "broadcast", root=5, nbytes=GIB)
    back = forest(topology, "reduce", root=5, nbytes=GIB)
    assert back.bound_s == there.bound_s
    assert back.seconds == there.seconds
    spread, collected = there.schedule.transfers, back.schedule.transfers
    assert sorted(zip(spread["src"], spread["dst"], spread["chunk"], strict=True)) == sorted(
        zip(collected["dst"], collected["src"], collected["chunk"], strict=True)
    )
    assert collected["reduce"].all()


def test_only_the_root_must_reach_the_others() -> None:
    # Given a one-way path 0 -> 1 -> 2.
    path = hm.Topology(3, [(0, 1, 1e-6, 1e9), (1, 2, 1e-6, 1e9)])
    assert hm.verify(forest(path, "broadcast").schedule, topology=path) == []
    assert hm.verify(forest(path, "reduce", root=2).schedule, topology=path) == []
    with pytest.raises(ArgumentError, match="rank 2 cannot reach rank 0"):
        forest(path, "broadcast", root=2)
    with pytest.raises(ArgumentError, match="rank 1 cannot reach rank 0"):
        forest(path, "reduce", root=0)


@pytest.mark.parametrize("root", [-1, 4])
def test_a_root_that_is_no_rank_is_refused(root: int) -> None:
    with pytest.raises(ArgumentError, match="root"):
        forest(ring(4), "broadcast", root=root)


def test_the_number_of_trees_can_be_asked_for() -> None:
    # Given a ring of two-way links: two trees take half of the bandwidth each; one takes no more than a link.
    for trees in (1, 2, 6):
        found = forest(grid([6], wrap=True), "broadcast", trees=trees, pieces=4)
        assert found.schedule.chunk_count == 4 * trees
        assert hm.verify(found.schedule) == []
