# SPDX-License-Identifier: Apache-2.0
"""A group of torch.distributed on "hemiola": values, errors on every rank, futures, messages, groups and the end."""

from __future__ import annotations

from typing import Any

import pytest
from forked import run

from hemiola.torch.group import python_may_derive_from_backend

RANKS = 3
#: What all ranks of one group do, one after the other.
FUNCTIONS = [
    "names",
    "collectives",
    "uneven",
    "pieces",
    "objects",
    "layouts",
    "mistakes",
    "works",
    "failed_futures",
    "together",
    "sequence",
    "operation_types",
    "inside",
    "messages",
    "messages_of_whoever_sends",
    "groups",
    "options",
    "merged",
    "estimated",
    "timed",
    "watched_barrier",
]


#: Of these, what PyTorch's wrapper of a Backend's Works does not hide.
BESIDE_OTHERS = [
    "collectives",
    "uneven",
    "pieces",
    "objects",
    "layouts",
    "mistakes",
    "together",
    "messages",
    "groups",
    "options",
    "merged",
    "properties",
    "estimated",
    "watched_barrier",
]


@pytest.fixture(scope="module")
def found(way: str) -> dict[str, list[Any]]:
    """What every function has returned, by rank; each has compared its own results."""
    return run("group_ranks", FUNCTIONS, RANKS)


def test_every_function_has_run_on_every_rank(found: dict[str, list[Any]]) -> None:
    assert {name: len(ranks) for name, ranks in found.items()} == dict.fromkeys(FUNCTIONS, RANKS)


def test_a_group_says_what_it_is(found: dict[str, list[Any]]) -> None:
    assert found["names"] == [("hemiola", "hemiola")] * RANKS


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("sizes", ("4", "5")),
        ("types", ("int32", "int64")),
        ("reductions", ("max", "sum")),
        ("in the background", ("4", "5")),
        ("roots", ("root=0", "root=1")),
        ("order", ("barrier", "all_reduce")),
        ("split sizes", ("1 elements", "expects 2")),
        ("gathered", ("float32[4]", "float32[5]")),
        ("scattered", ("float32[4]", "float32[5]")),
    ],
)
def test_ranks_that_disagree_are_all_told_what_both_said(
    found: dict[str, list[Any]], mistake: str, words: tuple[str, str]
) -> None:
    for seen in found["mistakes"]:
        kind, message = seen[mistake]
        assert kind == "MismatchError"
        assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("not side by side", "elements lie side by side"),
        ("lists", "list size should be 3, a tensor for each rank"),
        ("a list to gather into", "expected that of float32[2]"),
        ("a list to scatter", "expected that of float32[2]"),
        ("one of several", "invalid tensor type at index 1"),
        ("several of several", "elements lie side by side"),
    ],
)
def test_what_is_wrong_on_one_rank_is_told_to_all(
    found: dict[str, list[Any]], mistake: str, words: str
) -> None:
    for rank, seen in enumerate(found["mistakes"]):
        kind, message = seen[mistake]
        assert kind == ("GroupArgumentError" if rank == 1 else "MismatchError")
        assert words in message


def test_a_failed_future_raises_and_so_does_what_follows_from_it(found: dict[str, list[Any]]) -> None:
    for seen in found["failed_futures"]:
        assert len(seen) == 6
        for kind, message in seen:
            assert kind in ("MismatchError", "RuntimeError")
            assert "MismatchError" in kind + message
            assert "passed float32[" in message


def test_ranks_that_want_a_group_otherwise_are_told(found: dict[str, list[Any]]) -> None:
    for kind, message in found["options"]:
        assert kind == "MismatchError"
        assert "rank 0 passed adapt=slow, rank 1 adapt=none" in message


def test_merged_groups_number_their_ranks(found: dict[str, list[Any]]) -> None:
    assert sorted(found["merged"]) == list(range(RANKS))


