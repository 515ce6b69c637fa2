# SPDX-License-Identifier: Apache-2.0
"""Ranks come, leave and die while a job trains: nobody hangs, and its weights are those of an undisturbed run."""

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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import membership_ranks as work
import pytest

import hemiola as hm
from waiting import wait_until

PROGRAM = str(Path(__file__).with_name("membership_ranks.py"))


class Cluster:
    """The processes of one job on this machine."""

    def __init__(self, ranks: int, steps: int) -> None:
        self.name, self.ranks, self.steps = f"membership-{uuid.uuid4().hex[:8]}", ranks, steps
        self.processes: list[subprocess.Popen[str]] = []
        self._ready = tempfile.TemporaryDirectory()

    def start(self, rank: int | str, *events: str) -> subprocess.Popen[str]:
        """Start a rank, or a newcomer."""
        words = [PROGRAM, self.name, str(rank), str(self.ranks), str(self.steps), *events]
        paths = os.pathsep.join(sys.path)
        process = subprocess.Popen(
            [sys.executable, *words],
            env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "READY": self._ready.name},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def has_come(self, process: subprocess.Popen[str]) -> bool:
        """Say whether a process has joined the others."""
        return (Path(self._ready.name) / str(process.pid)).exists()

    def await_all(self) -> None:
        """Wait until all processes so far train, or have ended."""
        awaited = list(self.processes)
        wait_until(lambda: all(self.has_come(each) or each.poll() is not None for each in awaited))

    def end(self) -> None:
        """Kill what is left."""
        for process in self.processes:
            process.kill()
            process.communicate()
        self._ready.cleanup()


def seen_by(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what a process saw."""
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    seen: dict[str, Any] = json.loads(out)
    return seen


@pytest.fixture
def job(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A job that ends with its test."""
    cluster = Cluster(*request.param)
    yield cluster
    cluster.end()


@pytest.mark.parametrize("job", [(1, 100), (2, 100), (3, 100)], indirect=True)
def test_a_newcomer_is_let_in_and_the_result_is_as_without(job: Cluster) -> None:
    until = f"until={job.ranks + 1}"
    old = [job.start(rank, until) for rank in range(job.ranks)]
    job.await_all()
    new = job.start("new", until)
    for process in (*old, new):
        seen = seen_by(process)
        assert seen["right"]
        assert seen["sizes"][-1] == job.ranks + 1


@pytest.mark.parametrize("leaver", [0, 2])
@pytest.mark.parametrize("job", [(3, 200)], indirect=True)
def test_a_rank_that_leaves_is_missed_by_nobody(job: Cluster, leaver: int) -> None:
    old = [job.start(rank, *(["leave=100"] if rank == leaver else [])) for rank in range(job.ranks)]
    for rank, process in enumerate(old):
        seen = seen_by(process)
        if rank == leaver:
            assert seen["left"] == 101
        else:
            assert seen["right"]
            assert not seen["lost"]
            assert seen["sizes"] == [3, 2]


@pytest.mark.parametrize("victim", [0, 2])
@pytest.mark.parametrize("job", [(3, 200)], indirect=True)
def test_a_dead_rank_is_replaced(job: Cluster, victim: int) -> None:
    old = [job.start(rank, "until=3", *(["die=100"] if rank == victim else [])) for rank in range(job.ranks)]
    old[victim].wait(timeout=60)
    new = job.start("new", "until=3")
    for rank, process in enumerate([*old, new]):
        if rank == victim:
            continue
        seen = seen_by(process)
        assert seen["right"]
        assert seen["sizes"][-1] == 3
        assert set(seen["lost"]) <= {victim}


def test_a_newcomer_finds_a_launched_job_by_its_name() -> None:
    seen = hm.launch(work.launched, 2, timeout_s=90)
    assert seen == [(3, "2 True\n", True), (3, "", True)]


def test_who_cannot_come_or_go_is_told_why() -> None:
    for emulated, unknown, *of_group in hm.launch(
        work.refused, 2, f"nobody-{uuid.uuid4().hex}", timeout_s=90
    ):
        assert emulated.startswith("ArgumentError: ")
        assert "'emulate' gave it a network" in emulated
        assert unknown.startswith("TimeoutError: ")
        assert "is it running on this machine" in unknown
        for error in of_group:
            assert error.startswith("ArgumentError: ")
            assert "found a group" in error


def test_a_newcomer_without_the_name_of_a_job_is_told_what_to_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEMIOLA_JOB", raising=False)
    with pytest.raises(
        hm.ArgumentError, match="expected a store or a name where the job's ranks meet, or HEMIOLA_JOB"
    ):
        hm.join()


@pytest.mark.long
@pytest.mark.parametrize("job", [(2, 100_000)], indirect=True)
def test_forty_joins_and_leaves_leave_nothing_behind(job: Cluster) -> None:
    old = [job.start(rank) for rank in range(2)]
    held = []
    for _ in range(40):
        new = job.start("new", "stay=50")
        assert seen_by(new)["left"] > 0
        held.append(resources_of(old[0]))
    early, late = held[4], held[-1]
    assert late["descriptors"] <= early["descriptors"]
    assert late["threads"] <= early["threads"]
    assert late["mappings"] <= early["mappings"] + 8  # the allocator's own come and go
    assert late["resident_mib"] <= early["resident_mib"] + 1


def resources_of(process: subprocess.Popen[str]) -> dict[str, int]:
    """Count what a process holds of the system."""
    place = Path(f"/proc/{process.pid}")
    return {
        "descriptors": len(list((place / "fd").iterdir())),
        "threads": len(list((place / "task").iterdir())),
        "mappings": len((place / "maps").read_text().splitlines()),
        "resident_mib": int((place / "statm").read_text().split()[1]) * 4096 >> 20,
    }


def sequence(seed: int) -> tuple[int, list[tuple[float, str, int]]]:
    """Return how many ranks begin, and what happens when: a rank dies or leaves, or one comes."""
    rng = random.Random(f"membership: {seed}")
    ranks = rng.randint(2, 5)
    events = [
        (rng.uniform(0.2, 2.0), rng.choice(("kill", "leave", "join", "join")), rng.randrange(8))
        for _ in range(rng.randint(2, 5))
    ]
    return ranks, sorted(events)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_nobody_hangs_and_sums_are_right(seed: int) -> None:
    ranks, events = sequence(seed)
    cluster = Cluster(ranks, 6000)
    alive = [cluster.start(rank) for rank in range(ranks)]
    gone: list[subprocess.Popen[str]] = []
    try:
        cluster.await_all()
        begin = time.monotonic()
        for at_s, what, which in events:
            time.sleep(max(0.0, begin + at_s - time.monotonic()))
            if what == "join":
                alive.append(cluster.start("new"))
            elif len(inside := [process for process in alive if cluster.has_come(process)]) > 1:
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
        cluster.end()
