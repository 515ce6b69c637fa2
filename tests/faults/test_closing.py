# SPDX-License-Identifier: Apache-2.0
"""Closing, signal handlers and forks in the middle of calls: no crash, no hang, and everybody is told what it was."""

from __future__ import annotations

from pathlib import Path

import closing_ranks as ranks
import pytest
from closing_ranks import RANKS, VICTIM

import hemiola as hm

LIMIT_S = 90
#: Nothing but what was done ends the calls so soon: an operation may take 60 s, and what they wait for never comes. Who
#: has closed or aborted lives until all know. How soon it is on a busy machine is the machine's.
SOON_S = 10
CLOSED = f"rank {VICTIM} has closed its communicator"


@pytest.mark.parametrize("by", ["thread", "handler"])
def test_closing_during_a_call_ends_it_and_the_others_are_told_who_has_closed(
    by: str, tmp_path: Path
) -> None:
    for rank, (kind, message, took_s) in enumerate(
        hm.launch(ranks.closed_in_the_middle, RANKS, by, str(tmp_path), timeout_s=LIMIT_S)
    ):
        # Between two calls the rank's own next one finds the communicator closed.
        assert kind == "LostRankError" or (rank == VICTIM and kind == "ArgumentError")
        assert CLOSED in message or (rank == VICTIM and "closed" in message)
        assert took_s < SOON_S


def test_closing_ends_what_runs_in_the_background(tmp_path: Path) -> None:
    for message in hm.launch(ranks.closed_in_the_background, RANKS, str(tmp_path), timeout_s=LIMIT_S):
        assert CLOSED in message


@pytest.mark.parametrize("by", ["thread", "handler", "background"])
def test_abort_ends_what_waits_here_and_on_all_ranks_and_says_who_aborted_and_why(
    by: str, tmp_path: Path
) -> None:
    for kind, message, took_s in hm.launch(
        ranks.aborted_in_the_middle, RANKS, by, str(tmp_path), timeout_s=LIMIT_S
    ):
        assert kind == "LostRankError"
        assert f"rank {VICTIM} has aborted this communicator: the loss is no number" in message
        assert took_s < SOON_S


def test_abort_ends_messages_between_other_ranks(tmp_path: Path) -> None:
    seen = hm.launch(ranks.aborted_while_others_receive, RANKS, str(tmp_path), timeout_s=LIMIT_S)
    for rank, (kind, message, took_s) in enumerate(seen):
        assert kind == "LostRankError"
        assert f"rank {VICTIM} has aborted this communicator: no more of this" in message, rank
        assert took_s < SOON_S


def test_a_rank_that_has_closed_is_noticed_at_once_though_it_lives(tmp_path: Path) -> None:
    seen = hm.launch(ranks.closed_before_the_call, RANKS, str(tmp_path), timeout_s=LIMIT_S)
    for rank, (kind, message, took_s) in enumerate(seen):
        assert kind == ("ArgumentError" if rank == VICTIM else "LostRankError")
        assert rank == VICTIM or CLOSED in message
        assert took_s < SOON_S


def test_a_group_with_a_rank_that_has_closed_is_refused_at_once(tmp_path: Path) -> None:
    seen = hm.launch(ranks.group_with_one_that_has_closed, RANKS, str(tmp_path), timeout_s=LIMIT_S)
    for rank, (kind, message, took_s) in enumerate(seen):
        assert kind == ("ArgumentError" if rank == VICTIM else "LostRankError")
        assert rank == VICTIM or CLOSED in message
        assert took_s < SOON_S


def test_a_group_with_a_rank_that_has_given_up_is_refused_at_once(tmp_path: Path) -> None:
    given_up, unaware = hm.launch(ranks.group_with_one_that_has_given_up, 2, str(tmp_path), timeout_s=LIMIT_S)
    assert given_up[0] == "TimeoutError"
    assert unaware[0] == "LostRankError"
    assert "rank 0 cannot be had for a group: rank 1 has not arrived" in unaware[1]
    assert unaware[2] < SOON_S


def test_a_rank_that_waits_for_others_to_join_hears_control_c() -> None:
    ((kind, took_s),) = hm.launch(ranks.interrupted_while_it_joins, 1, timeout_s=LIMIT_S)
    assert kind == "KeyboardInterrupt"
    assert took_s < SOON_S


@pytest.mark.parametrize("call", ["all_reduce", "in the background", "plan"])
def test_a_collective_from_a_signal_handler_during_a_call_is_refused(call: str, tmp_path: Path) -> None:
    seen = hm.launch(ranks.called_from_a_handler, RANKS, call, str(tmp_path), timeout_s=LIMIT_S)
    (kind, message), _ = seen[VICTIM]
    assert kind == "ArgumentError"
    assert "signal handler" in message
    assert all(right for _, right in seen)


@pytest.mark.parametrize("call", ["health", "arrivals", "expects_late_rank"])
def test_a_look_from_a_signal_handler_during_a_call_works(call: str, tmp_path: Path) -> None:
    for error, right in hm.launch(ranks.called_from_a_handler, RANKS, call, str(tmp_path), timeout_s=LIMIT_S):
        assert error == ("", "")
        assert right


def test_a_thread_that_waits_for_another_threads_operation_hears_signals(tmp_path: Path) -> None:
    assert hm.launch(ranks.looked_at_from_another_thread, 2, str(tmp_path), timeout_s=LIMIT_S) == [None] * 2


def test_a_forked_child_is_refused_and_ends_cleanly() -> None:
    for code, errors, right in hm.launch(ranks.forked, 2, timeout_s=LIMIT_S):
        assert errors == ["ArgumentError"] * 5
        assert code == 5
        assert right


def test_memory_stays_flat_while_groups_are_made_and_closed() -> None:
    for first, last in hm.launch(ranks.groups_made_and_closed, 2, 80, timeout_s=2 * LIMIT_S):
        assert last - first < 3 << 20
