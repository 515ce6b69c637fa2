# SPDX-License-Identifier: Apache-2.0
"""Finds faults that interleavings alone do not show: accesses of one place that nothing in a MSCCL++ plan orders.

Every thread block has a vector clock. Its own part counts the stretches between two `nop`, the meetings of its
threads: within a stretch nothing orders its operations, for threads run apart. A signal carries the clock of the
last meeting; a wait adds the clock that it receives to the next. The ranks' starts count as thread blocks, too: a
rank's memory belongs to its caller until that rank has started. Cost: operations × thread blocks.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hemiola.export.mscclpp_document import MEANINGS, SIGNALS, WAITS, Block, ExecutionPlan, Operation, Span

Clock = NDArray[np.int64]
_Cell = tuple[int, str, int, int]
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
    run = _Clocks(plan, most)
    run.go()
    if not run.found:
        run.look_at_the_end(balanced)
    return run.found[:most]


class _Clocks:
    def __init__(self, plan: ExecutionPlan, most: int) -> None:
        self.found: list[str] = []
        self._plan, self._most = plan, most
        count = len(plan.blocks)
        self._met: list[Clock] = []  #: the knowledge of all threads of a block
        self._coming: list[Clock] = []  #: their knowledge after their next meeting
        for number, block in enumerate(plan.blocks):
            clock = np.zeros(count + plan.rank_count, np.int64)
            clock[count + block.rank] = 1
            self._met.append(clock)
            self._coming.append(clock.copy())
            self._coming[number][number] = 1
        self._place = [0] * count
        self._sent: defaultdict[tuple[int, str, int], deque[Clock]] = defaultdict(deque)
        self._released: defaultdict[tuple[int, int], deque[Clock]] = defaultdict(deque)
        self._waiting: defaultdict[tuple[int, int, int], dict[int, Clock]] = defaultdict(dict)
        self._turn: Counter[tuple[int, int]] = Counter()
        self._writer: dict[_Cell, tuple[int, int]] = {}
        self._readers: defaultdict[_Cell, dict[int, int]] = defaultdict(dict)
        for rank, all_of in enumerate(plan.semaphores):
            for number, value in enumerate(all_of):
                self._released[rank, number].extend([np.zeros(count + plan.rank_count, np.int64)] * value)

    def go(self) -> None:
        """Act, block after block, as far as each gets, until all are done or none gets on."""
        left = set(range(len(self._plan.blocks)))
        moved = True
        while left and moved and len(self.found) < self._most:
            moved = False
            for number in sorted(left):
                operations = self._plan.blocks[number].operations
                while self._place[number] < len(operations) and self._acts(
                    number, operations[self._place[number]]
                ):
                    self._place[number] += 1
                    moved = True
                if self._place[number] == len(operations):
                    left.discard(number)
        if left and not moved:
            block = self._plan.blocks[min(left)]
            self.found.append(
                f"{_name(block)} waits for ever at operation {self._place[min(left)]}, and so do {len(left) - 1} others"
            )

    def look_at_the_end(self, balanced: bool) -> None:
        """Find signals left over, and accesses of a rank's memory that may go on after the rank is done."""
        if balanced:
            for (rank, kind, number), left in self._sent.items():
                if left:
                    self.found.append(
                        f"rank {rank} leaves {len(left)} signals of {kind} channel {number} unawaited"
                    )
            for (rank, number), left in self._released.items():
                if len(left) != self._plan.semaphores[rank][number]:
                    self.found.append(f"rank {rank} leaves semaphore {number} at {len(left)}")
        known = [np.zeros_like(self._met[0]) for _ in range(self._plan.rank_count)] if self._met else []
        for number, block in enumerate(self._plan.blocks):
            np.maximum(known[block.rank], self._coming[number], out=known[block.rank])
        for does, accesses in (
            ("writes", ((cell, *last) for cell, last in self._writer.items())),
            ("reads", ((cell, *last) for cell, of in self._readers.items() for last in of.items())),
        ):
            for cell, number, when in accesses:
                if known[cell[0]][number] < when:
                    after = f"{_place(cell)}, perhaps after that rank is done"
                    self.found.append(f"{self._access(number, does)} {after}")

    def _acts(self, number: int, operation: Operation) -> bool:
        """Act; return whether the operation need not wait."""
        block, name = self._plan.blocks[number], operation.name
        if name in WAITS:
            ends = [channel.end for channel in operation.channels]
            needed = Counter(ends)
            if any(len(self._sent[end]) < count for end, count in needed.items()):
                return False
            self._learn(number, [self._sent[end].popleft() for end in ends])
        elif name == "sem_acquire":
            keys = [(block.rank, each) for each in operation.semaphores]
            if not all(self._released[key] for key in keys):
                return False
            self._learn(number, [self._released[key].popleft() for key in keys])
        elif name == "barrier":
            return self._meets_others(number, operation)
        elif name == "nop":
            self._meet(number)
        elif name in MEANINGS:
            self._touch(number, operation)
        if name in SIGNALS or (name in MEANINGS and MEANINGS[name].signals):
            after = self._coming[number] if name in MEANINGS else self._met[number]
            for channel in operation.channels:
                self._sent[channel.other_end].append(after.copy())
        elif name == "sem_release":
            for each in operation.semaphores:
                self._released[block.rank, each].append(self._met[number].copy())
        return True

    def _learn(self, number: int, clocks: list[Clock]) -> None:
        for clock in clocks:
            np.maximum(self._coming[number], clock, out=self._coming[number])

    def _meet(self, number: int) -> None:
        self._met[number] = self._coming[number].copy()
        self._coming[number][number] += 1

    def _meets_others(self, number: int, operation: Operation) -> bool:
        """Act at a barrier; return whether all others have come there."""
        which, count = operation.barrier
        waiting = self._waiting[self._plan.blocks[number].rank, which, self._turn[number, which]]
        waiting.setdefault(number, self._coming[number].copy())
        if len(waiting) < count:
            return False
        self._learn(number, list(waiting.values()))
        self._meet(number)
        self._turn[number, which] += 1
        return True

    def _touch(self, number: int, operation: Operation) -> None:
        if operation.name in _PACKETS:
            return
        known, now = self._met[number], int(self._coming[number][number])
        read = set(self._cells(operation, operation.reads))
        written = set(self._cells(operation, operation.writes))
        for cell in read:
            writer, when = self._last_write(cell)
            if known[writer] < when:
                self._report(number, "reads", writer, "writes", cell)
        for cell in written:
            self._writes(cell, number, now, known)
        for cell in read - written:  # a thread reads and overwrites the same element
            self._readers[cell][number] = now

    def _writes(self, cell: _Cell, number: int, now: int, known: Clock) -> None:
        writer, when = self._last_write(cell)
        if known[writer] < when:
            self._report(number, "writes", writer, "writes", cell)
        for reader, when in self._readers.pop(cell, {}).items():
            if known[reader] < when:
                self._report(number, "writes", reader, "reads", cell)
        self._writer[cell] = number, now

    def _last_write(self, cell: _Cell) -> tuple[int, int]:
        """Return which clock wrote a cell last and when; before all others the caller of the cell's rank did."""
        return self._writer.get(cell, (self._start(cell), 1))

    def _start(self, cell: _Cell) -> int:
        return len(self._plan.blocks) + cell[0]

    def _report(self, number: int, does: str, other: int, did: str, cell: _Cell) -> None:
        is_start = other >= len(self._plan.blocks)
        when = "before that rank has started" if is_start else f"while {self._access(other, did)} it"
        self.found.append(f"{self._access(number, does)} {_place(cell)}, perhaps {when}")

    def _access(self, number: int, does: str) -> str:
        block = self._plan.blocks[number]
        return f"{_name(block)} {does}"

    def _cells(self, operation: Operation, spans: tuple[Span, ...]) -> Iterator[_Cell]:
        share = self._plan.parts // operation.parts
        for span in spans:
            for chunk in range(span.index, span.index + span.size):
                for part in range(operation.part * share, (operation.part + 1) * share):
                    yield span.rank, span.buffer, chunk, part


def _name(block: Block) -> str:
    return f"rank {block.rank}'s thread block {block.number}"


def _place(cell: _Cell) -> str:
    return f"chunk {cell[2]} of rank {cell[0]}'s '{cell[1]}'"
