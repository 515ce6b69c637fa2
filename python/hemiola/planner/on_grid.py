"""Themis [rashidi2022] with several numbers of parts, as the planner's candidates on grids of several dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial

from hemiola._core.algorithms import all_reduce_themis
from hemiola.algorithms import Candidate, Task
from hemiola.planner.outcome import LeftOut
from hemiola.planner.question import Question

_NAME = "all_reduce_themis"
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
