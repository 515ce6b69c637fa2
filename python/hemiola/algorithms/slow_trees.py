# SPDX-License-Identifier: Apache-2.0
"""Trees that an all-reduce goes up and down, unit by unit of the buffer, in which slow ranks may relay for others:
which trees, and how often each. A port carries one message at a time at the pace of its slower end, and none may have
too much.

A rank sends and receives once over each of its edges in a tree with any root. Healthy ranks are alike, so one of them
is the centre in turn and all others hang on it; slow ranks hang on the centre or on a slow rank that does. Trees of
more levels save the busiest port a hundredth at most where ten factors differ, and fill later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hemiola.algorithms import highs
from hemiola.algorithms.number_arrays import Floats, Integers

#: Units of one segment at most, or turns in which every healthy rank is the centre of one.
_MOST_UNITS, _LEAST_TURNS = 96, 4
#: Fewer units are taken where they cost no more than this, relative to the best.
_UNIT_TOLERANCE = 3e-3
#: Rates of trees that are rounding errors of the linear program.
_NO_RATE = 1e-9
#: Stands for a healthy centre in a shape, and for a root's parent in a tree.
_HEALTHY, NO_PARENT = -1, -1


@dataclass(frozen=True, eq=False)
class Trees:
    """A tree per unit of the buffer.

    Attributes
    ----------
    parent : array of int, units × ranks, NO_PARENT at the root.
    time : float, the busiest port's time over N·β of a healthy one.
    """

    parent: Integers
    time: float

    @property
    def root(self) -> Integers:
        """The root of each unit's tree."""
        root: Integers = np.argmax(self.parent == NO_PARENT, axis=1)
        return root


@dataclass(frozen=True)
class _Shape:
    """The parent of each slow rank, by their place among these, and the centre: a slow rank or any healthy one."""

    centre: int
    parent: tuple[int, ...]


