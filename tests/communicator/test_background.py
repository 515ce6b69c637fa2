# SPDX-License-Identifier: Apache-2.0
"""Operations and messages in the background of a caller that works in Python and gives its lock to nobody."""

from __future__ import annotations

import background_ranks as work

import hemiola as hm

LIMIT_S = 120
RANKS = 2


def test_operations_end_one_after_the_other_while_their_callers_keep_pythons_lock() -> None:
    assert hm.launch(work.operations, RANKS, timeout_s=LIMIT_S) == [(work.COUNT, True)] * RANKS


def test_messages_end_while_their_callers_keep_pythons_lock() -> None:
    assert hm.launch(work.messages, RANKS, timeout_s=LIMIT_S) == [(2 * work.COUNT, True)] * RANKS


def test_the_array_of_an_operation_in_the_background_goes_once_that_is_over() -> None:
    assert hm.launch(work.let_go_by_the_main_thread, RANKS, timeout_s=LIMIT_S) == [True] * RANKS


def test_it_goes_by_the_next_call_where_the_main_thread_runs_nothing() -> None:
    assert hm.launch(work.let_go_by_the_next_call, RANKS, timeout_s=LIMIT_S) == [True] * RANKS
