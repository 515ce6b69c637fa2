"""A pytest plugin of benchmarks/wires.py: ranks that a test starts on this machine talk by the wire under test.

Tests start ranks as `hemiola.launch` does, as ranks of one host. Here they get what the wire needs besides: an
address at which they meet, a network namespace, so that some of them are on another host, or a seat that an MPI has
given. What a wire cannot be asked (a network is emulated in shared memory) is skipped, with what Hemiola said."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import hemiola as hm
from hemiola.cluster import Cluster
from hemiola.environment import JOB, LOCAL_RANK, LOCAL_RANK_COUNT, RANK, RANK_COUNT, RENDEZVOUS, TOKEN
from hemiola.whole_file import write_whole

#: benchmarks/wires.py says here what to do: {"hosts": how many, "mpirun": [words of the command], "carriers": [by which
#: ranks must reach each other], "told": the path of a file for what came}.
PLAN = "WIRES_PLAN"
_SEAT = Path(__file__).with_name("wires_seat.py")
_CLONE_NEWNET = 0x40000000
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


@dataclass
class Seats:
    """The places in a job that mpirun has given to processes which do nothing but keep them."""

    mpirun: subprocess.Popen[bytes]
    variables: dict[int, dict[str, str]] = field(default_factory=dict)
    descriptors: dict[int, int] = field(default_factory=dict)
    taken: list[subprocess.Popen[Any]] = field(default_factory=list)

    @classmethod
    def reserve(cls, mpirun: list[str], count: int, folder: str) -> Seats:
        """Have mpirun start so many, and wait for what each was told."""
        path = f"{folder}/{secrets.token_hex(4)}"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen(count)
            server.settimeout(60)
            command = [*mpirun, "-n", str(count), sys.executable, "-I", "-S", str(_SEAT), path]
            seats = cls(subprocess.Popen(command, stdout=subprocess.DEVNULL))
            for _ in range(count):
                with server.accept()[0] as connection:
                    words, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 1)
                told = json.loads(words)
                seats.variables[told["rank"]] = told["variables"]
                if descriptors:
                    seats.descriptors[told["rank"]] = descriptors[0]
        return seats

    def is_over(self) -> bool:
        return len(self.taken) == len(self.variables) and all(each.poll() is not None for each in self.taken)

    def give_up(self) -> None:
        self.mpirun.terminate()
        self.mpirun.wait()
        for descriptor in self.descriptors.values():
            os.close(descriptor)
        self.descriptors.clear()


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
            options["preexec_fn"] = self._entering(rank % len(self._cluster.hosts))
        if self._mpirun is not None:
            self._seat(process, job, rank, count, options)
        else:
            options["env"] |= self._meeting(job, rank, count)
        _popen(process, *words, **options)

    def _entering(self, host: int) -> Callable[[], None]:
        """Return what makes a process one of another host: it has another network, and nothing else of its own."""
        assert self._cluster is not None
        path, libc = f"/proc/{self._cluster.hosts[host].process}/ns/net", ctypes.CDLL(None, use_errno=True)

        def enter() -> None:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            if libc.setns(descriptor, _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

        return enter

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
        own = seats.variables[rank] | {"I_MPI_HYDRA_UUID": job}
        if self._cluster is not None:
            for name, value in zip(("RANKID", "NRANKS"), local, strict=True):
                own[f"MPI_LOCAL{name}"] = str(value)
            for name, value in zip(("RANK", "SIZE"), local, strict=True):
                own |= {f"OMPI_COMM_WORLD_LOCAL_{name}": str(value)} if "OMPI_COMM_WORLD_RANK" in own else {}
        for variable in (RANK, RANK_COUNT, LOCAL_RANK, LOCAL_RANK_COUNT):
            options["env"].pop(variable.name, None)  # or this would count as a rank of hemiola.launch
        options["env"] |= own
        if rank in seats.descriptors:
            options["env"]["PMI_FD"] = str(seats.descriptors[rank])
            options["pass_fds"] = (*options.get("pass_fds", ()), seats.descriptors[rank])
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
        wanted = set(json.loads(os.environ[PLAN]).get("carriers", ()))
        if wanted:
            found = {carrier for row in hm.launch(carriers, _CHECK, timeout_s=60) for carrier in row}
            assert found == wanted, f"ranks reach each other by {found}, not by {wanted}"
        yield


def carriers() -> list[str]:
    """Return by what a rank reaches the others."""
    return [carrier.partition(":")[0] for carrier in hm.init()._core.carriers() if carrier]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
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
