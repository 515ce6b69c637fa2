# SPDX-License-Identifier: Apache-2.0
"""The one interpreter of MSCCL++'s plans: which thread block may do its next operation.

It knows signals, semaphores, barriers and packets. The effect on memory is the work of those who ask a question about a
plan: `interchange` follows chunks, `mscclpp_clocks` follows vector clocks, and tests compute."""

from __future__ import annotations

import random
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from typing import Any

from hemiola.export.mscclpp_document import MEANINGS, SIGNALS, WAITS, ExecutionPlan, Operation, Span

#: A place in memory: rank, buffer, and the number of a piece, of which a chunk has `plan.parts`.
Cell = tuple[int, str, int]
#: The key of a wait: a channel's end, a semaphore, a round of a barrier, or a packet's place.
_Key = tuple[Any, ...]

_WAITS_SHOWN = 4
#: Operations that a thread block may do before another has its turn, in a random order.
_AT_ONCE = 6


class Work:
    """The effects of operations, and the news of them. Blocks go by their place in `plan.blocks`."""

    def move(self, number: int, operation: Operation) -> None:
        """Do a block's operation on memory."""

    def tell(self, number: int, operation: Operation) -> Any:
        """Return the news of a block's operation, for those who wait for it."""

    def learn(self, number: int, told: list[Any]) -> None:
        """Take the news that a block has waited for; a semaphore holds None at first."""

    def meet(self, number: int) -> None:
        """Have the threads of a block meet."""