def test_the_simulator_says_what_collectives_would_take_and_none_runs(found: dict[str, list[Any]]) -> None:
    first = found["estimated"][0]
    if not first:
        pytest.skip("needs torch.distributed._time_estimator, which this PyTorch has not")
    for seen in found["estimated"]:
        assert seen == first  # every rank says the same, alone
        assert 0 < seen["small"] < seen["large"]
        assert min(seen["all_gather"], seen["scatter"], seen["barrier"]) > 0
        assert seen["nothing"] == 0
        words = ("messages", "blocks of different sizes", "sparse tensors", "side by side")
        for (kind, message), word in zip(seen["refused"], words, strict=True):
            assert kind == "GroupArgumentError"
            assert word in message
        assert seen["twice"][0] == "GroupArgumentError"


def test_a_work_says_how_long_it_has_run(found: dict[str, list[Any]]) -> None:
    for durations in found["timed"]:
        assert all(ms > 0 for ms in durations)


def test_a_watched_barrier_says_who_is_missing(found: dict[str, list[Any]]) -> None:
    zero, one, two = found["watched_barrier"]
    assert zero[0] == ("GroupTimeoutError", "Rank 1 failed to pass monitoredBarrier in 2000 ms", 1)
    assert "Rank 2 successfully reached monitoredBarrier" in two[0][1]
    assert two[0][2] == 1
    assert one == []
    assert zero[1] == ("GroupTimeoutError", "Ranks 1, 2 failed to pass monitoredBarrier in 100 ms", 1)


def test_collectives_are_counted_and_none_reaches_the_gloo_inside(found: dict[str, list[Any]]) -> None:
    for own, inner in found["sequence"]:
        assert own == 2
        assert inner == 0


def test_a_work_says_what_it_is_as_gloos_does(found: dict[str, list[Any]]) -> None:
    for types, (kind, _) in found["operation_types"]:
        own = {name: number for name, (number, _) in types.items()}
        gloo = {name: number for name, (_, number) in types.items()}
        assert gloo.pop("reduce_scatter") == 100  # unknown
        assert own.pop("reduce_scatter") == 9
        assert own == gloo
        assert kind == "NotImplementedError"


def test_the_gloo_inside_meets_nobody_and_refuses_what_would_move(found: dict[str, list[Any]]) -> None:
    for is_lazy, refused, limit_s in found["inside"]:
        assert all(("the gloo inside" in message) == is_lazy for _, message in refused), refused
        assert limit_s == 77


if python_may_derive_from_backend():

    def test_a_group_inside_one_of_pytorchs_does_the_same(way: str) -> None:
        seen = run("group_ranks", BESIDE_OTHERS, RANKS, backend="beside")
        assert {name: len(ranks) for name, ranks in seen.items()} == dict.fromkeys(BESIDE_OTHERS, RANKS)
        assert sorted(seen["merged"]) == list(range(RANKS))
        for kind, message in seen["options"]:
            assert kind == "MismatchError", message
        for mistakes in seen["mistakes"]:
            assert all(kind in ("MismatchError", "GroupArgumentError") for kind, _ in mistakes.values())


def test_an_operation_that_takes_too_long_names_who_is_missing_within_its_time(way: str) -> None:
    *waited, _ = run("group_ranks", ["late"], RANKS)["late"]
    for (kind, message, blamed), took_s in waited:
        assert kind == "GroupTimeoutError"
        assert "rank 2" in message
        assert blamed == 2
        assert took_s < 10  # of the 30 s that the group's operations may take
    # The operation's own limit is 0.5 s: whoever came first has waited so long, the others at most until then.
    assert max(took_s for _, took_s in waited) >= 0.5


def test_abort_in_another_thread_ends_what_waits_everywhere(way: str) -> None:
    for seen in run("group_ranks", ["aborted"], RANKS)["aborted"]:
        for kind, message in seen:
            assert kind == "LostRankError", (seen, message)
            assert "rank 0 has aborted this communicator" in message
