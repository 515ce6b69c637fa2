# SPDX-License-Identifier: Apache-2.0
"""Runs a MSCCL++ plan on NumPy buffers, thread blocks in a random order, and judges the results.

An operation is one indivisible action here, and a thread block goes on for a random number of them. Whether operations
that nothing orders touch the same place is the question of `mscclpp_clocks`, which needs one run.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hemiola.errors import FormatError
from hemiola.export.mscclpp_document import MEANINGS, SIGNALS, WAITS, Block, ExecutionPlan, Operation, Span

Array = NDArray[np.float64]

#: Operations that a thread block may do before another has its turn.
_AT_ONCE = 6


def emulate(plan: ExecutionPlan, inputs: Sequence[Array], seed: int = 0) -> list[Array]:
    """Run a plan once.

    Parameters
    ----------
    plan : as `mscclpp_document.read` returns it.
    inputs : an array per rank, shape (input_chunks, width); `width` is a multiple of `plan.parts`. They stay as they
        are.
    seed : decides the order in which thread blocks act.

    Returns
    -------
    list of arrays, every rank's output, shape (output_chunks, width). NaN where nothing was written.

    Raises
    ------
    FormatError
        If thread blocks wait for each other for ever. The error names the first of them.
    """
    return _Run(plan, inputs, seed).outputs()


def faults(plan: ExecutionPlan, interleavings: int = 20, seed: int = 0) -> list[str]:
    """Judge a plan of all-reduce, all-gather, reduce-scatter or all-to-all by its results.

    Parameters
    ----------
    plan : as `mscclpp_document.read` returns it.
    interleavings : how many runs, each with data and an order of its own.
    seed : of the first run.

    Returns
    -------
    list of str, a sentence for each run with a wrong result; empty for a right plan.

    Raises
    ------
    FormatError
        If the plan's collective has no result to compare with, or thread blocks wait for ever.
    """
    found = []
    for turn in range(seed, seed + interleavings):
        inputs = _data(plan, turn)
        outputs = emulate(plan, inputs, turn)
        for rank, (got, wanted) in enumerate(zip(outputs, _wanted(plan, inputs), strict=True)):
            wrong = np.flatnonzero((got != wanted).any(axis=1))
            if len(wrong):
                found.append(f"run {turn}: rank {rank} ends with a wrong chunk {wrong[0]}")
                break
    return found


def _data(plan: ExecutionPlan, seed: int) -> list[Array]:
    numbers = np.random.default_rng(seed)
    return [
        numbers.integers(1, 1 << 20, (count, plan.parts)).astype(np.float64) for count in plan.input_chunks
    ]


def _wanted(plan: ExecutionPlan, inputs: Sequence[Array]) -> list[Array]:
    """Return each rank's right output."""
    n = plan.rank_count
    match plan.collective:
        case "allreduce":
            return [np.sum(inputs, axis=0)] * n
        case "allgather":
            return [np.concatenate(inputs)] * n
        case "reducescatter":
            return np.split(np.sum(inputs, axis=0), n)
        case "alltoall":
            blocks = [np.split(each, n) for each in inputs]
            return [np.concatenate([of_source[rank] for of_source in blocks]) for rank in range(n)]
    raise FormatError(
        f"{plan.name}: expected allreduce, allgather, reducescatter or alltoall, found '{plan.collective[:40]}', "
        "whose right result is unknown"
    )


