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


@pytest.mark.parametrize(
    ("factor", "name", "most"),
    [
        (1.5, "all_reduce_uneven_rails", 1.04),
        (2.0, "all_reduce_bypassed_rail", 1.06),
        (4.0, "all_reduce_bypassed_rail", 1.05),
    ],
)
def test_one_slow_rank_of_a_grid_is_planned_near_the_bound(factor: float, name: str, most: float) -> None:
    # Synthesized schedules were at 1.31 and 1.69 of the bound at 2 and 4. A column with a slow rank among p = 4 takes
    # T = 12l/(2l + 2) = 1.8 of what it carries at l = 1.5, the other three 1.5: 1/T = 3/1.5 + 1/1.8 gives 0.391 of
    # 10.74 ms. Without the slow port 15 others carry 2·3 buffers: 0.4.
    plan = hm.plan(grid(), "all_reduce", NBYTES, hm.Conditions(slow={5: factor}))
    assert plan.name == name
    load = 1 / (3 / 1.5 + 1 / 1.8) if factor == 1.5 else 6 / 15
    assert plan.seconds >= load * NBYTES / 25e9
    assert plan.bound_s <= plan.seconds <= most * plan.bound_s


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