def relay_trees(factors: Floats) -> Trees:
    """Return the trees for ranks of these factors, the fastest of which is 1.

    Notes
    -----
    A linear program over shapes, a column at a time, of which prices of ports say which is cheap: with two slow ranks,
    or factors alike, it is the best that any trees can do. In whole units, which on few ranks cost up to a hundredth.
    """
    slow, healthy = np.flatnonzero(factors > 1), np.flatnonzero(factors == 1)
    shapes = _Shapes(factors[slow], len(healthy)).best()
    found = []
    for turns in range(1, max(_LEAST_TURNS, _MOST_UNITS // len(healthy)) + 1):
        parent = np.array([*_in_units(shapes, turns, slow, healthy)], np.int64)
        found.append(Trees(parent, _busiest(parent, factors)))
    best = min(trees.time for trees in found)
    return next(trees for trees in found if trees.time <= best * (1 + _UNIT_TOLERANCE))


class _Shapes:
    """The linear program: rates of shapes, which add up to 1, so that the busiest port has least to do."""

    def __init__(self, factors: Floats, healthy_count: int) -> None:
        self._factors = factors
        self._healthy_count = healthy_count

    def best(self) -> dict[_Shape, float]:
        ports = len(self._factors) + 1  # slow ones, and a healthy one on average
        shapes: list[_Shape] = []
        loads: list[Floats] = []
        price: Floats = np.full(ports, 1 / ports)
        rates: Floats = np.empty(0)
        while (shape := self._cheapest(price)) not in shapes:
            shapes.append(shape)
            loads.append(self._load(shape))
            found, price = highs.cheapest_shares(
                np.append(np.zeros(len(shapes)), 1.0),
                np.column_stack([np.array(loads).T, -np.ones(ports)]),
                np.append(np.ones(len(shapes)), 0.0),
            )
            rates = found[:-1]
        return {shape: rate for shape, rate in zip(shapes, rates, strict=True) if rate > _NO_RATE}

    def _pace(self, a: int, b: int) -> float:
        return max(1.0 if end == _HEALTHY else float(self._factors[end]) for end in (a, b))

    def _cheapest(self, price: Floats) -> _Shape:
        of_healthy = price[-1] / self._healthy_count
        costs = []
        for centre in (_HEALTHY, *range(len(self._factors))):
            hanging = self._healthy_count - (centre == _HEALTHY)
            at_centre = of_healthy if centre == _HEALTHY else price[centre]
            parent, cost = self._least_tree(centre, np.append(price[:-1], of_healthy))
            cost += hanging * self._pace(centre, _HEALTHY) * (of_healthy + at_centre)
            costs.append((cost, _Shape(centre, parent)))
        return min(costs, key=lambda each: each[0])[1]

    def _least_tree(self, centre: int, price: Floats) -> tuple[tuple[int, ...], float]:
        """Return the parents of slow ranks in a cheap tree that joins them and the centre, and its cost, rank by rank
        like Prim's; where it has no third level, in the cheapest.

        Of equal trees a shallow one, since a rank leaves its parent only for a cheaper one."""
        nearest = dict.fromkeys((s for s in range(len(self._factors)) if s != centre), centre)
        parent, total = [_HEALTHY] * len(self._factors), 0.0
        while nearest:
            cost = {s: self._pace(s, at) * (price[s] + price[at]) for s, at in nearest.items()}
            joined = min(cost, key=cost.__getitem__)
            total += cost[joined]
            parent[joined] = nearest.pop(joined)
            if parent[joined] != centre:
                continue
            for s in nearest:
                if self._pace(s, joined) * (price[s] + price[joined]) < cost[s] - 1e-12:
                    nearest[s] = joined
        return tuple(parent), total

    def _load(self, shape: _Shape) -> Floats:
        load = np.zeros(len(self._factors) + 1)
        for s, parent in enumerate(shape.parent):
            if s != shape.centre:
                load[s] += self._pace(s, parent)
                load[parent] += self._pace(s, parent)
        hanging = self._healthy_count - (shape.centre == _HEALTHY)
        load[-1] += hanging * self._pace(shape.centre, _HEALTHY)
        load[shape.centre] += hanging * self._pace(shape.centre, _HEALTHY)
        load[-1] /= self._healthy_count
        return load


def _in_units(
    shapes: dict[_Shape, float], turns: int, slow: Integers, healthy: Integers
) -> Iterator[list[int]]:
    """Yield a tree per unit, in which every healthy rank is the centre so many times."""
    around_healthy = {shape: rate for shape, rate in shapes.items() if shape.centre == _HEALTHY}
    count = turns * len(healthy)
    unit = sum(around_healthy.values()) / count
    counts = dict(zip(around_healthy, _apportioned([*around_healthy.values()], count), strict=True))
    # Centres differ in the slow ranks that hang on them: this one has some of each shape.
    number = 0
    for shape in sorted(counts, key=lambda one: one.parent.count(_HEALTHY)):
        for _ in range(counts[shape]):
            yield _tree(shape, int(healthy[number % len(healthy)]), slow, healthy)
            number += 1
    for shape, rate in shapes.items():
        if shape.centre != _HEALTHY:
            for _ in range(round(rate / unit)):
                yield _tree(shape, int(slow[shape.centre]), slow, healthy)


def _apportioned(rates: list[float], count: int) -> list[int]:
    """Return whole numbers in proportion to the rates that add up to that count."""
    ends = np.rint(np.cumsum([0.0, *rates]) / sum(rates) * count).astype(np.int64)
    return [int(end - start) for start, end in pairwise(ends)]


def _tree(shape: _Shape, centre: int, slow: Integers, healthy: Integers) -> list[int]:
    parent = np.full(len(slow) + len(healthy), centre, np.int64)
    for s, at in zip(slow, shape.parent, strict=True):
        parent[s] = centre if at == _HEALTHY else slow[at]
    parent[centre] = NO_PARENT
    return [int(rank) for rank in parent]


def _busiest(parent: Integers, factors: Floats) -> float:
    load = np.zeros(len(factors))
    units, children = np.nonzero(parent != NO_PARENT)
    above = parent[units, children]
    pace = np.maximum(factors[children], factors[above])
    np.add.at(load, children, pace)
    np.add.at(load, above, pace)
    return float(load.max()) / len(parent)
