# SPDX-License-Identifier: Apache-2.0
"""Every collective, on real processes, against what it must make of known data."""

from __future__ import annotations

import pytest
from rank_cases import COMPLEX, FLOATS, INTEGERS, REDUCING, Case, dtypes_and_operations, run_cases

import hemiola as hm
from hemiola import algorithms

RANK_COUNTS = (1, 2, 3, 4, 5, 8)
KINDS = (
    "all_reduce",
    "reduce",
    "reduce_scatter",
    "all_gather",
    "gather",
    "scatter",
    "broadcast",
    "all_to_all",
)


def failures(ranks: int, cases: list[Case]) -> list[str]:
    return [failure for found in hm.launch(run_cases, ranks, cases, timeout_s=120) for failure in found]


@pytest.mark.parametrize("ranks", RANK_COUNTS)
def test_every_collective_is_right_for_all_sizes_in_and_out_of_place(ranks: int) -> None:
    cases = [
        Case(kind, block, root=block % ranks, in_place=in_place)
        for kind in KINDS
        for block in (0, 1, 7, 1000, 70_001)
        for in_place in (False, True)
    ]
    assert failures(ranks, cases) == []


@pytest.mark.parametrize("ranks", [2, 3])
def test_long_arrays_go_in_slices(ranks: int) -> None:
    cases = [Case(kind, 1_500_001, in_place=in_place) for kind in KINDS for in_place in (False, True)]
    assert failures(ranks, cases) == []


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_every_dtype_and_operation_is_right(ranks: int) -> None:
    cases = [Case(kind, 1001, dtype, op) for kind in REDUCING for dtype, op in dtypes_and_operations()]
    cases += [Case("all_gather", 1001, dtype) for dtype in (*FLOATS, *INTEGERS, *COMPLEX, "bool")]
    assert failures(ranks, cases) == []


@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
def test_every_published_algorithm_runs_as_it_was_judged(ranks: int) -> None:
    names = [name for name in algorithms.names() if algorithms.get(name).is_valid(ranks)]
    cases = [
        Case(algorithms.get(name).kind, block, "int32", root=ranks - 1, in_place=in_place, schedule=name)
        for name in names
        if not algorithms.get(name).needs
        for block in (1, 10, 5000, 100_003)
        for in_place in (False, True)
    ]
    assert failures(ranks, cases) == []
