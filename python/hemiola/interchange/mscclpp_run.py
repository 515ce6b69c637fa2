# SPDX-License-Identifier: Apache-2.0
"""One run of a MSCCL++ plan on chunks instead of numbers: the contents at its end, and the moves that made them.

Thread blocks take turns; each goes on until it must wait. Where several share an operation, each chunk is cut into as
many pieces, and each block moves its own. A move's step is the number of messages that its value has behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from hemiola.export.mscclpp_document import MEANINGS, SIGNALS, WAITS, Block, ExecutionPlan, Operation, Span
from hemiola.interchange.contents import NOTHING, Contents, Value
from hemiola.interchange.layout import Cell, Layout
from hemiola.interchange.scratch_form import ScratchForm
from hemiola.topology.place import Place

_WAITS_SHOWN = 4


class PlanRun:
    """Runs all thread blocks.

    layout : of the pieces, or None for a plan whose collective promises nothing that is known.
    form : collects the exact form of the moves, or None.
    """

    def __init__(self, plan: ExecutionPlan, layout: Layout, form: ScratchForm | None, place: Place) -> None:
        self._plan, self._layout, self._form, self._place = plan, layout, form, place
        self.contents = Contents(layout)
        self._level: dict[Cell, int] = defaultdict(int)
        self._packets: set[Cell] = set()
        self._signals: dict[tuple[int, str, int], int] = defaultdict(int)
        self._semaphores = {
            (rank, number): value
            for rank, values in enumerate(plan.semaphores)
            for number, value in enumerate(values)
        }
        self._met: dict[tuple[int, int], list[int]] = defaultdict(list)

    def run(self) -> None:
        """Run to the end; raise FormatError where thread blocks wait for ever."""
        position = dict.fromkeys(range(len(self._plan.blocks)), 0)
        while position:
            moved = False
            for number, at in list(position.items()):
                end = self._go_on(number, at)
                moved |= end > at
                position[number] = end
                if end == len(self._plan.blocks[number].operations):
                    del position[number]
                    moved = True
            if not moved:
                self._fail_standing(position)

    def _go_on(self, number: int, at: int) -> int:
        """Do a block's operations from one on; return the first that must wait, or the end."""
        block = self._plan.blocks[number]
        while at < len(block.operations) and self._may_begin(number, block, at):
            self._do(block, block.operations[at])
            at += 1
        return at

    def _may_begin(self, number: int, block: Block, at: int) -> bool:
        operation = block.operations[at]
        name = operation.name
        if name in WAITS:
            return all(self._signals[channel.end] > 0 for channel in operation.channels)
        if name == "sem_acquire":
            return all(self._semaphores[block.rank, each] > 0 for each in operation.semaphores)
        if name == "barrier":
            return self._meets(number, block, at)
        first = MEANINGS[name].awaits if name in MEANINGS else None
        spans = () if first is None else operation.reads[first:]
        return all(cell in self._packets for span in spans for cell in self._cells(span, operation))

    def _meets(self, number: int, block: Block, at: int) -> bool:
        """Have a block come to a barrier; return whether its round there is complete."""
        barrier, count = block.operations[at].barrier
        came = self._met[block.rank, barrier]
        mine = sum(
            operation.name == "barrier" and operation.barrier[0] == barrier
            for operation in block.operations[: at + 1]
        )
        if came.count(number) < mine:
            came.append(number)
        return len(came) >= mine * count

    def _do(self, block: Block, operation: Operation) -> None:
        name = operation.name
        if name in WAITS:
            for channel in operation.channels:
                self._signals[channel.end] -= 1
        elif name in ("sem_acquire", "sem_release"):
            for each in operation.semaphores:
                self._semaphores[block.rank, each] += 1 if name == "sem_release" else -1
        elif name in MEANINGS:
            self._move(block.rank, operation)
        if name in SIGNALS or (name in MEANINGS and MEANINGS[name].signals):
            for channel in operation.channels:
                self._signals[channel.other_end] += 1

    def _cells(self, span: Span, operation: Operation) -> Iterator[Cell]:
        """Yield the pieces of a span that a block's share of an operation touches."""
        pieces = self._plan.parts
        share = pieces // operation.parts
        for chunk in range(span.index, span.index + span.size):
            begin = chunk * pieces + operation.part * share
            for piece in range(begin, begin + share):
                yield self._layout.cell(span.rank, span.buffer, piece)

    def _move(self, rank: int, operation: Operation) -> None:
        meaning = MEANINGS[operation.name]
        reads = [list(self._cells(span, operation)) for span in operation.reads]
        writes = [list(self._cells(span, operation)) for span in operation.writes]
        if meaning.sums:
            groups = list(zip(zip(*reads, strict=True), zip(*writes, strict=True), strict=True))
        else:
            groups = [
                ((source,), (target,))
                for place, targets in enumerate(writes)
                for source, target in zip(reads[min(place, len(reads) - 1)], targets, strict=True)
            ]
        made = [self._gather(rank, sources) for sources, _ in groups]
        for (sources, targets), (value, level, holder) in zip(groups, made, strict=True):
            self._record(sources, targets, value)
            for target in targets:
                self._write(target, value, level, holder)
        if meaning.marks is not None:
            self._packets.update(cell for cells in writes[meaning.marks :] for cell in cells)

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

    def _fail_standing(self, position: dict[int, int]) -> None:
        """Raise FormatError that names the operations that wait for ever."""
        named = []
        for number, at in list(position.items())[:_WAITS_SHOWN]:
            block = self._plan.blocks[number]
            operation = block.operations[at]
            peers = sorted({channel.peer for channel in operation.channels})
            whom = f" for rank {', '.join(map(str, peers))}" if peers else ""
            where = f"rank {block.rank}, thread block {block.number}, operation {at}"
            named.append(f"{where} ({operation.name}) waits{whom}")
        more = f"; and {len(position) - len(named)} more" if len(position) > len(named) else ""
        self._place.fail(f"no run ends, because thread blocks wait for ever: {'; '.join(named)}{more}")
