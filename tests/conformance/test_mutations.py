# SPDX-License-Identifier: Apache-2.0
"""Random damage to correct schedules, and random schedules: the judge must agree with the slow oracle."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiset_oracle import broken_rules
from small_patterns import PATTERNS, Pattern, Row

import hemiola as hm
from damaged_schedules import edit

SIZES = st.sampled_from([2, 3, 4, 5, 8])


def judged(collective: hm.Collective, rows: list[Row]) -> set[str]:
    """Return the names of the rules that hemiola's judge finds broken."""
    violations = hm.verify(hm.Schedule.from_transfers(collective, rows), max_violations=10**6)
    return {violation.rule for violation in violations}


def size_for(pattern: Callable[[int], Pattern], n: int) -> int:
    """Return a rank count that the pattern takes."""
    return 8 if pattern.__name__.startswith("doubling") and n & (n - 1) else n


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: p.__name__)
def test_correct_schedules_pass_both_judges(pattern: Callable[[int], Pattern], n: int) -> None:
    if n == 1 and pattern.__name__ == "custom_sum_of_two":
        n = 2
    collective, rows = pattern(size_for(pattern, n))
    assert broken_rules(collective, rows) == set()
    assert judged(collective, rows) == set()


@st.composite
def damaged(draw: st.DrawFn) -> Pattern:
    """Return a correct schedule after one to three mutations of random transfers."""
    pattern = draw(st.sampled_from(PATTERNS))
    collective, rows = pattern(size_for(pattern, draw(SIZES)))
    rows = list(rows)
    for _ in range(draw(st.integers(1, 3))):
        if rows:
            step_count = max(row[0] for row in rows) + 1
            edit(collective, step_count, rows, lambda n: draw(st.integers(0, n - 1)))
    return collective, rows


@settings(max_examples=600, deadline=None, print_blob=True)
@given(damaged())
def test_damaged_schedules_break_the_rules_that_the_oracle_names(schedule: Pattern) -> None:
    assert judged(*schedule) == broken_rules(*schedule)


@st.composite
def random_schedules(draw: st.DrawFn) -> Pattern:
    """Return a few random transfers for a random promise."""
    n, chunks = draw(st.integers(2, 4)), draw(st.integers(1, 2))
    places = st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, chunks - 1)), max_size=n * chunks)
    before = draw(places)
    after = [place for place in draw(places) if place[1] in {chunk for _, chunk in before}]
    collective = hm.Collective.custom(n, chunks, before, after, reducing=draw(st.booleans()))
    hop = st.tuples(st.integers(0, n - 1), st.integers(1, n - 1))
    row = st.tuples(st.integers(0, 3), hop, st.integers(0, chunks - 1), st.booleans())
    rows = [
        (t, src, (src + by) % n, chunk, red) for t, (src, by), chunk, red in draw(st.lists(row, max_size=8))
    ]
    return collective, draw(st.sampled_from([rows, with_slots(draw, rows)]))


def with_slots(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    """Let transfers read and write scratch, and some stay within a rank."""
    found: list[Row] = []
    for t, src, dst, chunk, red in rows:
        slots, stays = draw(st.tuples(st.integers(0, 2), st.integers(0, 2))), draw(st.booleans())
        found.append((t, src, src if stays and slots[0] != slots[1] else dst, chunk, red, *slots))
    return found


@settings(max_examples=600, deadline=None, print_blob=True)
@given(random_schedules())
def test_random_schedules_break_the_rules_that_the_oracle_names(schedule: Pattern) -> None:
    assert judged(*schedule) == broken_rules(*schedule)
