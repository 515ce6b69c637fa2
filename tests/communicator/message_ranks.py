# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the messages' tests do; each returns plain data for the test to judge."""

from __future__ import annotations

import builtins
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

import hemiola as hm

LONG = 100_000  #: elements: far beyond what is sent without a receiver


def error_of(call: Callable[[], Any]) -> tuple[str, str]:
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


def around_a_ring() -> int:
    """Pass arrays of many dtypes, shapes and sizes to the next rank; count what comes wrong."""
    comm = hm.init(timeout_s=60)
    to, of = (comm.rank + 1) % comm.rank_count, (comm.rank - 1) % comm.rank_count
    wrong = 0
    for tag, dtype in enumerate([np.float32, np.int8, ml_dtypes.bfloat16, np.bool_, np.complex128]):
        for shape in [(), (0,), (3, 5), (LONG,)]:
            values = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 3
            into = np.zeros(values.size, dtype)
            sending = comm.start_send((values + comm.rank).astype(dtype), to, tag)
            source = comm.recv(into, of, tag)
            assert sending.wait() is None
            wrong += source != of or not np.array_equal(into, (values.ravel() + of).astype(dtype))
    return wrong


def in_the_background() -> list[Any]:
    """Rank 0 receives from anybody in the background, and beside that all reduce."""
    comm = hm.init(timeout_s=60)
    if comm.rank == 0:
        into = [np.zeros(LONG) for _ in range(2 * (comm.rank_count - 1))]
        handles = [comm.start_recv(x, None, 5) for x in into]
        early = handles[0].done()
        waited = error_of(lambda: handles[0].wait(0.05))[0]
        comm.barrier()
        total = comm.all_reduce(np.ones(3))[0]
        sources = sorted(handle.wait() for handle in handles)
        right = all(set(x) == {float(handle.wait())} for x, handle in zip(into, handles, strict=True))
        return [early, waited, total, sources, right, all(handle.done() for handle in handles)]
    comm.barrier()
    handles = [comm.start_send(np.full(LONG, float(comm.rank)), 0, 5) for _ in range(2)]
    total = comm.all_reduce(np.ones(3))[0]
    return [total, [handle.wait() for handle in handles]]


def refused() -> list[tuple[str, str]]:
    comm, x = hm.init(timeout_s=60), np.zeros(3)
    calls = (lambda: comm.send(x, 0), lambda: comm.recv(x), lambda: comm.start_send(x, 0))
    return [error_of(call) for call in calls]


def mistakes() -> dict[str, tuple[str, str]]:
    """Calls that are wrong in themselves; nobody else hears of them."""
    comm = hm.init(timeout_s=60)
    x, read_only = np.zeros(4), np.zeros(4)
    read_only.flags.writeable = False
    calls: dict[str, Callable[[], Any]] = {
        "rank_count as dst": lambda: comm.send(x, comm.rank_count),
        "-1 as dst": lambda: comm.send(x, -1),
        "None as dst": lambda: comm.send(x, None),
        "text as src": lambda: comm.recv(x, "0"),
        "-1 as tag": lambda: comm.send(x, 0, -1),
        "0.5 as tag": lambda: comm.recv(x, 0, 0.5),
        "2**63 as tag": lambda: comm.send(x, 0, 1 << 63),
        "2**62 as tag": lambda: comm.recv(x, 0, 1 << 62),
        "a list": lambda: comm.send([1, 2], 0),
        "every second element": lambda: comm.send(np.zeros(8)[::2], 0),
        "a read-only array": lambda: comm.recv(read_only, 0),
        "no time": lambda: comm.recv(x, 0, timeout_s=0),
    }
    found = {name: error_of(call) for name, call in calls.items()}
    comm.send(read_only, comm.rank)
    found["afterwards"] = str(comm.recv(x, comm.rank)), ""
    return found


def one_dies(victim: int) -> list[tuple[str, str]]:
    """A rank sends a message and dies; what it has sent arrives, and then everybody who waits for it learns of it."""
    comm = hm.init(timeout_s=60)
    x = np.zeros(10)
    comm.barrier()
    if comm.rank == victim:
        for other in set(range(comm.rank_count)) - {victim}:
            comm.send(np.full(10, 7.0), other)
        os.kill(os.getpid(), signal.SIGKILL)
    assert comm.recv(x, victim) == victim
    assert (x == 7).all()
    begin = time.monotonic()
    found = [
        error_of(lambda: comm.recv(x, victim)),
        error_of(lambda: comm.recv(x)),
        error_of(lambda: comm.send(np.zeros(LONG), victim)),
    ]
    assert time.monotonic() - begin < 30
    other = next(rank for rank in range(comm.rank_count) if rank not in (victim, comm.rank))
    sending = comm.start_send(np.full(LONG, 1.0), other, 9)
    into = np.zeros(LONG)
    comm.recv(into, other, 9)
    sending.wait()
    return [*found, (str(into.sum()), "")]


