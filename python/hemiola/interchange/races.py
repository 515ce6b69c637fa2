# SPDX-License-Identifier: Apache-2.0
"""Vector clocks: which accesses of a place nothing orders.

Each line of work (a thread block) has a clock with an entry for each line: how much of that line is over for sure. An
access races with an earlier one of the same place where the clock does not cover it. Of a place only the last write
and the reads since then count, as in FastTrack."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hemiola.interchange.layout import Cell

Clock = NDArray[Any]


class Access(NamedTuple):
    """One access: the line of work, its time there, and the number of the step."""

    line: int
    time: int
    step: int


class Race(NamedTuple):
    """Two steps that use one place at once, one of them to write."""

    cell: Cell
    first: int
    second: int


class Clocks:
    """The clocks of all lines, and the last accesses of each place."""

    def __init__(self, line_count: int) -> None:
        self._clocks = np.zeros((line_count, line_count), np.int32)
        self._wrote: dict[Cell, Access] = {}
        self._read: dict[Cell, dict[int, Access]] = defaultdict(dict)
        self.race: Race | None = None

    def begin(self, line: int, after: list[Clock]) -> None:
        """Begin a step of a line, once all that has the clocks `after` is over."""
        clock = self._clocks[line]
        for other in after:
            np.maximum(clock, other, out=clock)
        clock[line] += 1

    def now(self, line: int) -> Clock:
        """Return a line's clock, for those that wait for its present step."""
        now: Clock = self._clocks[line].copy()
        return now

    def read(self, line: int, cell: Cell, step: int) -> None:
        """Note that a line's present step reads a place."""
        wrote = self._wrote.get(cell)
        if wrote is not None:
            self._check(line, cell, wrote, step)
        self._read[cell][line] = self._access(line, step)

    def write(self, line: int, cell: Cell, step: int) -> None:
        """Note that a line's present step writes a place."""
        wrote = self._wrote.get(cell)
        if wrote is not None:
            self._check(line, cell, wrote, step)
        for access in self._read.pop(cell, {}).values():
            self._check(line, cell, access, step)
        self._wrote[cell] = self._access(line, step)

    def _access(self, line: int, step: int) -> Access:
        return Access(line, int(self._clocks[line, line]), step)

    def _check(self, line: int, cell: Cell, earlier: Access, step: int) -> None:
        if self.race is None and self._clocks[line, earlier.line] < earlier.time:
            self.race = Race(cell, earlier.step, step)
