# SPDX-License-Identifier: Apache-2.0
"""A direct exchange that sends to the farthest ranks first, as the planner's candidate where some ranks are farther
than others: their latency passes while nearer ones are sent to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hemiola._core import far_first_exchange
from hemiola.algorithms import Candidate
from hemiola.planner.question import Question

#: Its name among candidates.
FAR_FIRST = "all_to_all_far_first"


def far_first(question: Question) -> Iterator[Candidate]:
    """List it; its formula is the lower bound, since only the links say how near it comes to that."""
    task = question.task
    if task.nbytes == 0:
        return
    count = task.rank_count * (task.rank_count - 1)
    yield Candidate(FAR_FIRST, "", question.bound_s, count, partial(far_first_exchange, question.topology))
