# SPDX-License-Identifier: Apache-2.0
"""The average of finite numbers is finite, for every schedule, type and rank count."""

from __future__ import annotations

import math

import average_ranks as work
import numpy as np
import pytest

import hemiola as hm
from all_reduce_schedules import SCHEDULES

LIMIT_S = 240


def check(ranks: int, sources: list[str], *, sparse: bool | None = None) -> None:
    for found in hm.launch(work.averages, ranks, sources, sparse, timeout_s=LIMIT_S):
        assert found
        for case, (least, largest) in found.items():
            # A sum of n values is rounded n times: float8 has two or three bits.
            few_bits = "float8" in case or "float16" in case
            assert (0.4 if few_bits else 0.999999) < least <= largest <= 1, case


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_the_average_of_the_largest_numbers_is_finite(ranks: int) -> None:
    check(ranks, ["planned"])


@pytest.mark.long
@pytest.mark.parametrize("ranks", range(2, 10))
def test_the_average_of_the_largest_numbers_is_finite_by_every_schedule(ranks: int) -> None:
    check(ranks, list(SCHEDULES))


def test_the_average_of_the_largest_numbers_is_finite_where_messages_leave_zeros_out() -> None:
    check(3, ["all_reduce_ring", "all_reduce_recursive_doubling"], sparse=True)


@pytest.mark.parametrize("ranks", [2, 3])
def test_other_collectives_average_alike_and_leave_inputs_alone(ranks: int) -> None:
    for rank, found in enumerate(hm.launch(work.placed_averages, ranks, timeout_s=LIMIT_S)):
        assert np.allclose(found["part"], 3e38, rtol=1e-6)
        assert found["block"] == [40000.0] * work.COUNT
        assert found["others"] == [40000.0] * (ranks * work.COUNT)
        assert (found["rooted"] is None) == (rank != ranks - 1)
        if found["rooted"] is not None:
            assert np.allclose(found["rooted"], 1e308)
        assert found["infinite"][:2] == [math.inf, -math.inf]
        assert math.isnan(found["infinite"][2])
        assert np.allclose(found["small"], 1e-30, rtol=1e-6)
        assert found["count"] == [(ranks + 1) / 2] * 3
