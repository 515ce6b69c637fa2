# SPDX-License-Identifier: Apache-2.0
"""Several late ranks, the late-aware broadcast baseline, and how many chunks a late rank's finish is cut into."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError

LATENCY_S, BANDWIDTH, NBYTES = 1e-6, 1e9, 1 << 24


def exposed_s(schedule: hm.Schedule, late: dict[int, float]) -> float:
    """Simulate on a one-port network; return the seconds after the last arrival."""
    network = hm.topologies.switch(schedule.rank_count, latency_s=LATENCY_S, bandwidth=BANDWIDTH)
    seconds = hm.simulate(schedule, network, NBYTES, conditions=hm.Conditions(late=late)).seconds
    return seconds - max(late.values())


@pytest.mark.parametrize("rank_count", [*range(3, 18), 31, 32, 33])
def test_several_late_ranks_are_added_exactly_once(rank_count: int) -> None:
    for late_count, chunks in itertools.product(
        (1, 2, 3, rank_count - 2), (1, rank_count - 1, 2 * rank_count - 3)
    ):
        if 1 <= late_count <= rank_count - 2:
            late = [(3 * i + 1) % rank_count for i in range(rank_count)]
            late = list(dict.fromkeys([*late, *range(rank_count)]))[:late_count]
            schedule = hm.algorithms.all_reduce_late_several(rank_count, late, chunks)
            assert hm.verify(schedule) == [], (late, chunks)


def test_one_late_rank_is_the_plain_late_all_reduce() -> None:
    several = hm.algorithms.all_reduce_late_several(7, [4], 12)
    assert np.array_equal(several.transfers, hm.algorithms.all_reduce_late(7, 4, 12).transfers)


@pytest.mark.parametrize(("rank_count", "late"), [(5, [1, 3]), (8, [7, 0]), (8, [2, 5, 1]), (12, [3, 11])])
def test_ranks_folded_in_before_the_last_comes_cost_nothing_after_it(
    rank_count: int, late: list[int]
) -> None:
    # Given late ranks that come in turn, each after the fold of the one before. Derivation: a fold and the first
    # reduce-scatter each move less than the buffer through a port, sβ, plus a latency a round. Expect the time of one
    # late rank that comes after the reduce-scatter: M + ⌈log2 n⌉ - 1 rounds of α + sβ/M.
    chunks = 4 * (rank_count - 1)
    gap_s = 1.1 * (NBYTES / BANDWIDTH + (chunks + rank_count) * LATENCY_S)
    arrivals = {rank: gap_s * (i + 1) for i, rank in enumerate(late)}
    round_s = LATENCY_S + NBYTES / chunks / BANDWIDTH
    expected_s = (chunks + math.ceil(math.log2(rank_count)) - 1) * round_s
    found_s = exposed_s(hm.algorithms.all_reduce_late_several(rank_count, late, chunks), arrivals)
    assert found_s == pytest.approx(expected_s, rel=1e-3)
    assert found_s < exposed_s(hm.algorithms.all_reduce_ring(rank_count), arrivals)


def test_a_later_last_rank_leaves_less_to_do() -> None:
    # Work-conserving: what the gap between two late ranks is long enough for is done in it.
    schedule = hm.algorithms.all_reduce_late_several(8, [6, 7], 28)
    begin_s, serial_s = 0.02, NBYTES / BANDWIDTH
    exposed = [
        exposed_s(schedule, {6: begin_s, 7: begin_s + share * serial_s}) for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    assert all(later <= sooner - 0.2 * serial_s for sooner, later in itertools.pairwise(exposed[:-1])), [
        value / serial_s for value in exposed
    ]


@pytest.mark.parametrize("rank_count", range(3, 13))
def test_relayed_late_parts_are_added_exactly_once_and_fill_all_ports(rank_count: int) -> None:
    for late_count in range(1, rank_count - 1):
        late = [(3 * i + 1) % rank_count for i in range(rank_count)]
        late = list(dict.fromkeys([*late, *range(rank_count)]))[:late_count]
        schedule = hm.algorithms.all_reduce_late_relayed(rank_count, late, 3)
        assert hm.verify(schedule) == [], late
        # What n ranks, k of them late, must send after the last arrival is k late buffers and n - 1 times the result.
        rows = schedule.transfers
        after = rows[rows["step"] >= rows["step"][np.isin(rows["src"], late)].min()]
        expected = (rank_count - 1 + late_count) * schedule.chunk_count // rank_count
        assert len(after) == (rank_count - 1 + late_count) * schedule.chunk_count
        if late_count <= 0.6 * rank_count:
            for end in ("src", "dst"):
                assert np.bincount(after[end], minlength=rank_count).tolist() == [expected] * rank_count
        assert all(
            len(np.unique(after[end][after["step"] == step])) == np.count_nonzero(after["step"] == step)
            for end in ("src", "dst")
            for step in np.unique(after["step"])
        ), "a port carries one message at a time"


@pytest.mark.parametrize(("rank_count", "late_count", "most"), [(8, 4, 1.41), (8, 3, 1.28), (16, 6, 1.34)])
def test_late_ranks_that_come_together_are_planned_near_what_ports_must_carry(
    rank_count: int, late_count: int, most: float
) -> None:
    # Given k of n ranks that come at once, long after the others have reduced. (n-1+k)/n·sβ must still pass the ports:
    # 1.375, 1.25 and 1.3125. A ring takes 1.75 or more.
    network = hm.topologies.switch(rank_count, latency_s=LATENCY_S, bandwidth=25e9)
    late = dict.fromkeys(range(rank_count - late_count, rank_count), 1.0)
    plan = hm.plan(network, "all_reduce", 1 << 30, hm.Conditions(late=late))
    assert plan.name == "all_reduce_late_relayed"
    exposed = (plan.seconds - 1.0) / ((1 << 30) / 25e9)
    assert (rank_count - 1 + late_count) / rank_count <= exposed <= most


def test_the_planner_knows_late_ranks_that_come_together_from_those_that_do_not() -> None:
    network = hm.topologies.switch(8, latency_s=LATENCY_S, bandwidth=BANDWIDTH)
    names = [
        hm.plan(network, "all_reduce", NBYTES, hm.Conditions(late={6: 1.0, 7: 1.0 + gap_s})).name
        for gap_s in (0.0, 1.0)
    ]
    assert names == ["all_reduce_late_relayed", "all_reduce_late_several"]


@pytest.mark.parametrize(
    "algorithm",
    [
        hm.algorithms.all_reduce_late_several,
        hm.algorithms.all_reduce_late_relayed,
    ],
)
@pytest.mark.parametrize(
    ("rank_count", "late", "message"),
    [
        (5, [], "at least one late rank"),
        (5, [1, 1], "distinct"),
        (5, [5], "0 … 4"),
        (5, [0, -1], "0 … 4"),
        (4, [0, 1, 2], "at least 2 of 4 ranks in time"),
        (2, [0], "at least 3 ranks"),
    ],
)
def test_late_ranks_that_cannot_be_are_refused(
    rank_count: int, late: list[int], message: str, algorithm: Callable[..., hm.Schedule]
) -> None:
    with pytest.raises(ArgumentError, match=message):
        algorithm(rank_count, late)


def test_several_late_ranks_need_a_chunk() -> None:
    with pytest.raises(ArgumentError, match="chunk_count"):
        hm.algorithms.all_reduce_late_several(6, [1, 2], 0)
    with pytest.raises(ArgumentError, match="segments"):
        hm.algorithms.all_reduce_late_relayed(6, [1, 2], 0)


@pytest.mark.parametrize("rank_count", [*range(3, 18), 32, 33])
def test_the_late_aware_broadcast_takes_log2_n_rounds_of_the_whole_buffer(rank_count: int) -> None:
    late = rank_count // 3
    schedule = hm.algorithms.all_reduce_late_broadcast(rank_count, late)
    assert hm.verify(schedule) == []
    rounds = math.ceil(math.log2(rank_count))
    assert schedule.step_count == 2 * (rank_count - 2) + rounds
    found_s = exposed_s(schedule, {late: 1.0})
    assert found_s == pytest.approx(rounds * (LATENCY_S + NBYTES / BANDWIDTH), rel=1e-2)


@pytest.mark.parametrize(("rank_count", "late"), [(2, 0), (4, 4), (4, -1)])
def test_a_late_aware_broadcast_that_cannot_be_is_refused(rank_count: int, late: int) -> None:
    with pytest.raises(ArgumentError, match="all_reduce_late_broadcast"):
        hm.algorithms.all_reduce_late_broadcast(rank_count, late)


def test_the_chunk_count_follows_from_size_and_speed() -> None:
    # Given n = 8 (q = 3), α = 1 µs, sβ = 9.8 ms. Derivation: M* = sqrt(2·9800) = 140 = 20·7. Expect 140 chunks.
    speed = {"latency_s": 1e-6, "bandwidth": 1e9}
    assert hm.algorithms.all_reduce_late(8, 0, nbytes=9_800_000, **speed).chunk_count == 140
    # sβ = 8 µs: M* = 4 < 7, so one chunk for each of four early ranks, without pieces (⌊7/4⌋ = 1).
    assert hm.algorithms.all_reduce_late(8, 0, nbytes=8000, **speed).chunk_count == 4
    # Nothing to send: one chunk, which the 7 early ranks reduce in 7 pieces.
    assert hm.algorithms.all_reduce_late(8, 0, nbytes=0, **speed).chunk_count == 7
    assert hm.algorithms.all_reduce_late(8, 0).chunk_count == 7


@pytest.mark.parametrize(("rank_count", "nbytes"), [(4, 1 << 24), (6, 1 << 20), (24, 1 << 24), (64, 1 << 27)])
def test_the_planner_is_near_the_best_chunk_count_and_stragglar(rank_count: int, nbytes: int) -> None:
    # Given one rank that comes after a second: a wait that long is no excuse for a count that is worse after it.
    network = hm.topologies.switch(rank_count, latency_s=3e-6, bandwidth=25e9)
    late = hm.Conditions(late={rank_count - 1: 1.0})
    schedules = [
        hm.algorithms.all_reduce_late(rank_count, rank_count - 1, turns * (rank_count - 1))
        for turns in (1, 2, 4, 8)
    ]
    if rank_count & (rank_count - 1) == 0:
        schedules.append(hm.algorithms.all_reduce_stragglar(rank_count, rank_count - 1))
    best_s = min(hm.simulate(one, network, nbytes, conditions=late).seconds for one in schedules)
    planned_s = hm.plan(network, "all_reduce", nbytes, late).seconds
    assert planned_s - 1.0 <= 1.01 * (best_s - 1.0)


@pytest.mark.parametrize("rank_count", [3, 5, 8, 13])
def test_no_other_chunk_count_is_faster_by_the_formula(rank_count: int) -> None:
    early, extra = rank_count - 1, math.ceil(math.log2(rank_count)) - 1
    for nbytes in (1000, 100_000, 10_000_000):
        chosen = hm.algorithms.all_reduce_late(
            rank_count, 0, nbytes=nbytes, latency_s=LATENCY_S, bandwidth=BANDWIDTH
        )
        rows = chosen.transfers
        rounds = chosen.step_count - int(rows["step"][rows["src"] == 0].min())

        def seconds(chunks: int, nbytes: int = nbytes) -> float:
            return (chunks + extra) * (LATENCY_S + nbytes / chunks / BANDWIDTH)

        balanced = [m for m in range(1, 2000) if m < early or m % early == 0]
        assert seconds(rounds - extra) <= min(map(seconds, balanced)) * (1 + 1e-9)


@pytest.mark.parametrize(
    "given",
    [
        {"nbytes": 100},
        {"nbytes": 100, "latency_s": 1e-6},
        {"nbytes": -1, "latency_s": 1e-6, "bandwidth": 1e9},
        {"nbytes": 1, "latency_s": 0.0, "bandwidth": 1e9},
        {"nbytes": 1, "latency_s": math.inf, "bandwidth": 1e9},
        {"nbytes": 1, "latency_s": 1e-6, "bandwidth": math.nan},
    ],
)
def test_a_size_and_a_speed_that_cannot_be_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(ArgumentError, match="nbytes"):
        hm.algorithms.all_reduce_late(8, 0, **given)  # type: ignore[arg-type]


def test_a_late_rank_that_cannot_be_is_refused() -> None:
    for call in (
        lambda: hm.algorithms.all_reduce_late(2, 0),
        lambda: hm.algorithms.all_reduce_late(4, 4),
        lambda: hm.algorithms.all_reduce_late(4, -1),
        lambda: hm.algorithms.all_reduce_late(4, 0, 0),
        lambda: hm.algorithms.all_reduce_stragglar(6, 0),
        lambda: hm.algorithms.all_reduce_stragglar(4, 9),
        lambda: hm.simulate(
            hm.algorithms.all_reduce_ring(4),
            hm.topologies.switch(4, latency_s=0.0, bandwidth=1e9),
            10,
            conditions=hm.Conditions(late={1: math.nan}),
        ),
        lambda: hm.simulate(
            hm.algorithms.all_reduce_ring(4),
            hm.topologies.switch(4, latency_s=0.0, bandwidth=1e9),
            10,
            conditions=hm.Conditions(late={1: math.inf}),
        ),
    ):
        with pytest.raises(ArgumentError) as caught:
            call()
        assert "\n" not in str(caught.value)
