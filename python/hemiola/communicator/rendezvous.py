# SPDX-License-Identifier: Apache-2.0
"""How ranks of several hosts learn rank 0's address, and the secret that they prove to know."""

from __future__ import annotations

import json
import re
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from hemiola import environment
from hemiola._core import broadcast_by_mpi
from hemiola.communicator.launch_environment import Job
from hemiola.communicator.words_of_ranks import read_words
from hemiola.environment.packages import optional
from hemiola.errors import ArgumentError, Cause, TimeoutError

#: Where rank 0 listens under Slurm unless HEMIOLA_RENDEZVOUS says otherwise: at a port that follows from the job.
_SLURM_PORTS = range(20000, 30000)


@dataclass(frozen=True)
class Meeting:
    """Where rank 0 listens ("host:port", one or several ways to say it), the job's secret, and its name."""

    rank_zero: tuple[str, ...]
    token: bytes
    name: str


class Rendezvous(Protocol):
    """A way by which rank 0 tells the others."""

    @property
    def port(self) -> int:
        """The port at which rank 0 has to listen; 0 where it may choose."""

    def meet(self, own: Sequence[str], timeout_s: float) -> Meeting:
        """Return rank 0's message; on rank 0, publish that it listens at `own`."""


def rendezvous_of(job: Job) -> Rendezvous:
    """Choose the way to meet: an address where one was given, else the launcher's store.

    Raises
    ------
    ArgumentError that names the variable to set, where there is no way to meet.
    """
    address = environment.RENDEZVOUS.value()
    if address is not None:
        return AtAddress(str(address), address.port, known_token(), job.name or str(address))
    ways: dict[str, Callable[[Job], Rendezvous]] = {
        "torchrun": ThroughTorch,
        "Open MPI's mpirun": ThroughMpi,
        "MPICH's mpirun": ThroughMpi,
    }
    if job.launcher in ways:
        return ways[job.launcher](job)
    if job.launcher == "Slurm's srun":
        return _at_first_node(job)
    raise ArgumentError(
        f"{job.launcher}: ranks on several hosts meet at an address: set HEMIOLA_RENDEZVOUS=host:port, where rank 0 "
        f"can listen, and the same HEMIOLA_TOKEN on all of them"
    )


@dataclass(frozen=True)
class AtAddress:
    """Everybody has been told."""

    address: str
    port: int
    token: bytes
    name: str

    def meet(self, own: Sequence[str], timeout_s: float) -> Meeting:
        """Return it."""
        return Meeting((self.address,), self.token, self.name)


class ThroughTorch:
    """Through torchrun's store, whose client is PyTorch's own. Everybody that can read that store is trusted with the
    secret."""

    port = 0

    def __init__(self, job: Job) -> None:
        self._job = job

    def meet(self, own: Sequence[str], timeout_s: float) -> Meeting:
        """Have rank 0 put it there, and the others read it."""
        store, key = _torch_store(self._job, timeout_s), f"hemiola/{self._job.meeting_name}"
        if self._job.rank == 0:
            meeting = Meeting(tuple(own), secrets.token_bytes(environment.TOKEN_BYTES), self._job.name)
            store.set(key, _packed(meeting))
            return meeting
        try:
            return _unpacked(store.get(key))
        except RuntimeError as error:  # torch's DistStoreError among them
            did = f"has not come to torchrun's store within {timeout_s:g} s"
            late = TimeoutError(f"rank 0 {did}: {error}")
            late.cause = Cause(0, did, time.monotonic())
            raise late from None


def _torch_store(job: Job, timeout_s: float) -> Any:
    """Open the store in which torchrun's ranks of several hosts meet: torchrun keeps it, or rank 0 does."""
    import os

    torch = optional("torch.distributed")
    agent_keeps_it = os.environ.get("TORCHELASTIC_USE_AGENT_STORE", "").lower() == "true"
    keeps_it = not agent_keeps_it and job.rank == 0
    try:
        host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    except (KeyError, ValueError) as error:
        raise ArgumentError(
            f"torchrun: expected a host in MASTER_ADDR and a port in MASTER_PORT, found {error}"
        ) from None
    try:
        return torch.TCPStore(
            host,
            port,
            job.rank_count,
            is_master=keeps_it,
            timeout=timedelta(seconds=timeout_s),
            wait_for_workers=False,
            multi_tenant=True,
        )
    except RuntimeError as error:  # torch's DistNetworkError among them
        what = f"torchrun's store cannot be {'opened' if keeps_it else 'reached'} at {host}:{port}"
        reason = (_why_unknown(host) or str(error).partition("\n")[0]).rstrip(".")
        if keeps_it:
            raise ArgumentError(f"{what}: {reason}. Choose another MASTER_PORT") from None
        raise TimeoutError(f"{what} within {timeout_s:g} s: {reason}. Does rank 0 run there?") from None


def _why_unknown(host: str) -> str:
    """Return the system's reason where it knows no such host, which PyTorch does not say; "" where it does."""
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError) as error:
        return str(error)
    return ""


class ThroughMpi:
    """By a broadcast of the MPI that has started the job."""

    port = 0

    def __init__(self, job: Job) -> None:
        self._job = job

    def meet(self, own: Sequence[str], timeout_s: float) -> Meeting:
        """Have rank 0 tell all others."""
        name = self._job.name or secrets.token_hex(8)
        meeting = Meeting(tuple(own), secrets.token_bytes(environment.TOKEN_BYTES), name)
        return _unpacked(broadcast_by_mpi(_packed(meeting), timeout_s))


def _at_first_node(job: Job) -> AtAddress:
    """Under plain srun: the first node of the list, at a port that follows from the job's number."""
    import os

    nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_NODELIST") or ""
    number = int(os.environ.get("SLURM_JOB_ID", "0")) + int(os.environ.get("SLURM_STEP_ID", "0"))
    ports = environment.PORTS.value() or _SLURM_PORTS
    port = ports[number % len(ports)]
    return AtAddress(f"{first_node(nodes)}:{port}", port, known_token(), job.name)


def first_node(nodes: str) -> str:
    """Return the first of Slurm's node list, such as "n[003-007,12],login1".

    Raises
    ------
    ArgumentError
        for a list that cannot be read.
    """
    found = re.match(r"([^\[,\s]+)(?:\[(\d+))?", nodes)
    if found is None:
        raise ArgumentError(f"Slurm's srun: expected a node list such as n[01-04], found '{nodes[:60]}'")
    after = re.match(r"[^\[,]*\[[^\]]*\]([^,\[]*)", nodes)
    return found[1] + (found[2] or "") + (after[1] if found[2] and after else "")


def known_token() -> bytes:
    """Return the secret that was set on all ranks.

    Raises
    ------
    ArgumentError
        where none was.
    """
    token = environment.TOKEN.value()
    if token is None:
        raise ArgumentError(
            f"ranks on several hosts prove to each other that they know a secret: set HEMIOLA_TOKEN to the same "
            f"{2 * environment.TOKEN_BYTES} hexadecimal digits on all of them, such as `openssl rand -hex "
            f"{environment.TOKEN_BYTES}` makes"
        )
    return token


def _packed(meeting: Meeting) -> bytes:
    told = {"rank_zero": meeting.rank_zero, "token": meeting.token.hex(), "name": meeting.name}
    return json.dumps(told).encode()


def _unpacked(words: bytes) -> Meeting:
    return read_words(words, 0, "a meeting place", _as_meeting)


def _as_meeting(told: Any) -> Meeting:
    return Meeting(tuple(map(str, told["rank_zero"])), bytes.fromhex(told["token"]), str(told["name"]))
