"""Functions for ranks that are launched to see what becomes of them."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import numpy as np

import hemiola as hm


def rank_and_arguments(*args: Any) -> tuple[int, int, tuple[Any, ...], int]:
    comm = hm.init(timeout_s=60)
    assert hm.init() is comm
    return comm.rank, comm.rank_count, args, os.getpid()


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


def some_sleep(ranks: tuple[int, ...]) -> int:
    comm = hm.init(timeout_s=60)
    if comm.rank in ranks:
        time.sleep(120)
    return comm.rank


def returns_what_cannot_travel() -> Any:
    return lambda: None


def thread_limit() -> str:
    return os.environ["OMP_NUM_THREADS"]
