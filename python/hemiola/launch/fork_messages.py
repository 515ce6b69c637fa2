# SPDX-License-Identifier: Apache-2.0
"""A fork server's messages to its launcher: one for each rank that has been started, has ended, or could not be
started. The server receives none; a closed connection means that it must end all ranks."""

from __future__ import annotations

import enum
import socket
import struct
from typing import NamedTuple

_FORM = struct.Struct("<iii")


class Kind(enum.IntEnum):
    """The kinds of messages, and the meaning of `value` in each."""

    STARTED = 1  #: its process; the end of its pipe from which its report is read comes with the message
    ENDED = (
        2  #: how its process ended, as subprocess has it: an exit code, or less by the signal's number than 0
    )
    REFUSED = 3  #: why the kernel did not start it, an error number; no further ranks are started


class Message(NamedTuple):
    """One message."""

    kind: Kind
    rank: int
    value: int

    def send(self, connection: socket.socket, *descriptors: int) -> None:
        """Send it with descriptors; raise OSError where nobody listens any more."""
        socket.send_fds(connection, [_FORM.pack(*self)], descriptors)

    @classmethod
    def receive(cls, connection: socket.socket) -> tuple[Message, list[int]] | None:
        """Take in one that has come, and the descriptors that came with it; None where there is none."""
        try:
            data, descriptors, _, _ = socket.recv_fds(connection, _FORM.size, 1, socket.MSG_CMSG_CLOEXEC)
        except (BlockingIOError, ConnectionResetError):
            return None
        if not data:
            return None
        kind, rank, value = _FORM.unpack(data)
        return cls(Kind(kind), rank, value), descriptors
