# SPDX-License-Identifier: Apache-2.0
"""A job of benchmarks/network_faults.py: ranks on the hosts of a cluster on this machine, and what they say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hemiola.cluster import Cluster
from meeting import PORT, meeting
from mpi_seats import MPIRUN, Seats, entering

RANK_SCRIPT = Path(__file__).resolve().parent / "network_faults_rank.py"
#: How long a rank may take for anything before it counts as hanging.
HANG_S = 60.0
#: What ranks that an MPI has started are told of what others are: the rest is its to say.
_SAID_BESIDE_MPI = ("HEMIOLA_JOB", "HEMIOLA_TIMEOUT", "HEMIOLA_WIRE", "OMP_NUM_THREADS")


class HangError(RuntimeError):
    """A rank has said nothing for HANG_S."""


@dataclass
class Outcome:
    """What a trial has shown: how long survivors took to name who was lost, and what was wrong, if anything."""

    kind: str
    detections_s: list[float] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@dataclass
class Job:
    """The ranks of one job, numbered host by host."""

    cluster: Cluster
    per_host: int
    wire: str
    port: int = PORT
    undisturbed_s: float = 1.0  #: how long nothing happens to it where that is the test
    restarts: int | None = None  #: of a job that torchrun has started; hemiola.launch counts none
    meeting: dict[str, str] = field(init=False)
    ranks: dict[int, subprocess.Popen[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.meeting = meeting(self.cluster, self.rank_count, self.per_host, port=self.port)

    @property
    def rank_count(self) -> int:
        return self.per_host * len(self.cluster.hosts)

    def host_of(self, rank: int) -> int:
        return rank // self.per_host

    def ranks_of(self, host: int) -> range:
        return range(host * self.per_host, (host + 1) * self.per_host)

    def others(self, *but: int) -> list[int]:
        return [rank for rank in range(self.rank_count) if rank not in but]

    def environment(self, rank: int) -> dict[str, str]:
        """Return what tells a process that it is this rank."""
        return {
            **self.meeting,
            **(self._of_launch(rank) if self.restarts is None else self._of_torchrun(rank, self.restarts)),
            "HEMIOLA_TIMEOUT": f"{HANG_S:g}s",
            "HEMIOLA_WIRE": self.wire,
            "OMP_NUM_THREADS": "1",
        }

    def _of_launch(self, rank: int) -> dict[str, str]:
        return {"HEMIOLA_RANK": str(rank), "HEMIOLA_LOCAL_RANK": str(rank % self.per_host)}

    def _of_torchrun(self, rank: int, restarts: int) -> dict[str, str]:
        """Without HEMIOLA_RANK nothing says that hemiola.launch has started it."""
        return {
            "RANK": str(rank),
            "WORLD_SIZE": str(self.rank_count),
            "LOCAL_RANK": str(rank % self.per_host),
            "LOCAL_WORLD_SIZE": str(self.per_host),
            "MASTER_ADDR": self.cluster.hosts[0].ipv4,
            "MASTER_PORT": str(self.port + 1),
            "TORCHELASTIC_RUN_ID": self.meeting["HEMIOLA_JOB"],
            "TORCHELASTIC_RESTART_COUNT": str(restarts),
        }

    def process(self, rank: int, **other: str) -> subprocess.Popen[str]:
        """Start a process in a rank's place, with some variables of its own."""
        return self.cluster.start(
            self.host_of(rank),
            [sys.executable, str(RANK_SCRIPT)],
            env=os.environ | self.environment(rank) | other,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, ranks: Iterable[int], variables: Mapping[str, str] | None = None) -> None:
        for rank in ranks:
            self.ranks[rank] = self.process(rank, **(variables or {}))

    def hear(self, rank: int) -> dict[str, Any]:
        """Return what a rank says next; {} where it has ended."""
        return hear(self.ranks[rank], f"rank {rank}")

    def hear_last(self, rank: int) -> dict[str, Any]:
        """Return the last that a rank says."""
        last: dict[str, Any] = {}
        while heard := self.hear(rank):
            last = heard
        return last

    def wait_until_working(self) -> None:
        for rank in sorted(self.ranks):
            heard = self.hear(rank)
            if heard.get("event") != "working":
                raise RuntimeError(f"rank {rank} did not begin to work: {heard}")

    def signal(self, number: signal.Signals, *ranks: int) -> None:
        for rank in ranks:
            self.ranks[rank].send_signal(number)

    def expect_all_end(self, outcome: Outcome) -> None:
        """Have rank 0 tell all that it is enough; all must end with right results."""
        stdin = self.ranks[0].stdin
        assert stdin is not None
        stdin.close()
        self.expect_end(self.others(), outcome)

    def expect_end(self, left: list[int], outcome: Outcome) -> None:
        """All of these must end as the ones that are left, with right results."""
        for rank in left:
            heard = self.hear_last(rank)
            if (heard.get("event"), heard.get("wrong"), heard.get("left")) != ("ended", 0, left):
                outcome.complaints.append(f"rank {rank} should have ended exactly, among {left}: {heard}")

    def expect_named(self, victims: Iterable[int], begin_s: float, outcome: Outcome) -> None:
        """Each of the others must first name one of these, and then end exactly without them."""
        lost = set(victims)
        left = self.others(*lost)
        for rank in left:
            heard = self.hear(rank)
            if heard.get("event") != "lost" or heard.get("rank") not in lost:
                outcome.complaints.append(f"rank {rank} should have lost one of {sorted(lost)}: {heard}")
            else:
                outcome.detections_s.append(heard["at_s"] - begin_s)
        self.expect_end(left, outcome)

    def expect_over(self, rank: int, outcome: Outcome) -> None:
        """One that was given up, and does not know: it loses somebody, and may not go on."""
        heard = self.hear(rank)
        if heard.get("event") != "lost":
            outcome.complaints.append(f"rank {rank}, given up, should have lost somebody: {heard}")
        heard = self.hear_last(rank)
        if heard.get("event") != "MinorityError":
            outcome.complaints.append(
                f"rank {rank}, given up, should have ended with a MinorityError: {heard}"
            )

    def close(self, outcome: Outcome) -> None:
        """End what still runs; whoever has ended must have done so by itself."""
        for rank, process in self.ranks.items():
            if not outcome.complaints:
                try:
                    code = process.wait(HANG_S)
                except subprocess.TimeoutExpired:
                    outcome.complaints.append(f"rank {rank} did not end within {HANG_S:g} s")
                else:
                    if code not in (0, -signal.SIGKILL):
                        outcome.complaints.append(f"rank {rank} ended with exit code {code}")
            end(process)


