# SPDX-License-Identifier: Apache-2.0
"""Messages with MPI's matching: any source, any tag, and buffers that are longer than the message.

Hemiola's receive knows tag and size. So a packet of one size goes before each message, with a short one inside.
A rank that waits looks after the receives that it has started. Their senders may wait for it."""

from __future__ import annotations

import builtins
import pickle
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from hemiola.communicator import Communicator
from hemiola.mpi.errors import Exception, missing, translating

ANY_SOURCE, ANY_TAG, PROC_NULL = -1, -1, -2
_INLINE_BYTES, _HEADER_BYTES = 1024, 32
_PACKET_TAG, _FIRST_DATA_TAG = 0, 1
_LOOK_S = 0.0005


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


@dataclass
class _Envelope:
    source: int
    tag: int
    nbytes: int
    number: int
    short: Any


@dataclass
class Receive:
    """A receive: into memory, or of an object."""

    mailbox: Mailbox
    source: int
    tag: int
    memory: Any = None
    status: Status = field(default_factory=Status)
    pending: Any = None
    is_over: bool = False

    def fits(self, envelope: _Envelope) -> bool:
        return self.source in (ANY_SOURCE, envelope.source) and self.tag in (ANY_TAG, envelope.tag)

    def take(self, envelope: _Envelope) -> None:
        """Begin to receive the message of an envelope."""
        self.status = Status(envelope.source, envelope.tag, envelope.nbytes)
        if self.memory is None:
            self.memory = np.empty(envelope.nbytes, np.uint8)
        if envelope.nbytes > self.memory.nbytes:
            raise Exception(
                f"Recv: rank {envelope.source} sends {envelope.nbytes} bytes with tag {envelope.tag}, and the buffer "
                f"has room for {self.memory.nbytes}"
            )
        place = self.memory[: envelope.nbytes]
        if envelope.short is not None:
            place[:] = envelope.short
            self.is_over = True
        else:
            data_tag = _FIRST_DATA_TAG + envelope.number
            self.pending = self.mailbox.comm.start_recv(place, envelope.source, data_tag)

    def done(self) -> bool:
        return self.is_over or (self.pending is not None and self.pending.done())

    def wait(self) -> None:
        while not self.is_over and self.pending is None:
            self.mailbox.look(waits=True)
        if self.pending is not None:
            self.pending.wait()
            self.is_over = True


class Mailbox:
    """The messages of a communicator, as far as this rank knows of them."""

    #: Those of this process with receives that have met no message.
    waiting: ClassVar[set[Mailbox]] = set()

    def __init__(self, comm: Communicator) -> None:
        self.comm = comm
        self._sent = 0
        self._arrived: list[_Envelope] = []
        self._posted: list[Receive] = []
        self._packet = np.empty(_HEADER_BYTES + _INLINE_BYTES, np.uint8)
        self._coming: Any = None

    def send(self, data: Any, dst: int, tag: int) -> Any:
        """Begin to send bytes; return the pending operation, or None."""
        if dst == PROC_NULL:
            return None
        packet = np.zeros(_HEADER_BYTES + _INLINE_BYTES, np.uint8)
        is_short = data.nbytes <= _INLINE_BYTES
        packet[:_HEADER_BYTES].view(np.int64)[:] = tag, data.nbytes, self._sent, is_short
        if is_short:
            packet[_HEADER_BYTES:][: data.nbytes] = data
        self.comm.send(packet, dst, _PACKET_TAG)
        if is_short:
            return None
        self._sent += 1
        return self.comm.start_send(data, dst, _FIRST_DATA_TAG + self._sent - 1)

    def receive(self, memory: Any, source: int, tag: int) -> Receive:
        """Begin to receive."""
        receive = Receive(self, source, tag, memory)
        if source == PROC_NULL:
            receive.status, receive.is_over = Status(PROC_NULL), True
            return receive
        for envelope in self._arrived:
            if receive.fits(envelope):
                self._arrived.remove(envelope)
                receive.take(envelope)
                return receive
        self._posted.append(receive)
        Mailbox.waiting.add(self)
        return receive

    def look(self, *, waits: bool = False) -> None:
        """Take packets that have come; wait for one where asked to."""
        while True:
            if self._coming is None:
                self._coming = self.comm.start_recv(self._packet, None, _PACKET_TAG)
            if not waits and not self._coming.done():
                return
            coming, self._coming, waits = self._coming, None, False
            source = coming.wait()
            tag, nbytes, number, is_short = (
                int(word) for word in self._packet[:_HEADER_BYTES].view(np.int64)
            )
            short = self._packet[_HEADER_BYTES:][:nbytes].copy() if is_short else None
            self._put(_Envelope(source, tag, nbytes, number, short))

    def _put(self, envelope: _Envelope) -> None:
        for receive in self._posted:
            if receive.fits(envelope):
                self._posted.remove(receive)
                if not self._posted:
                    Mailbox.waiting.discard(self)
                return receive.take(envelope)
        self._arrived.append(envelope)

    def probe(self, source: int, tag: int, *, waits: bool) -> Status | None:
        """Return the status of the next message that fits; None where there is none yet."""
        receive = Receive(self, source, tag)
        while True:
            for envelope in self._arrived:
                if receive.fits(envelope):
                    return Status(envelope.source, envelope.tag, envelope.nbytes)
            self.look(waits=waits)
            if not waits and not any(receive.fits(envelope) for envelope in self._arrived):
                return None


def waited(pending: Any) -> Any:
    """Wait for an operation of Hemiola, and look after receives meanwhile; return its result."""
    while Mailbox.waiting and not pending.done():
        for mailbox in list(Mailbox.waiting):
            mailbox.look()
        try:
            pending.wait(_LOOK_S)
        except builtins.TimeoutError as error:
            if type(error) is not builtins.TimeoutError:
                raise
    return pending.wait()


@translating
class Request:
    """An operation that runs in the background."""

    def __init__(self, pending: Any = None, *, is_object: bool = False) -> None:
        self._pending, self._is_object = pending, is_object

    def __getattr__(self, name: str) -> Any:
        raise missing(f"Request.{name}")

    def Wait(self, status: Status | None = None) -> bool:
        pending = self._pending
        if isinstance(pending, Receive):
            pending.wait()
            if status is not None:
                vars(status).update(vars(pending.status))
        elif pending is not None:
            waited(pending)
        return True

    def Test(self, status: Status | None = None) -> bool:
        for mailbox in list(Mailbox.waiting):
            mailbox.look()
        return (self._pending is None or self._pending.done()) and self.Wait(status)

    def _object(self) -> Any:
        return pickle.loads(self._pending.memory.data) if self._is_object else None

    def wait(self, status: Status | None = None) -> Any:
        self.Wait(status)
        return self._object()

    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        is_over = self.Test(status)
        return is_over, self._object() if is_over else None

    @staticmethod
    def Waitall(requests: Any, statuses: Any = None) -> bool:
        for at, request in enumerate(requests):
            request.Wait(statuses[at] if statuses else None)
        return True

    @staticmethod
    def Testall(requests: Any, statuses: Any = None) -> bool:
        return all([request.Test() for request in requests]) and Request.Waitall(requests, statuses)

    @staticmethod
    def waitall(requests: Any, statuses: Any = None) -> list[Any]:
        return [request.wait(statuses[at] if statuses else None) for at, request in enumerate(requests)]
