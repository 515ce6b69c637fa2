# SPDX-License-Identifier: Apache-2.0
"""An operation that runs in the background, as its caller holds it."""

from __future__ import annotations

import builtins
from typing import Generic, NoReturn, Protocol, SupportsIndex, TypeVar

from hemiola._core import PendingMessage
from hemiola.arguments import typed

R_co = TypeVar("R_co", covariant=True)


class Pending(Protocol):
    """An operation of the core, a message, or several, for a Handle to wait for."""

    def wait(self, timeout_s: float | None = None) -> bool:
        """Return True once it is over, False after `timeout_s`; raise its error."""

    def done(self) -> bool:
        """Say whether it is over."""


class Handle(Generic[R_co]):
    """An operation that runs in the background; its arrays must not be touched until it is done."""

    def __init__(self, pending: Pending, result: R_co) -> None:
        self._pending = pending
        self._result = result

    @typed
    def wait(self, timeout_s: float | None = None) -> R_co:
        """Wait for the end and return the result of the blocking call.

        Parameters
        ----------
        timeout_s : float, seconds, optional; how long to wait here. The operation itself goes on.

        Returns
        -------
        The result of the blocking call: an array, or None.

        Raises
        ------
        builtins.TimeoutError
            when it is still running after `timeout_s`.
        MismatchError, LostRankError, TimeoutError raised by the operation.
        """
        if not self._pending.wait(timeout_s):
            raise builtins.TimeoutError(f"the operation is still running after {timeout_s} s")
        return self._result

    def done(self) -> bool:
        """Say whether the operation is over, one way or the other.

        Returns
        -------
        bool
        """
        return self._pending.done()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            "a Handle belongs to an operation that runs in this process; wait() for it, and send its result"
        )


class ReceiveHandle(Handle[int]):
    """A message that is received in the background."""

    def __init__(self, pending: PendingMessage) -> None:
        super().__init__(pending, -1)
        self._message = pending

    @typed
    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the message and return who has sent it.

        Parameters
        ----------
        timeout_s : float, seconds, optional; how long to wait here. Receiving itself goes on.

        Returns
        -------
        int, the rank that has sent it.

        Raises
        ------
        builtins.TimeoutError
            when nothing has come after `timeout_s`.
        MismatchError, LostRankError, TimeoutError raised by receiving.
        """
        super().wait(timeout_s)
        return self._message.source
