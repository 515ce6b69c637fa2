# SPDX-License-Identifier: Apache-2.0
"""The processes of a launch, seen from the launching process: the ranks' reports, and the end of all of them."""

from __future__ import annotations

import errno
import os
import selectors
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from hemiola.environment import PIN
from hemiola.errors import FailedRankError, TimeoutError
from hemiola.launch.culprit import Failure, Outcome, culprit_of, reason_for
from hemiola.launch.fork_messages import Kind, Message
from hemiola.launch.forking import Forking
from hemiola.launch.held_traceback import error_of
from hemiola.launch.launched_rank import LaunchedRank
from hemiola.launch.meeting_place import MeetingPlace, Secret
from hemiola.launch.place import Place, thread_limit
from hemiola.launch.screen import consequences

#: After a first failure: how long others may take to fail, too, so that the cause can be told from its effects.
_GRACE_S = 1.0
#: And how long the rank that the others blame may take: it tells more than they do, and may be ending.
_CULPRITS_GRACE_S = 3.0


def _failure(rank: int, cause: BaseException | None, text: str) -> FailedRankError:
    """Return the error that tells of a rank's failure."""
    error = FailedRankError(f"rank {rank}: {text}", rank=rank)
    error.__cause__ = cause
    return error


def _told_twice(rank: int, text: str, others: Sequence[str]) -> str:
    """Return what a rank has ended with; where others have failed after it their lines, and the cause again."""
    if not others:
        return text
    return "\n".join([text.rstrip(), *others, f"rank {rank}: {error_of(text) or text}"])


