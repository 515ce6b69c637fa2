# SPDX-License-Identifier: Apache-2.0
"""Slow ranks on a grid of two dimensions: columns with slow ranks carry less, and the planner takes that."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError

NBYTES = 256 << 20


def grid(rows: int = 4) -> hm.Topology:
    return hm.topologies.switch_2d([4, rows], latency_s=[0.5e-6, 1e-6], bandwidth=[300e9, 25e9])


@pytest.mark.parametrize(
    ("dims", "slow"),
    [((4, 4), {5: 2.0}), ((2, 3), {0: 4.0, 5: 1.5}), ((3, 2), {1: 1.25}), ((2, 2), {0: 1.0})],
)
def test_uneven_rails_are_right(dims: tuple[int, int], slow: dict[int, float]) -> None:
    schedule = hm.algorithms.all_reduce_uneven_rails(dims, slow, 3)
    assert hm.verify(schedule) == []
    rows = schedule.transfers
    width = dims[0]
    is_inside = rows["src"] // width == rows["dst"] // width
    assert (is_inside | (rows["src"] % width == rows["dst"] % width)).all(), "along a row or a column"


@pytest.mark.parametrize("slow", [{5: 2.0, 6: 2.0}, {0: 1.5, 10: 1.5}])
def test_two_slow_ranks_of_a_grid_are_planned_with_them(slow: dict[int, float]) -> None:
    # What was synthesized was at 1.3 of the bound and more.
    plan = hm.plan(grid(), "all_reduce", NBYTES, hm.Conditions(slow=slow))
    assert plan.name == "all_reduce_uneven_rails"
    assert plan.bound_s <= plan.seconds <= 1.12 * plan.bound_s


@pytest.mark.parametrize("factor", [1.5, 2.0])
def test_rails_take_what_their_slow_ranks_leave_time_for(factor: float) -> None:
    # A column with a slow rank among p = 4 takes T = 6l/(2l + 2) of what it carries, the other three 1.5.
    load = 1 / (3 / 1.5 + (2 * factor + 2) / (6 * factor))
    schedule = hm.algorithms.all_reduce_uneven_rails((4, 4), {5: factor}, 64)
    seconds = hm.simulate(schedule, grid(), NBYTES, hm.Conditions(slow={5: factor})).seconds
    assert load <= seconds / (NBYTES / 25e9) <= 1.06 * load


@pytest.mark.parametrize(
    ("dims", "slow", "segments", "message"),
    [
        ([4], {0: 2.0}, 2, "two dims"),
        ([4, 1], {0: 2.0}, 2, "two dims"),
        ([32, 32], {0: 2.0}, 2, "256 ranks"),
        ([2, 2], {4: 2.0}, 2, "0 … 3"),
        ([2, 2], {0: 0.5}, 2, "slowdown|factor"),
        ([2, 2], {0: 2.0}, 0, "segments"),
    ],
)
def test_what_cannot_be_is_refused(
    dims: list[int], slow: dict[int, float], segments: int, message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        hm.algorithms.all_reduce_uneven_rails(dims, slow, segments)