class _Run:
    def __init__(self, plan: ExecutionPlan, inputs: Sequence[Array], seed: int) -> None:
        self._plan, self._random = plan, random.Random(seed)
        self._width = inputs[0].shape[1]
        self._storage: dict[tuple[int, str], Array] = {}
        self._packets: set[tuple[int, str, int, int]] = set()
        self._arrived: Counter[tuple[int, str, int]] = Counter()
        self._awaited: Counter[tuple[int, str, int]] = Counter()
        self._semaphores = {
            (rank, number): value
            for rank, all_of in enumerate(plan.semaphores)
            for number, value in enumerate(all_of)
        }
        self._met: Counter[tuple[int, int]] = Counter()
        self._meetings: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        for rank, values in enumerate(inputs):
            for buffer, count in plan.sizes(rank).items():
                self._storage[rank, buffer] = np.full((count, self._width), np.nan)
            self._input_of(rank)[:] = values

    def outputs(self) -> list[Array]:
        living = [self._acts_of(block) for block in self._plan.blocks]
        names = list(self._plan.blocks)
        idle = 0
        while living:
            place = self._random.randrange(len(living))
            idle += 1
            for _ in range(self._random.randint(1, _AT_ONCE)):
                moved = next(living[place], None)
                if moved is None:
                    del living[place], names[place]
                if moved is None or moved:
                    idle = 0
                if not moved:
                    break
            if idle > 50 * len(living) + 500 and not self._any_can_act(living):
                block = names[0]
                raise FormatError(
                    f"{self._plan.name}: {len(living)} thread blocks wait for ever, the first of them rank "
                    f"{block.rank}'s thread block {block.number}"
                )
        return [self._output_of(rank) for rank in range(self._plan.rank_count)]

    def _any_can_act(self, living: Sequence[Iterator[bool]]) -> bool:
        """Try each thread block once, so that chance alone finds no deadlock."""
        return any([next(each, True) for each in living])

    def _input_of(self, rank: int) -> Array:
        if (rank, "i") in self._storage:
            return self._storage[rank, "i"]
        count = self._plan.input_chunks[rank]
        return self._storage[rank, "o"][rank * count :][:count]

    def _output_of(self, rank: int) -> Array:
        if (rank, "o") in self._storage:
            return self._storage[rank, "o"]
        count = self._plan.output_chunks[rank]
        start = rank * count if self._plan.collective == "reducescatter" else 0
        return self._storage[rank, "i"][start:][:count]

    def _acts_of(self, block: Block) -> Iterator[bool]:
        """Act operation by operation; yield whether the thread block got on."""
        for each in block.operations:
            for waits in self._waiting(block, each):
                while waits():
                    yield False
            self._act(block, each)
            yield True

    def _waiting(self, block: Block, operation: Operation) -> Iterator[Callable[[], bool]]:
        """Yield a question for each thing that the operation waits for: must it still wait?"""
        rank, name = block.rank, operation.name
        if name in WAITS:
            for channel in operation.channels:
                self._awaited[channel.end] += 1
                yield partial(self._lacks_signals, channel.end, self._awaited[channel.end])
        elif name == "sem_acquire":
            for number in operation.semaphores:
                yield partial(self._is_taken, (rank, number))
                self._semaphores[rank, number] -= 1
        elif name == "barrier":
            number, count = operation.barrier
            key = rank, number
            self._met[key] += 1
            self._meetings[key][block.number] += 1
            needed = self._meetings[key][block.number] * count
            yield lambda: self._met[key] < needed
        elif name in MEANINGS and (first := MEANINGS[name].awaits) is not None:
            yield lambda: not all(self._has_packets(span, operation) for span in operation.reads[first:])

    def _lacks_signals(self, end: tuple[int, str, int], count: int) -> bool:
        return self._arrived[end] < count

    def _is_taken(self, semaphore: tuple[int, int]) -> bool:
        return self._semaphores[semaphore] <= 0

    def _act(self, block: Block, operation: Operation) -> None:
        if operation.name in SIGNALS:
            self._signal(operation)
        elif operation.name == "sem_release":
            for number in operation.semaphores:
                self._semaphores[block.rank, number] += 1
        elif operation.name in MEANINGS:
            self._move(operation)
            if MEANINGS[operation.name].signals:
                self._signal(operation)

    def _signal(self, operation: Operation) -> None:
        for channel in operation.channels:
            self._arrived[channel.other_end] += 1

    def _move(self, operation: Operation) -> None:
        meaning, (first, last) = MEANINGS[operation.name], self._columns(operation)
        values = [self._at(span)[:, first:last].copy() for span in operation.reads]
        if meaning.sums:
            values = [np.sum(values, axis=0)]
        for place, span in enumerate(operation.writes):
            self._at(span)[:, first:last] = values[min(place, len(values) - 1)]
            if meaning.marks is not None and place >= meaning.marks:
                self._packets.update(self._cells(span, operation))

    def _columns(self, operation: Operation) -> tuple[int, int]:
        share = self._width // operation.parts
        return operation.part * share, (operation.part + 1) * share

    def _at(self, span: Span) -> Array:
        return self._storage[span.rank, span.buffer][span.index : span.index + span.size]

    def _cells(self, span: Span, operation: Operation) -> Iterator[tuple[int, str, int, int]]:
        return (
            (span.rank, span.buffer, chunk, column)
            for chunk in range(span.index, span.index + span.size)
            for column in range(*self._columns(operation))
        )

    def _has_packets(self, span: Span, operation: Operation) -> bool:
        return all(cell in self._packets for cell in self._cells(span, operation))
