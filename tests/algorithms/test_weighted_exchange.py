# SPDX-License-Identifier: Apache-2.0
"""The weighted exchange's shares in other collectives, one rank's part of it, and how many segments it takes."""

import math

import numpy as np
import pytest

import hemiola as hm

BANDWIDTH = 1e9
NBYTES = 1 << 30
UNIT_S = NBYTES / BANDWIDTH
PROFILES = ({}, {1: 1.5}, {0: 3.0}, {0: 1.5, 2: 4 / 3}, {1: 3.0, 2: 1.5})


def cluster(rank_count: int) -> hm.Topology:
    return hm.topologies.switch(rank_count, latency_s=0.0, bandwidth=BANDWIDTH)


def over_bound(schedule: hm.Schedule, slow: dict[int, float]) -> float:
    """Return the simulated time over the lower bound of the schedule's collective."""
    now, topology = hm.Conditions(slow=slow), cluster(schedule.rank_count)
    kind, root = schedule.collective.kind, schedule.collective.root or 0
    bound = hm.lower_bound(topology, kind, NBYTES, now, root).seconds
    return hm.simulate(schedule, topology, NBYTES, now).seconds / bound


@pytest.mark.parametrize("rank_count", [2, 3, 5, 8])
@pytest.mark.parametrize("slow", PROFILES, ids=str)
def test_every_collective_of_the_weighted_exchange_is_right(rank_count: int, slow: dict[int, float]) -> None:
    slow = {rank: factor for rank, factor in slow.items() if rank < rank_count}
    assert hm.verify(hm.algorithms.reduce_scatter_weighted_exchange(rank_count, slow)) == []
    assert hm.verify(hm.algorithms.all_gather_weighted_exchange(rank_count, slow)) == []
    for root in range(rank_count):
        for segments in (1, 3):
            broadcast = hm.algorithms.broadcast_weighted_exchange(rank_count, slow, segments, root=root)
            assert broadcast.collective.root == root
            assert hm.verify(broadcast) == []


@pytest.mark.parametrize("collective", ["reduce_scatter", "all_gather"])
@pytest.mark.parametrize("rank_count", [3, 8, 16])
@pytest.mark.parametrize("factor", [1.25, 1.5, 2.0, 3.0])
def test_each_half_takes_what_the_slow_ranks_port_must_carry(
    collective: str, rank_count: int, factor: float
) -> None:
    # Given one slow rank that owns u = (2 - l)/l, or nothing, of what each other rank owns: f = u / (p - 1 + u).
    # It must send (receive) the raw parts (results) of all sections but its own, l(1 - f) of the buffer.
    spare = max(0.0, (2 - factor) / factor)
    share = spare / (rank_count - 1 + spare)
    schedule = getattr(hm.algorithms, f"{collective}_weighted_exchange")(rank_count, {0: factor})
    time = hm.simulate(schedule, cluster(rank_count), NBYTES, hm.Conditions(slow={0: factor})).seconds
    assert time == pytest.approx(factor * (1 - share) * UNIT_S, rel=1e-6)


@pytest.mark.parametrize("collective", ["reduce_scatter", "all_gather"])
def test_the_halves_own_what_the_all_reduce_owns(collective: str) -> None:
    slow = {2: 1.5, 3: 2.0}
    half = getattr(hm.algorithms, f"{collective}_weighted_exchange")(5, slow)
    whole = hm.algorithms.all_reduce_weighted_exchange(5, slow, 1)
    assert list(half.collective.owner) == list(whole.collective.owner) == [0, 1, 2, 4]
    assert list(half.chunk_weights) == list(whole.chunk_weights)


@pytest.mark.parametrize("rank_count", [3, 8, 16])
@pytest.mark.parametrize("slow", [{0: 1.5}, {1: 1.5}, {0: 3.0}, {1: 3.0}], ids=str)
def test_broadcast_is_within_k_plus_one_over_k_of_its_bound(rank_count: int, slow: dict[int, float]) -> None:
    for segments in (4, 16):
        broadcast = hm.algorithms.broadcast_weighted_exchange(rank_count, slow, segments)
        assert 1 - 1e-9 <= over_bound(broadcast, slow) <= (segments + 1) / segments * (1 + 1e-6)


@pytest.mark.parametrize("rank_count", [3, 8, 16])
@pytest.mark.parametrize("slow", [{0: 1.5}, {1: 3.0}, {0: 2.0, 2: 2.0}, {1: 3.0, 2: 1.5}], ids=str)
def test_collectives_with_nothing_to_shift_are_at_their_bounds_already(
    rank_count: int, slow: dict[int, float]
) -> None:
    # Given equal shares, or blocks that only one rank has and only one wants: a slow port must carry them all, and
    # in rounds of equal messages the slowest is never kept waiting.
    for name in ("all_to_all_pairwise", "reduce_scatter_direct_rounds", "all_gather_direct_rounds"):
        schedule = hm.algorithms.get(name).generate(rank_count)
        assert over_bound(schedule, slow) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("rank_count", [2, 3, 4, 7])
