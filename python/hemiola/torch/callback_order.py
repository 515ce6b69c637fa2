# SPDX-License-Identifier: Apache-2.0
"""The collectives that callbacks of futures issue: in one order on all ranks, which is rank 0's.

Callbacks run when and where they can, so each rank may come to theirs in another order. Rank 0 takes its own.
Before each collective it tells the others by which callback it was issued, and they wait until theirs has issued it,
too. All this goes through a communicator of its own, which is made when the first callback issues a collective."""

from __future__ import annotations

import builtins
import hashlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import numpy as np

from hemiola.communicator import Communicator
from hemiola.errors import HemiolaError, LostRankError, TimeoutError
from hemiola.torch.call import Call
from hemiola.torch.completion import Completion

_DIGEST_BYTES = 16


class Refused:
    """In place of a Handle: a call that has not been made."""

    def __init__(self, error: HemiolaError) -> None:
        self._error = error

    def wait(self, timeout_s: float | None = None) -> None:
        """Raise the call's error."""
        raise self._error

    def done(self) -> bool:
        """Return True."""
        return True


def begun(call: Call, comm: Communicator, limit_s: float | None) -> Any:
    """Start a call of a communicator; return its Handle, or a stand-in that raises where the call is wrong."""
    try:
        return call.start(comm, limit_s)
    except HemiolaError as error:
        return Refused(error)


class Turn:
    """In place of a Handle: a call that is made when its turn comes."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._has_begun = threading.Event()
        self._handle: Any = None

    def begin(self, comm: Communicator, limit_s: float | None) -> None:
        """Start the call, on another communicator than it was meant for."""
        self.end_with(begun(self._call, comm, limit_s))

    def end_with(self, handle: Any) -> None:
        """Take the handle to wait for from now on."""
        self._handle = handle
        self._has_begun.set()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until it is over; raise its error."""
        deadline = None if timeout_s is None else monotonic() + timeout_s
        if not self._has_begun.wait(timeout_s):
            raise builtins.TimeoutError(f"the operation is still running after {timeout_s} s")
        self._handle.wait(None if deadline is None else max(0.0, deadline - monotonic()))

    def done(self) -> bool:
        """Say whether it is over, one way or the other."""
        return self._has_begun.is_set() and bool(self._handle.done())


class _Asked:
    """What one collective of a callback is made of."""

    def __init__(self, name: str, calls: Sequence[Call], limit_s: float | None) -> None:
        self.digest = hashlib.blake2b(name.encode(), digest_size=_DIGEST_BYTES).digest()
        self.name, self.turns, self.limit_s = name, [Turn(call) for call in calls], limit_s

    def begin(self, comm: Communicator) -> None:
        for turn in self.turns:
            turn.begin(comm, self.limit_s)

    def refuse(self, error: HemiolaError) -> None:
        for turn in self.turns:
            turn.end_with(Refused(error))


def _closed() -> Communicator:
    raise LostRankError("this rank has closed the group")


class CallbackOrder:
    """The order of the operations that the callbacks of a group's futures issue.

    Parameters
    ----------
    meet : makes the communicator, together with the other ranks.
    name : of the threads.
    limit_s : how long a rank waits for another's callback where the collective does not say it.
    """

    def __init__(self, meet: Callable[[], Communicator], name: str, limit_s: float) -> None:
        self.completion = Completion(name)
        self._meet, self._name, self._limit_s = meet, name, limit_s
        self._changed = threading.Condition()
        self._asked: deque[_Asked] = deque()
        self._comm: Communicator | None = None
        self._thread: threading.Thread | None = None
        self._refusal: HemiolaError | None = None

    def start(self, name: str, calls: Sequence[Call], limit_s: float | None) -> list[Turn]:
        """Have a collective run when its turn comes; return a stand-in for the Handles of its calls."""
        asked = _Asked(name, calls, limit_s)
        with self._changed:
            if self._refusal is not None:
                asked.refuse(self._refusal)
                return asked.turns
            self._asked.append(asked)
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        return asked.turns

    def close(self) -> None:
        """End the operations that are under way."""
        self._refuse(LostRankError("this rank has closed the group"))
        # The group's method holds the group, whose descriptors would stay until a collection of cycles.
        self._meet = _closed
        if self._comm is not None:
            self._comm.close()
        self.completion.close()

    def _run(self) -> None:
        try:
            comm = self._comm = self._meet()
            while self._is_asked():
                self._next(comm).begin(comm)
        except HemiolaError as error:
            self._refuse(error)
        if self._comm is not None:
            self._comm.close()

    def _is_asked(self) -> bool:
        """Wait for something to do; False at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._asked or self._refusal)
            return self._refusal is None

    def _next(self, comm: Communicator) -> _Asked:
        """Return what rank 0 begins next."""
        digest = np.zeros(_DIGEST_BYTES, np.uint8)
        with self._changed:
            first, asked_before = self._asked[0], time_of(self._limit_s, self._asked[0].limit_s)
        if comm.rank == 0:
            digest[:] = np.frombuffer(first.digest, np.uint8)
        comm.broadcast(digest, 0, timeout_s=asked_before)
        with self._changed:
            self._changed.wait_for(lambda: self._refusal or self._place_of(digest) >= 0, asked_before)
            place = self._place_of(digest)
            if self._refusal is not None:
                raise self._refusal
            if place < 0:
                raise TimeoutError(
                    f"rank 0 has begun a collective that a callback of a future issued; on rank {comm.rank} that "
                    f"callback has issued none within {asked_before} s, but another one has ({first.name}): let "
                    f"callbacks issue the same collectives on all ranks"
                )
            found = self._asked[place]
            del self._asked[place]
            return found

    def _place_of(self, digest: Any) -> int:
        told = digest.tobytes()
        return next((place for place, asked in enumerate(self._asked) if asked.digest == told), -1)

    def _refuse(self, error: HemiolaError) -> None:
        """Refuse whatever waits, and comes."""
        with self._changed:
            self._refusal = self._refusal or error
            while self._asked:
                self._asked.popleft().refuse(self._refusal)
            self._changed.notify_all()


def time_of(usual_s: float, asked_s: float | None) -> float:
    return usual_s if asked_s is None else asked_s
