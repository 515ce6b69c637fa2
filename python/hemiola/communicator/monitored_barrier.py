# SPDX-License-Identifier: Apache-2.0
"""A barrier that names the missing ranks, and after which all that have come go on."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import Complaint
from hemiola.arguments import typed
from hemiola.communicator.arguments import seconds_of
from hemiola.communicator.messages import RESERVED_TAGS, Messages
from hemiola.errors import ArgumentError, Cause, LostRankError, TimeoutError

#: Rank 0's findings about a rank.
CAME, MISSING, LOST = range(3)


class RollCall:
    """How ranks find out which of them are there: each tells rank 0 that it has come, and rank 0 tells all its
    findings.

    They are short messages, with tags of their own, so nothing of the communicator is touched.
    """

    def __init__(self, core: CoreCommunicator) -> None:
        self._core = core
        self._count = 0

    def found(self, limit_s: float, patience_s: float) -> NDArray[np.uint8]:
        """Return CAME, MISSING or LOST of each rank, the same on all that have come.

        Rank 0 waits `limit_s` for the others, they `patience_s` for it. Where rank 0 does not come, they know of it
        alone.

        Raises
        ------
        LostRankError
            where rank 0, or the communicator, is lost.
        """
        tag = RESERVED_TAGS + self._count
        self._count += 1
        return (
            self._look_out(tag, limit_s) if self._core.rank == 0 else self._report(tag, limit_s, patience_s)
        )

    def found_together(self, limit_s: float, patience_s: float) -> NDArray[np.uint8]:
        """Return the same; a rank that has missed roll calls takes part in the next one instead."""
        deadline_s = time.monotonic() + patience_s
        while True:
            found = self.found(limit_s, max(deadline_s - time.monotonic(), _LEAST_S))
            if found[self._core.rank] == CAME:
                return found

    def _look_out(self, tag: int, limit_s: float) -> NDArray[np.uint8]:
        """Wait for the others, and tell all what came of it."""
        found = np.zeros(self._core.rank_count, np.uint8)
        others = range(1, self._core.rank_count)
        word = np.zeros(0, np.uint8)
        waiting = [self._core.start_recv(word, other, tag, limit_s) for other in others]
        for other, pending in zip(others, waiting, strict=True):
            try:
                pending.wait()
            except TimeoutError:
                found[other] = MISSING
            except LostRankError as error:
                if error.rank != other:
                    raise
                found[other] = LOST
        for other in others:
            try:
                self._core.send(found, other, tag, limit_s)  # short, so that it waits for nobody
            except LostRankError as error:
                if error.rank != other:
                    raise
                found[other] = LOST
        return found

    def _report(self, tag: int, limit_s: float, patience_s: float) -> NDArray[np.uint8]:
        """Tell rank 0 that this rank has come, and hear what came of it."""
        found = np.zeros(self._core.rank_count, np.uint8)
        try:
            self._core.send(np.zeros(0, np.uint8), 0, tag, limit_s)
            self._core.recv(found, 0, tag, patience_s)
        except TimeoutError:
            found[0] = MISSING
        return found


#: Of a wait whose time is over.
_LEAST_S = 1e-6


class MonitoredBarrier(Messages):
    """The barrier of a communicator's ranks that goes by messages, not by an operation of all."""

    _ranks: tuple[int, ...]  #: by their numbers in the job

    def __init__(self, core: CoreCommunicator) -> None:
        super().__init__(core)
        self._roll_call = RollCall(core)
        self._limit_s = 300.0  #: of a barrier that states none

    @typed
    def monitored_barrier(self, timeout_s: float | None = None) -> None:
        """Return once every rank has called this; or raise on all that have, naming those that have not.

        Parameters
        ----------
        timeout_s : float > 0, seconds, optional. How long rank 0 waits for the others, the same on all ranks; None: as
            `init` says. The others wait up to twice as long, since rank 0 may come last.

        Raises
        ------
        ArgumentError
            for a timeout that is not above 0, and on an emulated network, which has no messages.
        TimeoutError
            naming the ranks that did not come; on those, too, once they do. Only rank 0, where it comes after the
            others' time, finds that they have come, and returns.
        LostRankError
            naming a rank that has died or closed its communicator.

        Notes
        -----
        The communicator can be used further after any of these errors. Two messages between rank 0 and each other rank,
        so it is slower than `barrier`; it is there to find out who is missing.
        """
        limit_s = seconds_of(self._limit_s if timeout_s is None else timeout_s)
        if isinstance(limit_s, Complaint):
            raise ArgumentError(f"monitored_barrier: {limit_s.text}")
        found = self._roll_call.found(limit_s, 2 * limit_s)
        for state, error, what in (
            (LOST, LostRankError, "has died or closed its communicator"),
            (MISSING, TimeoutError, f"did not come within {limit_s:g} s"),
        ):
            absent = [int(rank) for rank in np.flatnonzero(found == state)]
            if not absent:
                continue
            names = ", ".join(
                f"rank {rank}" + (", this one," if rank == self.rank else "") for rank in absent
            )
            text = f"monitored_barrier: {names} {what}; the others have gone on, and the communicator can be used"
            first = self._ranks[absent[0]]
            failure = LostRankError(text, absent[0], first) if error is LostRankError else TimeoutError(text)
            failure.cause = Cause(first, what, time.monotonic())
            raise failure
