# SPDX-License-Identifier: Apache-2.0
"""Calls that come again take a short way through the core, with the answers of the long one."""

from __future__ import annotations

import inspect

import again_ranks as work
import pytest

import hemiola as hm

LIMIT_S = 60


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_kind_again_with_new_values(ranks: int) -> None:
    assert all(all(right) for right in hm.launch(work.every_kind, ranks, timeout_s=LIMIT_S))


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_result_without_out_is_a_new_array_each_time(ranks: int) -> None:
    assert all(hm.launch(work.new_results, ranks, timeout_s=LIMIT_S))


def test_an_array_that_has_changed_gets_the_answers_of_a_first_call() -> None:
    for read_only, strided, resized, retyped, moved in hm.launch(work.changed_arrays, 2, timeout_s=LIMIT_S):
        assert read_only.startswith("ArgumentError")
        assert "read-only" in read_only
        assert strided.startswith("ArgumentError")
        assert "not contiguous" in strided
        assert (resized, retyped, moved) == (64.0, 64, 64.0)


def test_ranks_that_disagree_in_it_get_their_inputs_back_and_go_on() -> None:
    found = hm.launch(work.disagreement, 2, timeout_s=LIMIT_S)
    for rank, (text, x, y, after) in enumerate(found):
        assert text.startswith("MismatchError")
        assert (x, y, after) == (rank + 1, 5.0, 3.0)


@pytest.mark.parametrize("ranks", [2, 3])
def test_who_dies_in_it_is_named_and_inputs_are_as_they_were(ranks: int) -> None:
    found = hm.launch(work.dead_peer, ranks, timeout_s=LIMIT_S, on_failure="continue")
    for text, low, high in found[:-1]:
        assert text.startswith("LostRankError")
        assert f"rank {ranks - 1}" in text
        assert (low, high) == (1.0, 1.0)


def test_other_threads_run_while_it_waits_for_a_late_rank() -> None:
    assert hm.launch(work.free_lock, 2, timeout_s=LIMIT_S)[1] > 50


def test_it_waits_for_operations_in_the_background() -> None:
    assert hm.launch(work.after_background, 2, timeout_s=LIMIT_S) == [4.0, 4.0]


def test_a_thread_that_waits_for_its_turn_lets_the_one_before_it_hear_signals() -> None:
    assert hm.launch(work.turn_held, 2, timeout_s=LIMIT_S) == [[2.0, 2.0], [2.0, 2.0]]


# Given 4 ranks of 400 kB/s. Expect equal calls on one array to be planned anew for a rank that keeps coming late, and
# again once its port is slow: ranks send other numbers of bytes then.
def test_a_late_rank_and_a_slow_port_are_planned_for_in_equal_calls() -> None:
    network = hm.topologies.fully_connected(4, latency_s=1e-4, bandwidth=4e5)
    found = hm.launch(work.conditions_change, 4, 12, 0.45, emulate=network, timeout_s=LIMIT_S)
    plain, late, slow = (tuple(sent[call] for sent in found) for call in (1, 11, 23))
    assert all(-1 not in sent for sent in found)
    assert len({plain, late, slow}) == 3


def test_zeros_are_left_out_of_equal_calls_once_ranks_have_seen_them() -> None:
    network = hm.topologies.switch(3, latency_s=50e-6, bandwidth=20e6)
    for sent in hm.launch(work.zeros_change, 3, emulate=network, timeout_s=LIMIT_S):
        assert sent[1] == sent[2] == sent[8] > 10 * sent[5] > 0


def test_threads_of_two_communicators_do_not_hold_each_other_up() -> None:
    expected = 2.0 * sum(range(200))
    assert hm.launch(work.two_threads, 2, timeout_s=LIMIT_S) == [[expected, expected]] * 2


def test_ctrl_c_ends_it() -> None:
    assert hm.launch(work.interrupted, 2, timeout_s=LIMIT_S)[1] == "interrupted"


def test_python_sees_the_method_behind_it() -> None:
    method = hm.Communicator.all_reduce
    assert list(inspect.signature(method).parameters)[:3] == ["self", "x", "op"]
    assert method.__name__ == "all_reduce"
    assert (method.__doc__ or "").startswith("Combine all ranks' arrays")


def test_a_subclass_may_override_a_collective() -> None:
    class Doubling(hm.Communicator):
        def barrier(self, *, timeout_s: float | None = None) -> None:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        Doubling.barrier(object.__new__(Doubling))
