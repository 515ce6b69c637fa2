# SPDX-License-Identifier: Apache-2.0
"""What ranks do in the tests of calls that come again: the short way answers as the long one does."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np

import hemiola as hm


def _answers(call: Any) -> str:
    """What a call says where it refuses."""
    try:
        call()
    except hm.HemiolaError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def every_kind() -> list[bool]:
    """Whether each of five equal calls of each kind, with new values, gets its own result."""
    comm = hm.init(timeout_s=20)
    n, rank = comm.rank_count, comm.rank
    x, block = np.zeros(8 * n, np.float32), np.zeros(8, np.float32)
    room, gathered = np.zeros(8 * n, np.float32), np.zeros(8 * n, np.float32)
    right = []
    for turn in range(5):
        ranks = np.arange(n, dtype=np.float32) + turn
        x[:] = block[:] = rank + turn
        right.append(bool((comm.all_reduce(x) == ranks.sum()).all()))
        x[:] = rank + turn
        right.append(bool((comm.all_reduce(x, op="max", out=room) == ranks.max()).all()))
        right.append(bool((comm.all_gather(block) == np.repeat(ranks, 8)).all()))
        right.append(bool((comm.all_gather(block, out=gathered) == np.repeat(ranks, 8)).all()))
        right.append(bool((comm.reduce_scatter(x) == ranks.sum()).all()))
        right.append(bool((comm.all_to_all(x) == np.repeat(ranks, 8)).all()))
        right.append(bool((comm.broadcast(block, root=turn % n) == turn % n + turn).all()))
        comm.barrier()
    return right


def new_results() -> bool:
    """Whether the results of equal calls are arrays of their own."""
    comm = hm.init(timeout_s=20)
    x = np.full(4, comm.rank, np.int64)
    made = [comm.all_gather(x) for _ in range(4)]
    return len({one.ctypes.data for one in made}) == 4 and all((one == made[0]).all() for one in made)


def changed_arrays() -> list[Any]:
    """What calls do once an array has changed its shape, its type or its rights, or lies elsewhere."""
    comm = hm.init(timeout_s=20)
    x = np.ones(16, np.float32)
    for _ in range(3):
        comm.all_reduce(x)
    answers: list[Any] = []
    x.flags.writeable = False
    answers.append(_answers(lambda: comm.all_reduce(x)))
    x.flags.writeable = True
    answers.append(_answers(lambda: comm.all_reduce(x[::2])))
    x.resize(32, refcheck=False)
    x[:] = 1
    answers.append(float(comm.all_reduce(x).sum()))
    whole = x.view(np.int32)
    whole[:] = 1
    answers.append(int(comm.all_reduce(whole).sum()))
    other = np.ones(32, np.float32)
    answers.append(float(comm.all_reduce(other).sum()))
    return answers


def disagreement() -> list[Any]:
    """What a disagreement in the short way says, whether inputs are back, and the result of the call after it."""
    comm = hm.init(timeout_s=20)
    x, y = np.full(64, comm.rank + 1.0), np.full(32, 5.0)
    for _ in range(3):
        comm.all_reduce(x)
        x[:] = comm.rank + 1
    text = _answers(lambda: comm.all_reduce(y if comm.rank == 0 else x))
    return [text, float(x[0]), float(y[0]), float(comm.all_reduce(x)[0])]


def dead_peer() -> list[Any]:
    """What the survivors of a rank that dies in the short way see, and whether their inputs are as they were."""
    comm = hm.init(timeout_s=20)
    x = np.ones(256)
    for _ in range(5):
        comm.all_reduce(x)
        x[:] = 1
    if comm.rank == comm.rank_count - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return [_answers(lambda: comm.all_reduce(x)), float(x.min()), float(x.max())]


def free_lock() -> int:
    """How often another Python thread runs while this one waits half a second for a late rank in the short way."""
    comm = hm.init(timeout_s=20)
    x = np.ones(4)
    for _ in range(3):
        comm.all_reduce(x)
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.wait(0.001):
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    time.sleep(0.05)
    before = counted[0]
    if comm.rank == 0:
        time.sleep(0.5)
    comm.all_reduce(x)
    done = counted[0] - before
    stop.set()
    thread.join()
    return done


def after_background() -> float:
    """The result of a call in the short way behind one in the background whose callback needs Python."""
    comm = hm.init(timeout_s=20)
    x, y = np.ones(4), np.ones(1 << 20)
    for _ in range(3):
        comm.all_reduce(x)
    x[:] = 1
    handle = comm.start_all_reduce(y)
    comm.all_reduce(x)
    handle.wait()
    return float(x[0] + y[0])


def two_threads() -> list[float]:
    """The results of two communicators, each with a thread that calls for the same array again and again."""
    comm = hm.init(timeout_s=20)
    group = comm.group(list(range(comm.rank_count)))
    found: list[float] = [0.0, 0.0]

    def work(place: int, of: hm.Communicator) -> None:
        x = np.zeros(8)
        for turn in range(200):
            x[:] = turn
            found[place] += float(of.all_reduce(x)[0])

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate((comm, group))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def interrupted() -> str:
    """How a call in the short way ends that Ctrl-C meets while a rank is late."""
    comm = hm.init(timeout_s=20)
    x = np.ones(4)
    for _ in range(3):
        comm.all_reduce(x)
    if comm.rank == 0:
        time.sleep(1.5)
        return _answers(lambda: comm.all_reduce(x))
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        comm.all_reduce(x)
    except KeyboardInterrupt:
        return "interrupted" if time.monotonic() - begin < 1.2 else "late"
    return "not interrupted"


def turn_held() -> list[float]:
    """The results of two threads of one communicator: one waits for a late rank, and hears signals; the other waits for
    its turn in the short way."""
    comm = hm.init(timeout_s=20)
    x, y = np.ones(4), np.ones(4)  # alike: whichever call is the first
    for _ in range(3):
        comm.all_reduce(x)
        comm.barrier()
    x[:] = 1
    thread = threading.Thread(target=comm.all_reduce, args=(y,))
    if comm.rank == 0:
        time.sleep(0.5)
    thread.start()
    time.sleep(0.1)
    comm.all_reduce(x)
    thread.join()
    return [float(x[0]), float(y[0])]


def conditions_change(calls: int, late_s: float) -> list[int]:
    """The bytes that this rank sends in each of so many equal calls, to which rank 1 comes late; -1: a wrong result.
    From the middle on it is late no more, and its port is slow."""
    comm = hm.init(timeout_s=60)
    n = comm.rank_count
    x, sent = np.zeros(16_000), []
    for number in range(2 * calls):
        if number == calls:
            comm.barrier()
            if comm.rank == 1:
                comm.degrade({1: 4.0})
            comm.barrier()
        if comm.rank == 1 and number < calls:
            time.sleep(late_s)
        x[:] = comm.rank + number
        before = sum(comm.traffic().sent_bytes)
        comm.all_reduce(x)
        right = bool((x == n * number + n * (n - 1) // 2).all())
        sent.append(sum(comm.traffic().sent_bytes) - before if right else -1)
    return sent


def zeros_change() -> list[int]:
    """The bytes that this rank sends in each of nine equal calls whose array is dense, nearly empty and dense again;
    -1: a wrong result."""
    comm = hm.init(timeout_s=20)
    x, sent = np.zeros(60_000, np.float32), []
    for every in (1, 1, 1, 100, 100, 100, 1, 1, 1):
        x[:] = 0
        x[::every] = 1
        before = sum(comm.traffic().sent_bytes)
        comm.all_reduce(x, sparse=True)
        right = float(x.sum()) == len(range(0, len(x), every)) * comm.rank_count
        sent.append(sum(comm.traffic().sent_bytes) - before if right else -1)
    return sent
