# SPDX-License-Identifier: Apache-2.0
"""Trees that an all-reduce goes up and down on a grid of two dimensions with one slow rank: which, and how much of the
buffer along each. A port carries one message at a time at the pace of its slower end, and none may have too much.

In each row one rank collects the row's parts, and columns join the rows' collectors. Trees differ in the collector of
the slow rank's row, and in the slow rank's place in them. Together they are as good as any trees
(tests/algorithms/test_grid_trees.py). Where ports share, the best trees take 0 to 8 % less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hemiola.algorithms import highs
from hemiola.algorithms.number_arrays import Floats, Integers
from hemiola.algorithms.slow_trees import NO_PARENT, Trees

#: The cost of trees of a kind to the linear program beside the busiest port's time: those of four stages fill a
#: pipeline sooner than those of six.
_FEW_STAGES, _MANY_STAGES = 1.0, 2.0
_COST_OF_A_TREE = 0.02
#: Trees that carry less of the buffer are none.
_LEAST_SHARE = 1e-5
#: The buffer is cut into so many parts.
_PARTS = 1 << 20
#: Where there are no more pairs of another column and another row, a kind of tree may have one for each of them.
_MOST_PAIRS = 64


@dataclass(frozen=True, eq=False)
class GridTrees(Trees):
    """Trees for units of different sizes; ranks are numbered row by row, the slow one is 0, and the time is over that
    of a port between rows.

    Attributes
    ----------
    weight : array of int, the size of each unit of the buffer, relative to the others.
    """

    weight: Integers


def tree_sets(width: int, rows: int, factor: float, speedup: float) -> Iterator[GridTrees]:
    """Yield sets of trees that load ports as little as any, that of the fewest first, which may be hard to order.

    Parameters
    ----------
    width, rows : int >= 2, ranks of a row, and rows.
    factor : float > 1, of the slow rank 0.
    speedup : float > 0, how many times faster ports inside rows are than those between rows.

    Notes
    -----
    A linear program over (W - 1)·R trees and up to 6 for each pair of another column and another row.
    """
    others = [(column, row) for column in range(1, width) for row in range(1, rows)]
    # One pair for each column or row, whichever are more, such that neither has many more than another.
    count = max(width, rows) - 1
    few = sorted({(1 + i % (width - 1), 1 + i % (rows - 1)) for i in range(count)})
    choices = [few, others] if len(few) < len(others) <= _MOST_PAIRS else [few]
    grid = _Grid(width, rows)
    yield from (_best(grid, [*_kinds(grid, pairs)], factor, speedup) for pairs in choices)


def edge_pace(width: int, a: Integers, b: Integers, factor: float, speedup: float) -> Floats:
    """Return how long a message between ranks of the same row or column occupies their ports, over the time of one
    between healthy ranks of two rows."""
    pace: Floats = np.where((a == 0) | (b == 0), factor, 1.0) / np.where(
        a // width == b // width, speedup, 1.0
    )
    return pace


@dataclass(frozen=True)
class _Kind:
    """Trees that differ only in which column and row they are for, and what one costs beside the ports' time."""

    trees: list[Integers]
    cost: float


@dataclass(frozen=True)
class _Grid:
    width: int
    rows: int

    def collected(self, first: int, column: int) -> Integers:
        """Return parents inside rows: the first row's ranks hang on column `first`, the others' on another."""
        columns = np.full((self.rows, 1), column)
        columns[0] = first
        numbers = np.arange(self.width * self.rows).reshape(self.rows, self.width)
        parent = np.broadcast_to(numbers[:, :1] + columns, numbers.shape).copy()
        parent[parent == numbers] = NO_PARENT
        return parent

    def column_tree(self, column: int, owner: int) -> Integers:
        """Return the tree in which all rows are collected in a column, and that at a row's rank."""
        parent = self.collected(column, column)
        parent[:, column] = owner * self.width + column
        parent[owner, column] = NO_PARENT
        return parent

    def home_tree(self, through: int, owner: int) -> Integers:
        """Return the tree of the slow rank's column in which its own row is collected in another, and comes to the
        owner's row there."""
        parent = self.collected(through, 0)
        parent[1:, 0] = owner * self.width
        parent[owner, 0] = NO_PARENT
        parent[0, through] = owner * self.width + through
        return parent


