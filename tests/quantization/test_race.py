# SPDX-License-Identifier: Apache-2.0
"""The race between eight bits and plain messages, by times that a test makes up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import quantizer_ranks as work

import hemiola as hm
from hemiola.quantization.race import LEAST_CALLS, TRIES, Race


def run(race: Race, calls: int, seconds: Callable[[int, bool], float]) -> list[bool]:
    """Return the form of each of so many calls, each of which takes `seconds` of its number and form."""
    forms = []
    for number in range(calls):
        is_coded = race.next(lambda times: None)
        ended_ns = 1 + round(1e9 * seconds(number, is_coded))
        race.note(lambda ended_ns=ended_ns: (1, ended_ns))  # type: ignore[misc]
        forms.append(is_coded)
    return forms


@pytest.mark.parametrize("coded_is_faster", [True, False])
def test_the_faster_form_goes_on_after_three_calls_of_each(coded_is_faster: bool) -> None:
    forms = run(Race(), 2 * TRIES + LEAST_CALLS, lambda _, is_coded: 1 + (is_coded != coded_is_faster))
    assert forms == [True] * TRIES + [False] * TRIES + [coded_is_faster] * LEAST_CALLS


@pytest.mark.parametrize("ratio", [1.0, 1.09, 2.0, 4.0])
def test_later_tries_of_the_slower_form_cost_a_hundredth_of_the_time(ratio: float) -> None:
    forms = run(Race(), 5000, lambda _, is_coded: 1.0 if is_coded else ratio)[2 * TRIES :]
    taken = sum(1.0 if is_coded else ratio for is_coded in forms)
    assert taken <= 1.01 * len(forms)
    assert ratio == 1 or not all(forms)


def test_a_form_that_has_become_the_slower_one_is_left() -> None:
    # Given eight bits of 1 s beside 2 s. After call 100 they take 3 s, as on cores that others begin to use.
    def seconds(number: int, is_coded: bool) -> float:
        return 2.0 if not is_coded else 3.0 if number >= 100 else 1.0

    forms = run(Race(), 1000, seconds)
    # (2 - 1) / 0.01 = 100 calls from call 6 on, one try of the other form, and then that one.
    assert forms[6:106] == [True] * 100
    assert forms.index(False, 106) == 106
    assert forms[106:].count(True) <= len(forms[106:]) / LEAST_CALLS


def test_a_call_that_takes_long_by_chance_changes_nothing() -> None:
    forms = run(
        Race(), 1000, lambda number, is_coded: 50.0 if number % 107 == 1 else 1.0 if is_coded else 2.0
    )
    assert forms[2 * TRIES :].count(False) <= 10


def test_calls_without_times_count_as_tries() -> None:
    race = Race()
    forms = [race.next(lambda times: None) for _ in range(4 * TRIES)]
    assert forms == ([True] * TRIES + [False] * TRIES) * 2


def test_ranks_change_forms_together_though_one_waits_for_the_other() -> None:
    # Given a rank that waits 5 s in each plain call for the other one, whose eight bits take longer: 2 s beside 1 s.
    first, second = hm.launch(work.raced, 2, [[2.0, 6.0], [2.0, 1.0]], timeout_s=60)
    assert first == second == [True] * TRIES + [False] * (20 - TRIES)
