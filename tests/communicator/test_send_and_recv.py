# SPDX-License-Identifier: Apache-2.0
"""Messages between two ranks, as Python sends and receives them.

tests/runtime/messages/messages_test.cpp has them over every wire."""

from __future__ import annotations

import message_ranks as work
import pytest

import hemiola as hm

LIMIT_S = 90


@pytest.mark.parametrize("ranks", [pytest.param(1, marks=pytest.mark.long), 3])
def test_arrays_of_any_dtype_and_shape_arrive(ranks: int) -> None:
    assert hm.launch(work.around_a_ring, ranks, timeout_s=LIMIT_S) == [0] * ranks


def test_an_emulated_network_refuses_messages_and_says_why() -> None:
    switch = hm.topologies.switch(2, latency_s=2e-6, bandwidth=5e9)
    for refused in hm.launch(work.refused, 2, emulate=switch, timeout_s=LIMIT_S):
        assert [kind for kind, _ in refused] == ["ArgumentError"] * 3
        assert all("emulated network" in text for _, text in refused)


def test_messages_move_in_the_background_beside_collectives_and_say_whose_they_are() -> None:
    first, *others = hm.launch(work.in_the_background, 3, timeout_s=LIMIT_S)
    assert first == [False, "TimeoutError", 3.0, [1, 1, 2, 2], True, True]
    assert others == [[3.0, [None, None]]] * 2


def test_what_is_wrong_with_a_call_is_an_argument_error_that_says_what() -> None:
    for rank, found in enumerate(hm.launch(work.mistakes, 2, timeout_s=LIMIT_S)):
        assert found.pop("afterwards")[0] == str(rank)
        for name, (kind, text) in found.items():
            assert kind == "ArgumentError", name
            assert text.startswith(("send: ", "recv: ")), text


def test_a_rank_that_dies_is_named_and_the_others_can_talk_on() -> None:
    victim = 1
    first, dead, last = hm.launch(work.one_dies, 3, victim, on_failure="continue", timeout_s=LIMIT_S)
    assert isinstance(dead, hm.FailedRankError)
    for *errors, talk in (first, last):
        assert [kind for kind, _ in errors] == ["LostRankError"] * 3
        assert all(f"rank {victim} has died" in text for _, text in errors)
        assert talk == ("100000.0", "")


def test_a_message_of_a_group_names_who_has_died_by_the_numbers_of_the_group_and_of_the_job() -> None:
    order, victim = [3, 1, 0, 2], 0
    found = hm.launch(work.one_dies_in_a_group, 4, order, victim, on_failure="continue", timeout_s=LIMIT_S)
    of_group, of_job = (order.index(victim), victim, victim), (victim, victim, victim)
    for rank in (1, 2, 3):
        assert found[rank] == [*[of_group] * 4, of_job, of_job, of_group]


@pytest.mark.parametrize(("order", "number"), [([3, 1, 0], 2), ([3, 1], None)])
def test_a_message_from_who_has_closed_names_whoever_that_was_for(
    order: list[int], number: int | None
) -> None:
    found = hm.launch(work.one_closes_for_another, 4, order, 0, on_failure="continue", timeout_s=LIMIT_S)
    assert found[1] == (number, 0, 0)


@pytest.mark.parametrize("late", [pytest.param(0, marks=pytest.mark.long), 2])
def test_a_monitored_barrier_names_who_is_missing_on_all_ranks_and_all_go_on(late: int) -> None:
    found = hm.launch(work.somebody_is_late, 3, late, 0.5, timeout_s=LIMIT_S)
    for rank, (kind, text, total, wrong) in enumerate(found):
        assert (total, wrong) == (3.0, "ArgumentError")
        if (rank, late) == (0, 0):
            assert kind == ""  # all others have come
        else:
            assert kind == "TimeoutError"
            assert f"rank {late}" in text


def test_a_monitored_barrier_names_who_has_died() -> None:
    found = hm.launch(work.somebody_dies, 3, 1, on_failure="continue", timeout_s=LIMIT_S)
    for kind, text in (found[0], found[2]):
        assert kind == "LostRankError"
        assert "rank 1 has died" in text


def test_closing_wakes_whoever_waits_for_a_message() -> None:
    for kind, _ in hm.launch(work.closed_while_waiting, 2, timeout_s=LIMIT_S):
        assert kind == "LostRankError"


def test_control_c_takes_a_receive_back_and_nothing_else_ends() -> None:
    first, second = hm.launch(work.interrupted, 2, timeout_s=LIMIT_S)
    assert first == (["KeyboardInterrupt", "5.0"], 2.0)
    assert second == ([], 2.0)


def test_a_message_that_nobody_answers_ends_in_time_and_says_what_it_waited_for() -> None:
    for rank, seen in enumerate(hm.launch(work.in_time, 2, timeout_s=LIMIT_S)):
        assert [text.partition(": ")[0] for text in seen] == ["hemiola.errors"] * 3
        for text, words in zip(seen, ("recv from", "send to", "recv from"), strict=True):
            assert words in text
            assert f"rank {1 - rank}" in text
