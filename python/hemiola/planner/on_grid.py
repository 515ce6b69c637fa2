# SPDX-License-Identifier: Apache-2.0
"""Schedules that go through a grid a dimension at a time, as the planner's candidates: Themis [rashidi2022] with
several numbers of parts, and where latency decides, recursive multiplying [ruefenacht2017]."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from hemiola._core import Schedule
from hemiola._core.algorithms import (
    all_reduce_recursive_multiplying,
    all_reduce_recursive_multiplying_transfers,
    all_reduce_swing,
    all_reduce_themis,
)
from hemiola.algorithms import Candidate, Task
from hemiola.errors import ArgumentError
from hemiola.planner.outcome import LeftOut
from hemiola.planner.question import Question
from hemiola.planner.synthesized import buffers_in_time

_NAME = "all_reduce_themis"
#: Their names among candidates.
MULTIPLYING, BINE = "all_reduce_recursive_multiplying", "bine"
#: Parts that are tried: few for small buffers, many to keep all dimensions busy.
_PARTS = (1, 4, 16, 64)


def on_grid(question: Question) -> Iterator[Candidate | LeftOut]:
    """List the schedules for a grid, as far as their share goes.

    Their formula is the lower bound, since only the links say how near they come to it.
    """
    task = question.task
    if task.nbytes == 0 or task.grid is None:
        return
    stated = {**asdict(task.grid), "nbytes": task.nbytes}
    for parts in _PARTS:
        arguments = {**stated, "chunk_count": parts}
        count, label = _transfer_count(task, parts), f"{parts} parts"
        if excess := question.searches.excess(_NAME, count):
            yield LeftOut(f"{_NAME} ({label})", excess)
            continue
        yield Candidate(
            _NAME,
            label,
            question.bound_s,
            count,
            partial(all_reduce_themis, **arguments),
            arguments=arguments,
        )


def _transfer_count(task: Task, parts: int) -> int:
    """Every part is sent once a rank and chunk of another, twice; rings and lines take halves of it either way."""
    assert task.grid is not None
    both_ways = 2 if any(wire in ("ring", "line") for wire in task.grid.wires) else 1
    return 2 * both_ways * parts * task.rank_count * (task.rank_count - 1)


@dataclass(frozen=True)
class Steps:
    """The dimensions that recursive multiplying goes through, how many of them it scatters along, and its parts."""

    dims: tuple[int, ...]
    wires: tuple[str, ...]
    scattered: int = 0
    parts: int = 1

    def candidate(self, question: Question, formula_s: float) -> Candidate | LeftOut:
        """Return it, or what it exceeds: the plan's budget, or the slots of a schedule."""
        variant = "x".join(map(str, self.dims))
        variant += f", {self.scattered} scattered" if self.scattered else ""
        variant += f", {self.parts} parts" if self.parts > 1 else ""
        arguments = asdict(self)
        try:
            count = all_reduce_recursive_multiplying_transfers(**arguments)
        except ArgumentError as error:
            return LeftOut(f"{MULTIPLYING} ({variant})", str(error))
        if excess := question.searches.excess("one_shot", count):
            return LeftOut(f"{MULTIPLYING} ({variant})", excess)
        make = partial(all_reduce_recursive_multiplying, **arguments)
        return Candidate(MULTIPLYING, variant, formula_s, count, make, arguments=arguments)


def multiplying(question: Question) -> Iterator[Candidate | LeftOut]:
    """List the schedules by recursive multiplying. Their formula is the lower bound.

    On grids without rings and lines of more than two ranks any number of dimensions is scattered along; there the steps
    of a ring take longer than they save. On hosts buffers are scattered inside, or not.
    """
    if question.task.nbytes == 0:
        return
    seen = set()
    for steps in (*_on_grid(question), *_on_hosts(question)):
        if steps not in seen:
            seen.add(steps)
            yield steps.candidate(question, question.bound_s)


