# SPDX-License-Identifier: Apache-2.0
"""The processes of a job whose members come and go (communicator/membership_ranks.py), on this machine or on the hosts
of a cluster."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from functools import partial
from pathlib import Path
from typing import Any

from hemiola.cluster import Cluster
from waiting import wait_until

PROGRAM = str(Path(__file__).parent / "communicator" / "membership_ranks.py")


class Job:
    """The processes of one job.

    Parameters
    ----------
    ranks, steps : how many processes found it, and for how many steps each trains.
    hosts : Cluster, optional, on whose hosts they are; they meet at a store.
    """

    def __init__(self, ranks: int, steps: int, hosts: Cluster | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.name = f"membership-{uuid.uuid4().hex[:8]}"
        if hosts is not None:
            self.name = str(Path(self._folder.name) / "store")
            Path(self.name).mkdir()
        self.ranks, self.steps, self._hosts = ranks, steps, hosts
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, rank: int | str, *events: str, host: int = 0) -> subprocess.Popen[str]:
        """Start a rank, or a newcomer."""
        words = [PROGRAM, self.name, str(rank), str(self.ranks), str(self.steps), *events]
        how: dict[str, Any] = {
            "env": os.environ
            | {
                "PYTHONPATH": os.pathsep.join(sys.path),
                "OMP_NUM_THREADS": "1",
                "READY": str(self._sign(len(self.processes))),
            },
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
        }
        command = [sys.executable, *words]
        start = partial(self._hosts.start, host) if self._hosts is not None else subprocess.Popen
        self.processes.append(start(command, **how))
        return self.processes[-1]

    def has_come(self, process: subprocess.Popen[str]) -> bool:
        """Say whether a process has joined the others."""
        return self._sign(self.processes.index(process)).exists()

    def _sign(self, number: int) -> Path:
        return Path(self._folder.name) / f"process {number} has come"

    def await_all(self) -> None:
        """Wait until all processes so far train, or have ended."""
        awaited = list(self.processes)
        wait_until(lambda: all(self.has_come(each) or each.poll() is not None for each in awaited))

    def end(self) -> None:
        """Kill what is left."""
        for process in self.processes:
            process.kill()
            process.communicate()
        self._folder.cleanup()


def seen_by(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what a process saw."""
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    seen: dict[str, Any] = json.loads(out)
    return seen


def check_leaving(job: Job, leaver: int) -> None:
    """Start a job of three, let a rank leave after 100 steps, and expect that nobody misses it. Hosts have a rank
    each."""
    old = [
        job.start(rank, *(["leave=100"] if rank == leaver else []), host=rank) for rank in range(job.ranks)
    ]
    for rank, process in enumerate(old):
        seen = seen_by(process)
        if rank == leaver:
            assert seen["left"] == 101
        else:
            assert seen["right"]
            assert not seen["lost"]
            assert seen["sizes"] == [3, 2]


def check_replacing(job: Job, victim: int) -> None:
    """Start a job of three, let a rank die after 100 steps and another come, and expect three ranks in the end."""
    old = [
        job.start(rank, "until=3", *(["die=100"] if rank == victim else []), host=rank)
        for rank in range(job.ranks)
    ]
    old[victim].wait(timeout=60)
    new = job.start("new", "until=3", host=victim)
    for rank, process in enumerate([*old, new]):
        if rank == victim:
            continue
        seen = seen_by(process)
        assert seen["right"]
        assert seen["sizes"][-1] == 3
        assert set(seen["lost"]) <= {victim}


def sequence(seed: int) -> tuple[int, list[tuple[float, str, int]]]:
    """Return how many ranks begin, and what happens when: a rank dies or leaves, or one comes."""
    rng = random.Random(f"membership: {seed}")
    ranks = rng.randint(2, 5)
    events = [
        (rng.uniform(0.2, 2.0), rng.choice(("kill", "leave", "join", "join")), rng.randrange(8))
        for _ in range(rng.randint(2, 5))
    ]
    return ranks, sorted(events)


def check_sequence(job: Job, events: list[tuple[float, str, int]], host_count: int = 1) -> None:
    """Start a job, let everything happen, and expect that all that are left end with right weights."""
    alive = [job.start(rank, host=rank % host_count) for rank in range(job.ranks)]
    gone: list[subprocess.Popen[str]] = []
    try:
        job.await_all()
        begin = time.monotonic()
        for at_s, what, which in events:
            time.sleep(max(0.0, begin + at_s - time.monotonic()))
            if what == "join":
                alive.append(job.start("new", host=which % host_count))
            elif len(inside := [process for process in alive if job.has_come(process)]) > 1:
                one = inside[which % len(inside)]
                alive.remove(one)
                one.send_signal(signal.SIGKILL if what == "kill" else signal.SIGUSR1)
                gone.append(one)
        for process in alive:
            assert seen_by(process)["right"]
        for process in gone:
            _, errors = process.communicate(timeout=60)
            assert process.returncode in (0, -signal.SIGKILL, -signal.SIGUSR1), errors
    finally:
        job.end()
