# SPDX-License-Identifier: Apache-2.0
"""Schedules for networks whose links are all equal: right, causal, and at the bound of the slowest rank's
ports."""

from __future__ import annotations

import pytest
from grids import GIB, LATENCY_S, grid, ring

import hemiola as hm
from hemiola.synthesis import search

KINDS = ("all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce")


def slot_bound(topology_sides: tuple[int, ...], smallest_degree: int, chunks_per_rank: int) -> int:
    ranks = 1
    for side in topology_sides:
        ranks *= side
    return -(-(ranks - 1) * chunks_per_rank // smallest_degree)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunks_per_rank", [1, 3])
@pytest.mark.parametrize(
    "topology", [ring(2), ring(5), grid([3, 3]), grid([2, 3, 4]), grid([5, 4], wrap=True)], ids=str
)
def test_every_schedule_keeps_its_promise(topology: hm.Topology, kind: str, chunks_per_rank: int) -> None:
    assert hm.verify(hm.synthesize(topology, kind, chunks_per_rank, seed=7)) == []


@pytest.mark.parametrize("sides", [(4, 4), (10, 10), (16, 16), (5, 5, 5), (8, 8, 8)], ids=str)
def test_a_mesh_is_gathered_in_as_many_slots_as_its_corners_have_chunks_per_link(
    sides: tuple[int, ...],
) -> None:
    schedule = hm.synthesize(grid(sides), "all_gather")
    assert schedule.step_count == slot_bound(sides, len(sides), 1)


@pytest.mark.parametrize("sides", [(8, 8), (16, 16), (4, 4, 4), (6, 6, 6)], ids=str)
def test_a_torus_is_gathered_in_at_most_one_slot_over_the_bound(sides: tuple[int, ...]) -> None:
    schedule = hm.synthesize(grid(sides, wrap=True), "all_gather")
    assert schedule.step_count <= slot_bound(sides, 2 * len(sides), 1) + 1


@pytest.mark.parametrize("sides", [(8, 8), (16, 16), (4, 4, 4), (5, 5, 5)], ids=str)
def test_four_chunks_per_rank_reach_the_bound_of_a_torus(sides: tuple[int, ...]) -> None:
    schedule = hm.synthesize(grid(sides, wrap=True), "all_gather", 4, latency="occupies")
    assert schedule.step_count == slot_bound(sides, 2 * len(sides), 4)


@pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter", "broadcast", "reduce"])
def test_the_simulator_gives_the_time_that_the_search_claims(kind: str) -> None:
    topology = grid([8, 8])
    found = search(topology, kind, 2, nbytes=GIB)
    assert hm.simulate(found.schedule, topology, GIB, network="fifo").seconds == found.seconds


def test_the_two_halves_of_an_all_reduce_take_no_longer_than_one_after_the_other() -> None:
    topology = grid([8, 8])
    found = search(topology, "all_reduce", nbytes=GIB)
    assert hm.simulate(found.schedule, topology, GIB, network="fifo").seconds <= found.seconds


def test_latency_that_occupies_the_link_counts_once_per_slot() -> None:
    # Given a 4 x 4 mesh of 50 GiB/s links, 0.5 us; 1 GiB in 16 chunks.
    # Derivation: a corner lacks 15 chunks and has 2 links: 8 slots of 1/16 s/50 + 0.5 us each.
    # Expect 8 * (1250 us + 0.5 us) = 10004 us.
    assert search(grid([4, 4]), "all_gather", latency="occupies", nbytes=GIB).seconds == pytest.approx(
        10004e-6
    )


def test_pipelined_latency_counts_along_the_path_only() -> None:
    # Given the one-way ring of 3 ranks, 1 us, 1 GB/s; 3 kB in 3 chunks of 1 us each.
    # Derivation: each chunk goes two hops; each hop is 1 us serialization and 1 us latency.
    # Expect 4 us.
    assert search(ring(3), "all_gather", nbytes=3000).seconds == pytest.approx(4e-6)


def test_small_messages_are_sent_along_short_paths() -> None:
    # Given a two-way ring of 8 ranks where latency is all that counts (one byte a chunk).
    # Derivation: the farthest rank is 4 hops away, so no schedule is faster than 4 latencies.
    topology = grid([8], wrap=True)
    found = search(topology, "all_gather", nbytes=8)
    assert found.seconds == pytest.approx(4 * LATENCY_S, rel=1e-3)


def test_equal_seeds_give_equal_schedules_on_any_number_of_threads() -> None:
    topology = grid([6, 6], wrap=False)  # where ranks are alike there is nothing to decide
    one, two, other = (
        hm.synthesize(topology, "all_gather", 2, seed, trials=8, threads=threads)
        for seed, threads in ((3, 1), (3, 4), (4, 1))
    )
    assert one == two
    assert one != other


def test_the_best_of_several_trials_is_kept() -> None:
    topology = grid([4, 4, 4], wrap=True)
    first = search(topology, "all_gather", trials=1)
    best = search(topology, "all_gather", trials=64)
    assert best.seconds <= first.seconds
    assert 1 <= best.trials <= 64


@pytest.mark.parametrize("topology", [grid([5, 6]), grid([3, 3, 3], wrap=True), ring(4)], ids=str)
@pytest.mark.parametrize("chunks_per_rank", [1, 3])
def test_one_search_finds_the_same_schedule_whether_or_not_it_is_timed(
    topology: hm.Topology, chunks_per_rank: int
) -> None:
    timed = search(topology, "all_gather", chunks_per_rank, trials=1).schedule
    assert hm.synthesize(topology, "all_gather", chunks_per_rank, trials=1) == timed


def test_one_search_leaves_links_unused_that_no_chunk_has_to_cross() -> None:
    # Given a line of three ranks; ranks 0 and 1 bring the chunks, so nothing goes from 2 to 1.
    topology = grid([3])
    collective = hm.Collective.with_owners("all_gather", 3, [0, 1])
    schedule = hm.synthesize(topology, collective, trials=1)
    assert hm.verify(schedule) == []
    assert not any(t["src"] == 2 for t in schedule.transfers)
    assert schedule == search(topology, collective, trials=1).schedule