def multiplying_by_factors(question: Question) -> Iterator[Candidate | LeftOut]:
    """List recursive multiplying in one step and in two, by each way to factor the ranks, wherever these are linked.

    Only while the bytes into the slowest port take no longer than sending up a one-shot all-gather may.
    """
    task, n = question.task, question.task.rank_count
    if task.nbytes == 0:
        return
    listed = {*_on_grid(question), *_on_hosts(question)}
    most = buffers_in_time(question.topology, task.nbytes, question.bound_s)
    for dims in ((n,), *((size, n // size) for size in range(2, n) if n % size == 0)):
        for scattered in range(len(dims)):
            inside = dims[0] if scattered else 1
            buffers = 2 * (1 - 1 / inside) + sum(size - 1 for size in dims[scattered:]) / inside
            steps = Steps(dims, ("switch",) * len(dims), scattered)
            if buffers <= most and steps not in listed:
                yield steps.candidate(question, question.bound_s)


def _on_grid(question: Question) -> Iterator[Steps]:
    grid = question.task.grid
    if grid is None:
        return
    count = len(grid.dims)
    passes_on = any(
        size > 2 and wires in ("ring", "line") for size, wires in zip(grid.dims, grid.wires, strict=True)
    )
    for scattered in range(1 if passes_on else count):
        for parts in sorted({count if passes_on and "dear messages" not in question.traits else 1, count}):
            yield Steps(grid.dims, grid.wires, scattered, parts)


def swinging(question: Question) -> Iterator[Candidate]:
    """List Swing [desensi2024] where ranks are a power of two. Its formula is the lower bound.

    On tori in as many parts as links leave a rank, and where messages cost time, whole. Elsewhere whole on one ring,
    and from the farthest peers to the nearest, as Bine's butterflies (arXiv 2508.17311, section 3): fewer buffers cross
    the middle of a line or a tapered link at once.
    """
    task, grid, n = question.task, question.task.grid, question.task.rank_count
    if task.nbytes == 0 or n.bit_count() > 1:
        return
    if grid is not None and {*grid.wires} == {"ring"}:
        most = 2 * len(grid.dims)
        for parts in sorted({1 if "dear messages" in question.traits else most, most}):
            yield _swing(question, grid.dims, parts)
    elif n.bit_length() - 1 <= buffers_in_time(question.topology, task.nbytes, question.bound_s):
        yield (ring := _swing(question, (n,), 1))
        make = partial(_backwards, ring.generate)
        yield Candidate(BINE, "", question.bound_s, ring.transfer_count, make)


def _swing(question: Question, dims: Sequence[int], parts: int) -> Candidate:
    n = question.task.rank_count
    arguments: dict[str, Any] = {"dims": dims, "parts": parts}
    count = parts * n * (n.bit_length() - 1)
    make = partial(all_reduce_swing, **arguments)
    return Candidate("all_reduce_swing", f"{parts} parts", question.bound_s, count, make, arguments=arguments)


def _backwards(make: Callable[[], Schedule]) -> Schedule:
    """Let the steps of whole buffers follow each other in the other order, in which they make the same sums."""
    schedule = make()
    rows = np.asarray(schedule.transfers)
    table = np.column_stack([rows[name].astype(np.int64) for name in rows.dtype.names or ()])
    table[:, 0] = schedule.step_count - 1 - table[:, 0]
    return Schedule.from_transfers(schedule.collective, table)


def _on_hosts(question: Question) -> Iterator[Steps]:
    """Name the dimensions inside and between hosts: those between as their NICs have them cheapest."""
    if "hosts" not in question.traits:
        return
    task = question.task
    inside, hosts = task.ranks_per_node[0], len(task.ranks_per_node)
    for scattered in (0, 1):
        share = task.nbytes / inside**scattered
        dims = (inside, *cheapest_factors(hosts, partial(_between_s, task.core.between_nodes, share)))
        yield Steps(dims, ("switch",) * len(dims), scattered)


def _between_s(way: tuple[float, float, float], nbytes: float, size: int) -> float:
    """Return how long a step between so many hosts takes, in which each sends such buffers to all others."""
    latency_s, s_per_byte, message_s = way
    return latency_s + (size - 1) * (message_s + nbytes * s_per_byte)


def cheapest_factors(count: int, step_s: Callable[[int], float]) -> tuple[int, ...]:
    """Factor a count so that the steps of its factors take least together; fewest of equal ones."""
    divisors = [each for each in range(2, count + 1) if count % each == 0]
    best: dict[int, tuple[float, int, tuple[int, ...]]] = {1: (0.0, 0, ())}
    for product in divisors:
        best[product] = min(
            (
                best[product // last][0] + step_s(last),
                best[product // last][1] + 1,
                (*best[product // last][2], last),
            )
            for last in divisors
            if product % last == 0
        )
    return best[count][2]
