# SPDX-License-Identifier: Apache-2.0
"""A roll call that a rank missed costs it patience: what is left for the next one is less."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola.communicator.monitored_barrier import CAME, MISSING, RollCall


class Missed(RollCall):
    """Misses some roll calls, each of which takes a while, and comes to the next."""

    def __init__(self, missed: int, each_s: float) -> None:
        core: Any = type("Core", (), {"rank": 0, "rank_count": 2})()
        super().__init__(core)
        self.missed, self.each_s = missed, each_s
        self.patiences_s: list[float] = []

    def found(self, limit_s: float, patience_s: float) -> NDArray[np.uint8]:
        self.patiences_s.append(patience_s)
        time.sleep(self.each_s)
        state = MISSING if len(self.patiences_s) <= self.missed else CAME
        return np.array([state, CAME], np.uint8)


def test_each_missed_roll_call_takes_its_time_from_the_patience_that_is_left() -> None:
    calls = Missed(2, each_s=0.05)
    found = calls.found_together(limit_s=1.0, patience_s=10.0)
    assert list(found) == [CAME, CAME]
    first, second, third = calls.patiences_s
    # Given 10 s and calls of 50 ms at least. Expect that each one has that much less than the one before.
    assert 9.9 < first <= 10.0
    assert second <= first - 0.05
    assert third <= second - 0.05
    assert third > 0


def test_patience_that_is_used_up_is_a_short_one_not_a_negative_one() -> None:
    calls = Missed(2, each_s=0.05)
    calls.found_together(limit_s=1.0, patience_s=0.01)
    assert 0 < calls.patiences_s[1] < 1e-3
    assert 0 < calls.patiences_s[2] < 1e-3
