# SPDX-License-Identifier: Apache-2.0
"""One rank of a reduce-scatter in Python: every message of a schedule by mpi4py, every sum by NumPy; in turns with the
same schedule in Hemiola's engine, whose messages go by the same MPI, and with MPI's own reduce-scatter.

Started by mpirun as `python -m papers.pccl.mpi4py_rank FOLDER` with HEMIOLA_WIRE=mpi; reads its cases from FOLDER,
where rank 0 leaves the measurements. [PCCL, §4.3] began like this; Hemiola runs schedules in another manner."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule
from hemiola.communicator import Communicator, init
from hemiola.measure.pattern import Array, Pattern
from hemiola.whole_file import write_whole

ORDERS, RESULTS = "orders.json", "results.json"


@dataclass(frozen=True)
class Order:
    """A schedule in the text form, elements of float32 in the whole buffer, and how often."""

    schedule: str
    count: int
    warmups: int
    repeats: int


@dataclass(frozen=True)
class Result:
    """Seconds per repetition of the schedule in Python, of the library's own reduce-scatter, and of the schedule in the
    engine by the same MPI; and all wrong elements."""

    stepped_s: list[float]
    library_s: list[float]
    engine_s: list[float]
    wrong: int


@dataclass(frozen=True)
class Message:
    """A run of chunks to or from a peer in one step, as elements of the buffer."""

    peer: int
    elements: slice


def messages_of(schedule: Schedule, rank: int, count: int) -> list[tuple[list[Message], list[Message]]]:
    """Return a rank's sends and receives in each step; chunks that follow each other are one message."""
    rows = np.asarray(schedule.transfers)
    size = count // schedule.chunk_count
    steps = []
    for step in range(schedule.step_count):
        now = rows[rows["step"] == step]
        sent, received = now[now["src"] == rank], now[now["dst"] == rank]
        steps.append((_runs(sent, "dst", size), _runs(received, "src", size)))
    return steps


def _runs(transfers: NDArray[Any], end: str, size: int) -> list[Message]:
    messages: list[Message] = []
    for row in np.sort(transfers, order=[end, "chunk"]):
        peer, first = int(row[end]), int(row["chunk"]) * size
        if messages and messages[-1].peer == peer and messages[-1].elements.stop == first:
            first = messages.pop().elements.start
        messages.append(Message(peer, slice(first, (int(row["chunk"]) + 1) * size)))
    return messages


def stepped(comm: Any, schedule: Schedule, x: Array, out: Array) -> Callable[[], None]:
    """Return a call that reduces and scatters a copy of `x` by the schedule, and leaves this rank's block in
    `out`."""
    steps = messages_of(schedule, comm.rank, x.size)
    work, arrived = np.ones_like(x), np.ones_like(x)  # pages that were never written are all one
    mine = slice(comm.rank * out.size, (comm.rank + 1) * out.size)

    def call() -> None:
        np.copyto(work, x)
        for sent, received in steps:
            requests = [comm.Irecv(arrived[one.elements], one.peer) for one in received]
            requests += [comm.Isend(work[one.elements], one.peer) for one in sent]
            for request in requests:
                request.Wait()
            for one in received:
                np.add(work[one.elements], arrived[one.elements], out=work[one.elements])
        np.copyto(out, work[mine])

    return call


def _durations(comm: Any, order: Order, calls: Sequence[Callable[[], object]]) -> list[list[float]]:
    """Return what each repetition of each call takes, from the first rank's entry to the last one's exit, on a common
    clock. Repetitions take turns, so that what else the machine does meets all calls alike."""
    for _ in range(order.warmups):
        for call in calls:
            call()
    begin_s, end_s = np.empty((2, len(calls), order.repeats))
    for repeat in range(order.repeats):
        for which, call in enumerate(calls):
            comm.Barrier()
            begin_s[which, repeat] = time.monotonic()
            call()
            end_s[which, repeat] = time.monotonic()
    every = np.array(comm.allgather((begin_s, end_s)))
    taken: list[list[float]] = (every[:, 1].max(axis=0) - every[:, 0].min(axis=0)).tolist()
    return taken


def _run(comm: Any, engine: Communicator, order: Order) -> Result:
    pattern = Pattern("reduce_scatter", comm.size, order.count, np.dtype(np.float32))
    schedule = Schedule.from_text(order.schedule)
    x = pattern.input_of(comm.rank)
    outs = [np.full(order.count // comm.size, np.nan, np.float32) for _ in range(3)]
    calls = (
        stepped(comm, schedule, x, outs[0]),
        lambda: comm.Reduce_scatter_block(x, outs[1]),
        lambda: engine.reduce_scatter(x, schedule=schedule, sparse=False, out=outs[2]),
    )
    taken = _durations(comm, order, calls)
    wrong = sum(pattern.wrong(comm.rank, out) for out in outs)
    return Result(taken[0], taken[1], taken[2], comm.allreduce(wrong))


def main(folder: Path) -> None:
    """Run all orders; rank 0 writes the results and the library's name."""
    from mpi4py import MPI  # starts MPI

    comm = MPI.COMM_WORLD
    orders = [Order(**order) for order in json.loads((folder / ORDERS).read_text())]
    with init() as engine:
        results = [asdict(_run(comm, engine, order)) for order in orders]
    if comm.rank == 0:
        library = MPI.Get_library_version().splitlines()[0].strip("\0 ")
        write_whole(folder / RESULTS, json.dumps({"library": library, "results": results}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
