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
