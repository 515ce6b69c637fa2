# SPDX-License-Identifier: Apache-2.0
"""HiGHS, which solves linear and mixed-integer programs; it knows no networks.

Programs are solved on one thread: the answer to one program is then the same on every machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hemiola.algorithms.number_arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Program:
    """Minimize `cost`·x where low <= x <= high, and row_low <= rows·x <= row_high.

    Attributes
    ----------
    cost, low, high : arrays of float, one of each per variable; infinite where there is no bound.
    row_low, row_high : arrays of float, one of each per row.
    row, column : arrays of int, the places of factors, row by row.
    factor : array of float.
    integral : array of bool, whether a variable is a whole number; empty where none is.
    """

    cost: Floats
    low: Floats
    high: Floats
    row_low: Floats
    row_high: Floats
    row: Integers
    column: Integers
    factor: Floats
    integral: np.typing.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))


@dataclass(frozen=True, eq=False)
class Solution:
    """Values of the variables, by how much the cost changes per unit of each row's bound, and whether it is the best.

    `values` is None where none were found; `is_impossible` says that there are none."""

    values: Floats | None
    row_prices: Floats
    is_best: bool
    is_impossible: bool


def solve(program: Program, *, time_limit_s: float = math.inf, gap: float = 0.0) -> Solution:
    """Return the best solution, or the best that was found in time; `gap` is the relative distance at which one counts
    as best."""
    import highspy  # here, because loading it takes long

    solver = _silent(highspy)
    for option, value in (("threads", 1), ("time_limit", time_limit_s), ("mip_rel_gap", gap)):
        solver.setOptionValue(option, value)
    solver.passModel(_model(highspy, program))
    solver.run()
    status, found = solver.getModelStatus(), solver.getSolution()
    return Solution(
        np.array(found.col_value) if found.value_valid else None,
        np.array(found.row_dual),
        is_best=status == highspy.HighsModelStatus.kOptimal,
        is_impossible=status == highspy.HighsModelStatus.kInfeasible,
    )


def _silent(highspy: Any) -> Any:
    """Return a solver that prints nothing, its version neither: a command's JSON goes to the same place."""

    class Silent(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.silent()  # before the first word, which HiGHS says when callbacks begin

    solver = Silent()
    solver.silent()
    return solver


def _model(highspy: Any, program: Program) -> Any:
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.cost), len(program.row_low)
    model.col_cost_, model.col_lower_, model.col_upper_ = program.cost, program.low, program.high
    model.row_lower_, model.row_upper_ = program.row_low, program.row_high
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_ = np.searchsorted(program.row, np.arange(len(program.row_low) + 1))
    matrix.index_, matrix.value_ = program.column, program.factor
    if program.integral.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        model.integrality_ = [kinds[is_whole] for is_whole in program.integral.tolist()]
    return model


def cheapest_shares(cost: Floats, at_most_zero: Floats, adds_up: Floats) -> tuple[Floats, Floats]:
    """Minimize `cost`·x where x >= 0, at_most_zero·x <= 0 and adds_up·x = 1, which some x must fulfil.

    Parameters
    ----------
    cost, adds_up : arrays of float, one of each per variable.
    at_most_zero : array of float, rows × variables.

    Returns
    -------
    tuple of arrays : x, and how much the cost falls per unit more of each row's bound, >= 0.
    """
    count, rows = len(cost), len(at_most_zero)
    matrix = np.vstack([at_most_zero, adds_up])
    row, column = np.nonzero(matrix)
    found = solve(
        Program(
            cost,
            np.zeros(count),
            np.full(count, math.inf),
            np.append(np.full(rows, -math.inf), 1.0),
            np.append(np.zeros(rows), 1.0),
            row,
            column,
            matrix[row, column],
        )
    )
    assert found.values is not None, "some shares are feasible"
    return found.values, np.maximum(-found.row_prices[:-1], 0.0)
