# SPDX-License-Identifier: Apache-2.0
"""Runs a MSCCL++ plan on NumPy buffers, thread blocks in a random order, and judges the results.

An operation is one indivisible action here, and a thread block goes on for a random number of them. Whether operations
that nothing orders touch the same place is the question of `mscclpp_clocks`, which needs one run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hemiola.errors import FormatError
from hemiola.export.mscclpp_document import MEANINGS, ExecutionPlan, Operation, Span
from hemiola.export.mscclpp_run import Run, Work

Array = NDArray[np.float64]


def emulate(plan: ExecutionPlan, inputs: Sequence[Array], seed: int = 0) -> list[Array]:
    """Run a plan once: an array per rank, shape (input_chunks, width), to every rank's output.

    `width` is a multiple of `plan.parts`. NaN stands where nothing was written. Thread blocks that wait for ever are a
    FormatError.
    """
    numbers = _Numbers(plan, inputs)
    run = Run(plan, numbers)
    if not run.go(seed):
        raise FormatError(f"{plan.name}: {run.standing()}")
    return [numbers.output_of(rank) for rank in range(plan.rank_count)]


def faults(plan: ExecutionPlan, interleavings: int = 20, seed: int = 0) -> list[str]:
    """Return a sentence for each of some runs, each with data and an order of its own, whose result is wrong."""
    found = []
    for turn in range(seed, seed + interleavings):
        random = np.random.default_rng(turn)
        inputs = [
            random.integers(1, 1 << 20, (count, plan.parts)).astype(np.float64) for count in plan.input_chunks
        ]
        outputs = emulate(plan, inputs, turn)
        for rank, (got, wanted) in enumerate(zip(outputs, _wanted(plan, inputs), strict=True)):
            wrong = np.flatnonzero((got != wanted).any(axis=1))
            if len(wrong):
                found.append(f"run {turn}: rank {rank} ends with a wrong chunk {wrong[0]}")
                break
    return found


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
    assert plan.collective == "alltoall"
    blocks = [np.split(each, n) for each in inputs]
    return [np.concatenate([of_source[rank] for of_source in blocks]) for rank in range(n)]


class _Numbers(Work):
    """All ranks' buffers."""

    def __init__(self, plan: ExecutionPlan, inputs: Sequence[Array]) -> None:
        self._plan, self._width = plan, inputs[0].shape[1]
        self._storage: dict[tuple[int, str], Array] = {}
        for rank, values in enumerate(inputs):
            for buffer, count in plan.sizes(rank).items():
                self._storage[rank, buffer] = np.full((count, self._width), np.nan)
            self._input_of(rank)[:] = values

    def _input_of(self, rank: int) -> Array:
        if (rank, "i") in self._storage:
            return self._storage[rank, "i"]
        count = self._plan.input_chunks[rank]
        return self._storage[rank, "o"][rank * count :][:count]

    def output_of(self, rank: int) -> Array:
        if (rank, "o") in self._storage:
            return self._storage[rank, "o"]
        count = self._plan.output_chunks[rank]
        start = rank * count if self._plan.collective == "reducescatter" else 0
        return self._storage[rank, "i"][start:][:count]

    def move(self, number: int, operation: Operation) -> None:
        share = self._width // operation.parts
        columns = slice(operation.part * share, (operation.part + 1) * share)
        values = [self._at(span)[:, columns].copy() for span in operation.reads]
        if MEANINGS[operation.name].sums:
            values = [np.sum(values, axis=0)]
        for place, span in enumerate(operation.writes):
            self._at(span)[:, columns] = values[min(place, len(values) - 1)]

    def _at(self, span: Span) -> Array:
        return self._storage[span.rank, span.buffer][span.index : span.index + span.size]
