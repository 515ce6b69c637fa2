# SPDX-License-Identifier: Apache-2.0
"""Programs on one host or several: an agent on each, reached by a shell that can be replaced, starts the ranks."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import secrets
import select
import shlex
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, BinaryIO

import hemiola
from hemiola.cluster import Cluster
from hemiola.environment import INTERFACE, IP_FAMILY, PREFIX, RENDEZVOUS, TOKEN, TOKEN_BYTES, HostPort
from hemiola.errors import ArgumentError, FailedRankError
from hemiola.launch.agent import GRACE_S, OUTCOME_MARK, Order, Readiness
from hemiola.launch.culprit import Outcome
from hemiola.launch.screen import screen_of
from hemiola.launch.side_by_side import Attention, Running, attend, ended_in_the_end
from hemiola.machine.refusals import check_system, limits_named
from hemiola.machine.working_folder import working_folder

#: How a host is reached: no question can be answered, because many hosts would ask at once.
SSH = "ssh -o BatchMode=yes -o ConnectTimeout=20 {host}"
#: How long an agent may take until it is ready.
_READY_LIMIT_S = 60.0
_MOST_RANKS = 1 << 20
_IGNORED = (
    f"{RENDEZVOUS.name}={{}} is ignored: the ranks of one host meet in its memory, or at a free port of it"
)

#: Starts a command on a host, with how for subprocess.Popen.
Starter = Callable[..., "subprocess.Popen[bytes]"]


@dataclass(frozen=True)
class Program:
    """The program to run: `ranks_per_host` of the command on each host, host after host.

    `environment` is added to that of the hosts; `python` runs the agents.
    """

    command: Sequence[str]
    ranks_per_host: int
    folder: str = field(default_factory=working_folder)
    environment: dict[str, str] = field(default_factory=dict)
    python: str = sys.executable
    labels: bool = True
    verbose: bool = False

    def __post_init__(self) -> None:
        if self.ranks_per_host < 1 or self.ranks_per_host > _MOST_RANKS:
            raise ArgumentError(f"launch: expected 1 … {_MOST_RANKS} ranks, found {self.ranks_per_host}")


class _Agent(Running):
    """An agent: it ends when its standard input is closed, with its ranks, which have their own time for that."""

    grace_s = 2 * Running.grace_s

    def __init__(self, host: str, process: subprocess.Popen[bytes]) -> None:
        super().__init__("", process)
        self.host = host
        #: How its ranks ended, once it has said so.
        self.outcome: Outcome | None = None

    def line(self, line: bytes, source: int) -> bytes:
        """Keep what it says of its ranks' ends from being printed."""
        if not line.startswith(OUTCOME_MARK.encode()):
            return line + b"\n"
        self.outcome = Outcome.unpacked(line.decode().removeprefix(OUTCOME_MARK))
        return b""

    def ask_to_end(self) -> None:
        """Close its standard input."""
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def tell(self, words: dict[str, Any]) -> None:
        """Send a line; one that has ended is found out when its answer is read."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(words).encode() + b"\n")

    def readiness(self, until: float) -> Readiness:
        """Wait for its answer; raise FailedRankError when it has none."""
        assert self.process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                raise FailedRankError(f"launch: host '{self.host}' was not ready after {_READY_LIMIT_S:g} s")
            byte = os.read(self.process.stdout.fileno(), 1)
            if not byte:
                raise FailedRankError(f"launch: host '{self.host}': {self._complaint()}")
            line += byte
        try:
            answer = json.loads(line)
        except ValueError:
            found = line.decode(errors="replace")[:200].strip()
            raise FailedRankError(
                f"launch: host '{self.host}': expected an agent's answer, found '{found}'. Its login shell must "
                f"print nothing to standard output"
            ) from None
        if "error" in answer:
            raise ArgumentError(f"launch: host '{self.host}': {answer['error']}")
        return Readiness(**answer)

    def _complaint(self) -> str:
        assert self.process.stderr is not None
        told = self.process.stderr.read().decode(errors="replace").strip().splitlines()
        return f"no agent: {told[-1] if told else f'exit code {self.process.wait()}'}"


class _Hosts(Attention):
    """Which agents have failed by themselves. The others' ranks fail at the same time for the same cause."""

    def __init__(self) -> None:
        self.first_code = 0
        self._failed_at: float | None = None

    def heed(self, command: Running, code: int, *, was_asked: bool) -> None:
        """Note the first agent that has failed."""
        if code != 0 and not was_asked and self._failed_at is None:
            self.first_code, self._failed_at = code, time.monotonic()

    def has_seen_enough(self) -> bool:
        """Whether the others have had time to fail, too."""
        return self._failed_at is not None and time.monotonic() > self._failed_at + 2 * GRACE_S


