# SPDX-License-Identifier: Apache-2.0
"""The exact form of a run: each place of a buffer is a slot of its own, and copies and sums in a rank are transfers.

Moves come in an order in which they could happen one after the other. Each gets the first step in which the schedule's
meaning agrees with that order: after all writes of its source, and not before the reads of its target. So the
schedule ends as the run does, at the price of scratch slots (docs/decisions/0023-scratch-slots.md)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from hemiola._core import Schedule
from hemiola.interchange.layout import Cell, Layout


class Hold:
    """A value that a sender has read and no receiver has taken: it must stay as it is."""

    __slots__ = ("cell",)

    def __init__(self, cell: Cell) -> None:
        self.cell = cell


class ScratchForm:
    """Collects moves as a schedule's rows."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._slots: dict[tuple[int, int], dict[Cell, int]] = defaultdict(dict)
        self._written: dict[tuple[Cell, int], tuple[int, bool]] = {}
        self._read: dict[tuple[Cell, int], int] = {}
        self._holds: dict[Cell, list[Hold]] = defaultdict(list)
        self._chunk_in: dict[Cell, int] = {}
        self._passages = 0
        self._rows: list[tuple[int, int, int, int, bool, int, int]] = []
        for cell, chunk in layout.after():
            self._slots[cell[0], chunk][cell] = 0
        for cell, chunk in layout.before():
            self._begin(cell, chunk)

    def _begin(self, cell: Cell, chunk: int) -> None:
        """Put an input into its slot: the buffer's, or one beside the output of the same chunk."""
        slots = self._slots[cell[0], chunk]
        self._chunk_in[cell] = chunk
        if slots.setdefault(cell, len(slots)):
            output = next(iter(slots))
            self._rows.append((0, cell[0], cell[0], chunk, False, 0, slots[cell]))
            self._written[cell, chunk] = 0, False
            self._read[output, chunk] = 0

    def passage(self, rank: int) -> Cell:
        """Return a new place of a rank that no buffer has."""
        self._passages += 1
        return rank, "passage", self._passages

    def hold(self, cell: Cell) -> Hold:
        """Keep a place's value for a receiver."""
        hold = Hold(cell)
        self._holds[cell].append(hold)
        return hold

    def release(self, hold: Hold) -> None:
        """Let go of a value that its receiver has taken."""
        self._holds[hold.cell].remove(hold)

    def move(self, first: int, source: Cell, target: Cell, chunk: int, *, adds: bool) -> None:
        """Copy a place's chunk to another place, or add it there; not before step `first`."""
        self._save(target)
        slots = self._slots[target[0], chunk]
        into = slots.setdefault(target, self._free(slots))
        step = max(
            first,
            self._written.get((source, chunk), (-1, False))[0] + 1,
            self._read.get((target, chunk), 0),
            self._after_write(target, chunk, adds),
        )
        self._read[source, chunk] = max(step, self._read.get((source, chunk), 0))
        self._written[target, chunk] = step, adds
        self._chunk_in[target] = chunk
        origin = self._slots[source[0], chunk][source]
        self._rows.append((step, source[0], target[0], chunk, adds, origin, into))

    def _after_write(self, target: Cell, chunk: int, adds: bool) -> int:
        """Return the first step in which a place may be written again: sums grow in any order."""
        step, added = self._written.get((target, chunk), (-1, False))
        return step if adds and added else step + 1

    @staticmethod
    def _free(slots: dict[Cell, int]) -> int:
        """Return the next scratch slot: slot 0 is the buffer's."""
        return max(slots.values(), default=0) + 1

    def _save(self, cell: Cell) -> None:
        """Copy a value aside that is to be overwritten and that receivers still wait for."""
        holds = self._holds.pop(cell, [])
        if holds:
            aside = self.passage(cell[0])
            self.move(0, cell, aside, self._chunk_in[cell], adds=False)
            for hold in holds:
                hold.cell = aside
            self._holds[aside] = holds

    def schedule(self) -> Schedule:
        """Return the moves so far as a schedule."""
        steps = {step: index for index, step in enumerate(sorted({row[0] for row in self._rows}))}
        rows = np.array([(steps[row[0]], *row[1:]) for row in self._rows], dtype=np.int64)
        return Schedule.from_transfers(self._layout.collective(), rows.reshape(-1, 7))
