# SPDX-License-Identifier: Apache-2.0
"""Finds faults that interleavings alone do not show: accesses of one place that nothing in a MSCCL++ plan orders.

Every thread block has a vector clock. Its own part counts the stretches between two `nop`, the meetings of its
threads: within a stretch nothing orders its operations, for threads run apart. A signal carries the clock of the
last meeting; a wait adds the clock that it receives to the next. The ranks' starts count as thread blocks, too: a
rank's memory belongs to its caller until that rank has started. Cost: operations × thread blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hemiola.export.last_accesses import Access, Clock, LastAccesses
from hemiola.export.mscclpp_document import MEANINGS, ExecutionPlan, Operation, Span
from hemiola.export.mscclpp_run import Cell, Run, Work, cells

_PACKETS = ("ppkt", "cpkt", "rppkt", "upkt", "repkt", "respkt", "recpkt", "recspkt")


def races(plan: ExecutionPlan, most: int = 10, *, balanced: bool = True) -> list[str]:
    """Find accesses that nothing orders, thread blocks that wait for ever, and signals that nobody awaits.

    Parameters
    ----------
    plan : as `mscclpp_document.read` returns it.
    most : how many findings are enough.
    balanced : whether a signal that is left over counts, which would be taken for one of the next call.

    Returns
    -------
    list of str, a sentence for each finding; empty where the order of all accesses is certain.

    Notes
    -----
    One run suffices: the k-th wait of a channel always takes the k-th signal. Packets carry their own order and are
    passed over. A semaphore or a barrier orders as the run meets it.
    """
    clocks = _Clocks(plan, most)
    run = Run(plan, clocks)
    found = clocks.found
    if not run.go():
        found.append(run.standing())
    if not found and balanced:
        found.extend(run.left_over())
    if not found:
        found.extend(clocks.after_the_end())
    return found[:most]


class _Clocks(Work):
    def __init__(self, plan: ExecutionPlan, most: int) -> None:
        self.found: list[str] = []
        self._plan, self._most = plan, most
        count = len(plan.blocks)
        self._met = np.zeros(
            (count, count + plan.rank_count), np.int32
        )  #: the knowledge of all threads of a block
        for number, block in enumerate(plan.blocks):
            self._met[number, count + block.rank] = 1
        self._coming = self._met.copy()  #: their knowledge after their next meeting
        self._coming[range(count), range(count)] = 1
        # before all others the caller of a cell's rank wrote it
        self._memory: LastAccesses[Cell] = LastAccesses(lambda cell: Access(count + cell[0], 1))

    def tell(self, number: int, operation: Operation) -> Clock:
        clocks = self._coming if operation.name in MEANINGS or operation.name == "barrier" else self._met
        told: Clock = clocks[number].copy()
        return told

    def learn(self, number: int, told: list[Any]) -> None:
        for clock in told:
            if clock is not None:
                np.maximum(self._coming[number], clock, out=self._coming[number])

    def meet(self, number: int) -> None:
        self._met[number] = self._coming[number]
        self._coming[number, number] += 1

    def move(self, number: int, operation: Operation) -> None:
        if operation.name in _PACKETS or len(self.found) >= self._most:
            return
        known, access = self._met[number], Access(number, int(self._coming[number, number]))
        written = set(self._cells(operation, operation.writes))
        for cell in self._cells(operation, operation.reads):
            if cell not in written:  # a thread reads and overwrites the same element
                self._report(number, "reads", cell, self._memory.read(cell, access, known))
        for cell in written:
            self._report(number, "writes", cell, self._memory.write(cell, access, known))

    def after_the_end(self) -> Iterator[str]:
        """Yield a sentence for each access of a rank's memory that may go on after the rank is done."""
        known = np.zeros((self._plan.rank_count, self._met.shape[1]), np.int32)
        for number, block in enumerate(self._plan.blocks):
            np.maximum(known[block.rank], self._coming[number], out=known[block.rank])
        reads = ((cell, one) for cell, of in self._memory.read_since.items() for one in of.values())
        for does, accesses in (("writes", self._memory.wrote.items()), ("reads", reads)):
            for cell, one in accesses:
                if known[cell[0], one.line] < one.time:
                    yield f"{self._name(one.line)} {does} {self._place(cell)}, perhaps after that rank is done"

    def _report(self, number: int, does: str, cell: Cell, others: Iterator[Access]) -> None:
        for other in others:
            when = "before that rank has started"
            if other.line < len(self._plan.blocks):
                when = f"while {self._name(other.line)} uses it"
            self.found.append(f"{self._name(number)} {does} {self._place(cell)}, perhaps {when}")

    def _cells(self, operation: Operation, spans: tuple[Span, ...]) -> Iterator[Cell]:
        return (cell for span in spans for cell in cells(self._plan, operation, span))

    def _name(self, number: int) -> str:
        block = self._plan.blocks[number]
        return f"rank {block.rank}'s thread block {block.number}"

    def _place(self, cell: Cell) -> str:
        return f"chunk {cell[2] // self._plan.parts} of rank {cell[0]}'s '{cell[1]}'"
