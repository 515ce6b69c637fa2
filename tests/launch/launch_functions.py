# SPDX-License-Identifier: Apache-2.0
"""Functions for ranks that are launched to see what becomes of them."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from typing import Any

import numpy as np

import hemiola as hm


def rank_and_arguments(*args: Any) -> tuple[int, int, tuple[Any, ...], int]:
    comm = hm.init(timeout_s=60)
    assert hm.init() is comm
    return comm.rank, comm.rank_count, args, os.getpid()


def carrier_of_the_other() -> str:
    comm = hm.init(timeout_s=60)
    comm.all_reduce(np.ones(4))
    return comm.traffic().carriers[1 - comm.rank]


def one_raises(rank: int) -> None:
    comm = hm.init(timeout_s=60)
    if comm.rank == rank:
        raise KeyError("no such thing")
    comm.all_reduce(np.ones(4))


class Unpicklable(Exception):
    """An exception that cannot travel between processes."""

    def __reduce__(self) -> Any:
        raise TypeError("stays here")


def one_raises_what_cannot_travel() -> None:
    raise Unpicklable("but its text can")


def one_is_killed(rank: int) -> None:
    comm = hm.init(timeout_s=60)
    if comm.rank == rank:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.all_reduce(np.ones(4))


def one_exits_early(rank: int) -> int:
    if int(os.environ["HEMIOLA_RANK"]) == rank:
        sys.stdout.flush()
        os._exit(3)
    return 0


def one_leaves_a_thread(rank: int, seconds: float) -> int:
    mine = int(os.environ["HEMIOLA_RANK"])
    if mine == rank:
        threading.Thread(target=time.sleep, args=(seconds,)).start()
    return mine


def one_fails_beside_a_child(rank: int) -> None:
    """One rank's forked child lives on with all that it has inherited, while the rank raises; the others hear of it."""
    comm = hm.init(timeout_s=60)
    if comm.rank == rank:
        if os.fork() == 0:
            time.sleep(120)
        raise KeyError("no such thing")
    comm.all_reduce(np.ones(4))


def a_child_returns_too(path: str) -> int:
    """A forked child returns from the function, as its parent does; return the parent's process."""
    parent = os.getpid()
    if os.fork() == 0:
        return -1
    os.wait()
    child = os.fork()
    if child == 0:
        time.sleep(120)
    with open(path, "a") as file:
        file.write(f"{child}\n")
    return parent


def some_sleep(ranks: tuple[int, ...]) -> int:
    comm = hm.init(timeout_s=60)
    if comm.rank in ranks:
        time.sleep(120)
    return comm.rank


def returns_what_cannot_travel() -> Any:
    return threading.Lock()


def thread_limit() -> str:
    return os.environ["OMP_NUM_THREADS"]


def survivors_go_on(victim: int, how: str) -> tuple[int, int, float, int | None]:
    """All-reduce; after the loss of a rank once more, in a group of those that are left."""
    comm = hm.init(timeout_s=60)
    if comm.rank == victim:
        if how == "raise":
            raise KeyError("no such thing")
        os.kill(os.getpid(), signal.SIGKILL)
    lost = None
    try:
        comm.all_reduce(np.ones(4))
    except hm.errors.LostRankError as error:
        lost = error.rank
    time.sleep(1.5)  # longer than the others of a failed launch are left alive
    group = comm.group([rank for rank in range(comm.rank_count) if rank != lost])
    return comm.rank, group.rank_count, float(group.all_reduce(np.full(4, float(comm.rank)))[0]), lost


def dies_after_it_has_returned(doomed: int, how: int) -> int:
    """Return the rank; the doomed one's process is struck by a signal when the interpreter ends."""
    comm = hm.init()
    rank = comm.rank
    comm.close()
    if rank == doomed:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        atexit.register(os.kill, os.getpid(), how)
    return rank
