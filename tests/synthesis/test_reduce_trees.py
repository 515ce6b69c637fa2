# SPDX-License-Identifier: Apache-2.0
"""All-reduces up and down the same trees: right, within each link's share, and as fast as the network is strong."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from grids import GIB, grid
from strength import strength

import hemiola as hm
from hemiola._core import synthesize_forest
from hemiola.errors import ArgumentError
from hemiola.synthesis import Synthesis, forest


def up_and_down(topology: hm.Topology, pieces: int = 2, nbytes: int = GIB, trees: int = 0) -> Synthesis:
    found = synthesize_forest(
        topology, "all_reduce", trees=trees, pieces=pieces, nbytes=nbytes, up_and_down_only=True
    )
    return Synthesis(found.schedule, found.seconds, found.bound_s, found.trials, found.stopped)


def two_way(n: int, edges: dict[tuple[int, int], float], latency_s: float = 1e-6) -> hm.Topology:
    links = [(*pair, latency_s, Bps) for (a, b), Bps in edges.items() for pair in ((a, b), (b, a))]
    return hm.Topology(n, links)


def random_edges(rng: np.random.Generator, n: int) -> dict[tuple[int, int], float]:
    """Connected, 1 … 8 GB/s."""
    return {
        (a, b): float(rng.integers(1, 9)) * 1e9
        for a in range(n)
        for b in range(a + 1, n)
        if b == a + 1 or rng.random() < 0.5
    }


NETWORKS = {
    "two ranks": grid([2]),
    "path": grid([3]),
    "mesh": grid([3, 3]),
    "two speeds": grid([3, 4], [9e9, 5e9]),
    "torus": grid([3, 3], wrap=True),
    "grid": grid([2, 2, 3]),
    "DGX-1": hm.topologies.dgx1(latency_s=0.7e-6, bandwidth=25e9),
    "complete": hm.topologies.fully_connected(5, latency_s=1e-6, bandwidth=25e9),
}


@pytest.mark.parametrize("topology", NETWORKS.values(), ids=NETWORKS)
def test_every_schedule_is_right_and_takes_the_time_that_it_says(topology: hm.Topology) -> None:
    found = up_and_down(topology, pieces=3)
    assert hm.verify(found.schedule, topology=topology) == []
    nbytes = found.schedule.chunk_count * 100_000
    timed = up_and_down(topology, pieces=3, nbytes=nbytes)
    simulated = hm.simulate(timed.schedule, topology, nbytes, network="fifo").seconds
    assert simulated == pytest.approx(timed.seconds, rel=1e-9)
    assert simulated >= timed.bound_s


@pytest.mark.parametrize("topology", NETWORKS.values(), ids=NETWORKS)
def test_each_chunk_comes_back_down_the_tree_that_it_went_up(topology: hm.Topology) -> None:
    found = up_and_down(topology)
    up, down = defaultdict(set), defaultdict(set)
    for t in found.schedule.transfers:
        if t["reduce"]:
            up[int(t["chunk"])].add((int(t["src"]), int(t["dst"])))
        else:
            down[int(t["chunk"])].add((int(t["dst"]), int(t["src"])))
    n, owner = topology.rank_count, found.schedule.collective.owner
    for chunk in range(found.schedule.chunk_count):
        assert up[chunk] == down[chunk]
        assert {src for src, _ in up[chunk]} == set(range(n)) - {int(owner[chunk])}


def test_trees_of_a_three_by_three_mesh_use_each_link_twice() -> None:
    # Given 12 edges and trees of 8. Derivation: three trees, 3 * 8 = 2 * 12 edges; each takes one link up and one down.
    found = up_and_down(grid([3, 3]), pieces=5)
    assert found.schedule.chunk_count == 3 * 15
    pairs = found.schedule.transfers[["src", "dst"]]
    _, used = np.unique(pairs, return_counts=True)
    assert used.tolist() == [2 * 15] * 24


def test_the_bound_is_the_strength_and_no_link_carries_more_than_its_share() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        edges = random_edges(rng, n)
        found = up_and_down(two_way(n, edges), pieces=1)
        assert hm.verify(found.schedule) == [], f"seed {seed}"
        assert found.bound_s == pytest.approx(GIB / strength(n, edges), rel=1e-9), f"seed {seed}"
        carried: dict[tuple[int, int], float] = defaultdict(float)
        for t in found.schedule.transfers:
            carried[int(t["src"]), int(t["dst"])] += GIB / found.schedule.chunk_count
        slowest = max(max(carried[a, b], carried[b, a]) / Bps for (a, b), Bps in edges.items())
        assert found.bound_s * (1 - 1e-9) <= slowest <= found.bound_s / 0.9, f"seed {seed}"


@pytest.mark.parametrize("sides", [[3, 3], [5], [8, 8], [4, 4, 4]], ids=str)
def test_on_grids_without_wraparound_the_whole_bound_is_reached(sides: list[int]) -> None:
    topology = grid(sides)
    found = forest(topology, "all_reduce", pieces=64, nbytes=GIB)
    bound_s = hm.lower_bound(topology, "all_reduce", GIB).seconds
    seconds = hm.simulate(found.schedule, topology, GIB, network="fifo").seconds
    assert bound_s <= seconds <= bound_s / 0.97
    assert found.bound_s == pytest.approx(bound_s, rel=1e-3)


def test_the_faster_of_both_ways_is_kept() -> None:
    # Given a ring of two-way links: each way has the same bandwidth, but trees from every rank fill at once.
    ring = grid([6], wrap=True)
    both, one = forest(ring, "all_reduce", nbytes=GIB), up_and_down(ring, pieces=8)
    assert both.seconds < one.seconds
    assert both.bound_s == one.bound_s
    # Given a path and a buffer so small that only latency counts: up and down is half as far.
    path = grid([6])
    quick = forest(path, "all_reduce", nbytes=64)
    assert quick.schedule == up_and_down(path, pieces=8, nbytes=64).schedule


def test_the_number_of_trees_can_be_asked_for() -> None:
    # Given a 4 x 4 mesh: 24 edges / 15 = 1.6 trees. One takes whole links, two half of them, eight a fifth.
    found = [up_and_down(grid([4, 4]), pieces=1, trees=trees) for trees in (1, 2, 8)]
    loads = []
    for synthesis in found:
        _, used = np.unique(synthesis.schedule.transfers[["src", "dst"]], return_counts=True)
        loads.append(used.max() / synthesis.schedule.chunk_count)
    assert loads == pytest.approx([1, 1, 5 / 8])


def test_links_that_differ_by_direction_carry_what_the_slower_one_can() -> None:
    mesh = grid([3, 3])
    links = [tuple(link) for link in mesh.links.tolist()]
    slower = hm.Topology(9, [(*links[0][:3], links[0][3] / 2), *links[1:]])
    assert hm.verify(forest(slower, "all_reduce", pieces=2).schedule) == []
    assert hm.verify(up_and_down(slower).schedule) == []
    with pytest.raises(ArgumentError, match="both ways"):
        up_and_down(hm.Topology(3, [(0, 1, 0, 1e9), (1, 2, 0, 1e9), (2, 0, 0, 1e9)]))


def test_equal_arguments_give_equal_schedules() -> None:
    assert up_and_down(grid([4, 5])).schedule == up_and_down(grid([4, 5])).schedule


def test_the_fastest_links_there_are_can_be_added_up() -> None:
    # 12 cables of 1e18 B/s between 9 ranks are strong enough for 12 / 8 of a cable: 2^20 B take 0.7 ps.
    links = hm.topologies.mesh([3, 3], latency_s=5e-7, bandwidth=1e18)
    found = forest(links, "all_reduce", nbytes=1 << 20)
    assert hm.verify(found.schedule) == []
    assert 0 <= found.bound_s <= found.seconds < 1e-5


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "broadcast"])
def test_links_that_differ_by_27_orders_of_magnitude_have_trees(kind: str) -> None:
    # What a fast link could carry of the slow ones' trees is more than 64 bits hold.
    for switches in (0, 1):
        slow = two_way(3 - switches, {(0, 1): 1e-9} if switches else {(0, 1): 1e-9, (1, 2): 1e18})
        links = [*slow.links.tolist(), (0, 2, 1e-6, 1e18), (2, 0, 1e-6, 1e18)]
        mixed = hm.Topology(3 - switches, links, switch_count=switches)
        assert hm.verify(forest(mixed, kind, nbytes=0).schedule) == []


@pytest.mark.parametrize("trees", [None, 7])
def test_links_too_thin_to_share_are_refused(trees: int | None) -> None:
    # The least number above 0 has no seventh, and no bytes go through a switch in less than an infinite time.
    asked = {} if trees is None else {"trees": trees}
    for build in (hm.topologies.ring, hm.topologies.switch):
        with pytest.raises(ArgumentError, match="at least 1e-100 B/s"):
            forest(build(5, latency_s=0.0, bandwidth=5e-324), "all_reduce", nbytes=0, **asked)
