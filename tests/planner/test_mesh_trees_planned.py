# SPDX-License-Identifier: Apache-2.0
"""All-reduces on meshes: which trees are planned, how near the bound, and what else races beside them."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola._core import estimate_by_steps_s
from hemiola._core.algorithms import mesh_trees_cost

MIB = 1 << 20
LINK = {"latency_s": 1e-6, "bandwidth": 50e9}
NAME = "all_reduce_mesh_trees"


@pytest.mark.parametrize(
    ("dims", "nbytes", "most"),
    [
        ([4, 4], MIB, 1.17),
        ([8, 8], 64 * MIB, 1.04),
        ([12, 12], 64 * MIB, 1.05),
        ([17, 17], MIB, 1.06),
        ([17, 17], 64 * MIB, 1.08),
        ([17, 17], 1024 * MIB, 1.04),
        ([32, 32], 1024 * MIB, 1.11),
        ([5, 5, 5], 64 * MIB, 1.06),
        ([300], 1024 * MIB, 1.13),
    ],
    ids=str,
)
def test_trees_of_the_spines_come_near_the_bound(dims: list[int], nbytes: int, most: float) -> None:
    plan = hm.plan(hm.topologies.mesh(dims, **LINK), "all_reduce", nbytes)
    assert plan.name == NAME
    assert 1 <= plan.seconds / plan.bound_s <= most


def test_what_is_planned_is_right_and_takes_as_long_as_predicted() -> None:
    network = hm.topologies.mesh([9, 8], latency_s=[1e-6, 2e-6], bandwidth=[50e9, 25e9])
    plan = hm.plan(network, "all_reduce", 4 * MIB)
    assert plan.name == NAME
    assert hm.verify(plan.schedule) == []
    assert plan.schedule.transfer_count == plan.alternatives[0].transfer_count
    assert hm.simulate(plan.schedule, network, 4 * MIB).seconds == pytest.approx(plan.seconds, rel=1e-3)


@pytest.mark.parametrize("nbytes", [1, 1000, 100_000, 10_000_000])
@pytest.mark.parametrize(
    "network",
    [
        hm.topologies.mesh([3], **LINK),
        hm.topologies.mesh([2, 2], **LINK),
        hm.topologies.mesh([9, 9], **LINK),
        hm.topologies.mesh([3, 4, 5], latency_s=0.0, bandwidth=[1e9, 2e9, 4e9]),
        hm.topologies.mesh([2, 5, 2, 4], latency_s=[0.0, 1e-6, 1e-7, 5e-6], bandwidth=25e9),
        hm.topologies.mesh([70], latency_s=1e-7, bandwidth=50e9),
    ],
    ids=lambda network: network.name,
)
def test_no_tree_is_predicted_below_the_bound(network: hm.Topology, nbytes: int) -> None:
    plan = hm.plan(network, "all_reduce", nbytes)
    trees = [one for one in plan.alternatives if one.name == NAME]
    assert trees
    assert all(one.seconds >= plan.bound_s * (1 - 1e-9) for one in trees)


def test_an_estimate_of_trees_is_what_a_simulation_finds() -> None:
    dims, nbytes = [7, 6], 3 * MIB
    network = hm.topologies.mesh(dims, **LINK)
    schedule = hm.algorithms.all_reduce_mesh_trees(
        dims, ["line", "line"], nbytes=nbytes, chunk_count=5, line_count=4, **LINK
    )
    estimated_s, work = estimate_by_steps_s(schedule, network, nbytes, {}, {})
    assert estimated_s == pytest.approx(hm.simulate(schedule, network, nbytes).seconds, rel=1e-6)
    assert work == schedule.transfer_count


def test_small_buffers_take_short_ways_and_few_chunks() -> None:
    plan = hm.plan(hm.topologies.mesh([12, 12], **LINK), "all_reduce", 64 << 10)
    trees = [one for one in plan.alternatives if one.name == NAME]
    assert all(int(one.variant.split()[0]) <= 4 for one in trees)


def test_nothing_is_searched_for_where_trees_are_nearest_and_all_of_it_elsewhere() -> None:
    large = hm.topologies.mesh([9, 9], **LINK)
    plain = {one.name for one in hm.plan(large, "all_reduce", MIB).alternatives}
    assert not plain & {"synthesized", "forest", "all_reduce_themis"}
    slow = hm.plan(large, "all_reduce", MIB, hm.Conditions(slow={3: 2.0}))
    assert {NAME, "synthesized", "all_reduce_themis"} <= {one.name for one in slow.alternatives}
    crowded = hm.plan(large, "all_reduce", MIB, crowding=0.02)
    assert {NAME, "synthesized"} <= {one.name for one in crowded.alternatives}
    small = hm.plan(hm.topologies.mesh([4, 4], **LINK), "all_reduce", MIB)
    assert {NAME, "synthesized", "forest"} <= {one.name for one in small.alternatives}
    harder = hm.plan(large, "all_reduce", MIB, effort=2)
    assert {NAME, "synthesized"} <= {one.name for one in harder.alternatives}


def test_little_effort_leaves_trees_out_and_says_so() -> None:
    plan = hm.plan(hm.topologies.mesh([9, 9], **LINK), "all_reduce", MIB, effort=1e-5)
    assert "transfers, at most" in {one.label: one.reason for one in plan.left_out}[NAME]


@pytest.mark.parametrize(
    "network", [hm.topologies.torus([5, 5], **LINK), hm.topologies.grid([4, 5], ["line", "ring"], **LINK)]
)
def test_other_grids_have_no_such_trees(network: hm.Topology) -> None:
    plan = hm.plan(network, "all_reduce", MIB)
    assert NAME not in {one.name for one in plan.alternatives}


def test_the_arguments_make_what_was_planned() -> None:
    network = hm.topologies.mesh([4, 3], **LINK)
    plan = hm.plan(network, "all_reduce", 16 * MIB)
    assert plan.name == NAME
    assert hm.algorithms.all_reduce_mesh_trees(**plan.chosen.arguments) == plan.schedule


def test_what_is_hopeless_beside_an_estimate_is_not_simulated() -> None:
    # A binary tree of 0.1 million transfers that share links costs more to simulate than trees to make.
    plan = hm.plan(hm.topologies.mesh([24, 24], **LINK), "all_reduce", 64 * MIB)
    tree = next(one for one in plan.alternatives if one.name == "all_reduce_double_binary_tree")
    assert tree.transfer_count > 10_000
    assert tree.simulated_s is None
    assert (tree.busiest_link_s or tree.estimated_s or 0.0) > 2 * plan.seconds


@pytest.mark.parametrize(
    ("dims", "bandwidth", "within"),
    [
        ([7], 1e9, 0.08),
        ([4, 6], 1e9, 0.08),
        ([6, 4], [1e9, 3e9], 0.08),
        ([3, 4, 5], [1e9, 1e9, 2e9], 0.3),
        ([2, 3, 2, 4], [4e9, 1e9, 1e9, 2e9], 0.3),
    ],
    ids=str,
)
@pytest.mark.parametrize("line_count", [1, 2, 5])
@pytest.mark.parametrize("chunk_count", [8, 40])
def test_what_trees_take_is_told_without_making_them(
    dims: list[int], bandwidth: float | list[float], within: float, line_count: int, chunk_count: int
) -> None:
    nbytes, cost = 10 * MIB, {"latency_s": 1e-6, "bandwidth": bandwidth}
    stated = {"dims": dims, "wires": ["line"] * len(dims), "nbytes": nbytes, **cost}
    stated |= {"line_count": line_count, "chunk_count": chunk_count}
    seconds, transfer_count = mesh_trees_cost(**stated, message_s=0.0)
    schedule = hm.algorithms.all_reduce_mesh_trees(**stated)
    assert transfer_count == schedule.transfer_count
    simulated_s = hm.simulate(schedule, hm.topologies.mesh(dims, **cost), nbytes).seconds
    assert seconds == pytest.approx(simulated_s, rel=within)


def test_the_time_of_trees_is_the_busiest_link_and_one_chunk_across() -> None:
    # Given a line of 4 ranks, 1 GB/s, 1 µs, 0.5 µs a message, and one tree of 6 MB in 3 chunks.
    # Derivation: each link carries all of it, 6 ms and three messages; a chunk of 2 MB takes 2 ms, 1 µs and 0.5 µs a
    # hop, and is 3 hops on its way.
    # Expect 6.0015 + 3 · 2.0015 ms, and 3 chunks up and down 3 links.
    told = {"dims": [4], "wires": ["line"], "latency_s": 1e-6, "bandwidth": 1e9, "message_s": 0.5e-6}
    seconds, transfer_count = mesh_trees_cost(**told, nbytes=6_000_000, chunk_count=3, line_count=1)
    assert seconds == pytest.approx(6.0015e-3 + 3 * 2.0015e-3)
    assert transfer_count == 18
    assert mesh_trees_cost(**{**told, "dims": [1]}, nbytes=8, chunk_count=1, line_count=None) == (0.0, 0)
