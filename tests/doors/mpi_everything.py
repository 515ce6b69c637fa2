# SPDX-License-Identifier: Apache-2.0
"""A program of mpi4py's that makes the calls of hemiola.mpi, and prints what each leaves. Real MPI prints the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
after, before = (rank + 1) % size, (rank - 1) % size
said: list[str] = []


def say(call: str, *values: Any) -> None:
    said.append(
        f"{rank} {call} {[value.tolist() if isinstance(value, np.ndarray) else value for value in values]}"
    )


def begins(counts: list[int]) -> list[int]:
    return [sum(counts[:at]) for at in range(len(counts))]


def reduce_buffers() -> None:
    x, y = np.arange(4.0) + rank, np.empty(4)
    comm.Allreduce(x, y)
    say("Allreduce", x, y)
    comm.Allreduce(MPI.IN_PLACE, y, op=MPI.MAX)
    say("Allreduce in place", y)
    z = np.zeros(3, "i")
    comm.Reduce(np.array([rank, rank + 1, 0], "i"), z, MPI.PROD, root=size - 1)
    say("Reduce", z)
    comm.Allreduce(np.array([rank % 2, 5, 0], "i"), z, MPI.LAND)
    say("LAND", z)
    part = np.zeros(2)
    comm.Reduce_scatter_block(np.arange(size * 2.0) + rank, part)
    say("Reduce_scatter_block", part)
    given, total = np.full(2, rank), np.zeros(2, int)
    MPI.Request.Waitall([comm.Iallreduce(given, total), comm.Ibarrier()])
    say("Iallreduce", total)


def move_buffers() -> None:
    x = np.full(5, rank)
    comm.Bcast(x, 1 % size)
    say("Bcast", x)
    every = np.zeros((size, 2))
    comm.Allgather(np.array([rank, -rank], float), every)
    say("Allgather", every)
    every[:] = 0
    every[rank] = rank
    comm.Allgather(MPI.IN_PLACE, every)
    say("Allgather in place", every)
    given = np.arange(size * 2) + 100 * rank
    got = np.empty_like(given)
    comm.Alltoall(given, got)
    say("Alltoall", got)
    part, whole = np.zeros(3), np.zeros(size * 3)
    comm.Scatter(np.arange(size * 3.0), part, root=0)
    comm.Gather(part, whole, root=0)
    say("Scatter, Gather", part, whole)


def move_vectors() -> None:
    counts = [at + 1 for at in range(size)]
    own, every = np.full(rank + 1, rank, "d"), np.zeros(sum(counts))
    comm.Allgatherv(own, [every, counts])
    say("Allgatherv", every)
    every[:] = 0
    comm.Gatherv(own, [every, (counts, begins(counts)), MPI.DOUBLE], root=0)
    say("Gatherv", every)
    comm.Scatterv([np.arange(sum(counts), dtype="d"), (counts, begins(counts)), MPI.DOUBLE], own, root=0)
    say("Scatterv", own)
    give, get = [(rank + at) % 2 + 1 for at in range(size)], [(at + rank) % 2 + 1 for at in range(size)]
    given = np.concatenate([np.full(count, 10 * rank + at) for at, count in enumerate(give)])
    got = np.zeros(sum(get), given.dtype)
    comm.Alltoallv([given, (give, begins(give)), MPI.LONG], [got, (get, begins(get)), MPI.LONG])
    say("Alltoallv", got)


def move_objects() -> None:
    say("bcast", comm.bcast({"a": [1, rank]}, root=0))
    say("gather", comm.gather(("x", rank), root=0), comm.allgather(rank * "z"))
    say("alltoall", comm.alltoall([(rank, at) for at in range(size)]))
    say("scatter", comm.scatter([at * at for at in range(size)] if rank == 0 else None, root=0))
    say("allreduce", comm.allreduce(rank + 1), comm.allreduce((rank, rank), op=MPI.MAXLOC))
    say("reduce", comm.reduce([rank], op=lambda a, b: a + b, root=0))


def send_buffers(count: int) -> None:
    status, room = MPI.Status(), np.zeros(count + 7)
    receiving = comm.Irecv(room, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
    comm.Send(np.full(count, rank + 0.5), after, tag=7)
    receiving.Wait(status)
    say(
        "Irecv, Send",
        status.Get_source(),
        status.Get_tag(),
        status.Get_count(MPI.DOUBLE),
        room[:2],
        float(room[-1]),
    )
    receiving = comm.Irecv(room, source=before, tag=8)
    sending = comm.Isend([np.full(count, 9.0), MPI.DOUBLE], after, tag=8)
    comm.Barrier()  # whose sender waits for the receive above
    MPI.Request.Waitall([sending, receiving])
    say("Isend, Barrier", float(room[0]))
    got = np.zeros(2, int)
    comm.Sendrecv(np.full(2, rank), after, recvbuf=got, source=before)
    say("Sendrecv", got)
    comm.Send(np.ones(1), MPI.PROC_NULL)
    comm.Send([bytearray(b"abc"), MPI.CHAR], after, 1)
    letters = bytearray(5)
    comm.Recv([letters, MPI.CHAR], before, 1)
    say("Recv", bytes(letters))


def send_objects() -> None:
    sending = comm.isend({"k": rank}, after, tag=3)
    say("recv", comm.recv(source=before, tag=3))
    sending.wait()
    say("sendrecv", comm.sendrecv(rank, after, source=before))
    comm.send("second", after, tag=12)
    comm.send("first", after, tag=11)
    status = MPI.Status()
    comm.Probe(MPI.ANY_SOURCE, 11, status)
    say("Probe", status.Get_source(), comm.recv(source=status.Get_source(), tag=11), comm.recv(tag=12))
    waiting = comm.irecv(source=before, tag=13)
    comm.Barrier()
    comm.send([1] * 5000, after, tag=13)
    say("irecv", len(waiting.wait()), comm.Iprobe(tag=99))


def make_others() -> None:
    half = comm.Split(rank % 2, -rank)
    say("Split", half.Get_rank(), half.Get_size(), half.allreduce(rank))
    half.Free()
    copy = comm.Dup()
    say("Dup", copy.allreduce(1))
    copy.Free()
    say("UNDEFINED", comm.Split(0 if rank == 0 else MPI.UNDEFINED) == MPI.COMM_NULL)
    say("COMM_SELF", MPI.COMM_SELF.allreduce(5))


reduce_buffers()
move_buffers()
move_vectors()
move_objects()
send_buffers(3)
send_buffers(100_000)
send_objects()
make_others()
for each in comm.gather(said, root=0) or []:
    print("\n".join(each))