@dataclass
class MpiJob(Job):
    """One whose ranks have the places that an mpirun has given, and talk by MPI, which reaches all of them by this
    machine's memory. They are on hosts in that each has its own network, by which they hear who lives; the launcher is
    not told of deaths. Whether a rank's process is left is seen by its end alone, since it is none of the host's."""

    seats: Seats = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        with tempfile.TemporaryDirectory() as folder:
            self.seats = Seats.reserve([MPIRUN], self.rank_count, folder)

    def process(self, rank: int, **other: str) -> subprocess.Popen[str]:
        told = self.environment(rank)
        options: dict[str, Any] = {
            "env": os.environ | {name: told[name] for name in _SAID_BESIDE_MPI} | other
        }
        self.seats.give(rank, options, self.meeting["HEMIOLA_JOB"], (rank % self.per_host, self.per_host))
        return subprocess.Popen(
            [sys.executable, str(RANK_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=entering(self.cluster, self.host_of(rank)),
            **options,
        )

    def close(self, outcome: Outcome) -> None:
        try:
            super().close(outcome)
        finally:
            self.seats.give_up()


def new_job(cluster: Cluster, per_host: int, wire: str, **more: Any) -> Job:
    """Return a job that has not begun, on the wire that HEMIOLA_WIRE names."""
    return (MpiJob if "mpi" in wire.split(",") else Job)(cluster, per_host, wire, **more)


def hear(process: subprocess.Popen[str], who: str) -> dict[str, Any]:
    """Return what a process says next; {} where it has ended."""
    assert process.stdout is not None
    alarm = threading.Timer(HANG_S, process.kill)
    alarm.daemon = True
    alarm.start()
    line = process.stdout.readline()
    if not line and not alarm.is_alive():
        raise HangError(f"{who} has said nothing for {HANG_S:g} s")
    alarm.cancel()
    return json.loads(line) if line else {}


def end(process: subprocess.Popen[str]) -> None:
    """Kill a process that still runs, and close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
