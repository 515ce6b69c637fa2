# SPDX-License-Identifier: Apache-2.0
"""A mixed-integer program that grows row by row and is handed to HiGHS; it knows no networks."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule
from hemiola.algorithms import highs
from hemiola.errors import ArgumentError

#: More variables than this are refused before anything is built: HiGHS would not find a first answer in an hour.
MOST_VARIABLES = 50_000


@dataclass(frozen=True)
class Outcome:
    """A solver's result.

    Attributes
    ----------
    schedule : Schedule.
    proved : bool, whether the solver proved that nothing in its model is better; else its time limit was reached.
    seconds_to_solve : float, the wall time that the solver took.
    """

    schedule: Schedule
    proved: bool
    seconds_to_solve: float


@dataclass(frozen=True)
class Answer:
    """Values of all variables, in the order in which they were added."""

    values: NDArray[np.float64]
    proved: bool


class OutOfTimeError(Exception):
    """The time limit was reached before a first answer."""


class Deadline:
    """A time limit that several programs share."""

    def __init__(self, limit_s: float) -> None:
        if not limit_s > 0:
            raise ArgumentError(f"expected a time limit above 0 s, found {limit_s}")
        self._started = time.monotonic()
        self._limit_s = limit_s

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._started

    @property
    def left_s(self) -> float:
        """The remaining time, at least a millisecond: HiGHS takes 0 for "no limit"."""
        return max(1e-3, self._limit_s - self.elapsed_s)


class IntegerProgram:
    """Minimize a linear function under linear rows; variables are numbered as they are added."""

    def __init__(self) -> None:
        self._low: list[float] = []
        self._high: list[float] = []
        self._integral: list[bool] = []
        self._cost: dict[int, float] = {}
        self._places: list[tuple[int, int]] = []
        self._factors: list[float] = []
        self._row_low: list[float] = []
        self._row_high: list[float] = []

    def binaries(self, count: int) -> range:
        """Add variables that are 0 or 1."""
        return self._variables(count, 1.0, integral=True)

    def integers(self, count: int, high: float) -> range:
        """Add whole variables in 0 … high."""
        return self._variables(count, high, integral=True)

    def reals(self, count: int, high: float = math.inf) -> range:
        """Add real variables in 0 … high."""
        return self._variables(count, high, integral=False)

    def _variables(self, count: int, high: float, *, integral: bool) -> range:
        first = len(self._low)
        if first + count > MOST_VARIABLES:
            raise ArgumentError(
                f"expected a program of at most {MOST_VARIABLES:,} variables, found {first + count:,} or more; "
                f"use a smaller topology or fewer chunks, or hemiola.synthesize"
            )
        self._low += [0.0] * count
        self._high += [high] * count
        self._integral += [integral] * count
        return range(first, first + count)

    def fix(self, variable: int, value: float) -> None:
        """Give a variable its value beforehand."""
        self._low[variable] = self._high[variable] = value

    def minimize(self, terms: Iterable[tuple[int, float]]) -> None:
        """Set the objective, pairs of variable and factor."""
        self._cost = dict(terms)

    def require(
        self, terms: Iterable[tuple[int, float]], low: float = -math.inf, high: float = math.inf
    ) -> None:
        """Add a row: low <= sum of factor × variable <= high."""
        row = len(self._row_low)
        for variable, factor in terms:
            self._places.append((row, variable))
            self._factors.append(factor)
        self._row_low.append(low)
        self._row_high.append(high)

    def solve(self, deadline: Deadline, gap: float = 0.0) -> Answer | None:
        """Return the best answer, or None where there is none.

        Raises OutOfTimeError where the deadline came before a first answer. `gap` is the relative distance from the
        optimum at which an answer counts as proved.
        """
        count = len(self._low)
        if count == 0:
            return Answer(np.empty(0), proved=True)
        cost = np.zeros(count)
        cost[list(self._cost)] = list(self._cost.values())
        rows, columns = np.array(self._places, dtype=np.int64).reshape(-1, 2).T
        program = highs.Program(
            cost,
            np.array(self._low),
            np.array(self._high),
            np.array(self._row_low),
            np.array(self._row_high),
            rows,
            columns,
            np.array(self._factors),
            np.array(self._integral),
        )
        found = highs.solve(program, time_limit_s=deadline.left_s, gap=gap)
        if found.values is not None:
            return Answer(found.values, proved=found.is_best)
        if found.is_impossible:
            return None
        raise OutOfTimeError
