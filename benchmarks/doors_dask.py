# SPDX-License-Identifier: Apache-2.0
"""Dask's row of benchmarks/doors.py: workers that reduce over Hemiola, beside a sum by Dask's tasks."""

from __future__ import annotations

import functools
import os
import statistics
import time
from typing import Any

import numpy as np

from doors_row import Row, Timing

WORKERS = 3
SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20}


def reduced(nbytes: int, calls: int) -> tuple[bool, list[float]]:
    """Reduce on a worker; return whether all were right, and the seconds of each call."""
    from hemiola.dask import communicator

    comm, taken, is_right = communicator(), [], True
    for _ in range(calls):
        x = np.full(nbytes // 4, comm.rank + 1, np.float32)
        begin = time.perf_counter()
        comm.all_reduce(x)
        taken.append(time.perf_counter() - begin)
        is_right &= bool((x == comm.rank_count * (comm.rank_count + 1) / 2).all())
    return is_right, taken[1:]


def until_lost() -> tuple[str, float]:
    """Reduce until a worker dies."""
    from hemiola.dask import communicator

    comm = communicator()
    try:
        for turn in range(1 << 30):
            comm.all_reduce(np.ones(100))
            if comm.rank == WORKERS - 1 and turn == 100:
                os.kill(os.getpid(), 9)
    except RuntimeError as error:
        return f"{type(error).__name__}: {str(error)[:90]}", time.monotonic()
    return "", 0.0


def add(a: Any, b: Any) -> Any:
    return a + b


def summed_by_tasks(client: Any, workers: tuple[str, ...], nbytes: int) -> float:
    """Sum an array of each worker by tasks, and give each the sum; return the seconds."""
    parts = [
        client.submit(np.ones, nbytes // 4, np.float32, workers=[worker], pure=False) for worker in workers
    ]
    for part in parts:
        part.result()
    begin = time.perf_counter()
    total = functools.reduce(lambda a, b: client.submit(add, a, b, pure=False), parts)
    for each in [client.submit(np.copy, total, workers=[worker], pure=False) for worker in workers]:
        each.exception()
    return time.perf_counter() - begin


def rows() -> list[Row]:
    """Reduce by both, and kill a worker."""
    import distributed

    from hemiola.dask import CommunicatorPlugin, run

    timings, wrong = [], []
    with (
        distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        plugin = CommunicatorPlugin()
        client.register_plugin(plugin)
        for size, nbytes in SIZES.items():
            ours, theirs = [], []
            for _ in range(3):
                found = run(client, plugin, reduced, nbytes, 10)
                wrong += [] if all(is_right for is_right, _ in found) else [f"all-reduce of {size}"]
                ours += found[0][1]
                theirs += [summed_by_tasks(client, plugin.workers, nbytes) for _ in range(5)]
            case = f"all-reduce of {size}, {WORKERS} workers, beside a sum by tasks"
            timings.append(Timing(case, 1e6 * statistics.median(ours), 1e6 * statistics.median(theirs)))
        futures = [client.submit(until_lost, workers=[worker], pure=False) for worker in plugin.workers]
        said = [future.result(timeout=60)[0] for future in futures[:-1]]
        client.cancel(futures)
    tried = [f"all-reduce of {size}" for size in SIZES]
    own = "Dask has no collectives; it runs the tasks of a dead worker again"
    return [
        Row(
            "Dask",
            distributed.__version__,
            tried,
            sorted(set(wrong)),
            timings,
            "; ".join(sorted(set(said))),
            own,
        )
    ]
