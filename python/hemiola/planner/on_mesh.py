# SPDX-License-Identifier: Apache-2.0
"""Trees of every spine of a mesh, or of those in its middle, as the planner's candidates. The core's model decides how
many, and in how many chunks: by the time of the busiest link, and the longest path of a chunk."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from hemiola._core.algorithms import all_reduce_mesh_trees, mesh_trees_cost
from hemiola.algorithms import Candidate, Task
from hemiola.algorithms.fewest_pieces import as_good_as, fewest_pieces
from hemiola.algorithms.task import given
from hemiola.planner.budget import IN_ARRAYS, IN_RACE
from hemiola.planner.outcome import LeftOut, too_many
from hemiola.planner.question import Question

_NAME = "all_reduce_mesh_trees"
#: Beside the first, other numbers of lines are tried where they come as near.
_NEAR, _MOST_CANDIDATES = 1.1, 3
#: Up to so many ranks others, which take a second beyond, may be a percent better; on one line, for which a forest is
#: quickly packed, up to more. So they may where buffers are so small that chunks are bytes.
_MOST_RANKS_WITH_OTHERS, _MOST_RANKS_OF_LINE_WITH_OTHERS, _SMALL_BUFFER = 64, 256, 4096
#: Chunks of the largest tree that are looked at.
_CHUNKS = sorted({scale << power for scale in (2, 3) for power in range(16)} | {1})


@dataclass(frozen=True)
class _Choice:
    seconds: float
    transfers: int
    lines: int
    chunks: int


def on_mesh(question: Question) -> Iterator[Candidate | LeftOut]:
    """List the schedules for a mesh, as far as their share goes; they may be enough.

    Their formula is the lower bound, since only an estimate knows the turns that chunks take. Unless links alone
    decide, each transfer is looked at.
    """
    task, searches, links_decide = question.task, question.searches, question.links_decide
    if task.nbytes == 0 or task.grid is None:
        return
    is_alone = links_decide and _is_enough(task, searches.effort)
    stated: dict[str, Any] = {**asdict(task.grid), "nbytes": task.nbytes}
    each = IN_RACE if links_decide else IN_RACE + IN_ARRAYS
    most = math.floor(searches.share(_NAME, later=not is_alone) / each)
    choices = _choices(task, stated, most)
    if not choices:
        yield LeftOut(_NAME, too_many(2 * (task.rank_count - 1) * len(task.grid.dims), "transfers", most))
    transfers = 0
    for choice in choices[:_MOST_CANDIDATES]:
        transfers += choice.transfers
        if choice != choices[0] and searches.excess(_NAME, transfers, each, later=True):
            return
        arguments = {**stated, "chunk_count": choice.chunks, "line_count": choice.lines}
        schedule = all_reduce_mesh_trees(**arguments)
        question.is_enough |= is_alone
        label = f"{choice.lines} lines, {choice.chunks} chunks"
        yield Candidate(
            _NAME,
            label,
            question.bound_s,
            schedule.transfer_count,
            partial(given, schedule),
            arguments=arguments,
        )


def _is_enough(task: Task, effort: float) -> bool:
    """Say whether nothing synthesized for a mesh, and no parts on a grid, come nearer the bound.

    Where dimensions of unequal links are more than two, and where ranks are slow or late, they may.
    """
    if task.nbytes < _SMALL_BUFFER or task.grid is None:
        return False
    is_plain = not task.late_ranks and all(factor == 1 for factor in task.conditions.slow_ranks.values())
    is_even = len(task.grid.dims) <= 2 or len(set(task.grid.bandwidth)) == 1
    most = _MOST_RANKS_OF_LINE_WITH_OTHERS if len(task.grid.dims) == 1 else _MOST_RANKS_WITH_OTHERS
    return is_plain and is_even and task.rank_count > most * effort


def _choices(task: Task, stated: Mapping[str, Any], most_transfers: float) -> list[_Choice]:
    """Return a choice for each number of lines that comes near the best; of those as good that of the fewest transfers
    is first. `stated`: what the algorithm is told of the task."""
    assert task.grid is not None
    assert task.topology is not None
    message_s = float(np.asarray(task.topology.links)["message_s"].max())
    by_lines = []
    for lines in _line_counts(task.grid.dims):
        looked_at = (_choice(stated, message_s, task.shared_message_s, lines, chunks) for chunks in _CHUNKS)
        known = list(itertools.takewhile(lambda one: one.transfers <= most_transfers, looked_at))
        if known:
            by_lines.append(known)
    best_s = min((one.seconds for known in by_lines for one in known), default=0.0)
    found = []
    for known in by_lines:
        own_best_s = min(one.seconds for one in known)
        if own_best_s <= _NEAR * best_s:
            found += [fewest_pieces(known, attrgetter("seconds"), attrgetter("transfers")) or known[0]]
    return sorted(found, key=lambda one: (one.seconds > as_good_as(best_s), one.transfers))


def _choice(
    stated: Mapping[str, Any], message_s: float, shared_message_s: float, lines: int, chunks: int
) -> _Choice:
    seconds, transfers = mesh_trees_cost(**stated, message_s=message_s, line_count=lines, chunk_count=chunks)
    return _Choice(seconds + shared_message_s * transfers, transfers, lines, chunks)


def _line_counts(dims: tuple[int, ...]) -> list[int]:
    """Return numbers of lines that are worth a look."""
    if len(dims) == 1:
        return [1]
    most = max(dims)
    return sorted({min(count, most) for count in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, most)})