class Run:
    """A plan's thread blocks on their way.

    plan : as `mscclpp_document.read` returns it.
    work : the effects of its operations.
    """

    def __init__(self, plan: ExecutionPlan, work: Work) -> None:
        self._plan, self._work = plan, work
        #: By thread block that is not done, its next operation.
        self._next = {number: 0 for number, block in enumerate(plan.blocks) if block.operations}
        self._ready = deque(self._next)
        self._waiting: defaultdict[_Key, list[int]] = defaultdict(list)
        #: By channel's end and by semaphore, the news of signals and releases that nobody has taken.
        self._there: defaultdict[_Key, deque[Any]] = defaultdict(deque)
        for rank, values in enumerate(plan.semaphores):
            for number, value in enumerate(values):
                self._there[rank, number].extend([None] * value)
        self._told: defaultdict[int, list[Any]] = defaultdict(list)
        self._came: defaultdict[_Key, dict[int, Any]] = defaultdict(dict)
        self._rounds: Counter[tuple[int, int]] = Counter()
        self._packets: set[Cell] = set()
        self._searches: dict[int, Iterator[Cell]] = {}

    def go(self, seed: int | None = None) -> bool:
        """Let blocks act until all are done; return whether they are, or wait for ever.

        seed : of a random order of turns, each of a few operations; None: each acts as far as it gets.
        """
        order = None if seed is None else random.Random(seed)
        while self._ready:
            if order is not None:
                self._ready.rotate(order.randrange(len(self._ready)))
            number, turns = self._ready.popleft(), order.randint(1, _AT_ONCE) if order else -1
            while turns and self._acts(number):
                turns -= 1
            if turns == 0 and number in self._next:
                self._ready.append(number)
        return not self._next

    def left_over(self) -> Iterator[str]:
        """Yield a sentence for each channel and semaphore that the next run would not find as this one did."""
        for (rank, *end), there in self._there.items():
            if len(end) == 2 and there:
                yield f"rank {rank} leaves {len(there)} signals of {end[0]} channel {end[1]} unawaited"
        for rank, values in enumerate(self._plan.semaphores):
            for number, value in enumerate(values):
                if (left := len(self._there[rank, number])) != value:
                    yield f"rank {rank} leaves semaphore {number} at {left}"

    def standing(self) -> str:
        """Return a sentence that names the operations that wait."""
        named = []
        for number, at in list(self._next.items())[:_WAITS_SHOWN]:
            block = self._plan.blocks[number]
            operation = block.operations[at]
            peers = sorted({channel.peer for channel in operation.channels})
            whom = f" for rank {', '.join(map(str, peers))}" if peers else ""
            where = f"rank {block.rank}, thread block {block.number}, operation {at}"
            named.append(f"{where} ({operation.name}) waits{whom}")
        more = f"; and {len(self._next) - len(named)} more" if len(self._next) > len(named) else ""
        return f"no run ends, because thread blocks wait for ever: {'; '.join(named)}{more}"

    def _acts(self, number: int) -> bool:
        """Do a block's next operation, if it has one that need not wait; return whether it was done."""
        operations = self._plan.blocks[number].operations
        at = self._next.get(number, len(operations))
        if at == len(operations):
            return False
        lacks = self._lacks(number, operations[at])
        if lacks is not None:
            self._waiting[lacks].append(number)
            return False
        if told := self._told.pop(number, []):
            self._work.learn(number, told)
        self._do(number, operations[at])
        self._next[number] += 1
        if self._next[number] == len(operations):
            del self._next[number]
        return True

    def _lacks(self, number: int, operation: Operation) -> _Key | None:
        """Take the news that an operation needs, as far as they are there; return the first that is not, or None."""
        rank, keys = self._plan.blocks[number].rank, list[_Key]()
        if operation.name == "barrier":
            return self._meets(number, rank, operation)
        if operation.name in WAITS:
            keys = [channel.end for channel in operation.channels]
        elif operation.name == "sem_acquire":
            keys = [(rank, each) for each in operation.semaphores]
        for key in keys[len(self._told[number]) :]:
            if not self._there[key]:
                return key
            self._told[number].append(self._there[key].popleft())
        first = MEANINGS[operation.name].awaits if operation.name in MEANINGS else None
        return None if first is None else self._lacks_packet(number, operation, operation.reads[first:])

    def _lacks_packet(self, number: int, operation: Operation, spans: tuple[Span, ...]) -> _Key | None:
        """Return the first place that has no packet, or None. The search goes on where it has ended before."""
        awaited = (cell for span in spans for cell in cells(self._plan, operation, span))
        places = self._searches.setdefault(number, awaited)
        lacking = next((cell for cell in places if cell not in self._packets), None)
        if lacking is None:
            del self._searches[number]
        return None if lacking is None else (*lacking, "packet")

    def _meets(self, number: int, rank: int, operation: Operation) -> _Key | None:
        """Have a block come to a barrier; return its round there unless that is complete."""
        which, count = operation.barrier
        key = rank, which, self._rounds[number, which], "barrier"
        came = self._came[key]
        if number not in came:
            came[number] = self._work.tell(number, operation)
        if len(came) < count:
            return key
        self._wake(key)
        self._told[number] = list(came.values())
        self._rounds[number, which] += 1
        return None

    def _do(self, number: int, operation: Operation) -> None:
        name, meaning = operation.name, MEANINGS.get(operation.name)
        if name in ("nop", "barrier"):
            self._work.meet(number)
        elif name == "sem_release":
            for each in operation.semaphores:
                self._bring((self._plan.blocks[number].rank, each), number, operation)
        elif meaning is not None:
            self._work.move(number, operation)
            for span in () if meaning.marks is None else operation.writes[meaning.marks :]:
                for cell in cells(self._plan, operation, span):
                    self._packets.add(cell)
                    self._wake((*cell, "packet"))
        if name in SIGNALS or (meaning is not None and meaning.signals):
            for channel in operation.channels:
                self._bring(channel.other_end, number, operation)

    def _bring(self, key: _Key, number: int, operation: Operation) -> None:
        """Tell those who wait for a signal or a semaphore, or will."""
        self._there[key].append(self._work.tell(number, operation))
        self._wake(key)

    def _wake(self, key: _Key) -> None:
        self._ready.extend(self._waiting.pop(key, ()))


def cells(plan: ExecutionPlan, operation: Operation, span: Span) -> Iterator[Cell]:
    """Yield the pieces of a span that a block's share of an operation touches."""
    share = plan.parts // operation.parts
    for chunk in range(span.index, span.index + span.size):
        begin = chunk * plan.parts + operation.part * share
        for piece in range(begin, begin + share):
            yield span.rank, span.buffer, piece
