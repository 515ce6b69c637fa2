# SPDX-License-Identifier: Apache-2.0
"""An all-reduce for ranks in rows and columns, one of them slow. It goes up and down trees that use the slow ports at
their speed, and all others evenly, in an order in which no port waits for another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hemiola._core import Collective, Schedule
from hemiola._core.algorithms import Variant
from hemiola.algorithms import slow_shares
from hemiola.algorithms.algorithm import Algorithm, Paper
from hemiola.algorithms.dense_shop import Turns, in_turns, same_shape
from hemiola.algorithms.grid_trees import GridTrees, edge_pace, tree_sets
from hemiola.algorithms.number_arrays import Integers
from hemiola.algorithms.slow_pipeline import LEAST_MADE, check_segments, pipelined
from hemiola.algorithms.slow_rails import check_rows_and_columns, why_no_rows_and_columns
from hemiola.algorithms.slow_trees import NO_PARENT
from hemiola.algorithms.task import Task
from hemiola.arguments import typed
from hemiola.errors import ArgumentError

_WHERE = "all_reduce_grid_trees"
#: Segments that the planner considers: of fewer, filling the pipeline takes longer than slow ranks cost; more save
#: nothing.
_LEAST_PLANNED, _MOST_PLANNED = 4, 256
#: Of so many and more, a quarter is tried as well, which is faster where messages cost something.
_MANY_SEGMENTS = 16
#: So many latencies a body takes at least: its messages wait for some of those of the body before.
_BODY_LATENCIES = 3
#: The search for other trees ends where an order takes no longer than this beyond the busiest port's load.
_TOLERANCE = 1.02
#: So many orders are tried, which together have at most so many messages.
_MOST_ORDERS, _MOST_ORDERED = 24, 60_000
#: Time is counted in so small parts of the time that a port between rows takes for the smallest part of a buffer.
_TICKS = 1024


@typed
def all_reduce_grid_trees(
    dims: Sequence[int], slow: Mapping[int, float], bandwidth: Sequence[float], segments: int = 16
) -> Schedule:
    """All-reduce on a grid of two dimensions with one slow rank, up and down trees that leave all ports as little to do
    as any order of one message a port can.

    A row is the ranks that the faster dimension joins, a column those that the other one joins. In each row one rank
    collects the row's parts, and the collectors of all rows are joined by columns. The slow rank's place differs from
    tree to tree: it is a leaf in its row or its column, hands on its row's sum, or collects it. How much of the buffer
    goes along each tree is the best by a linear program.

    Parameters
    ----------
    dims : sequence of two ints >= 2, of at most 256 ranks; rank = x0 + dims[0] * x1.
    slow : mapping of rank to float >= 1, of which one is slower than the others.
    bandwidth : sequence of two floats > 0, of ports of the two dimensions; only their ratio counts.
    segments : int >= 1, pieces the buffer is pipelined in.

    Returns
    -------
    Schedule, of chunks of several sizes. A solver chooses among equals.

    Raises
    ------
    ArgumentError
        An argument is out of range, or no rank or several are slow.

    Notes
    -----
    Bandwidth only: about T·(K+3)/K · Nβ for K segments, over a port of the slower dimension, where T is the busiest
    port's load. For R rows of W, much faster than columns, it is 2(R-1)/(RW-1) at most where rows have ports enough,
    unless the slow rank's part takes longer to leave through both its ports. Own running time: a linear program over
    about RW trees, and an open shop for each different row and column. The construction is ours; [OptCC] leaves one
    slow rank of several on a host open.
    """
    check_rows_and_columns(_WHERE, dims)
    check_segments(_WHERE, segments)
    if len(bandwidth) != 2 or not all(0 < each < math.inf for each in bandwidth):
        raise ArgumentError(f"{_WHERE}: expected two bandwidths above 0, found {list(bandwidth)}")
    factors = slow_shares.relative_factors(_WHERE, math.prod(dims), slow)
    if (factors > 1).sum() != 1:
        raise ArgumentError(f"{_WHERE}: expected one slow rank, found {int((factors > 1).sum())}")
    ranks = _by_rows(dims, bandwidth, int(factors.argmax()))
    rows, width = ranks.shape
    body = _body(width, rows, float(factors.max()), max(bandwidth) / min(bandwidth))
    return body.schedule(ranks.ravel(), segments)


def _by_rows(dims: Sequence[int], bandwidth: Sequence[float], slow_rank: int) -> Integers:
    """Return ranks by row and column, rows being the faster dimension, and the slow rank in the first of both."""
    ranks = np.arange(math.prod(dims)).reshape(dims[1], dims[0])
    if bandwidth[1] > bandwidth[0]:
        ranks = ranks.T
    row, column = (int(place[0]) for place in np.nonzero(ranks == slow_rank))
    by_rows: Integers = np.roll(ranks, (-row, -column), (0, 1))
    return by_rows


@dataclass(frozen=True, eq=False)
class _Body:
    """What a segment's messages are, in which all stages of different segments go on at once.

    Attributes
    ----------
    pattern : array of int, rows of turn, src, dst, unit, reduce; ranks are numbered row by row, the slow one is 0.
    stage : array of int, of each of these.
    trees : GridTrees.
    time : float, of all of them at once, over what a port between rows takes for a segment.
    """

    pattern: Integers
    stage: Integers
    trees: GridTrees
    time: float

    @property
    def stage_count(self) -> int:
        return int(self.stage.max()) + 1

    @property
    def unit_count(self) -> int:
        return len(self.trees.weight)

    def time_of(self, segments: float) -> float:
        """Return the time of all segments, over what a port between rows takes for the buffer: of a body for each
        further stage half goes by until all ports are busy and in the end."""
        return self.time * (1 + (self.stage_count - 1) / (2 * segments))

    def schedule(self, ranks: Integers, segments: int) -> Schedule:
        pattern = self.pattern.copy()
        pattern[:, 1:3] = ranks[pattern[:, 1:3]]
        turns = int(pattern[:, 0].max()) + 1
        rows = pipelined(pattern, self.stage, segments=segments, steps=turns, chunks=self.unit_count)
        owner = ranks[self.trees.root].tolist()
        collective = Collective.with_owners("all_reduce", len(ranks), owner * segments)
        weights = self.trees.weight.tolist() * segments
        return Schedule.from_transfers(collective, rows, chunk_weights=weights)


@lru_cache(maxsize=8)
def _body(width: int, rows: int, factor: float, speedup: float) -> _Body:
    """Return what comes near the busiest port's load, else the fastest in as many segments as a plan considers."""
    found = []
    for trees in tree_sets(width, rows, factor, speedup):
        found.append(_in_order(trees, width, factor, speedup))
        if found[-1].time <= trees.time * _TOLERANCE:
            break
    return min(found, key=lambda body: body.time_of(_MOST_PLANNED))