@pytest.mark.parametrize("slow", PROFILES, ids=str)
def test_a_ranks_part_is_the_schedules_rows_of_that_rank(rank_count: int, slow: dict[int, float]) -> None:
    slow = {rank: factor for rank, factor in slow.items() if rank < rank_count}
    for segments in (1, 2, 5):
        rows = hm.algorithms.all_reduce_weighted_exchange(rank_count, slow, segments).transfers
        parts = hm.algorithms.all_reduce_weighted_exchange_parts(rank_count, slow, segments)
        for rank in range(rank_count):
            assert np.array_equal(parts.part(rank), rows[(rows["src"] == rank) | (rows["dst"] == rank)])


def test_a_part_of_a_thousand_ranks_is_small() -> None:
    # Given 1,024 ranks, the slow one owning nothing, k = 4: a healthy rank sends 1,022 raw parts and 1,023 results a
    # segment and receives 1,023 and 1,022.
    # None of its messages is cut into slices: a task each.
    parts = hm.algorithms.all_reduce_weighted_exchange_parts(1024, {0: 2.0}, 4)
    assert len(parts.part(5)) == 4 * 2 * (1022 + 1023)
    assert parts.task_count(5, 1 << 24) == 4 * 2 * (1022 + 1023)


@pytest.mark.parametrize("rank", [-1, 4])
def test_a_part_is_refused_for_a_rank_that_does_not_exist(rank: int) -> None:
    with pytest.raises(hm.errors.ArgumentError, match="rank in 0 … 3"):
        hm.algorithms.all_reduce_weighted_exchange_parts(4, {}, 1).part(rank)


@pytest.mark.parametrize(
    ("rank_count", "slow", "relative_latency", "expected"),
    [
        # l = 2: sqrt(2 / (15·1e-4)) = 36.5, which the study's scan puts at 37.
        (16, {0: 2.0}, 1e-4, 37),
        # l = 4/3: bound 2·15/(15 + 1/2), c = 1/3: sqrt(0.6452 / (15·1e-4)) = 20.7.
        (16, {0: 4 / 3}, 1e-4, 21),
        # l = 3: sqrt(3 / (7·1e-3)) = 20.7.
        (8, {3: 3.0}, 1e-3, 21),
        (8, {}, 1e-4, 1),
        (8, dict.fromkeys(range(8), 3.0), 1e-4, 1),
        (8, {0: 2.0}, 1e-12, 4096),
        (8, {0: 2.0}, 1e6, 1),
    ],
)
def test_the_best_segment_count_is_the_square_root_of_the_bound_over_what_latency_costs(
    rank_count: int, slow: dict[int, float], relative_latency: float, expected: int
) -> None:
    assert hm.algorithms.best_segment_count(rank_count, slow, relative_latency) == expected


@pytest.mark.parametrize(
    "name", ["all_reduce_weighted_exchange", "all_reduce_open_shop_exchange", "broadcast_weighted_exchange"]
)
def test_without_a_segment_count_the_best_one_is_taken(name: str) -> None:
    generate = getattr(hm.algorithms, name)
    best = hm.algorithms.best_segment_count(8, {0: 1.5}, 1e-3)
    assert generate(8, {0: 1.5}, relative_latency=1e-3) == generate(8, {0: 1.5}, best)


@pytest.mark.parametrize("relative_latency", [0.0, -1.0, math.nan, math.inf])
def test_relative_latencies_that_cannot_be_are_refused(relative_latency: float) -> None:
    with pytest.raises(hm.errors.ArgumentError, match="relative_latency"):
        hm.algorithms.all_reduce_weighted_exchange(8, {0: 2.0}, relative_latency=relative_latency)


@pytest.mark.parametrize("slow", [{0: 0.5}, {0: math.nan}, {0: math.inf}, {4: 2.0}, {-1: 2.0}])
def test_factors_that_cannot_be_are_refused(slow: dict[int, float]) -> None:
    for name in ("reduce_scatter", "all_gather", "broadcast"):
        with pytest.raises(hm.errors.ArgumentError):
            getattr(hm.algorithms, f"{name}_weighted_exchange")(4, slow)
    with pytest.raises(hm.errors.ArgumentError):
        hm.algorithms.best_segment_count(4, slow, 1e-4)


def test_a_broadcast_is_refused_without_segments_or_root() -> None:
    with pytest.raises(hm.errors.ArgumentError, match="segments"):
        hm.algorithms.broadcast_weighted_exchange(4, {}, 0)
    with pytest.raises(hm.errors.ArgumentError, match="root"):
        hm.algorithms.broadcast_weighted_exchange(4, {}, 1, root=4)
