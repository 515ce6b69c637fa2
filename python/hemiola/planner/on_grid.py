"""Themis [rashidi2022] with several numbers of parts, as the planner's candidates on grids of several dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hemiola import algorithms
from hemiola.algorithms import Candidate, Task
from hemiola.algorithms.from_task import arguments_from
from hemiola.planner.budget import Searches
from hemiola.planner.outcome import LeftOut

_NAME = "all_reduce_themis"
#: Parts that are tried: few for small buffers, many to keep all dimensions busy.
_PARTS = (1, 4, 16, 64)


def on_grid(task: Task, bound_s: float, searches: Searches) -> Iterator[Candidate | LeftOut]:
    """List the schedules for a grid, as far as their share goes; nothing where the topology is none.

    Their formula is the lower bound, since only the links say how near they come to it.
    """
    if task.kind != "all_reduce" or task.nbytes == 0 or task.grid is None:
        return
    if sum(size > 1 for size in task.grid.dims) < 2:
        return
    themis = algorithms.get(_NAME)
    stated = arguments_from(task, (name for name, is_required in themis.parameters.items() if is_required))
    for parts in _PARTS:
        arguments = {**stated, "chunk_count": parts}
        count, label = _transfer_count(task, parts), f"{parts} parts"
        if excess := searches.excess(_NAME, count):
            yield LeftOut(f"{_NAME} ({label})", excess)
            continue
        yield Candidate(
            _NAME, label, bound_s, count, partial(themis.function, **arguments), arguments=arguments
        )


def _transfer_count(task: Task, parts: int) -> int:
    """Every part is sent once a rank and chunk of another, twice; rings and lines take halves of it either way."""
    assert task.grid is not None
    both_ways = 2 if any(wire in ("ring", "line") for wire in task.grid.wires) else 1
    return 2 * both_ways * parts * task.rank_count * (task.rank_count - 1)
