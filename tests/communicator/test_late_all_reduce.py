# SPDX-License-Identifier: Apache-2.0
"""The all-reduce that finds its late rank while it runs, on real processes; its protocol: late_entry_test.cpp."""

from __future__ import annotations

from pathlib import Path

import late_ranks as work
import pytest

import hemiola as hm
from hemiola.communicator.control_plane import meeting_at_an_address
from hemiola.errors import FailedRankError

LIMIT_S = 200


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("in_place", [True, False])
def test_sums_are_right_whoever_comes_last(ranks: int, in_place: bool) -> None:
    seed, calls = 11, 60
    sizes = (1, 5003) if in_place else (5003,)
    found = hm.launch(_soaks, ranks, sizes, calls, seed, in_place, timeout_s=LIMIT_S)
    assert found == [[(0, 0)] * len(sizes)] * ranks, f"seed {seed}, sizes {sizes}"


def _soaks(sizes: tuple[int, ...], calls: int, seed: int, in_place: bool) -> list[tuple[int, int]]:
    return [work.soak(size, calls, seed, in_place=in_place) for size in sizes]


def _soak(size: int, calls: int, seed: int, in_place: bool) -> tuple[int, int]:
    return work.soak(size, calls, seed, in_place=in_place)


def test_an_empty_array_is_reduced() -> None:
    assert hm.launch(_soak, 3, 0, 20, 5, True, timeout_s=LIMIT_S) == [(0, 0)] * 3


@pytest.mark.parametrize("op", ["sum", "average"])
def test_results_are_the_same_bits_on_every_rank(op: str) -> None:
    runs = hm.launch(work.bits, 5, 70_001, 12, 3, op, timeout_s=LIMIT_S)
    assert all(run == runs[0] for run in runs)


@pytest.mark.parametrize("late", [0, 3])
@pytest.mark.parametrize("op", ["sum", "average"])
def test_the_last_rank_is_added_to_what_the_others_have_reduced(late: int, op: str) -> None:
    # Given 2^60, -2^60, 0 from the early ranks and 1 from the late one. Derivation: 2^60 + 1 = 2^60 in float64, so
    # the sum is 1 only where 2^60 and -2^60 meet first. Expect 1 (a fourth of it on average) everywhere.
    expected = {"sum": 1.0, "average": 0.25}[op]
    for ranks_result in hm.launch(work.order_of_adding, 4, late, 40_000, op, timeout_s=LIMIT_S):
        assert ranks_result == {expected}


def test_a_rank_that_never_comes_is_named_and_inputs_are_as_they_were() -> None:
    found = hm.launch(work.never_comes, 4, 2, 60_000, timeout_s=LIMIT_S)
    for rank, (error, text, intact) in enumerate(found):
        if rank == 2:
            continue
        assert error == "TimeoutError"
        assert "rank 2" in text
        assert intact


def test_a_late_rank_that_dies_is_named_and_inputs_are_as_they_were(tmp_path: Path) -> None:
    with pytest.raises(FailedRankError) as caught:
        hm.launch(work.dies_when_late, 4, 1, 60_000, str(tmp_path), timeout_s=LIMIT_S)
    assert caught.value.rank == 1
    for rank in (0, 2, 3):
        seen = (tmp_path / str(rank)).read_text()
        assert seen.startswith("LostRankError True")
        assert "rank 1" in seen


def test_ranks_that_disagree_learn_of_it_and_go_on() -> None:
    for rank, seen in enumerate(hm.launch(work.disagreements, 4, 20_000, timeout_s=LIMIT_S)):
        expected = ["MismatchError", "MismatchError", "ArgumentError" if rank == 1 else "MismatchError"]
        assert seen == [(error, True, 4) for error in expected]


def test_it_runs_in_the_background() -> None:
    assert hm.launch(work.background, 3, 5, timeout_s=LIMIT_S) == [[3.0**5, 3.0**5]] * 3


def test_a_disagreement_later_leaves_an_earlier_result_alone() -> None:
    assert hm.launch(work.barrier_mismatch, 3, 1000, timeout_s=LIMIT_S) == [("MismatchError", True)] * 3


#: Given 4 ports of 2 MB/s and 400 kB: sβ = 0.2 s. Derivation: ring 0.3 s, after a delay of T = 2/3·sβ = 0.133 s some
#: 0.21 s, a gain of 0.3; with no delay at most a segment of T/8 is lost, so disturbances of 10 ms do not matter.
SLOW_PORTS = hm.topologies.switch(4, latency_s=1e-4, bandwidth=2e6)
SIZE, DELAY_S = 50_000, 0.15