def named_by(call: Callable[[], Any]) -> tuple[int | None, int | None, int | None]:
    """Return whom a LostRankError names: in the communicator, in the job, and in its cause."""
    try:
        call()
    except hm.LostRankError as error:
        return error.rank, error.world_rank, error.cause.rank if error.cause is not None else None
    return None, None, None


def one_dies_in_a_group(order: list[int], victim: int) -> list[Any] | None:
    """Return whom messages of a group name that are to come from, or to go to, a rank that has died."""
    comm = hm.init(timeout_s=60)
    group = comm.group(order)
    if comm.rank == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    number, x = order.index(victim), np.zeros(10)
    started = group.start_recv(x.copy(), number, 1)
    return [
        named_by(lambda: group.recv(x, number)),
        named_by(lambda: group.recv(x)),
        named_by(lambda: group.send(np.zeros(LONG), number)),
        named_by(started.wait),
        named_by(lambda: comm.recv(x, victim)),
        named_by(lambda: comm.monitored_barrier(30)),
        named_by(lambda: group.monitored_barrier(30)),
    ]


def one_closes_for_another(order: list[int], victim: int) -> tuple[int | None, int | None, int | None] | None:
    """Whoever comes first in a group closes it, because a rank of the job has died; return whom a message from there
    names on the second."""
    comm = hm.init(timeout_s=60)
    group = comm.group(order) if comm.rank in order else None
    comm.barrier()
    if comm.rank == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    if group is not None and comm.rank == order[1]:
        return named_by(lambda: group.recv(np.zeros(3), 0))
    named_by(comm.barrier)
    if group is not None:
        group.close()
    return None


def somebody_is_late(late: int, limit_s: float) -> list[Any]:
    """All meet, then one comes long after the others' patience; all go on together."""
    comm = hm.init(timeout_s=60)
    comm.monitored_barrier()
    if comm.rank == late:
        time.sleep(6 * limit_s)
    error = error_of(lambda: comm.monitored_barrier(limit_s))
    comm.barrier()
    comm.monitored_barrier(30)
    wrong = error_of(lambda: comm.monitored_barrier(0.0))
    return [*error, float(comm.all_reduce(np.ones(1))[0]), wrong[0]]


def somebody_dies(victim: int) -> list[Any]:
    """One dies; those that are left learn who, and meet in a group."""
    comm = hm.init(timeout_s=60)
    comm.monitored_barrier()
    if comm.rank == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    error = error_of(lambda: comm.monitored_barrier(30))
    comm.shrink().monitored_barrier(30)
    return [*error]


def closed_while_waiting() -> tuple[str, str]:
    """Another thread closes the communicator while this one waits for a message."""
    comm = hm.init(timeout_s=60)
    comm.barrier()
    threading.Timer(0.2, comm.close).start()
    return error_of(lambda: comm.recv(np.zeros(3), (comm.rank + 1) % comm.rank_count))


def interrupted() -> tuple[list[str], float]:
    """Ctrl-C ends a receive on one rank, and nothing else."""
    comm = hm.init(timeout_s=60)
    x, seen = np.zeros(3), []
    comm.barrier()
    if comm.rank == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            comm.recv(x, 1)
        except KeyboardInterrupt:
            seen.append("KeyboardInterrupt")
    comm.barrier()
    if comm.rank == 1:
        comm.send(np.full(3, 5.0), 0)
    else:
        comm.recv(x, 1)
        seen.append(str(x[0]))
    return seen, float(comm.all_reduce(np.ones(1))[0])


def in_time() -> list[str]:
    """Messages that nobody answers end in time; the handle of one says the same."""
    comm = hm.init(timeout_s=60)
    comm.barrier()
    x = np.zeros(LONG)
    other = 1 - comm.rank
    handle = comm.start_recv(x, other, 3, timeout_s=0.2)
    seen = []
    for call in (
        lambda: comm.recv(x, other, 1, timeout_s=0.1),
        lambda: comm.send(x, other, 2, timeout_s=0.1),
        lambda: handle.wait(),
    ):
        try:
            call()
        except builtins.TimeoutError as error:
            seen.append(f"{type(error).__module__}: {error}")
    comm.barrier()
    return seen
