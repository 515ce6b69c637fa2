# SPDX-License-Identifier: Apache-2.0
"""Which rank is late to an operation of tensors on a device: rank 0 says so before the first group of messages begins.

The engine's late register (docs/decisions/0006) counts a rank's arrival inside an operation of the host. Here the same
count is kept by a thread of rank 0, by messages of the host's control plane."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from hemiola.communicator import Communicator
from hemiola.communicator.messages import RESERVED_TAGS
from hemiola.errors import HemiolaError, LostRankError, TimeoutError

_ARRIVALS, _WORDS = RESERVED_TAGS + (1 << 42), RESERVED_TAGS + (1 << 43)
#: The word where no rank is late.
NOBODY = -1
#: A message of rank 0 is awaited so long before a waiting rank looks whether one is lost.
_LOOK_S = 0.1
_AWAITED_S = 3600.0


class LateCount:
    """The arrivals of each operation, and the word that follows from them: a value and two steps, so that a test can
    order them in every way.

    Once all ranks but one have come, that one is late unless it comes within the patience of the last of them. One
    place decides, so ranks cannot disagree. At most one operation waits for its last rank: the others cannot come to
    the next one without the word.
    """

    def __init__(self, rank_count: int) -> None:
        self._rank_count = rank_count
        self._came: defaultdict[int, set[int]] = defaultdict(set)
        self._awaits = -1
        #: When the last rank of an operation is late; None while none waits for its last rank alone.
        self.deadline_s: float | None = None

    def come(self, rank: int, operation: int, patience_s: float, now_s: float) -> int | None:
        """Count a rank in. Return NOBODY where it was the last one and is in time; else no word is due yet."""
        came = self._came[operation]
        came.add(rank)
        if len(came) == self._rank_count - 1:
            self._awaits, self.deadline_s = operation, now_s + patience_s
        if len(came) < self._rank_count:
            return None
        del self._came[operation]
        if self.deadline_s is None or operation != self._awaits:
            return None  # it was late, as all know
        self.deadline_s = None
        return NOBODY

    def due(self) -> int:
        """Return the late rank, when its deadline has passed."""
        self.deadline_s = None
        (late,) = set(range(self._rank_count)) - self._came[self._awaits]
        return late


class LateWord:
    """A rank's part, and on rank 0 the count.

    Parameters
    ----------
    comm : Communicator of 3 ranks or more.
    check : raises LostRankError where a rank is lost.
    limit_s : float, seconds after which a rank gives up where too few have come.
    """

    def __init__(self, comm: Communicator, check: Callable[[], None], limit_s: float) -> None:
        self._comm, self._check, self._limit_s = comm, check, limit_s
        self._operation = 0
        if comm.rank == 0:
            threading.Thread(target=self._count, name="hemiola late ranks", daemon=True).start()

    def late_rank(self, patience_s: float) -> int | None:
        """Say that this rank has come to the next operation, and return which one is late to it, the same on all.

        Parameters
        ----------
        patience_s : float, by how much a rank has to come later than all others to be late.

        Raises
        ------
        LostRankError
            naming a rank that has died.
        TimeoutError
            where two ranks or more do not come.
        """
        core = self._comm._core
        core.send(np.array([self._operation, round(1e9 * patience_s)], np.int64), 0, _ARRIVALS, self._limit_s)
        self._operation += 1
        word = np.zeros(1, np.int64)
        deadline_s = time.monotonic() + self._limit_s
        while True:
            self._check()
            try:
                core.recv(word, 0, _WORDS, _LOOK_S)
                return None if word[0] == NOBODY else int(word[0])
            except TimeoutError as error:
                if time.monotonic() > deadline_s:
                    raise TimeoutError(
                        f"device_finds_late: expected all ranks but one within {self._limit_s:g} s, found two or more "
                        "missing; look at what they do, or call set_timeout"
                    ) from error

    def _count(self) -> None:
        """Receive arrivals and send words until the communicator is closed or a rank is lost, which its guard tells."""
        core, count = self._comm._core, LateCount(self._comm.rank_count)
        came = np.zeros(2, np.int64)
        while True:
            try:
                left_s = _AWAITED_S
                if count.deadline_s is not None:
                    left_s = max(count.deadline_s - time.monotonic(), 1e-6)
                rank = core.recv(came, None, _ARRIVALS, left_s)
                word = count.come(rank, int(came[0]), 1e-9 * float(came[1]), time.monotonic())
            except TimeoutError:
                word = None if count.deadline_s is None else count.due()
            except HemiolaError:
                return
            if word is not None:
                self._tell(word)

    def _tell(self, word: int) -> None:
        """Send a word to all ranks; the guards name one that cannot get it."""
        for rank in range(self._comm.rank_count):
            with suppress(LostRankError):
                self._comm._core.send(np.array([word], np.int64), rank, _WORDS, self._limit_s)
