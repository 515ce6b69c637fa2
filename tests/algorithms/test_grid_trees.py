# SPDX-License-Identifier: Apache-2.0
"""One slow rank on a grid: trees that leave ports as little to do as any, in order, near the bound, and run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import hemiola as hm
from hemiola.algorithms import slow_grid
from hemiola.algorithms.dense_shop import in_turns
from hemiola.algorithms.grid_trees import tree_sets
from hemiola.algorithms.slow_trees import NO_PARENT
from hemiola.errors import ArgumentError

NBYTES = 256 << 20
SPEEDS = (300e9, 25e9)


def grid(dims: tuple[int, int], bandwidth: tuple[float, float] = SPEEDS) -> hm.Topology:
    return hm.topologies.switch_2d(dims, latency_s=0.5e-6, bandwidth=bandwidth)


@pytest.mark.parametrize("bandwidth", [SPEEDS, SPEEDS[::-1], (1.0, 1.0)])
@pytest.mark.parametrize("dims", [(8, 4), (2, 4), (4, 8), (2, 2), (3, 5), (4, 2)])
def test_it_is_right_wherever_the_slow_rank_is(dims: tuple[int, int], bandwidth: tuple[float, float]) -> None:
    for slow_rank, factor in ((0, 1.25), (dims[0], 2.0), (math.prod(dims) - 1, 4.0)):
        schedule = hm.algorithms.all_reduce_grid_trees(dims, {slow_rank: factor}, bandwidth, 2)
        assert hm.verify(schedule, report_redundant=True) == []
        rows = schedule.transfers
        is_inside = rows["src"] // dims[0] == rows["dst"] // dims[0]
        assert (is_inside | (rows["src"] % dims[0] == rows["dst"] % dims[0])).all(), "along a row or a column"


@pytest.mark.parametrize(("width", "rows"), [(8, 4), (2, 4), (4, 2), (5, 5)])
@pytest.mark.parametrize("factor", [1.5, 4.0])
def test_units_go_along_trees_that_load_no_port_longer_than_said(
    width: int, rows: int, factor: float
) -> None:
    speedup = SPEEDS[0] / SPEEDS[1]
    for trees in tree_sets(width, rows, factor, speedup):
        load = np.zeros((2, width * rows))
        for parent, weight in zip(trees.parent, trees.weight, strict=True):
            assert (parent == NO_PARENT).sum() == 1
            for child, above in enumerate(parent):
                if above == NO_PARENT:
                    continue
                is_between = child // width != above // width
                pace = (factor if 0 in (child, above) else 1.0) / (1.0 if is_between else speedup)
                load[int(is_between), [child, above]] += weight * pace
        assert load.max() / trees.weight.sum() == pytest.approx(trees.time)


def one_port_optimum(width: int, rows: int, factor: float) -> float:
    """Return the least time, for a buffer that a port between rows takes 1 for, of any trees where a port carries one
    message at a time, at the pace of its slower end: a column per tree, the cheapest by the ports' prices."""

    edges = [
        (a, b)
        for a in range(width * rows)
        for b in range(a)
        if a // width == b // width or a % width == b % width
    ]
    between = np.array([a // width != b // width for a, b in edges])
    pace = np.where(between, 1.0, SPEEDS[1] / SPEEDS[0]) * [factor if b == 0 else 1.0 for _, b in edges]
    ports = np.array(edges) + np.where(between, width * rows, 0)[:, None]
    price, loads, best = np.full(2 * width * rows, 1 / (2 * width * rows)), [], np.inf
    for _ in range(500):
        length = pace * price[ports].sum(axis=1)
        joined, used = np.arange(width * rows), []
        for edge in np.argsort(length):
            a, b = joined[list(edges[edge])]
            if a != b:
                joined[joined == a] = b
                used.append(edge)
        if length[used].sum() >= best * (1 - 1e-9):
            return best
        load = np.zeros(len(price))
        np.add.at(load, ports[used], pace[used][:, None])
        loads.append(load)
        found = linprog(
            [*[0.0] * len(loads), 1.0],
            A_ub=np.column_stack([np.array(loads).T, -np.ones(len(price))]),
            b_ub=np.zeros(len(price)),
            A_eq=[[*[1.0] * len(loads), 0.0]],
            b_eq=[1.0],
        )
        best, price = float(found.fun), -found.ineqlin.marginals
    raise AssertionError("no end after 500 trees")


@pytest.mark.parametrize(("width", "rows"), [(2, 4), (8, 4), (4, 2)])
@pytest.mark.parametrize("factor", [1.5, 2.0, 4.0])
def test_no_other_trees_are_better(width: int, rows: int, factor: float) -> None:
    found = next(iter(tree_sets(width, rows, factor, SPEEDS[0] / SPEEDS[1]))).time
    assert found == pytest.approx(one_port_optimum(width, rows, factor), rel=2e-3)


@pytest.mark.parametrize("seed", range(5))
def test_turns_keep_ports_to_one_message_and_the_busiest_one_busy(seed: int) -> None:
    draw = np.random.default_rng(seed)
    src, dst = draw.integers(0, 6, (2, 200))
    src, dst = src[src != dst], dst[src != dst]
    time, urgency = draw.integers(1, 5, len(src)) * 1000, draw.integers(0, 4, len(src))
    found = in_turns(src, dst, time, urgency, enough=0, most_orders=6)
    for side in (src, dst):
        for port in range(6):
            assert len(set(found.turn[side == port])) == (side == port).sum(), "each has a turn of its own"
    busiest = max(np.bincount(src, time).max(), np.bincount(dst, time).max())
    assert busiest <= found.time <= 1.05 * busiest
    of_pair = {}
    for message in np.argsort(found.turn, kind="stable").tolist():
        before = of_pair.get((src[message], dst[message]), -1)
        assert urgency[message] >= before, "the most urgent of a pair first"
        of_pair[src[message], dst[message]] = urgency[message]


def test_messages_alike_take_no_longer_than_the_busiest_port() -> None:
    # Everybody sends as much to everybody: a matching at a time.
    src, dst = (ends.ravel() for ends in np.meshgrid(np.arange(7), np.arange(7)))
    src, dst = np.tile(src[src != dst], 3), np.tile(dst[src != dst], 3)
    ones = np.ones_like(src)
    assert in_turns(src, dst, 1000 * ones, ones, enough=0, most_orders=1).time == 18_000


@pytest.mark.parametrize(
    ("dims", "factor", "most"),
    [
        ((8, 4), 1.5, 1.04),
        ((8, 4), 2.0, 1.05),
        ((8, 4), 4.0, 1.03),
        ((2, 4), 1.5, 1.06),
        ((2, 4), 2.0, 1.09),
        ((2, 4), 4.0, 1.09),
        ((4, 8), 4.0, 1.04),
        ((8, 8), 2.0, 1.06),
        ((4, 2), 4.0, 1.02),
    ],
)
def test_one_slow_rank_of_a_grid_is_planned_near_the_bound(
    dims: tuple[int, int], factor: float, most: float
) -> None:
    # Before, of 8 x 4 and 2 x 4 at 4: 1.45 and 1.34.
    plan = hm.plan(grid(dims), "all_reduce", NBYTES, hm.Conditions(slow={5: factor}))
    assert plan.name == "all_reduce_grid_trees"
    assert plan.bound_s <= plan.seconds <= most * plan.bound_s
    assert hm.verify(plan.schedule, topology=grid(dims)) == []


@pytest.mark.parametrize("nbytes", [64 << 20, 1 << 30])
def test_smaller_and_larger_buffers_are_planned_as_near(nbytes: int) -> None:
    for dims in ((8, 4), (2, 4)):
        plan = hm.plan(grid(dims), "all_reduce", nbytes, hm.Conditions(slow={0: 4.0}))
        assert plan.seconds <= 1.1 * plan.bound_s


@pytest.mark.parametrize(
    ("dims", "slow", "bandwidth", "segments", "named"),
    [
        ([4], {0: 4.0}, [1.0], 2, "two dims"),
        ([4, 1], {0: 4.0}, [1.0, 1.0], 2, "two dims"),
        ([32, 32], {0: 4.0}, [1.0, 1.0], 2, "256 ranks"),
        ([4, 4], {}, [1.0, 1.0], 2, "one slow rank, found 0"),
        ([4, 4], {0: 4.0, 1: 2.0}, [1.0, 1.0], 2, "one slow rank, found 2"),
        ([4, 4], {16: 2.0}, [1.0, 1.0], 2, "0 … 15"),
        ([4, 4], {0: 2.0}, [1.0, 0.0], 2, "bandwidths above 0"),
        ([4, 4], {0: 2.0}, [1.0], 2, "two bandwidths"),
        ([4, 4], {0: 2.0}, [1.0, 1.0], 0, "segments"),
    ],
)
def test_what_cannot_be_is_refused(
    dims: list[int], slow: dict[int, float], bandwidth: list[float], segments: int, named: str
) -> None:
    with pytest.raises(ArgumentError, match=named):
        hm.algorithms.all_reduce_grid_trees(dims, slow, bandwidth, segments)


def test_trees_too_large_for_a_plan_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object) -> None:
        raise AssertionError("looked for")

    monkeypatch.setattr(slow_grid, "tree_sets", look)
    hm.plan(grid((16, 16)), "all_reduce", 16 << 20, hm.Conditions(slow={5: 4.0}), effort=0.01)


def test_other_schedules_are_looked_for_where_these_are_far_from_the_bound() -> None:
    near, far = (
        hm.plan(grid((4, 4)), "all_reduce", nbytes, hm.Conditions(slow={0: 4.0}))
        for nbytes in (NBYTES, 1 << 20)
    )
    names = [{one.name for one in plan.alternatives} for plan in (near, far)]
    assert ["forest" in each for each in names] == [False, True]


def summed() -> bool:
    comm = hm.init()
    x = np.arange(36_000, dtype=np.int64) * (comm.rank + 1)
    comm.all_reduce(x, schedule=hm.algorithms.all_reduce_grid_trees([4, 2], {5: 4.0}, SPEEDS, 3))
    return bool((x == np.arange(36_000) * 36).all())


@pytest.mark.long
def test_a_communicator_runs_it() -> None:
    network = hm.topologies.switch_2d([4, 2], latency_s=1e-6, bandwidth=[1e9, 1e8])
    now = hm.Conditions(slow={5: 4.0})
    assert hm.launch(summed, 8, emulate=network, conditions=now, timeout_s=120) == [True] * 8
