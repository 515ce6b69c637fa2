# SPDX-License-Identifier: Apache-2.0
"""Shares through all ranks as the planner's candidates where hosts have as many ranks each: broadcasts and reductions
that pay three latencies between hosts at most, where trees pay one for each level."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hemiola._core import Schedule
from hemiola.algorithms import Candidate, Task
from hemiola.planner.budget import IN_RACE
from hemiola.planner.outcome import LeftOut, too_many
from hemiola.planner.question import Question
from hemiola.synthesis.host_shares import broadcast_through_hosts, reduce_through_hosts

#: Of a share.
_PIECES = (1, 4, 8, 16)
#: From here on more pieces save time, so they come first.
_LARGE_BUFFER = 256 << 10
#: Of a large buffer, fewer chunks by a search take 2 to 5 times as long as shares (4 chunks; 256, 512, 800 and 832
#: ranks, 300 kB to 1 GB).
_LEAST_CHUNKS = 16
#: Unless a rank is slower than this: every share goes through every rank, where a search can make of a slow one a leaf.
_MOST_SLOWDOWN = 2.0


def through_hosts(question: Question) -> Iterator[Candidate | LeftOut]:
    """List these schedules, as far as their share goes. Beside them fewer chunks may not be worth a search.

    Their formula is the lower bound, since only the links say how near they come to it.
    """
    task, searches = question.task, question.searches
    if task.nbytes == 0:
        return
    counts = task.ranks_per_node
    per_host = counts[0]
    most, left = (searches.share("through_hosts", later=later) / IN_RACE for later in (False, True))
    for pieces in _PIECES if task.nbytes < _LARGE_BUFFER else reversed(_PIECES):
        count = pieces * (task.rank_count - per_host) * (task.rank_count - 1)
        label = f"{pieces} pieces"
        if count > most:
            yield LeftOut(f"through_hosts ({label})", too_many(count, "transfers", most))
            continue
        left -= min(count, left / 2)
        most = left
        generate = partial(_made, task, len(counts), per_host, pieces)
        question.least_chunks = _least_chunks_beside(task)
        yield Candidate("through_hosts", label, question.bound_s, count, generate)


def _least_chunks_beside(task: Task) -> int:
    """Return how few chunks from or to the root may be worth a search beside these."""
    is_slow = any(factor > _MOST_SLOWDOWN for factor in task.conditions.slow.values())
    return _LEAST_CHUNKS if task.nbytes >= _LARGE_BUFFER and not is_slow else 1


def _made(task: Task, host_count: int, per_host: int, pieces: int) -> Schedule:
    make = broadcast_through_hosts if task.kind == "broadcast" else reduce_through_hosts
    return make(host_count, per_host, task.root, pieces)
