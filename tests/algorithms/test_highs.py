# SPDX-License-Identifier: Apache-2.0
"""Linear and integer programs whose best answers can be seen, and a solver that prints nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hemiola.algorithms import highs


def test_shares_are_those_that_leave_every_port_equally_busy() -> None:
    # Given two ports that take 2 and 3 seconds for a whole buffer, and cost 1 per second of the busier one.
    # Derivation: 2·x = 3·y and x + y = 1, so x = 3/5 and y = 2/5, and both take 6/5. Per second that the first may take
    # longer, x grows by 1/5 and the time falls by 3/5: the price of the first port is 3/5, of the second 2/5.
    shares, prices = highs.cheapest_shares(
        np.array([0.0, 0.0, 1.0]), np.array([[2.0, 0.0, -1.0], [0.0, 3.0, -1.0]]), np.array([1.0, 1.0, 0.0])
    )
    assert shares == pytest.approx([0.6, 0.4, 1.2])
    assert prices == pytest.approx([0.6, 0.4])


def knapsack(room: float, **wanted: Any) -> highs.Program:
    """Most worth within some room: things of sizes 3, 2, 2 and worths 5, 3, 3."""
    return highs.Program(
        cost=np.array([-5.0, -3.0, -3.0]),
        low=np.zeros(3),
        high=np.ones(3),
        row_low=np.array([wanted.get("least", -math.inf)]),
        row_high=np.array([room]),
        row=np.zeros(3, np.int64),
        column=np.arange(3),
        factor=np.array([3.0, 2.0, 2.0]),
        integral=np.ones(3, np.bool_),
    )


def test_whole_variables_are_whole() -> None:
    # Of room 4, parts would fill it with the first thing and half of another, worth 6.5; whole things are worth 6.
    found = highs.solve(knapsack(4.0))
    assert found.is_best
    assert found.values == pytest.approx([0.0, 1.0, 1.0])


def test_a_program_without_an_answer_says_so() -> None:
    found = highs.solve(knapsack(9.0, least=8.0))
    assert found.values is None
    assert found.is_impossible


def test_the_solver_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    highs.solve(knapsack(4.0))
    assert capfd.readouterr() == ("", "")
