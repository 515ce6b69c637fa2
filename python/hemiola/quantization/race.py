# SPDX-License-Identifier: Apache-2.0
"""Which of two forms of messages is faster, by the times of a job's own calls. All ranks come to the same answer."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: Leaves every rank the least of all ranks' numbers, in place.
Least = Callable[[NDArray[np.float64]], object]
#: Tells when a call began and ended, in nanoseconds; 0 while it has not ended.
Times = Callable[[], tuple[int, int]]

#: Calls of each form before one is preferred. The first one touches memory, so a median counts.
TRIES = 3
#: The share of time that later tries of the slower form may cost.
SHARE = 0.01
#: Calls between tries at least: two agreements of 0.3 ms cost SHARE of so many calls of 1 ms.
LEAST_CALLS = 64


class Race:
    """Eight bits against plain messages, for calls of one size.

    Each form has a few calls. Then the faster one has many, after which the other one is tried again. So a form that
    becomes the slower one is left. Ranks agree before they change forms: a call takes as long as its shortest rank
    says, since others may have waited for a late one.
    """

    def __init__(self) -> None:
        self.is_coded = True
        self._left = TRIES
        self._is_try = True
        self._running: deque[Times] = deque(maxlen=TRIES)
        self._taken: dict[bool, deque[float]] = {coded: deque(maxlen=TRIES) for coded in (True, False)}

    def next(self, least: Least) -> bool:
        """Say whether the next call goes as eight bits. All ranks ask before each call."""
        if self._left == 0:
            self._take_times(least)
            self._change()
        self._left -= 1
        return self.is_coded

    def note(self, times: Times) -> None:
        """Take the times of the call that `next` decided. They are read once later calls have begun."""
        self._running.append(times)

    def _take_times(self, least: Least) -> None:
        taken = np.full(TRIES, np.inf)
        for place, times in enumerate(self._running):
            began_ns, ended_ns = times()
            if ended_ns:
                taken[place] = 1e-9 * (ended_ns - began_ns)
        self._running.clear()
        least(taken)
        self._taken[self.is_coded].extend(taken[np.isfinite(taken)].tolist())

    def _change(self) -> None:
        """Begin the next calls: of the form with the least median, or one of the other form."""
        if not all(self._taken.values()):
            self.is_coded, self._left = not self.is_coded, TRIES
            return
        medians = {coded: statistics.median(taken) for coded, taken in self._taken.items()}
        if self._is_try:
            self.is_coded = medians[True] < medians[False]
            slower, faster = medians[not self.is_coded], medians[self.is_coded]
            self._left = max(LEAST_CALLS, math.ceil((slower / faster - 1) / SHARE))
        else:
            self.is_coded, self._left = not self.is_coded, 1
        self._is_try = not self._is_try
