# SPDX-License-Identifier: Apache-2.0
"""Messages with MPI's matching: any source, any tag, and buffers that are longer than the message.

Hemiola's receive knows tag and size. So a packet of one size goes before each message, with its first bytes inside. A
rank that waits looks after the receives that it has started, because their senders may wait for it."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hemiola.communicator import Communicator, Handle
from hemiola.errors import MismatchError
from hemiola.mpi.errors import Facade

ANY_SOURCE, ANY_TAG, PROC_NULL = -1, -1, -2
#: Numbers of messages begin behind it.
_PACKET_TAG = 0
_HEAD_BYTES = 1024
_PACKET = np.dtype([("tag", "i8"), ("nbytes", "i8"), ("number", "i8"), ("head", "u1", _HEAD_BYTES)])
_LOOK_S = 0.0001


@dataclass
class Status:
    """The sender, tag and bytes of a received message."""

    source: int = ANY_SOURCE
    tag: int = ANY_TAG
    nbytes: int = 0
    error: int = 0

    def Get_source(self) -> int:
        return self.source

    def Get_tag(self) -> int:
        return self.tag

    def Get_count(self, datatype: Any = None) -> int:
        return self.nbytes // (datatype.Get_size() if datatype is not None else 1)

    def become(self, other: Status) -> None:
        """Have the fields of another one."""
        vars(self).update(vars(other))


class Mailbox:
    """The messages of a communicator, as far as this rank knows of them."""

    #: Receives of this process that have met no message, in the order of their calls.
    posted: ClassVar[list[Receive]] = []

    def __init__(self, comm: Communicator) -> None:
        self.comm = comm
        self._sent = 0
        self._arrived: list[tuple[Status, Any]] = []
        self._packet = np.empty(1, _PACKET)
        self._coming: Handle[int] | None = None

    def send(self, data: Any, dst: int, tag: int) -> Request:
        """Begin to send bytes."""
        if dst == PROC_NULL:
            return Request()
        self._sent += 1
        packet, head = np.zeros(1, _PACKET), data[:_HEAD_BYTES]
        packet["tag"], packet["nbytes"], packet["number"] = tag, data.size, self._sent
        packet["head"][0, : head.size] = head
        self.comm.send(packet.view(np.uint8), dst, _PACKET_TAG)
        rest = data[_HEAD_BYTES:]
        return Request(self.comm.start_send(rest, dst, self._sent) if rest.size else None)

    def look(self, *, waits: bool = False) -> None:
        """Take packets that have come; wait for one where asked to."""
        while True:
            if self._coming is None:
                self._coming = self.comm.start_recv(self._packet.view(np.uint8), None, _PACKET_TAG)
            if not waits and not self._coming.done():
                return
            source, packet = waited(self._coming, self), self._packet[0].copy()
            self._coming, waits = None, False
            self._arrived.append((Status(source, int(packet["tag"]), int(packet["nbytes"])), packet))
            self.match()

    def match(self) -> None:
        """Give messages to the receives that were called first."""
        for receive in [each for each in self.posted if each.mailbox is self]:
            at = self._first(receive.source, receive.tag)
            if at is not None:
                self.posted.remove(receive)
                receive.take(*self._arrived.pop(at))

    def probe(self, source: int, tag: int, *, waits: bool) -> Status | None:
        """Return the status of the next message that fits; None where there is none yet."""
        self.look()
        while (at := self._first(source, tag)) is None and waits:
            self.look(waits=True)
        return None if at is None else self._arrived[at][0]

    def _first(self, source: int, tag: int) -> int | None:
        """Return the place of the first message that has come and fits."""
        for at, (status, _) in enumerate(self._arrived):
            if source in (ANY_SOURCE, status.source) and tag in (ANY_TAG, status.tag):
                return at
        return None


def waited(handle: Handle[Any], own: Mailbox | None = None) -> Any:
    """Wait for an operation and return its result; look after receives meanwhile, but those of its own mailbox."""
    while (others := {each.mailbox for each in Mailbox.posted} - {own}) and not handle.done():
        for mailbox in others:
            mailbox.look()
        time.sleep(_LOOK_S)
    return handle.wait()


class Request(Facade):
    """An operation that runs in the background, or is over where it has no handle."""

    def __init__(self, handle: Handle[Any] | None = None) -> None:
        self._handle = handle

    def Wait(self, status: Status | None = None) -> bool:
        if self._handle is not None:
            waited(self._handle)
        return True

    def Test(self, status: Status | None = None) -> bool:
        for mailbox in {each.mailbox for each in Mailbox.posted}:
            mailbox.look()
        return self._is_over() and self.Wait(status)

    def wait(self, status: Status | None = None) -> Any:
        self.Wait(status)
        return self._value()

    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        is_over = self.Test(status)
        return is_over, self._value() if is_over else None

    def _is_over(self) -> bool:
        return self._handle is None or self._handle.done()

    def _value(self) -> Any:
        return None

    @staticmethod
    def waitall(requests: Any, statuses: Any = None) -> list[Any]:
        return [request.wait(statuses[at] if statuses else None) for at, request in enumerate(requests)]

    @staticmethod
    def Waitall(requests: Any, statuses: Any = None) -> bool:
        Request.waitall(requests, statuses)
        return True

    @staticmethod
    def Testall(requests: Any, statuses: Any = None) -> bool:
        return all([request.Test() for request in requests]) and Request.Waitall(requests, statuses)


class Receive(Request):
    """A receive: into memory, or of an object."""

    def __init__(self, mailbox: Mailbox, source: int, tag: int, memory: Any = None) -> None:
        super().__init__()
        self.mailbox, self.source, self.tag = mailbox, source, tag
        self._memory, self._is_object = memory, memory is None
        self._status = Status(PROC_NULL) if source == PROC_NULL else None
        self._error: MismatchError | None = None
        if self._status is None:
            Mailbox.posted.append(self)
            mailbox.match()

    def take(self, status: Status, packet: Any) -> None:
        """Begin to receive a message."""
        self._status, nbytes = status, status.nbytes
        if self._is_object:
            self._memory = np.empty(nbytes, np.uint8)
        if nbytes > self._memory.size:
            self._error = MismatchError(
                f"Recv: expected at most {self._memory.size} bytes, for which the buffer has room, found {nbytes} of "
                f"rank {status.source} with tag {status.tag}; pass a longer buffer"
            )
            return
        head = min(nbytes, _HEAD_BYTES)
        self._memory[:head] = packet["head"][:head]
        if nbytes > head:
            rest = self._memory[head:nbytes]
            self._handle = self.mailbox.comm.start_recv(rest, status.source, int(packet["number"]))

    def Wait(self, status: Status | None = None) -> bool:
        while self._status is None:
            self.mailbox.look(waits=True)
        if self._error is not None:
            raise self._error
        if status is not None:
            status.become(self._status)
        return super().Wait()

    def _is_over(self) -> bool:
        return self._status is not None and super()._is_over()

    def _value(self) -> Any:
        return pickle.loads(self._memory) if self._is_object and self._memory is not None else None