def on_this_host(command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Start a command here."""
    return subprocess.Popen(command, **how)


def through(remote_shell: str, host: str) -> Starter:
    """Return a function that starts commands on a host through a remote shell such as "ssh {host}"."""
    words = shlex.split(remote_shell)
    if "{host}" not in remote_shell:
        words.append("{host}")
    words = [word.replace("{host}", host) for word in words]

    def start(command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(words + [shlex.quote(word) for word in command], **how)

    return start


def on_cluster(cluster: Cluster) -> dict[str, Starter]:
    """Return a function that starts commands on the hosts of a cluster on this machine."""
    return {host.name: partial(cluster.start, host.number) for host in cluster.hosts}


def run_program(
    program: Program,
    hosts: dict[str, Starter],
    rendezvous: HostPort | None = None,
    out: BinaryIO | None = None,
) -> int:
    """Run a program to its end.

    Parameters
    ----------
    program : Program.
    hosts : names of hosts, each with the function that starts a command there.
    rendezvous : HostPort, where rank 0 listens; None for a free port of the first host.
    out : where standard output goes; None for this process's.

    Returns
    -------
    int, 0, or the exit code of the rank to blame, 128 and the signal's number where it was killed; the others are
    ended then. Which rank that was is said on standard error.

    Raises
    ------
    FailedRankError
        when a host is not reached or has another version of Hemiola; nothing was started on any.
    ArgumentError
        when on a host the folder does not exist, a variable cannot be read, or no port or address is left.
    """
    agents: list[_Agent] = []
    seen = _Hosts()
    check_system()
    with ended_in_the_end(agents):
        with limits_named("launch"):
            for host, start in hosts.items():
                agents.append(_start_agent(host, start, program.python))
            orders = _orders(program, len(hosts))
            for agent, order in zip(agents, orders, strict=True):
                agent.tell(asdict(order))
            answers = _ready(agents)
            if rendezvous is not None and len(hosts) == 1:
                print(f"hemiola: {_IGNORED.format(rendezvous)}", file=sys.stderr, flush=True)
            place = rendezvous or _meeting_place(agents[0].host, answers[0])
            for agent in agents:
                agent.tell({"rendezvous": str(place) if len(hosts) > 1 else ""})
        attend(agents, seen, out=out)
    job = Outcome()
    for agent in agents:
        if agent.outcome is not None:
            job.add(agent.outcome)
    if not job.failures:
        return seen.first_code
    for line in screen_of(job, labels=program.labels, is_verbose=program.verbose):
        print(line, file=sys.stderr, flush=True)
    return job.exit_code


def _start_agent(host: str, start: Starter, python: str) -> _Agent:
    process = start(
        [python, "-m", "hemiola.launch.agent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        bufsize=0,
    )
    return _Agent(host, process)


def _ready(agents: Sequence[_Agent]) -> list[Readiness]:
    """Wait until all agents are ready, with the same version."""
    until = time.monotonic() + _READY_LIMIT_S
    answers = [agent.readiness(until) for agent in agents]
    for agent, answer in zip(agents, answers, strict=True):
        if answer.version != hemiola.__version__:
            raise FailedRankError(
                f"launch: host '{agent.host}' has Hemiola {answer.version}, this one {hemiola.__version__}; install "
                f"the same on all"
            )
    return answers


def _meeting_place(host: str, answer: Readiness) -> HostPort:
    """Return where the others reach the first host: by its name, if that is known to more than the remote shell and no
    variable says which address is to be used."""
    name = host.rpartition("@")[2]
    is_told = any(os.environ.get(variable.name) for variable in (INTERFACE, IP_FAMILY))
    return HostPort(name if not is_told and _is_known(name) else answer.address, answer.port)


def _is_known(name: str) -> bool:
    """Return whether a name leads to another place than the one where it is looked up."""
    try:
        found = {str(entry[4][0]).split("%")[0] for entry in socket.getaddrinfo(name, None)}
    except OSError:
        return False
    return not any(ipaddress.ip_address(address).is_loopback for address in found)


def _orders(program: Program, hosts: int) -> list[Order]:
    ours = {
        name: value for name, value in os.environ.items() if name.startswith(PREFIX) and name != TOKEN.name
    }
    job, token = uuid.uuid4().hex, secrets.token_hex(TOKEN_BYTES) if hosts > 1 else ""
    return [
        Order(
            command=list(program.command),
            folder=program.folder,
            environment=ours | program.environment,
            first_rank=host * program.ranks_per_host,
            local_rank_count=program.ranks_per_host,
            rank_count=hosts * program.ranks_per_host,
            job=job,
            token=token,
            labels=program.labels or program.verbose,
            verbose=program.verbose,
        )
        for host in range(hosts)
    ]