def test_the_planner_looks_for_a_late_rank_while_there_is_one_and_all_change_at_the_same_call() -> None:
    phases = [(9, 0.0), (9, DELAY_S), (9, 0.0)]
    runs = hm.launch(_changing, 4, phases, True, emulate=SLOW_PORTS, timeout_s=LIMIT_S)
    assert [wrong for wrong, _ in runs] == [0] * 4
    expected = runs[0][1]
    assert all(other == expected for _, other in runs)
    assert expected[7:9] == [False, False]
    assert expected[17]
    assert not expected[26]
    # Eight calls decide, by what they would have saved on average: fewer late ones may be enough, one is not.
    assert not expected[9]
    assert expected[18]


def _changing(
    phases: list[tuple[int, float]], wait: bool, adapt: str | None = None
) -> tuple[int, list[bool]]:
    return work.changing_lateness(SIZE, phases, wait=wait, adapt=adapt)


def test_nobody_is_looked_for_where_that_is_forbidden() -> None:
    runs = hm.launch(_changing, 4, [(9, DELAY_S)], True, "slow", emulate=SLOW_PORTS, timeout_s=LIMIT_S)
    assert runs == [(0, [False] * 9)] * 4


def test_calls_in_the_background_change_at_their_turn() -> None:
    runs = hm.launch(_changing, 4, [(2, 0.0), (9, DELAY_S)], False, emulate=SLOW_PORTS, timeout_s=LIMIT_S)
    assert runs == [(0, [True])] * 4


def test_a_group_has_its_own_late_ranks() -> None:
    runs = hm.launch(
        work.changing_lateness_in_a_group, 4, SIZE, [(9, DELAY_S)], emulate=SLOW_PORTS, timeout_s=LIMIT_S
    )
    assert runs == [[], *[[True, False]] * 3]


def test_nobody_is_looked_for_in_shared_memory_where_no_port_takes_time() -> None:
    runs = hm.launch(work.changing_lateness_in_a_group, 4, 1000, [(9, 0.01)], timeout_s=LIMIT_S)
    assert runs == [[], *[[False, False]] * 3]


@pytest.mark.parametrize("nbytes", [-1, 1.5, None, 1 << 62])
def test_the_size_that_is_asked_about_is_checked(nbytes: object) -> None:
    (refused,) = hm.launch(work.ask_about, 1, nbytes, timeout_s=LIMIT_S)
    assert refused


@pytest.mark.parametrize(("ranks", "size"), [(3, 1), (3, 5003), (4, 0), (5, 5003)])
def test_ranks_that_agree_by_messages_get_the_same_sums(ranks: int, size: int) -> None:
    found = hm.launch(
        work.by_messages, ranks, meeting_at_an_address(), _soak, size, 40, 17, True, timeout_s=LIMIT_S
    )
    assert found == [(0, 0)] * ranks


def test_groups_that_agree_by_messages_have_books_each() -> None:
    found = hm.launch(
        work.by_messages, 5, meeting_at_an_address(), work.groups_in_turn, 3000, timeout_s=LIMIT_S
    )
    assert found == [[6, 15], [6, 15], [6, 12, 15], [12, 15], [12, 15]]


def test_a_rank_that_never_comes_is_named_by_those_who_wait_for_the_keeper() -> None:
    found = hm.launch(
        work.by_messages, 4, meeting_at_an_address(), work.never_comes, 2, 60_000, timeout_s=LIMIT_S
    )
    for error, text, intact in (found[rank] for rank in (0, 1, 3)):
        assert (error, intact) == ("TimeoutError", True)
        assert "rank 2" in text


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_dies_is_named_even_if_it_kept_the_books(victim: int, tmp_path: Path) -> None:
    with pytest.raises(FailedRankError) as caught:
        hm.launch(
            work.by_messages,
            4,
            meeting_at_an_address(),
            work.dies_when_late,
            victim,
            60_000,
            str(tmp_path),
            timeout_s=LIMIT_S,
        )
    assert caught.value.rank == victim
    for rank in {0, 1, 2, 3} - {victim}:
        seen = (tmp_path / str(rank)).read_text()
        assert seen.startswith("LostRankError True")
        assert f"rank {victim}" in seen
