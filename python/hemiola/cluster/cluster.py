# SPDX-License-Identifier: Apache-2.0
"""A cluster on one machine: hosts with addresses, a rate, and commands that run on them."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hemiola.arguments import typed
from hemiola.cluster import nics as network
from hemiola.cluster import register
from hemiola.cluster.nics import Counters, Nic
from hemiola.cluster.place import Place
from hemiola.errors import ArgumentError, ClusterError

_KEEPER = Path(__file__).with_name("keeper.py")
_MOST_HOSTS = 250
_END_LIMIT_S = 30.0
_unnamed = itertools.count()


@dataclass(frozen=True)
class Host:
    """One host: its number, its name, which is in every host's /etc/hosts, and the addresses of its first NIC.

    `process` is the first of the host's processes, as numbered outside; the host ends with it.
    """

    number: int
    name: str
    ipv4: str
    ipv6: str
    process: int


@typed
class Cluster:
    """Hosts on this machine, each with its own network, name, processes and /dev/shm, joined by a switch.

    A context manager: with its end, and with the end of this process however it comes, everything that runs on the
    hosts is killed and nothing is left behind.

    Parameters
    ----------
    hosts : int, 1 … 250.
    nics : int, 1 … 16; NICs of each host: eth0 on network 10.77.0.0/16, eth1 on 10.78.0.0/16, …, each network with a
        switch of its own.
    rate : float, bytes per second > 0, or text such as "200mbit"; None for as fast as the machine is. The rate of each
        NIC each way, headers included: of an MTU of 1,500 bytes TCP's payload gets 1,448 of 1,514.
    slow : mapping from host to a factor >= 1 by which its NICs are slower.
    mtu : int, bytes, 1280 … 65535.
    name : str, optional; by which other processes find it (`Cluster.find`, `hemiola cluster exec --name`).

    Raises
    ------
    ArgumentError
        for a parameter out of range.
    ClusterError when there is a cluster of that name, when the kernel does not let this user make namespaces, or
    iproute2 is not installed; the message names a remedy.

    Notes
    -----
    Needs Linux, iproute2 and root, or a kernel on which users may make user namespaces. Hosts share files with the
    machine but for /dev/shm, /proc, /sys, /etc/hosts, /etc/hostname, /etc/machine-id and the boot id, and reach each
    other and nothing else. Takes about 50 ms a host.
    """

    def __init__(
        self,
        hosts: int,
        *,
        nics: int = 1,
        rate: float | str | None = None,
        slow: Mapping[int, float] | None = None,
        mtu: int = 1500,
        name: str | None = None,
    ) -> None:
        if not 1 <= hosts <= _MOST_HOSTS:
            raise ArgumentError(f"cluster: expected 1 … {_MOST_HOSTS} hosts, found {hosts}")
        if not 1 <= nics <= network.MOST_NICS:
            raise ArgumentError(f"cluster: expected 1 … {network.MOST_NICS} NICs a host, found {nics}")
        if not 1280 <= mtu <= 65535:
            raise ArgumentError(f"cluster: expected an MTU of 1280 … 65535 bytes, found {mtu}")
        rates = _rates(hosts, rate, slow or {})
        self.name = name or f"python-{os.getpid()}-{next(_unnamed)}"
        self._started: list[subprocess.Popen[Any]] = []
        self._keeper: subprocess.Popen[str] | None = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the owner
        )
        try:
            self._read(self._ask(_specification(self.name, hosts)) | {"nics": nics})
            network.build(self._nics, [host.process for host in self.hosts], mtu)
            for host, host_rate in enumerate(rates):
                if host_rate is not None:
                    self.set_rate(host, host_rate)
            self._ask({"state": self._state})
        except BaseException:
            self.close()
            raise

    @staticmethod
    @typed
    def find(name: str) -> Cluster:
        """Return a cluster that another process has made. It is not this one's to end: `close` ends only processes that
        were started through it.

        Parameters
        ----------
        name : str.

        Returns
        -------
        Cluster.

        Raises
        ------
        ArgumentError
            when there is none of that name; the message has the names of those that are up.
        """
        found = Cluster.__new__(Cluster)
        found.name = name
        found._started = []
        found._keeper = None
        found._read(register.find(name))
        return found

    def _read(self, state: dict[str, Any]) -> None:
        """Take in what the keeper, or the file that it has written, says."""
        self._state = state
        user = ("user",) if state["own_user"] else ()
        #: How many NICs each host has.
        self.nics: int = state["nics"]
        switch = Place(state["keeper"], *user, "net")
        self._places = [
            Place(process, *user, "net", "uts", "ipc", "mnt", "pid") for process in state["hosts"]
        ]
        #: The hosts, by number.
        self.hosts = [
            Host(number, name_of(number), *network.addresses_of(number), process)
            for number, process in enumerate(state["hosts"])
        ]
        self._nics = [
            [Nic(host, number, place, switch) for number in range(self.nics)]
            for host, place in enumerate(self._places)
        ]

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @typed
    def start(self, host: int, command: Sequence[str], **how: Any) -> subprocess.Popen[Any]:
        """Start a command on a host.

        Parameters
        ----------
        host : int.
        command : sequence of str.
        how : passed on to subprocess.Popen.

        Returns
        -------
        subprocess.Popen, of the command itself, whose number out here `pid` is: signals reach it. (In a user
        namespace it is a process that hands signals on, but for SIGSTOP, and ends with it.)

        Raises
        ------
        ArgumentError
            for a host that there is not.
        OSError
            when the command cannot be started.

        Notes
        -----
        Started in the main thread, it ends with this process, even if this is killed.
        """
        process = self._place(host).start(command, **how)
        self._started = [other for other in self._started if other.returncode is None]
        self._started.append(process)
        return process

    @typed
    def run(self, host: int, command: Sequence[str], *, timeout_s: float | None = None) -> str:
        """Run a command on a host to its end.

        Parameters
        ----------
        host : int.
        command : sequence of str.
        timeout_s : float, optional; how long it may take before it is killed.

        Returns
        -------
        str, its standard output.

        Raises
        ------
        ArgumentError
            for a host that there is not.
        ClusterError when it ends with another exit code than 0; the message has its standard error.
        subprocess.TimeoutExpired
            when it took too long.
        """
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self.start(host, command, text=True, **pipes)
        try:
            out, complaint = process.communicate(timeout=timeout_s)
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            raise ClusterError(
                f"cluster: '{' '.join(command)}' on {name_of(host)} ended with exit code {process.returncode}: "
                f"{complaint.strip()}"
            )
        return str(out)

    @typed
    def set_rate(self, host: int, rate: float | str | None, *, nic: int | None = None) -> None:
        """Change the rate of a host's NICs each way, at once.

        Parameters
        ----------
        host : int.
        rate : float, bytes per second, or text such as "200mbit"; None for as fast as the machine is.
        nic : int, which of them; None for all.

        Raises
        ------
        ArgumentError
            for a host or NIC that there is not, and a rate out of range.
        ClusterError
            when the kernel refuses.
        """
        for each in self._nics_of(host, nic):
            network.limit(each, _bytes_per_second(rate))

    @typed
    def rates(self, host: int, *, nic: int = 0) -> tuple[float | None, float | None]:
        """Return the rates at which a host's NIC may send and receive, as the kernel has them.

        Parameters
        ----------
        host, nic : int.

        Returns
        -------
        pair of float, bytes per second; None where nothing limits it.

        Raises
        ------
        ArgumentError
            for a host or NIC that there is not.
        """
        return network.rates(self._nics_of(host, nic)[0])

    @typed
    def set_link(self, host: int, *, up: bool, nic: int | None = None) -> None:
        """Pull a host's cables out of the switch, or plug them in again.

        Parameters
        ----------
        host : int.
        up : bool.
        nic : int, which NIC's cable; None for those of all.

        Raises
        ------
        ArgumentError
            for a host or NIC that there is not.
        """
        for each in self._nics_of(host, nic):
            network.set_link(each, up)

    @typed
    def is_up(self, host: int, *, nic: int = 0) -> bool:
        """Return whether a host's NIC has a carrier.

        Parameters
        ----------
        host, nic : int.

        Raises
        ------
        ArgumentError
            for a host or NIC that there is not.
        """
        return network.is_up(self._nics_of(host, nic)[0])

    @typed
    def is_alive(self, host: int) -> bool:
        """Return whether a host's first process runs, without which nothing runs there.

        Parameters
        ----------
        host : int.

        Raises
        ------
        ArgumentError
            for a host that there is not.
        """
        return self._place(host).exists()

    @typed
    def counters(self, host: int, *, nic: int = 0) -> Counters:
        """Return the counters of a host's NIC since the cluster is up.

        Parameters
        ----------
        host, nic : int.

        Returns
        -------
        Counters: `sent` and `received`, bytes with headers.

        Raises
        ------
        ArgumentError
            for a host or NIC that there is not.
        """
        return network.counters(self._nics_of(host, nic)[0])

    def detach(self) -> None:
        """Let the cluster outlive this process, until `end` ends it."""
        self._tell("detach")
        self._leave()

    def wait(self) -> None:
        """Wait until another process ends this cluster."""
        if self._keeper is not None:
            self._keeper.wait()

    def close(self) -> None:
        """End the processes started through this object and, unless it was found by name, the whole cluster."""
        for process in self._started:
            process.kill()
            process.wait()
        self._started.clear()
        keeper = self._keeper
        self._leave()
        if keeper is not None:
            keeper.wait()

    def _place(self, host: int) -> Place:
        if not 0 <= host < len(self.hosts):
            raise ArgumentError(f"cluster: expected a host in 0 … {len(self.hosts) - 1}, found {host}")
        return self._places[host]

    def _nics_of(self, host: int, nic: int | None) -> list[Nic]:
        """Return one of a host's NICs, or all of them."""
        self._place(host)
        if nic is not None and not 0 <= nic < self.nics:
            raise ArgumentError(f"cluster: expected a NIC in 0 … {self.nics - 1}, found {nic}")
        return self._nics[host] if nic is None else [self._nics[host][nic]]

    def _tell(self, words: object) -> None:
        assert self._keeper is not None
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(json.dumps(words) + "\n")
        self._keeper.stdin.flush()

    def _ask(self, words: object) -> dict[str, Any]:
        """Tell the keeper something and return its answer."""
        assert self._keeper is not None
        assert self._keeper.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._tell(words)
        line = self._keeper.stdout.readline()
        if not line:
            assert self._keeper.stderr is not None
            raise ClusterError(
                f"cluster: its keeper has ended: {self._keeper.stderr.read().strip() or 'killed'}"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ClusterError(f"cluster: {answer['error']}")
        return answer

    def _leave(self) -> None:
        """Close the pipes to the keeper, whose owner this no longer is."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            for pipe in (keeper.stdin, keeper.stdout, keeper.stderr):
                if pipe is not None:
                    pipe.close()


@typed
def end(name: str) -> None:
    """End a cluster that any process of this user has made, and all that runs on it.

    Parameters
    ----------
    name : str.

    Raises
    ------
    ArgumentError
        when there is none of that name.
    """
    keeper = os.pidfd_open(register.find(name)["keeper"])
    try:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(keeper, number)
            if select.select([keeper], [], [], _END_LIMIT_S)[0]:
                return
    finally:
        os.close(keeper)


def name_of(host: int) -> str:
    """Return a host's name."""
    return f"host{host}"


def _bytes_per_second(rate: float | str | None) -> float | None:
    if rate is None:
        return None
    return network.check_rate(network.read_rate(rate) if isinstance(rate, str) else float(rate), "a rate")


def _rates(hosts: int, rate: float | str | None, slow: Mapping[int, float]) -> list[float | None]:
    """Return each host's rate."""
    full = _bytes_per_second(rate)
    for host, factor in slow.items():
        if not 0 <= host < hosts:
            raise ArgumentError(f"cluster: expected slow hosts in 0 … {hosts - 1}, found {host}")
        if not factor >= 1:
            raise ArgumentError(f"cluster: expected a factor >= 1 for slow host {host}, found {factor:g}")
    if full is None:
        if slow:
            raise ArgumentError("cluster: slow hosts need a rate to be slower than; give one")
        return [None] * hosts
    return [
        network.check_rate(full / slow.get(host, 1.0), f"a rate for host {host}") for host in range(hosts)
    ]


def _specification(name: str, hosts: int) -> dict[str, Any]:
    """Return what the keeper is to make: hosts whose files name them, and no other machine."""
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines += [f"{address} {name_of(host)}" for host in range(hosts) for address in network.addresses_of(host)]
    shared = {"/etc/hosts": "\n".join(lines) + "\n"}
    return {
        "owner": os.getpid(),
        "name": name,
        "path": str(register.path_of(name)),
        "settings": network.SETTINGS,
        "hosts": [
            {"name": name_of(host), "files": shared | _identity(name_of(host))} for host in range(hosts)
        ],
    }


def _identity(name: str) -> dict[str, str]:
    """Return the files by which libraries tell whether two processes share a machine."""
    return {
        "/etc/hostname": f"{name}\n",
        "/etc/machine-id": f"{uuid.uuid4().hex}\n",
        "/proc/sys/kernel/random/boot_id": f"{uuid.uuid4()}\n",
    }
