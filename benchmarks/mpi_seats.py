# SPDX-License-Identifier: Apache-2.0
"""Places in a job of MPI, held by processes that do nothing else, for ranks that somebody else starts: so one that dies
does not end the job, since its launcher is not told, and ranks may be on emulated hosts, where MPI's memory still
joins them."""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hemiola.cluster import Cluster

#: Of the MPI in this environment.
MPIRUN = str(Path(sys.executable).with_name("mpirun"))
_SEAT = Path(__file__).with_name("mpi_seat.py")
_CLONE_NEWNET = 0x40000000


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
            try:
                for _ in range(count):
                    seats._take_place(server)
            except OSError:
                seats.give_up()
                raise
        return seats

    def _take_place(self, server: socket.socket) -> None:
        """Hear of the next one."""
        with server.accept()[0] as connection:
            words, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 1)
        told = json.loads(words)
        self.variables[told["rank"]] = told["variables"]
        if descriptors:
            self.descriptors[told["rank"]] = descriptors[0]

    def give(
        self, rank: int, options: dict[str, Any], job: str, on_host: tuple[int, int] | None = None
    ) -> None:
        """Change the options of a process that is to be started so that it has the place of this rank.

        Parameters
        ----------
        rank : int.
        options : dict, of subprocess.Popen, with "env".
        job : str, by which the ranks of one job know each other.
        on_host : (int, int), which of its host's ranks it is, and how many that has, where hosts are emulated."""
        own = self.variables[rank] | {"I_MPI_HYDRA_UUID": job}
        if on_host is not None:
            for name, value in zip(("RANKID", "NRANKS"), on_host, strict=True):
                own[f"MPI_LOCAL{name}"] = str(value)
            for name, value in zip(("RANK", "SIZE"), on_host, strict=True):
                own |= {f"OMPI_COMM_WORLD_LOCAL_{name}": str(value)} if "OMPI_COMM_WORLD_RANK" in own else {}
        options["env"] |= own
        if rank in self.descriptors:
            options["env"]["PMI_FD"] = str(self.descriptors[rank])
            options["pass_fds"] = (*options.get("pass_fds", ()), self.descriptors[rank])

    def is_over(self) -> bool:
        return len(self.taken) == len(self.variables) and all(each.poll() is not None for each in self.taken)

    def give_up(self) -> None:
        self.mpirun.terminate()
        self.mpirun.wait()
        for descriptor in self.descriptors.values():
            os.close(descriptor)
        self.descriptors.clear()


def entering(cluster: Cluster, host: int) -> Callable[[], None]:
    """Return what makes a process one of another host: it has another network, and nothing else of its own."""
    path, libc = f"/proc/{cluster.hosts[host].process}/ns/net", ctypes.CDLL(None, use_errno=True)

    def enter() -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if libc.setns(descriptor, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")

    return enter
