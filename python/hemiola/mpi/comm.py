# SPDX-License-Identifier: Apache-2.0
"""A communicator with mpi4py's names: upper case for buffers, lower case for objects, which are pickled."""

from __future__ import annotations

import functools
import os
import pickle
from typing import Any

import numpy as np

from hemiola.communicator import Communicator
from hemiola.errors import ArgumentError
from hemiola.mpi.buffers import IN_PLACE, OPS, Buffer, Op
from hemiola.mpi.errors import Facade, missing
from hemiola.mpi.messages import ANY_SOURCE, ANY_TAG, Mailbox, Receive, Request, waited

UNDEFINED = -32766
_SUM = OPS["SUM"]
_NOTHING = np.empty(0, np.uint8)


def _pickled(thing: Any) -> Any:
    return np.frombuffer(pickle.dumps(thing, pickle.HIGHEST_PROTOCOL), np.uint8)


class Comm(Facade):
    """Ranks that call together, each by the names of mpi4py."""

    def __init__(self, comm: Communicator) -> None:
        self._comm, self._mail = comm, Mailbox(comm)
        self.rank, self.size = comm.rank, comm.rank_count

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    def Abort(self, errorcode: int = 1) -> None:
        self._comm.abort(f"MPI.Abort({errorcode})")
        os._exit(errorcode)

    def Dup(self) -> Comm:
        return Comm(self._comm.group(range(self.size)))

    def Split(self, color: int = 0, key: int = 0) -> Comm | None:
        every = self._comm.all_gather(np.array([[color, key]]))
        own = sorted((int(every[rank, 1]), rank) for rank in range(self.size) if every[rank, 0] == color)
        return None if color == UNDEFINED else Comm(self._comm.group([rank for _, rank in own]))

    def Free(self) -> None:
        self._comm.close()

    # Messages of buffers.

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        self.Isend(buf, dest, tag).Wait()

    Rsend = Send

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        return self._mail.send(Buffer(buf).array.view(np.uint8), dest, tag)

    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> None:
        self.Irecv(buf, source, tag).Wait(status)

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        return Receive(self._mail, source, tag, Buffer(buf).array.view(np.uint8))

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG, status: Any = None,
    ) -> None:  # fmt: skip
        receiving = self.Irecv(recvbuf, source, recvtag)
        self.Send(sendbuf, dest, sendtag)
        receiving.Wait(status)

    def _probe(
        self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None, *, waits: bool
    ) -> bool:
        found = self._mail.probe(source, tag, waits=waits)
        if found is not None and status is not None:
            status.become(found)
        return found is not None

    Probe = probe = functools.partialmethod(_probe, waits=True)
    Iprobe = iprobe = functools.partialmethod(_probe, waits=False)

    # Messages of objects.

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        self.isend(obj, dest, tag).Wait()

    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        return self._mail.send(_pickled(obj), dest, tag)

    def recv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> Any:
        return self.irecv(buf, source, tag).wait(status)

    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        return Receive(self._mail, source, tag)

    def sendrecv(
        self, sendobj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG, status: Any = None,
    ) -> Any:  # fmt: skip
        receiving = self.irecv(None, source, recvtag)
        self.send(sendobj, dest, sendtag)
        return receiving.wait(status)

    # Collectives of buffers.

    def _run(self, kind: str, *arguments: Any, **options: Any) -> Any:
        """Run a collective; in the background where senders may wait for receives of this rank."""
        if Mailbox.posted:
            return waited(getattr(self._comm, f"start_{kind}")(*arguments, **options))
        return getattr(self._comm, kind)(*arguments, **options)

    def Barrier(self) -> None:
        self._run("barrier")

    barrier = Barrier

    def Ibarrier(self) -> Request:
        return Request(self._comm.start_barrier())

    def Bcast(self, buf: Any, root: int = 0) -> None:
        self._run("broadcast", Buffer(buf).array, root=root)

    def Ibcast(self, buf: Any, root: int = 0) -> Request:
        return Request(self._comm.start_broadcast(Buffer(buf).array, root=root))

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Op = _SUM) -> None:
        self._reduce("all_reduce", sendbuf, recvbuf, op)

    def Iallreduce(self, sendbuf: Any, recvbuf: Any, op: Op = _SUM) -> Request:
        x, y = Buffer(recvbuf if sendbuf is IN_PLACE else sendbuf).array, Buffer(recvbuf).array
        return Request(self._comm.start_all_reduce(x, op=_name_of(op, "Iallreduce"), out=y))

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Op = _SUM, root: int = 0) -> None:
        self._reduce("reduce", sendbuf, recvbuf if self.rank == root else None, op, root=root)

    def _reduce(self, kind: str, sendbuf: Any, recvbuf: Any, op: Op, **options: Any) -> None:
        y = None if recvbuf is None else Buffer(recvbuf).array
        x: Any = y if sendbuf is IN_PLACE else Buffer(sendbuf).array
        if not op.is_logical:
            self._run(kind, x, op=_name_of(op, kind), out=y, **options)
            return
        truth = (x != 0).astype(np.uint8)
        self._run(kind, truth, op=op.name, **options)
        if y is not None:
            y[:] = truth

    def Reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Op = _SUM) -> None:
        x, y = Buffer(sendbuf).array, Buffer(recvbuf).array
        self._run("reduce_scatter", x, op=_name_of(op, "Reduce_scatter_block"), out=y)

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        blocks = Buffer(recvbuf).blocks(self.size)
        x = blocks[self.rank].copy() if sendbuf is IN_PLACE else Buffer(sendbuf).array
        self._run("all_gather_blocks", x.view(blocks[0].dtype), blocks)

    Allgatherv = Allgather

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        out = Buffer(recvbuf).blocks(self.size)
        in_place = sendbuf is IN_PLACE
        given = [block.copy() for block in out] if in_place else Buffer(sendbuf).blocks(self.size)
        self._run("all_to_all_blocks", given, out)

    Alltoallv = Alltoall

    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        out = Buffer(recvbuf).blocks(self.size) if self.rank == root else None
        x = out[root].copy() if sendbuf is IN_PLACE and out is not None else Buffer(sendbuf).array
        self._run("all_to_all_blocks", self._at(root, x), [x[:0]] * self.size if out is None else out)

    Gatherv = Gather

    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        given = Buffer(sendbuf).blocks(self.size) if self.rank == root else None
        y = given[root].copy() if recvbuf is IN_PLACE and given is not None else Buffer(recvbuf).array
        self._run("all_to_all_blocks", [y[:0]] * self.size if given is None else given, self._at(root, y))

    Scatterv = Scatter

    def _at(self, root: int, block: Any) -> list[Any]:
        """Return a block for the root, and an empty one for each other rank."""
        return [block if rank == root else block[:0] for rank in range(self.size)]

    # Collectives of objects.

    def _exchanged(self, blocks: list[Any]) -> list[Any]:
        """Give each rank an object, or nothing; return what each has given to this one."""
        sizes = self._run(
            "all_to_all", np.array([block.size for block in blocks]), out=np.empty(self.size, np.int64)
        )
        out = [np.empty(size, np.uint8) for size in sizes]
        self._run("all_to_all_blocks", blocks, out)
        return [pickle.loads(block.data) if block.size else None for block in out]

    def alltoall(self, sendobj: Any) -> list[Any]:
        return self._exchanged([_pickled(each) for each in sendobj])

    def allgather(self, sendobj: Any) -> list[Any]:
        return self._exchanged([_pickled(sendobj)] * self.size)

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        every = self._exchanged(self._at(root, _pickled(sendobj)))
        return every if self.rank == root else None

    def scatter(self, sendobj: Any, root: int = 0) -> Any:
        given = [_NOTHING] * self.size
        if self.rank == root:
            if len(sendobj) != self.size:
                raise ArgumentError(
                    f"scatter: expected {self.size} objects, found {len(sendobj)}; pass one for each rank"
                )
            given = [_pickled(each) for each in sendobj]
        return self._exchanged(given)[root]

    def bcast(self, obj: Any = None, root: int = 0) -> Any:
        data = _pickled(obj).copy() if self.rank == root else _NOTHING
        size = self._run("broadcast", np.array([data.size]), root=root)
        return pickle.loads(self._run("broadcast", np.resize(data, size), root=root))

    def allreduce(self, sendobj: Any, op: Any = _SUM) -> Any:
        return functools.reduce(op, self.allgather(sendobj))

    def reduce(self, sendobj: Any, op: Any = _SUM, root: int = 0) -> Any:
        every = self.gather(sendobj, root)
        return None if every is None else functools.reduce(op, every)


def _name_of(op: Op, call: str) -> Any:
    """Return a reduction's name in Hemiola."""
    if not isinstance(op, Op) or op.name is None or (op.is_logical and call.startswith("I")):
        raise missing(f"such op for {call}")
    return op.name


Intracomm = Comm
__all__ = ["UNDEFINED", "Comm", "Intracomm"]
