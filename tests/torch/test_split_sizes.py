# SPDX-License-Identifier: Apache-2.0
"""all_to_all_single with split sizes: values, layouts, and ranks that disagree."""

from __future__ import annotations

from typing import Any

import pytest
from forked import run

FUNCTIONS = ["splits", "passed_on", "one_side", "disagreements"]


@pytest.fixture(scope="module", params=[2, 4])
def found(way: str, request: pytest.FixtureRequest) -> dict[str, list[Any]]:
    """What every function has returned, by rank; each has compared its own results."""
    return run("split_ranks", FUNCTIONS, request.param)


def test_blocks_arrive_from_any_layout_also_where_ranks_pass_them_on(found: dict[str, list[Any]]) -> None:
    assert set(found) == set(FUNCTIONS)
    assert len({str(tables) for tables in found["passed_on"]}) == 1


@pytest.mark.parametrize(
    ("mistake", "of_one"),
    [
        ("expected", False),
        ("given", False),
        ("a sum", True),
        ("a negative size", True),
        ("a size too many", True),
        ("sizes that are none", True),
        ("halves", True),
        ("a size missing", True),
        ("rows that do not divide", True),
        ("types", False),
        ("no sizes", False),
    ],
)
def test_ranks_that_do_not_fit_together_all_hear_of_it_before_anything_moves(
    found: dict[str, list[Any]], mistake: str, of_one: bool
) -> None:
    for rank, told in enumerate(found["disagreements"]):
        for in_background in (False, True):
            kind, text = told[f"{mistake}, background: {in_background}"]
            is_own = of_one and rank == 1
            assert kind == ("GroupArgumentError" if is_own else "MismatchError"), text
            assert is_own or "rank 1" in text
