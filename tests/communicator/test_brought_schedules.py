# SPDX-License-Identifier: Apache-2.0
"""Schedules that somebody brings: verified once before they run, and refused on every rank with the place."""

from __future__ import annotations

import re
from typing import Any

import brought_ranks as work
import one_rank_adds
import pytest

import damaged_schedules
import hemiola as hm
from hemiola.algorithms import registry
from hemiola.errors import ArgumentError

RANKS, LIMIT_S = 4, 120
#: Derivation: chunk 0 of rank 0 is sent in step 0 and nothing comes to it, so in the end, "step 1", it holds 1 of 4.
PLACE = "missing_contribution at step 1, rank 0, chunk 0"
OUTSIDE = "the registered algorithm 'all_reduce_one_rank_adds' made"


@pytest.mark.parametrize("wait", [True, False])
def test_a_wrong_schedule_is_refused_on_every_rank_with_its_place(wait: bool) -> None:
    for (error, text), x, later in hm.launch(
        work.bring_truncated, RANKS, None, wait, False, timeout_s=LIMIT_S
    ):
        assert error == "ArgumentError"
        assert PLACE in text
        assert "unchecked=True" in text
        assert x == [1] * 4, "the input is as it was"
        assert later == RANKS, "and the communicator can be used further"


def test_ranks_that_did_not_bring_it_learn_its_place_too() -> None:
    seen = hm.launch(work.bring_truncated, RANKS, 2, True, False, timeout_s=LIMIT_S)
    for rank, ((error, text), x, later) in enumerate(seen):
        assert error == ("ArgumentError" if rank == 2 else "MismatchError")
        assert PLACE in text
        assert (x, later) == ([1] * 4, RANKS)


def test_unchecked_runs_it_as_it_is() -> None:
    seen = hm.launch(work.bring_truncated, RANKS, None, True, True, timeout_s=LIMIT_S)
    # Only chunk 0 of rank 1 gets anything: rank 0's one.
    assert [x for (_, x), *_ in seen] == [[1] * 4, [2, 1, 1, 1], [1] * 4, [1] * 4]


def test_every_collective_refuses_a_schedule_that_lacks_a_transfer() -> None:
    for found in hm.launch(work.bring_every_kind, RANKS, timeout_s=LIMIT_S):
        assert len(found) == 9
        for kind, (error, text) in found.items():
            assert error == "ArgumentError", kind
            assert re.search(r"wrong: (missing_\w+|leftover) at step \d+, rank \d, chunk \d+ ", text), kind


def test_equal_schedules_are_verified_once_and_hemiolas_own_choice_never() -> None:
    for counts in hm.launch(work.count_verifications, RANKS, timeout_s=LIMIT_S):
        assert counts == [1, 1, 2, 2]


def test_unchecked_is_true_or_false() -> None:
    for rank, (error, text) in enumerate(hm.launch(work.say_unchecked_wrongly, RANKS, 1, timeout_s=LIMIT_S)):
        assert error == ("ArgumentError" if rank == 1 else "MismatchError")
        assert "expected True or False as unchecked, found 'yes'" in text


def test_no_damaged_schedule_returns_a_wrong_result() -> None:
    # benchmarks/damaged_schedules.py runs 400.
    found = damaged_schedules.experiment(80, RANKS, 11)
    assert found["wrong"] == found["failed"] == 0
    assert found["refused"] > 40
    assert found["right"] > 0


def test_the_experiment_would_see_a_wrong_result() -> None:
    assert damaged_schedules.experiment(60, RANKS, 11, unchecked=True)["wrong"] > 10


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Register the algorithm that goes wrong, for one test."""
    monkeypatch.setattr(registry, "ENTRIES", dict(registry.ENTRIES))
    return hm.algorithms.register(one_rank_adds.ONE_RANK_ADDS)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("ranks", [2, 4])
def test_the_planner_refuses_a_wrong_schedule_of_an_outside_algorithm(ranks: int) -> None:
    network = hm.topologies.switch(ranks, latency_s=1e-6, bandwidth=1e9)
    with pytest.raises(
        ArgumentError, match=f"{OUTSIDE} a wrong schedule: missing_contribution at step 1, rank 0"
    ):
        hm.plan(network, "all_reduce", 1 << 20)


def test_the_planner_verifies_what_is_too_large_to_simulate_before_it_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "ENTRIES", dict(registry.ENTRIES))
    variants = lambda task: [hm.algorithms.Variant(0.0, 1 << 40)]  # noqa: E731
    outside = work.dataclasses.replace(one_rank_adds.ONE_RANK_ADDS, variants=variants)
    hm.algorithms.register(outside)
    network = hm.topologies.switch(4, latency_s=1e-6, bandwidth=1e9)
    with pytest.raises(ArgumentError, match=OUTSIDE):
        hm.plan(network, "all_reduce", 1 << 20)


@pytest.mark.parametrize(
    ("by_name", "changes", "said"),
    [
        (True, {}, PLACE),
        (False, {}, PLACE),
        (True, {"is_reproducible": True}, PLACE),
        (False, {"is_reproducible": True}, PLACE),
        (
            True,
            {"function": one_rank_adds.all_reduce_that_gathers},
            "a schedule for all_gather, not for all_reduce",
        ),
        (True, {"function": one_rank_adds.all_reduce_in_rows}, "something of type list, no Schedule"),
    ],
)
def test_ranks_that_ask_for_an_outside_algorithm_are_all_told_what_is_wrong_with_it(
    by_name: bool, changes: dict[str, Any], said: str
) -> None:
    seen = hm.launch(
        work.run_an_outside_one,
        RANKS,
        changes,
        by_name,
        emulate=hm.topologies.switch(RANKS, latency_s=1e-4, bandwidth=1e9),
        timeout_s=LIMIT_S,
    )
    for error, text in seen:
        assert error == "ArgumentError"
        assert f"{OUTSIDE} " in text
        assert said in text
        assert "Traceback" not in text


def test_an_outside_algorithm_that_goes_wrong_is_refused_by_name_whatever_unchecked_says() -> None:
    network = hm.topologies.switch(RANKS, latency_s=1e-4, bandwidth=1e9)
    seen = hm.launch(work.run_an_outside_one, RANKS, {}, True, True, emulate=network, timeout_s=LIMIT_S)
    for error, text in seen:
        assert error == "ArgumentError"
        assert PLACE in text
