# SPDX-License-Identifier: Apache-2.0
"""Ray's row of benchmarks/doors.py: actors reduce over Hemiola and over Ray's gloo, by turns."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from doors_row import Row, Timing

ACTORS = 3
SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "16 MiB": 1 << 24}


class Member:
    """One actor of a group over each transport."""

    def join(self, rank: int, backend: str) -> None:
        from ray.util import collective

        import hemiola.ray

        hemiola.ray.register()
        self.rank = rank
        collective.init_collective_group(ACTORS, rank, backend=backend, group_name="default")

    def right(self) -> list[str]:
        """Run each operation, and return those that were right."""
        from ray.util import collective

        n, rank, found = ACTORS, self.rank, []
        x = np.full(3, rank + 1.0)
        collective.allreduce(x)
        found += ["allreduce"] * bool((x == n * (n + 1) / 2).all())
        x = np.full(3, rank + 1.0)
        collective.reduce(x, 1)
        found += ["reduce"] * bool((x == (n * (n + 1) / 2 if rank == 1 else rank + 1)).all())
        x = np.full(3, rank + 0.0)
        collective.broadcast(x, 1)
        found += ["broadcast"] * bool((x == 1).all())
        every = [np.zeros(2) for _ in range(n)]
        collective.allgather(every, np.full(2, rank + 0.0))
        found += ["allgather"] * all(bool((each == at).all()) for at, each in enumerate(every))
        part = np.zeros(2)
        collective.reducescatter(part, [np.full(2, rank + at + 0.0) for at in range(n)])
        found += ["reducescatter"] * bool((part == n * (n - 1) / 2 + n * rank).all())
        collective.barrier()
        if rank == 0:
            collective.send(np.full(5, 7.0), 1)
        if rank == 1:
            collective.recv(x := np.zeros(5), 0)
        return found + ["send and recv"] * bool(rank != 1 or (x == 7).all())

    def seconds(self, nbytes: int, calls: int) -> list[float]:
        """Time calls of allreduce."""
        from ray.util import collective

        x, taken = np.ones(nbytes // 4, np.float32), []
        for _ in range(calls):
            begin = time.perf_counter()
            collective.allreduce(x)
            taken.append(time.perf_counter() - begin)
        return taken[1:]

    def until_lost(self) -> tuple[str, float]:
        """Reduce until an actor dies."""
        from ray.util import collective

        x = np.ones(1000)
        try:
            while True:
                collective.allreduce(x)
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:90]}", time.time()

    def process(self) -> int:
        return os.getpid()


def killed(ray: Any, members: list[Any]) -> str:
    """Kill the last actor while all reduce, and return what the others say."""
    victim = ray.get(members[-1].process.remote())
    running = [member.until_lost.remote() for member in members]
    time.sleep(1)
    died = time.time()
    os.kill(victim, 9)
    ended, open_ = ray.wait(running[:-1], num_returns=ACTORS - 1, timeout=30)
    said = [ray.get(each) for each in ended]
    told = "; ".join(sorted({text for text, _ in said}))
    return f"{told}, after {max((at - died for _, at in said), default=30):.2f} s" + (
        f"; {len(open_)} hung for 30 s" if open_ else ""
    )


def rows() -> list[Row]:
    """Try all operations over Hemiola, time both transports, and kill an actor of each."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    make: Callable[[], Any] = ray.remote(num_cpus=0)(Member).remote
    groups = {backend: [make() for _ in range(ACTORS)] for backend in ("HEMIOLA", "GLOO")}
    for backend, members in groups.items():
        ray.get([member.join.remote(rank, backend) for rank, member in enumerate(members)])
    tried = ["allreduce", "reduce", "broadcast", "allgather", "reducescatter", "send and recv"]
    found = ray.get([member.right.remote() for member in groups["HEMIOLA"]])
    wrong = [each for each in tried if not all(each in of_rank for of_rank in found)]
    timings = []
    for size, nbytes in SIZES.items():
        taken: dict[str, list[float]] = {backend: [] for backend in groups}
        for _ in range(3):
            for backend, members in groups.items():
                taken[backend] += ray.get([member.seconds.remote(nbytes, 10) for member in members])[0]
        ours_us, theirs_us = (1e6 * statistics.median(each) for each in taken.values())
        timings.append(Timing(f"allreduce of {size}, {ACTORS} actors", ours_us, theirs_us))
    ends = [killed(ray, members) for members in groups.values()]
    version = str(ray.__version__)
    ray.shutdown()
    return [Row("Ray", version, tried, wrong, timings, ends[0], ends[1])]
