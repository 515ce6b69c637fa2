# SPDX-License-Identifier: Apache-2.0
"""Runs schedules as one of the ranks, and has all ranks know how long each of them took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from hemiola import algorithms
from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import Schedule

Seconds = NDArray[np.float64]

#: Makes a communicator of some of the ranks; all of these call it.
Grouping = Callable[[Sequence[int]], CoreCommunicator]


class Party:
    """Some of the ranks, that run schedules of their own numbers; `core` is None where this rank is not one of them."""

    def __init__(self, ranks: Sequence[int], core: CoreCommunicator | None) -> None:
        self.numbers = {rank: number for number, rank in enumerate(ranks)}
        self.core = core


class Stopwatch:
    """One of the ranks that measure; all of them make the same calls.

    All know the same times after each call, so that all decide alike on the next step.
    """

    def __init__(self, core: CoreCommunicator, grouping: Grouping) -> None:
        self._core, self._grouping = core, grouping
        self._share = algorithms.get("all_gather_bruck").generate(core.rank_count)
        #: All ranks.
        self.all = Party(range(core.rank_count), core)

    @contextmanager
    def parties(self, parties: Sequence[Sequence[int]]) -> Iterator[Party]:
        """Have ranks form parties that run schedules side by side; return this rank's own.

        An operation of a communicator ends on all of its ranks when it has on the last one, until they have heard of
        each other, which takes a while. So who is to be timed apart from others must be apart.
        """
        own = sorted(next((party for party in parties if self._core.rank in party), ()))
        if len(own) == self._core.rank_count:
            yield self.all
            return
        core = self._grouping(own) if own else None
        try:
            yield Party(own, core)
        finally:
            if core is not None:
                core.close()

    def time(self, party: Party, schedule: Schedule | None, chunk_bytes: int, repeats: int = 1) -> Seconds:
        """Run a schedule so often, in each party its own; None: nothing.

        Returns
        -------
        Array of shape (repeats, ranks), of all parties, in seconds: from the time when a rank began until its party had
        all that it receives. All begin together.
        """
        taken = np.zeros(repeats)
        buffer = np.zeros(0 if schedule is None else schedule.chunk_count * chunk_bytes, np.uint8)
        for repeat in range(repeats):
            self.everybodys(taken[:0])
            begin = time.perf_counter()
            if schedule is not None and party.core is not None:
                party.core.run("custom", buffer, buffer, "sum", 0, schedule, None)
            taken[repeat] = time.perf_counter() - begin
        return self.everybodys(taken).T

    def everybodys(self, own: Seconds) -> Seconds:
        """Return every rank's value, as rows."""
        padded = np.append(own, 0.0)
        rows = np.empty((self._core.rank_count, padded.size))
        self._core.run("all_gather", padded, rows.reshape(-1), "sum", 0, self._share, None)
        return np.asarray(rows[:, :-1])

    def as_rank_zero(self, numbers: Seconds) -> Seconds:
        """Return the first rank's numbers: others may have computed another last bit from the same times."""
        agreed: Seconds = self.everybodys(numbers)[0]
        return agreed
