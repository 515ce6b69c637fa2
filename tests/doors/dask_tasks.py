# SPDX-License-Identifier: Apache-2.0
"""A Dask cluster, and what its workers run in tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

from hemiola.dask import communicator


@contextmanager
def client_of_three() -> Iterator[Client]:
    """Start three workers on this machine."""
    how = {"dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=3, threads_per_worker=2, **how) as cluster, Client(cluster) as client:
        yield client


def summed(name: str = "hemiola") -> tuple[int, list[float]]:
    """Return this worker's rank, and the sum of all ranks' numbers."""
    comm = communicator(name)
    x = np.full(2, comm.rank + 1.0)
    return comm.rank, [float(value) for value in comm.all_reduce(x)]


def summed_until_lost(victim: int) -> tuple[int, str]:
    """Reduce until a worker dies; return the lost rank and the sentence."""
    comm = communicator()
    try:
        for turn in range(1 << 30):
            comm.all_reduce(np.ones(100))
            if comm.rank == victim and turn == 100:
                os.kill(os.getpid(), signal.SIGKILL)
    except RuntimeError as error:
        return getattr(error, "rank", -1), str(error)
    return -1, ""


def reduced_oddly(odd: Any) -> list[float]:
    """Reduce what may be wrong."""
    comm = communicator()
    return [float(value) for value in comm.all_reduce(odd[comm.rank])]
