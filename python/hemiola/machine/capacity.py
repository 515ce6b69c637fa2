# SPDX-License-Identifier: Apache-2.0
"""The machine's loan to a process: cores and memory, within its cgroup's limits. Also its name in one line."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from hemiola import units
from hemiola.machine.refusals import check_proc
from hemiola.side_channel import harmless

#: Cores that a system may have, as far as an affinity tells.
MOST_CORES = 4096


def core_count() -> int:
    """Return how many cores this process may use at once: its affinity, or less where a cgroup limits it."""
    return min(len(allowed_cores()), core_quota())


def allowed_cores() -> set[int]:
    """Return the cores to which this process is kept: all of them where a sandbox does not tell."""
    try:
        return os.sched_getaffinity(0)
    except OSError as error:
        with harmless("the cores that this process may use (sched_getaffinity), all of which it counts"):
            raise error
        return set(range(os.cpu_count() or 1))


def machine_cores() -> int:
    """Return how many cores all processes of this machine may use at once. This process may be kept to fewer."""
    return min(os.cpu_count() or 1, core_quota())


def core_quota() -> int:
    """Return how many cores a cgroup lets all its processes use at once, as many as there can be where none limits."""
    quota = _cgroup_words("cpu.max")
    if len(quota) == 2 and quota[0] != "max":
        return max(1, int(quota[0]) // int(quota[1]))
    return MOST_CORES


def memory_bytes() -> tuple[int, int]:
    """Return the memory that this process may use and how much of it is free now, in bytes."""
    check_proc("which says how much memory there is")
    fields = {line.split(":")[0]: line.split()[1] for line in Path("/proc/meminfo").read_text().splitlines()}
    total, free = int(fields["MemTotal"]) * 1024, int(fields["MemAvailable"]) * 1024
    limit = _cgroup_words("memory.max")
    if limit and limit[0] != "max":
        used = int((_cgroup_words("memory.current") or ["0"])[0])
        total = min(total, int(limit[0]))
        free = min(free, max(0, int(limit[0]) - used))
    return total, free


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


def _cgroup_words(name: str) -> list[str]:
    try:
        return Path("/sys/fs/cgroup", name).read_text().split()
    except OSError:
        return []