def _in_order(trees: GridTrees, width: int, factor: float, speedup: float) -> _Body:
    pattern, stage = _messages(trees)
    turn, src, dst, unit, _ = pattern.T
    pace = edge_pace(width, src, dst, factor, speedup)
    ticks = np.maximum(1, np.rint(trees.weight[unit] * pace * _TICKS)).astype(np.int64)
    whole = int(trees.weight.sum()) * _TICKS
    enough, longest = round(trees.time * whole), 0
    most_orders = min(_MOST_ORDERS, max(1, _MOST_ORDERED // len(pattern)))
    known: dict[bytes, Turns] = {}
    for messages, ports in _switches(src, dst, width):
        shape, order = same_shape(ports[0], ports[1], ticks[messages], stage[messages])
        messages, (a, b) = messages[order], ports[:, order]
        if shape not in known:
            # Messages at its beginning go first, so that nothing waits for a port's last message.
            known[shape] = in_turns(
                a, b, ticks[messages], stage[messages], enough=enough, most_orders=most_orders
            )
        turn[messages] = known[shape].turn
        longest = max(longest, known[shape].time)
    return _Body(pattern, stage, trees, longest / whole)


def _switches(src: Integers, dst: Integers, width: int) -> Iterator[tuple[Integers, Integers]]:
    """Yield, of each row and each column, its messages, and where in it they come from and go to."""
    ends = np.stack([src, dst])
    row, column = ends // width, ends % width
    is_inside = row[0] == row[1]
    for number in range(int(row.max()) + 1):
        messages = np.flatnonzero(is_inside & (row[0] == number))
        yield messages, column[:, messages]
    for number in range(width):
        messages = np.flatnonzero(~is_inside & (column[0] == number))
        if len(messages):
            yield messages, row[:, messages]


def _messages(trees: GridTrees) -> tuple[Integers, Integers]:
    """Return rows of turn, 0 for now, src, dst, unit, reduce, and the stage of each: up as soon as all is there that a
    rank adds, down as soon as its parent has it."""
    unit, child = np.nonzero(trees.parent != NO_PARENT)
    parent = trees.parent[unit, child]
    height, depth = np.zeros_like(trees.parent), np.zeros_like(trees.parent)
    while True:
        before = height.copy(), depth.copy()
        np.maximum.at(height, (unit, parent), height[unit, child] + 1)
        depth[unit, child] = depth[unit, parent] + 1
        if all(np.array_equal(*both) for both in zip(before, (height, depth), strict=True)):
            break
    none = np.zeros_like(unit)
    up = np.column_stack([none, child, parent, unit, none + 1])
    down = np.column_stack([none, parent, child, unit, none])
    back = height[unit, trees.root[unit]] + depth[unit, parent]
    return np.concatenate([up, down]).astype(np.int64), np.concatenate([height[unit, child], back])


def _unable(task: Task) -> str:
    slow = task.conditions.slow_ranks
    factors = [slow.get(rank, 1.0) for rank in range(task.rank_count)]
    slow_count = sum(factor > min(factors) for factor in factors)
    one_is_slow = "" if slow_count == 1 else f"expected one slow rank, found {slow_count}"
    return why_no_rows_and_columns(task) or one_is_slow


def _variants(task: Task) -> list[Variant]:
    """Return as many segments as leave messages between rows a latency long, or a plan has time for, and a quarter of
    that, where both dimensions are switches or all pairs."""
    grid = task.grid
    if grid is None or set(grid.wires) - {"switch", "all"} or task.nbytes == 0:
        return []
    between, inside = sorted(grid.bandwidth)
    rows, width = _by_rows(grid.dims, grid.bandwidth, 0).shape
    about_messages = 2 * (task.rank_count - 1) * (width - 1) * rows
    if LEAST_MADE * about_messages > task.core.most_transfers:
        return []  # writing them alone would take as long as a plan may
    latency_s = max(
        (2 if wires == "switch" else 1) * each for wires, each in zip(grid.wires, grid.latency_s, strict=True)
    )
    # In so many messages between rows at least; before a body is known, those that carry most stand for all.
    most = _most_segments(task.nbytes / between / ((width - 1) * (rows - 1)), latency_s)
    if most < _LEAST_PLANNED:
        return []
    slow = task.conditions.slow_ranks
    factors = [slow.get(rank, 1.0) for rank in range(task.rank_count)]
    body = _body(width, rows, max(factors) / min(factors), inside / between)
    whole_s = body.time * task.nbytes / between
    most_made = task.core.most_transfers // len(body.pattern)
    most = min(most, most_made, _most_segments(whole_s, _BODY_LATENCIES * latency_s))
    found = []
    for segments in sorted({most, most // 4 if most >= _MANY_SEGMENTS else most} - {0}):
        seconds = body.time_of(segments) * task.nbytes / between + body.stage_count * latency_s
        found.append(Variant(seconds, len(body.pattern) * segments, "segments", segments))
    return found


def _most_segments(seconds: float, least_s: float) -> int:
    """Return in how many pieces of at least so long something may be cut, at most as many as a plan considers."""
    return math.floor(min(_MOST_PLANNED, seconds / max(least_s, 1e-15)))


ALGORITHMS = (
    Algorithm(
        name=_WHERE,
        kind="all_reduce",
        paper=Paper("OptCC", "Chen, Jiang, Yu, Wang, Xiong, Wang, Liu 2026"),
        idea="On a grid of two dimensions with one slow rank every part of the buffer goes up and down a tree. The "
        "slow rank's place differs from tree to tree, so that all ports have as little to do as can be.",
        sizes="grids of two dimensions",
        function=all_reduce_grid_trees,
        needs="slow",
        formula="T(K+3)/K·N·β for the busiest port's load T with the best trees, bandwidth only",
        unable=_unable,
        variants=_variants,
    ),
)
