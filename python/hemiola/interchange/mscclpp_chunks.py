# SPDX-License-Identifier: Apache-2.0
"""A MSCCL++ plan's work on chunks instead of numbers: the contents at its end, and the moves that made them.

Where several thread blocks share an operation, each chunk is cut into as many pieces, and each block moves its own. A
move's step is the number of messages that its value has behind it."""

from __future__ import annotations

from collections import defaultdict

from hemiola.export import mscclpp_run
from hemiola.export.mscclpp_document import MEANINGS, ExecutionPlan, Operation, Span
from hemiola.interchange.contents import NOTHING, Contents, Value
from hemiola.interchange.layout import Cell, Layout
from hemiola.interchange.scratch_form import ScratchForm


class ChunkWork(mscclpp_run.Work):
    """Follows the chunks of a run.

    layout : of the pieces.
    form : collects the exact form of the moves, or None.
    """

    def __init__(self, plan: ExecutionPlan, layout: Layout, form: ScratchForm | None) -> None:
        self._plan, self._layout, self._form = plan, layout, form
        self.contents = Contents(layout)
        self._level: dict[Cell, int] = defaultdict(int)

    def move(self, number: int, operation: Operation) -> None:
        reads = [self._cells(span, operation) for span in operation.reads]
        writes = [self._cells(span, operation) for span in operation.writes]
        if MEANINGS[operation.name].sums:
            groups = list(zip(zip(*reads, strict=True), zip(*writes, strict=True), strict=True))
        else:
            groups = [
                ((source,), (target,))
                for place, targets in enumerate(writes)
                for source, target in zip(reads[min(place, len(reads) - 1)], targets, strict=True)
            ]
        rank = self._plan.blocks[number].rank
        made = [self._gather(rank, sources) for sources, _ in groups]
        for (sources, targets), (value, level, holder) in zip(groups, made, strict=True):
            self._record(sources, targets, value)
            for target in targets:
                self._write(target, value, level, holder)

    def _cells(self, span: Span, operation: Operation) -> list[Cell]:
        return [self._layout.cell(*cell) for cell in mscclpp_run.cells(self._plan, operation, span)]

    def _gather(self, rank: int, sources: tuple[Cell, ...]) -> tuple[Value, int, int]:
        """Return the sum of some pieces, the step in which it is there, and the rank that then has it."""
        if len(sources) == 1:
            cell = sources[0]
            return self.contents.get(cell), self._level[cell], cell[0]
        total: Value | None = None
        level = 0
        for cell in sorted(sources, key=lambda cell: cell[0] != rank):
            value, step = self.contents.get(cell), self._level[cell]
            if cell[0] != rank:
                value = self.contents.send(value, step, cell[0], rank, adds=total is not None)
                step += 1
            total = value if total is None else self.contents.add(total, value)
            level = max(level, step)
        return total or NOTHING, level, rank

    def _write(self, target: Cell, value: Value, level: int, holder: int) -> None:
        if target[0] != holder:
            value = self.contents.send(value, level, holder, target[0], adds=False)
            level += 1
        self.contents.put(target, value)
        self._level[target] = level

    def _record(self, sources: tuple[Cell, ...], targets: tuple[Cell, ...], value: Value) -> None:
        """Note the moves in their exact form."""
        if self._form is None or value.chunk < 0:
            return
        form, chunk = self._form, value.chunk
        total = sources[0]
        if len(sources) > 1:
            total = next((cell for cell in targets if cell in sources), form.passage(sources[0][0]))
            if total not in sources:
                form.move(0, sources[0], total, chunk, adds=False)
            for cell in sources[0 if total in sources else 1 :]:
                if cell != total:
                    form.move(0, cell, total, chunk, adds=True)
        for target in targets:
            if target != total:
                form.move(0, total, target, chunk, adds=False)
