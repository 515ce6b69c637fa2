# SPDX-License-Identifier: Apache-2.0
"""Hemiola, Gloo, Open MPI, MPICH and UCC on the hosts of a cluster on one machine, a rank a host, each started as its
users start it and asked for one measurement at a time. Those whose turn it is not are stopped.

What was needed to see each at its best: Gloo and the MPIs are told the interface; MPICH takes libfabric's TCP, which is
twice as fast here as its default; Open MPI yields when idle, since hosts share the machine's cores. `openmpi_ring` is
Open MPI with the ring, since its default loses half on limited NICs. UCC yields where hosts share cores. UCX is told
TCP and the interface, since hosts would find each other in shared memory."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from contenders import UCC_SETTINGS, peer_python
from hemiola.cluster import Cluster
from meeting import PORT, meeting
from remote_shell import RemoteShell

RANK_SCRIPT = Path(__file__).resolve().parent / "network_rank.py"
PEERS = ("gloo", "openmpi", "openmpi_ring", "mpich", "ucc")
_ENVIRONMENTS = {"openmpi_ring": "openmpi"}
_START_LIMIT_S = 300
_ANSWER_LIMIT_S = 300
_NIC = "eth0"


@dataclass
class Rank:
    """One rank: its connection to this program, and the process at the connection's other end."""

    lines: TextIO
    process: int  # a descriptor, which stands for no other process once this one has ended

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.process, number)


@dataclass
class Contender:
    """The ranks of one library, one on each host, stopped while it is not their turn."""

    name: str
    shell: RemoteShell
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    ranks: list[Rank] = field(default_factory=list)

    def ask(self, **order: Any) -> list[dict[str, Any]]:
        """Let the ranks run, give all of them one order, stop them again; return their answers by rank."""
        self.signal(signal.SIGCONT)
        for rank in self.ranks:
            print(json.dumps(order), file=rank.lines, flush=True)
        answers = [rank.lines.readline() for rank in self.ranks]
        self.signal(signal.SIGSTOP)
        if not all(answers):
            raise RuntimeError(f"{self.name}: rank {answers.index('')} has died of {order}")
        return [json.loads(answer) for answer in answers]

    def signal(self, number: int) -> None:
        for rank in self.ranks:
            rank.signal(number)

    def close(self) -> None:
        self.signal(signal.SIGKILL)
        for rank in self.ranks:
            rank.lines.close()
            os.close(rank.process)
        for process in self.processes:
            process.kill()
            process.wait()
        self.shell.close()


@contextlib.contextmanager
def contenders(cluster: Cluster, names: Sequence[str]) -> Iterator[dict[str, Contender]]:
    """Start those contenders on all hosts, one after the other; end them with the block."""
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(_contender(cluster, name)) for name in names}


@contextlib.contextmanager
def _contender(cluster: Cluster, name: str) -> Iterator[Contender]:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/harness")
        server.listen(len(cluster.hosts))
        server.settimeout(1.0)
        shell = RemoteShell(cluster, Path(folder))
        started = Contender(name, shell)
        try:
            started.processes += _start(cluster, name, shell, f"{folder}/harness")
            _accept_ranks(server, started, len(cluster.hosts))
            started.signal(signal.SIGSTOP)
            yield started
        finally:
            started.close()


def _accept_ranks(server: socket.socket, contender: Contender, count: int) -> None:
    """Wait for all ranks, which say their numbers."""
    found: dict[int, Rank] = {}
    until = time.monotonic() + _START_LIMIT_S
    while len(found) < count:
        try:
            connection, _ = server.accept()
        except TimeoutError:
            ends = [process.args for process in contender.processes if process.poll() is not None]
            if ends or time.monotonic() > until:
                raise RuntimeError(
                    f"{contender.name}: expected {count} ranks, found {sorted(found)}; ended: {ends or 'none'}"
                ) from None
            continue
        with connection:  # the file keeps it open
            connection.settimeout(_ANSWER_LIMIT_S)
            (process,) = struct.unpack(
                "i8x", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            )
            lines = connection.makefile("rw")
            found[int(lines.readline())] = Rank(lines, os.pidfd_open(process))
    contender.ranks += [found[rank] for rank in range(count)]


def _start(cluster: Cluster, name: str, shell: RemoteShell, path: str) -> list[subprocess.Popen[bytes]]:
    """Start a contender: an MPI's launcher on host 0, or a process on each host."""
    python = peer_python(_ENVIRONMENTS.get(name, name))
    order = [str(python), str(RANK_SCRIPT), name, path]
    names = [host.name for host in cluster.hosts]
    own = shell.environment | _QUIET
    if name in ("openmpi", "openmpi_ring"):
        command = _mpirun(python, names, shell.script, name == "openmpi_ring") + order
        return [_on(cluster, 0, command, own | _AS_ROOT)]
    if name == "mpich":
        words = ["-launcher", "rsh", "-launcher-exec", str(shell.script), "-iface", _NIC]
        words += ["-hosts", ",".join(names), "-ppn", "1", "-n", str(len(names))]
        return [_on(cluster, 0, [str(python.parent / "mpiexec"), *words, *order], own | _LIBFABRIC_TCP)]
    own |= _meeting(cluster) | (_UCX_TCP if name == "ucc" else {})
    return [
        _on(cluster, rank, order, own | {"HEMIOLA_RANK": str(rank), "RANK": str(rank)})
        for rank in range(len(names))
    ]


#: Nobody needs to read it six times over.
_QUIET = {"TORCH_CPP_LOG_LEVEL": "ERROR", "PYTHONWARNINGS": "ignore"}
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_LIBFABRIC_TCP = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": _NIC}
_UCX_TCP = UCC_SETTINGS | {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": _NIC}


def _mpirun(python: Path, names: Sequence[str], shell: Path, with_ring: bool) -> list[str]:
    words = [str(python.parent / "mpirun"), "-n", str(len(names)), "--host", ",".join(names)]
    parameters = {
        "plm_rsh_agent": str(shell),
        "btl_tcp_if_include": _NIC,
        "mpi_yield_when_idle": "1",
    }
    if with_ring:
        parameters |= {"coll_tuned_use_dynamic_rules": "1", "coll_tuned_allreduce_algorithm": "ring"}
    return words + [word for parameter in parameters.items() for word in ("--mca", *parameter)]


def _meeting(cluster: Cluster) -> dict[str, str]:
    """Return what Hemiola's and Gloo's ranks need to know to meet on host 0."""
    count = len(cluster.hosts)
    return meeting(cluster, count, 1) | {
        "HEMIOLA_SILENCE": "30s",  # stopped ranks go on one after the other
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": cluster.hosts[0].ipv4,
        "MASTER_PORT": str(PORT + 1),
        "GLOO_SOCKET_IFNAME": _NIC,
    }


def _on(
    cluster: Cluster, host: int, command: list[str], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    return cluster.start(host, command, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr)
