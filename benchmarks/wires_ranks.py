# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin of benchmarks/wires.py: ranks that a test starts on this machine talk by the wire under test.

Tests start ranks as `hemiola.launch` does, as ranks of one host. Here they get what the wire needs besides: an
address at which they meet, a network namespace, so that some of them are on another host, or a seat that an MPI has
given. What a wire cannot be asked (a network is emulated in shared memory) is skipped, with what Hemiola said."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import hemiola as hm
from hemiola.cluster import Cluster
from hemiola.environment import JOB, LOCAL_RANK, LOCAL_RANK_COUNT, RANK, RANK_COUNT, RENDEZVOUS, TOKEN
from hemiola.launch.meeting_place import MeetingPlace
from hemiola.whole_file import write_whole
from mpi_seats import Seats, entering

#: benchmarks/wires.py says here what to do: {"hosts": how many, "mpirun": [words of the command], "carriers": [by which
#: ranks must reach each other], "told": the path of a file for what came}.
PLAN = "WIRES_PLAN"
#: What `init` says where a test emulates a network.
_REFUSALS = (
    "a network is emulated in shared memory",
    "emulate: the ranks of one host can behave like a network",
)
#: So many ranks show by what they reach each other.
_CHECK = 3
#: How the tests have ended so far, a line each.
_TOLD: list[str] = []
_popen = subprocess.Popen.__init__


class Placing:
    """Turns the start of a rank on this host into that of a rank on a wire."""

    def __init__(self, plan: dict[str, Any], up: ExitStack) -> None:
        self._mpirun: list[str] | None = plan.get("mpirun")
        self._cluster = up.enter_context(Cluster(plan["hosts"])) if plan.get("hosts", 1) > 1 else None
        self._folder = up.enter_context(tempfile.TemporaryDirectory())
        self._meetings: dict[str, str] = {}
        self._seats: dict[str, Seats] = {}
        self._ports = itertools.cycle(range(29500, 39500))
        up.callback(self._give_up_seats)

    def start(self, process: subprocess.Popen[Any], *words: Any, **options: Any) -> None:
        """Do what subprocess.Popen does."""
        environment = options.get("env") or {}
        if RANK.name not in environment or JOB.name not in environment or environment.get(RENDEZVOUS.name):
            _popen(process, *words, **options)
            return
        job, rank, count = (
            environment[JOB.name],
            int(environment[RANK.name]),
            int(environment[RANK_COUNT.name]),
        )
        options["env"] = dict(environment)
        if self._cluster is not None:
            options["preexec_fn"] = entering(self._cluster, rank % len(self._cluster.hosts))
        if self._mpirun is not None:
            self._seat(process, job, rank, count, options)
        else:
            options["env"] |= self._meeting(job, rank, count)
        _popen(process, *words, **options)

    def _local(self, rank: int, count: int) -> tuple[int, int]:
        """Return which of its host's ranks a rank is, and how many that host has."""
        hosts = 1 if self._cluster is None else len(self._cluster.hosts)
        return rank // hosts, len(range(rank % hosts, count, hosts))

    def _meeting(self, job: str, rank: int, count: int) -> dict[str, str]:
        if job not in self._meetings:
            at, port = "127.0.0.1", 0
            if self._cluster is not None:
                at, port = self._cluster.hosts[0].ipv4, next(self._ports)
            else:
                with socket.create_server((at, 0)) as free:
                    port = free.getsockname()[1]
            self._meetings[job] = f"{at}:{port}"
        local_rank, local_count = self._local(rank, count)
        return {
            RENDEZVOUS.name: self._meetings[job],
            TOKEN.name: (job.encode().hex() + "0" * 64)[:64],
            LOCAL_RANK.name: str(local_rank),
            LOCAL_RANK_COUNT.name: str(local_count),
        }

    def _seat(
        self, process: subprocess.Popen[Any], job: str, rank: int, count: int, options: dict[str, Any]
    ) -> None:
        """Have a process take a rank's seat: it has the variables and the descriptor that mpirun gave there."""
        assert self._mpirun is not None
        if job not in self._seats:
            self._give_up_seats(only_those_over=True)
            self._seats[job] = Seats.reserve(self._mpirun, count, self._folder)
        seats, local = self._seats[job], self._local(rank, count)
        for variable in (RANK, RANK_COUNT, LOCAL_RANK, LOCAL_RANK_COUNT):
            options["env"].pop(variable.name, None)  # or this would count as a rank of hemiola.launch
        seats.give(rank, options, job, local if self._cluster is not None else None)
        seats.taken.append(process)

    def _give_up_seats(self, *, only_those_over: bool = False) -> None:
        for job, seats in list(self._seats.items()):
            if not only_those_over or seats.is_over():
                self._seats.pop(job).give_up()


@pytest.fixture(scope="session", autouse=True)
def _ranks_on_the_wire() -> Iterator[None]:
    with ExitStack() as up:
        placing = Placing(json.loads(os.environ[PLAN]), up)

        def start(process: subprocess.Popen[Any], *words: Any, **options: Any) -> None:
            placing.start(process, *words, **options)

        patch = pytest.MonkeyPatch()
        up.callback(patch.undo)
        patch.setattr(subprocess.Popen, "__init__", start)
        # Where a wire needs addresses, hm.launch would choose a place on this host.
        patch.setattr(MeetingPlace, "on_this_host", classmethod(lambda cls: cls()))
        wanted = set(json.loads(os.environ[PLAN]).get("carriers", ()))
        if wanted:
            found = {carrier for row in hm.launch(carriers, _CHECK, timeout_s=60) for carrier in row}
            assert found == wanted, f"ranks reach each other by {found}, not by {wanted}"
        yield


def carriers() -> list[str]:
    """Return by what a rank reaches the others."""
    return [carrier.partition(":")[0] for carrier in hm.init()._core.carriers() if carrier]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Count what the wire cannot be asked as skipped; write how each test ended."""
    report = yield
    refusal = next((words for words in _REFUSALS if report.failed and words in report.longreprtext), None)
    if refusal is not None:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {refusal}")
    told = json.loads(os.environ[PLAN]).get("told")
    if told and (report.when == "call" or not report.passed):
        words = {"test": item.nodeid, "outcome": report.outcome, "words": report.longreprtext}
        _TOLD.append(json.dumps(words) + "\n")
        write_whole(told, "".join(_TOLD))
    return report