class RankProcesses:
    """The processes of one launch.

    Parameters
    ----------
    count : int >= 1, ranks.
    payload : descriptor of the file with the ranks' function and arguments.
    """

    def __init__(self, count: int, payload: int) -> None:
        self._ranks = [LaunchedRank() for _ in range(count)]
        self._running_count = count
        self._selector = selectors.DefaultSelector()
        PIN.value()  # told here where it cannot be read
        meeting = MeetingPlace.on_this_host()
        with Secret(meeting.token) as secret:
            place = Place(0, count, 0, count, uuid.uuid4().hex, meeting.rendezvous, secret.text)
            variables = meeting.variables | thread_limit(count) | os.environ | place.variables()
            self._forking = Forking(count, variables, payload, secret.descriptors)
        for source in self._forking.sources:
            self._selector.register(source, selectors.EVENT_READ)

    def results(self, timeout_s: float | None) -> list[Any]:
        """Wait for all ranks; raise for the one to blame."""
        self._wait(timeout_s, until_failure=True)
        return self._conclude(timeout_s)

    def outcomes(self, timeout_s: float | None) -> list[Any]:
        """Wait for all ranks, whether or not some fail; return each one's result or error."""
        self._wait(timeout_s, until_failure=False)
        return [self._outcome_of(number, timeout_s) for number in range(len(self._ranks))]

    def _wait(self, timeout_s: float | None, *, until_failure: bool) -> None:
        """Read reports until all ranks are done, time is up, or others have had time to fail after a first one."""
        deadline = time.monotonic() + timeout_s if timeout_s is not None else None
        failed_at: float | None = None
        while self._running_count:
            patience_s = _GRACE_S if failed_at is None or self._knows_culprit() else _CULPRITS_GRACE_S
            limits = [
                limit for limit in (deadline, failed_at and failed_at + patience_s) if limit is not None
            ]
            left_s = min(limits) - time.monotonic() if limits else None
            if left_s is not None and left_s <= 0:
                break
            for key, _ in self._selector.select(left_s):
                for rank in self._heard_of(key.data):
                    rank.look()
                    self._listen_where_there_may_be_news(rank)
                    has_finished = rank.finished_at is not None
                    if has_finished and until_failure and failed_at is None and rank.outcome()[0] == "error":
                        failed_at = time.monotonic()

    def _knows_culprit(self) -> bool:
        """Whether the rank to blame has failed itself, and can say more than the others."""
        culprit = culprit_of(self._failures())
        return culprit >= len(self._ranks) or self._ranks[culprit].finished_at is not None

    def _heard_of(self, source: LaunchedRank | None) -> Iterator[LaunchedRank]:
        """Yield the ranks of which there is news: that which has written, or those of whom the fork server has told."""
        if source is not None:
            yield source
            return
        if not self._running_count:  # told by the other of its two sources in the same breath
            return
        is_over = self._forking.has_ended()
        for message, descriptors in self._forking.messages():
            rank = self._ranks[message.rank]
            self._take(rank, message, descriptors)
            yield rank
        if is_over:
            for listened in self._forking.sources:
                self._selector.unregister(listened)
            for rank in self._ranks:
                if not rank.has_ended:
                    rank.loss = (
                        f"ended with the fork server of its launch, which {self._forking.how_it_ended()}"
                    )
                    yield rank
            self._running_count = 0

    def _take(self, rank: LaunchedRank, message: Message, descriptors: list[int]) -> None:
        """Take in what the fork server has told of a rank."""
        if message.kind is Kind.REFUSED:
            reason = os.strerror(message.value)
            raise OSError(message.value, f"launch: rank {message.rank} could not be started: {reason}")
        if message.kind is Kind.ENDED:
            rank.code = message.value
            self._running_count -= 1
            return
        rank.process = message.value
        if not descriptors:
            raise OSError(errno.EMFILE, f"launch: no descriptor is left for what rank {message.rank} reports")
        (rank.pipe,) = descriptors
        os.set_blocking(rank.pipe, False)
        self._selector.register(rank.pipe, selectors.EVENT_READ, rank)

    def _listen_where_there_may_be_news(self, rank: LaunchedRank) -> None:
        is_over = rank.finished_at is not None or rank.has_hung_up
        if is_over and rank.pipe is not None and rank.pipe in self._selector.get_map():
            self._selector.unregister(rank.pipe)

    def _outcome_of(self, number: int, timeout_s: float | None) -> Any:
        """Return a rank's result, or the error that says why there is none."""
        rank = self._ranks[number]
        if rank.finished_at is None or not rank.has_ended:
            return TimeoutError(f"launch: not done after {timeout_s:g} s: rank {number}{rank.unfinished()}")
        kind, value = rank.outcome()
        return _failure(number, *value[:2]) if kind == "error" else value

    def _conclude(self, timeout_s: float | None) -> list[Any]:
        if self._failures():
            raise self._verdict()
        if not all(rank.has_ended for rank in self._ranks):
            missing = [f"{n}{rank.unfinished()}" for n, rank in enumerate(self._ranks) if not rank.has_ended]
            raise TimeoutError(f"launch: not done after {timeout_s:g} s: rank {', '.join(missing)}")
        return [rank.outcome()[1] for rank in self._ranks]

    def _failures(self) -> list[Failure]:
        """Return those that have failed, with whom they blame."""
        return [
            Failure(number, rank.finished_at, rank.outcome()[1][2])
            for number, rank in enumerate(self._ranks)
            if rank.finished_at is not None and rank.outcome()[0] == "error"
        ]

    def _verdict(self) -> FailedRankError:
        """Return the error of the rank to blame; one that has not failed itself is told by the others' words."""
        failures = self._failures()
        culprit = culprit_of(failures)
        by_rank = {failure.rank: failure for failure in failures}
        texts = {failure.rank: self._ranks[failure.rank].outcome()[1][1] for failure in failures}
        others = consequences(Outcome(failures, texts=texts))
        if culprit in by_rank:
            error, text, _ = self._ranks[culprit].outcome()[1]
            return _failure(culprit, error, _told_twice(culprit, text, others))
        first = min(failures, key=lambda failure: failure.ended_s)
        error, text, _ = self._ranks[first.rank].outcome()[1]
        reason = reason_for(culprit, failures)
        told = f"{reason}; the first error is that of rank {first.rank}: {text.rstrip()}"
        return _failure(culprit, error, "\n".join([told, *others, f"rank {culprit}: {reason}"]))

    def end(self) -> None:
        """Kill the ranks that still run, and reap all."""
        self._forking.end([rank.process for rank in self._ranks if rank.process is not None])
        for rank in self._ranks:
            if rank.pipe is not None:
                os.close(rank.pipe)
        self._selector.close()