def _kinds(grid: _Grid, pairs: list[tuple[int, int]]) -> Iterator[_Kind]:
    width, rows = grid.width, grid.rows
    others = range(1, width)
    # In any other column, the owner in the slow rank's row or another: the slow rank is a leaf there.
    yield _Kind([grid.column_tree(column, 0) for column in others], _FEW_STAGES)
    yield _Kind([grid.column_tree(column, row) for column in others for row in range(1, rows)], _FEW_STAGES)
    # The slow rank collects its row; it owns that, or another row does.
    yield _Kind([grid.column_tree(0, 0)], _FEW_STAGES)
    yield _Kind([grid.column_tree(0, row) for row in range(1, rows)], _FEW_STAGES)
    # The slow rank hangs on a rank of its column: on the owner's row, or, where its own row is that, on another.
    yield _Kind([_hung(grid.column_tree(column, row), row) for column, row in pairs], _FEW_STAGES)
    yield _Kind([_hung(grid.column_tree(column, 0), row) for column, row in pairs], _MANY_STAGES)
    # In the slow rank's column, whose port between rows stays idle; or only sends its own.
    yield _Kind([grid.home_tree(column, row) for column, row in pairs], _MANY_STAGES)
    yield _Kind([_hung(grid.home_tree(column, row), row) for column, row in pairs], _MANY_STAGES)
    # Another rank collects the slow rank's row, and it hands on the sum.
    yield _Kind([_relayed(grid, column, row) for column, row in pairs], _MANY_STAGES)


def _hung(parent: Integers, row: int) -> Integers:
    """Return a tree in which the slow rank, a leaf, hangs on the rank of its column in that row."""
    parent[0, 0] = row * parent.shape[1]
    return parent


def _relayed(grid: _Grid, through: int, owner: int) -> Integers:
    parent = grid.home_tree(through, owner)
    parent[0, through] = 0
    return _hung(parent, owner)


def _best(grid: _Grid, kinds: list[_Kind], factor: float, speedup: float) -> GridTrees:
    parent = np.array([tree.ravel() for kind in kinds for tree in kind.trees], np.int64)
    load = _load(parent, grid.width, factor, speedup)
    kind_of = np.repeat(np.arange(len(kinds)), [len(kind.trees) for kind in kinds])
    ports, units = load.shape
    # Of each kind, the largest share counts, so that shares of a kind are alike where that costs no time.
    largest = np.zeros((units, len(kinds)))
    largest[np.arange(units), kind_of] = -1
    shares_and_time = np.hstack([load, np.zeros((ports, len(kinds))), -np.ones((ports, 1))])
    below_largest = np.hstack([np.eye(units), largest, np.zeros((units, 1))])
    costs = [_COST_OF_A_TREE * kind.cost * len(kind.trees) for kind in kinds]
    found, _ = highs.cheapest_shares(
        np.array([*np.zeros(units), *costs, 1.0]),
        np.vstack([shares_and_time, below_largest]),
        np.append(np.ones(units), np.zeros(len(kinds) + 1)),
    )
    shares = found[:units]
    used = shares > _LEAST_SHARE
    weight = np.maximum(1, np.rint(shares[used] * _PARTS)).astype(np.int64)
    time = float((load[:, used] @ weight).max() / weight.sum())
    return GridTrees(parent[used], time, weight)


def _load(parent: Integers, width: int, factor: float, speedup: float) -> Floats:
    """Return what each port, those inside rows first, takes for the whole buffer along each tree; each way."""
    units, ranks = parent.shape
    unit, child = np.nonzero(parent != NO_PARENT)
    above = parent[unit, child]
    pace = edge_pace(width, child, above, factor, speedup)
    is_between = child // width != above // width
    load = np.zeros((2, ranks, units))
    for end in (child, above):
        np.add.at(load, (is_between.astype(np.int64), end, unit), pace)
    return load.reshape(2 * ranks, units)
