# SPDX-License-Identifier: Apache-2.0
"""Messages between two ranks, one sending and the other receiving, beside the collectives."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hemiola.communicator.calls import Caller
from hemiola.communicator.handle import Handle, ReceiveHandle
from hemiola.errors import ArgumentError

#: From here on tags are Hemiola's own.
RESERVED_TAGS = 1 << 62


class Messages(Caller):
    """The calls that two ranks of a communicator make with each other."""

    def send(self, x: NDArray[Any], dst: int, tag: int = 0, *, timeout_s: float | None = None) -> None:
        """Send an array to one rank, which receives it with `recv`.

        Parameters
        ----------
        x : array, contiguous in C order, of any shape and a dtype that collectives take.
        dst : int, 0 … rank_count-1, the rank that receives it; this one, too.
        tag : int >= 0, below 2**62. It is received by a `recv` with the same tag.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        None, once `x` may be written to again.

        Raises
        ------
        ArgumentError
            when an argument is wrong; the other rank hears nothing of it.
        LostRankError
            naming `dst`, when it has died or closed its communicator.
        TimeoutError
            when `dst` has not received it in time. The message is taken back, and the communicator can be used further,
            unless its data has begun to move.

        Notes
        -----
        Up to 16 KiB are copied and sent at once, whether or not the receiver is there: so two ranks may both send
        first and then receive. A longer array, or one behind 16 MiB that have not left yet, waits for its receiver, and
        two ranks that both send one first wait for each other until their timeout; send one of them by
        `start_send`. To this rank itself any size is copied. Two messages from one rank to another with the same
        tag arrive in order. In no order with collectives, which go another way. From any thread.
        """
        _check_tag("send", tag)
        self._core.send(x, dst, tag, timeout_s)

    def start_send(
        self, x: NDArray[Any], dst: int, tag: int = 0, *, timeout_s: float | None = None
    ) -> Handle[None]:
        """Send an array in the background.

        Parameters, exceptions and notes are those of `send`.

        Returns
        -------
        Handle of None; `x` must not be written to until it is done. Any number may be under way.
        """
        _check_tag("start_send", tag)
        return Handle(self._core.start_send(x, dst, tag, timeout_s), None)

    def recv(
        self,
        x: NDArray[Any],
        src: int | None = None,
        tag: int = 0,
        *,
        timeout_s: float | None = None,
    ) -> int:
        """Receive an array that a rank sends to this one with `send`.

        Parameters
        ----------
        x : array to receive into, contiguous in C order, of the message's size and dtype. Shapes may differ.
        src : int, 0 … rank_count-1, the rank that sends it; None receives from any rank that sends with this tag.
        tag : int >= 0, below 2**62, as it was sent with.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        The rank that has sent it.

        Raises
        ------
        ArgumentError
            when an argument is wrong.
        MismatchError
            when the message is of another size or dtype than `x`, naming both. `x` is as it was, the message is gone,
            and its sender does not hear of it.
        LostRankError
            naming `src`, when it has died or closed its communicator and nothing more of it is on its way; or, for any
            source, a rank that has died, or the last one that has closed its communicator.
        TimeoutError
            when nothing has come in time. The communicator can be used further, unless the data has begun to move.

        Notes
        -----
        Finding a message costs time in the number of receives and messages that wait for each other here. Messages of
        up to 16 KiB that nobody receives are kept by this rank as soon as it sends or receives anything.
        """
        _check_tag("recv", tag)
        return self._core.recv(x, src, tag, timeout_s)

    def start_recv(
        self, x: NDArray[Any], src: int | None = None, tag: int = 0, *, timeout_s: float | None = None
    ) -> Handle[int]:
        """Receive an array in the background.

        Parameters, exceptions and notes are those of `recv`.

        Returns
        -------
        Handle of the rank that has sent it; `x` must not be touched until it is done. Any number may be under way; they
        receive in the order of the calls.
        """
        _check_tag("start_recv", tag)
        return ReceiveHandle(self._core.start_recv(x, src, tag, timeout_s))


def _check_tag(call: str, tag: object) -> None:
    if isinstance(tag, int) and tag >= RESERVED_TAGS:
        raise ArgumentError(f"{call}: expected a tag from 0 on, below 2**62, found {tag}")
