# SPDX-License-Identifier: Apache-2.0
"""All-reduces around one late rank behind one switch, as the planner's candidates: in stars, where every rank is the
owner of a share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hemiola.algorithms import Candidate, Task
from hemiola.algorithms.task import given
from hemiola.planner.around_late_rank import reduced_in_the_wait
from hemiola.planner.budget import IN_TREES
from hemiola.planner.outcome import LeftOut, NothingMadeError
from hemiola.planner.question import Question
from hemiola.synthesis.around import WHOLE, in_stars

#: Pieces of each owner's share.
_PIECES = (1, 4, 16, 64)
_NAME = "late_stars"


def stars_around_late_rank(question: Question) -> Iterator[Candidate | LeftOut]:
    """List them; of stars also those of the share of the buffer that the others can reduce in the wait."""
    topology, task = question.topology, question.task
    if task.nbytes == 0:
        return
    (late_rank,) = task.late_ranks
    part = WHOLE
    for pieces in _PIECES:
        for of_buffer in dict.fromkeys((WHOLE, part)):
            variant = f"{pieces} pieces" + (
                "" if of_buffer == WHOLE else f", {of_buffer / WHOLE:.2f} of the buffer"
            )
            make = partial(in_stars, topology, late_rank, pieces, task.nbytes, of_buffer)
            least = IN_TREES * 2 * pieces * task.rank_count**2
            try:
                made = question.searches.run(f"{_NAME} ({variant})", 1, make, _NAME, at_least=least)
            except NothingMadeError as error:
                yield LeftOut(f"{_NAME} ({variant})", str(error))
                return
            if pieces == _PIECES[0] and of_buffer == WHOLE:
                part = max(1, reduced_in_the_wait(made, topology, task))
            seconds = max(question.bound_s, _seconds(task, pieces, of_buffer / WHOLE))
            yield Candidate(_NAME, variant, seconds, made.transfer_count, partial(given, made))


def _seconds(task: Task, pieces: int, share: float) -> float:
    """Return what is left after the reduction in the wait: the buffer's share through the late rank's port, and what
    the last owner sends on; then a direct exchange of the rest."""
    n, speed = task.rank_count, task.speed
    others, message_s = n - 1, speed.message_s
    piece_s = share * task.nbytes / (others * pieces) / speed.bandwidth + message_s
    reduced_s = speed.latency_s + (others - 1) * pieces * piece_s
    begun_s = max(task.delay_s, reduced_s)
    in_stars_s = begun_s + (others * pieces + others) * piece_s + 2 * speed.latency_s
    rest_s = (1 - share) * task.nbytes * others / n / speed.bandwidth + others * message_s + speed.latency_s
    return in_stars_s + (2 * rest_s if share < 1 else 0.0)
