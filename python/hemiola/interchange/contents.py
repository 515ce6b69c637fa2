# SPDX-License-Identifier: Apache-2.0
"""The contents of all ranks' memory in an abstract run: for each place the chunk, and the ranks of its values.

Values are followed, not computed. Each message becomes a transfer. Where a value lands in scratch and is added to
another later, the message itself is said to add: that is the schedule's natural form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hemiola._core import Schedule
from hemiola.interchange.artefact import MOST_FAULTS, Fault
from hemiola.interchange.layout import Cell, Layout


class Value(NamedTuple):
    """The content of a place.

    chunk : its number.
    ranks, repeated : the ranks with a value in it, and with several, as bits.
    transfer : the transfer that has brought it to a place of passage, or -1.
    """

    chunk: int
    ranks: int
    repeated: int
    transfer: int = -1


#: The value of a place that holds nothing, or a mixture of chunks.
NOTHING = Value(-1, 0, 0)


class Contents:
    """The memory of all ranks, and the transfers so far."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._homes = {cell for cell, _ in layout.after()}
        self._held: dict[Cell, Value] = {}
        for cell, chunk in layout.before():
            self._held[cell] = Value(chunk, 1 << cell[0], 0)
            self._homes.add(cell)
        self._steps: list[int] = []
        self._rows: list[tuple[int, int, int]] = []
        self._adds: list[bool] = []

    def get(self, cell: Cell) -> Value:
        """Return the value of a place."""
        return self._held.get(cell, NOTHING)

    def put(self, cell: Cell, value: Value) -> None:
        """Overwrite a place. A value that has reached input or output is no longer in passage."""
        self._held[cell] = value._replace(transfer=-1) if cell in self._homes else value

    def send(self, value: Value, step: int, src: int, dst: int, *, adds: bool) -> Value:
        """Record a transfer; return the value as it arrives."""
        if value.chunk < 0:
            return value
        self._steps.append(step)
        self._rows.append((src, dst, value.chunk))
        self._adds.append(adds)
        return value._replace(transfer=-1 if adds else len(self._steps) - 1)

    def add(self, left: Value, right: Value) -> Value:
        """Return the sum of two values. The messages that have brought them are said to add."""
        if left.chunk != right.chunk or left.chunk < 0:
            return NOTHING
        for value in (left, right):
            if value.transfer >= 0:
                self._adds[value.transfer] = True
        repeated = left.repeated | right.repeated | left.ranks & right.ranks
        return Value(left.chunk, left.ranks | right.ranks, repeated)

    @property
    def step_count(self) -> int:
        """The last step of a transfer, plus one."""
        return max(self._steps, default=-1) + 1

    def schedule(self) -> Schedule:
        """Return the transfers as a schedule: those that are equal are one."""
        rows = sorted(
            {(step, *row, adds) for step, row, adds in zip(self._steps, self._rows, self._adds, strict=True)}
        )
        table = np.array(rows, dtype=np.int64).reshape(-1, 5)
        return Schedule.from_transfers(self._layout.collective(), table)

    def faults(self) -> tuple[Fault, ...]:
        """Return the first places of the outputs that are wrong."""
        everybody = (1 << self._layout.rank_count) - 1
        found = []
        for cell, chunk in self._layout.after():
            wanted = everybody if self._layout.adds else 1 << self._layout.owner(chunk)
            fault = _fault(cell, chunk, wanted, self.get(cell), self.step_count)
            if fault is not None:
                found.append(fault)
                if len(found) > MOST_FAULTS:
                    break
        return tuple(found)


def _fault(cell: Cell, chunk: int, wanted: int, value: Value, steps: int) -> Fault | None:
    rank, buffer, offset = cell
    where = f"{buffer}[{offset}] of rank {rank}"
    if value.chunk < 0:
        return Fault("missing_chunk", steps, rank, chunk, f"{where} holds nothing; expected chunk {chunk}")
    if value.chunk != chunk:
        return Fault(
            "missing_chunk", steps, rank, chunk, f"{where} holds chunk {value.chunk}; expected chunk {chunk}"
        )
    if missing := wanted & ~value.ranks:
        what = f"{where} lacks the values of {_ranks(missing)} in chunk {chunk}"
        return Fault("missing_contribution", steps, rank, chunk, what)
    if value.repeated:
        what = f"{where} has the values of {_ranks(value.repeated)} more than once in chunk {chunk}"
        return Fault("counted_twice", steps, rank, chunk, what)
    if surplus := value.ranks & ~wanted:
        what = f"{where} has values of {_ranks(surplus)} in chunk {chunk}, which is not a sum"
        return Fault("counted_twice", steps, rank, chunk, what)
    return None


def _ranks(bits: int, most: int = 4) -> str:
    """Name the ranks of a set of bits."""
    ranks = [rank for rank in range(bits.bit_length()) if bits >> rank & 1]
    named = ", ".join(map(str, ranks[:most])) + (", …" if len(ranks) > most else "")
    return f"rank {named}" if len(ranks) == 1 else f"ranks {named}"
