# SPDX-License-Identifier: Apache-2.0
"""JAX's row of benchmarks/doors.py: programs that know nothing of Hemiola, beside gloo."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from boosting import free_ports
from doors_row import Row, Timing, begin
from hemiola.cluster import Cluster

ROOT = Path(__file__).resolve().parent.parent
RANK = str(Path(__file__).with_name("doors_jax_rank.py"))
PROGRAMS = {
    "collectives": [str(ROOT / "tests/doors/jax_collectives.py"), "1", "100"],
    "training": [str(ROOT / "tests/doors/jax_training.py")],
}
RANK_COUNTS = (2, 4)
ROUNDS = 3
LIMIT_S = 300
#: Of each host's NIC, and how many hosts.
RATE, HOSTS = "300mbit", 3


@cache
def library() -> str:
    """Return the library's path, as a user gets it."""
    return subprocess.check_output([sys.executable, "-m", "hemiola.jax"], text=True).strip()


def variables(ours: bool) -> dict[str, str]:
    """Return the environment of a program, over Hemiola or gloo."""
    return {**os.environ, "OMP_NUM_THREADS": "1", **({"MPITRAMPOLINE_LIB": library()} if ours else {})}


def outputs(words: Sequence[str], count: int, ours: bool) -> list[str]:
    """Run a program's processes on this machine; return what each printed, or its end where it failed."""

    def start(_: int, command: Sequence[str], **how: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(command, **how)

    begin(f"JAX: {Path(words[0]).stem} on {count} ranks over {'Hemiola' if ours else 'gloo'}")
    return _printed(start, f"127.0.0.1:{free_ports(1)[0]}", words, count, ours)


def outputs_between_hosts(words: Sequence[str], ours: bool) -> list[str]:
    """Do the same with a process on each of several hosts."""
    begin(f"JAX: {Path(words[0]).stem} on {HOSTS} hosts over {'Hemiola' if ours else 'gloo'}")
    with Cluster(HOSTS, rate=RATE) as cluster:
        address = f"{cluster.hosts[0].ipv4}:{free_ports(1)[0]}"
        return _printed(cluster.start, address, words, HOSTS, ours)


def _printed(
    start: Callable[..., subprocess.Popen[str]], address: str, words: Sequence[str], count: int, ours: bool
) -> list[str]:
    processes = [
        start(
            rank,
            [sys.executable, words[0], address, str(count), str(rank), *words[1:]],
            env=variables(ours),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for rank in range(count)
    ]
    return [process.communicate(timeout=LIMIT_S)[0] for process in processes]


def times_us(printed: Sequence[str]) -> Mapping[int, float]:
    """Read rank 0's times: microseconds by bytes."""
    return {int(size): time for size, time in json.loads(printed[0].splitlines()[-1]).items()}


def timings() -> list[Timing]:
    """Time psum over both by turns."""
    found = []
    for count in RANK_COUNTS:
        sides = [
            [times_us(outputs([RANK, "sizes"], count, ours)) for ours in (True, False)] for _ in range(ROUNDS)
        ]
        found += _timings(f"psum, {count} ranks", sides)
    sides = [
        [times_us(outputs_between_hosts([RANK, "hosts"], ours)) for ours in (True, False)]
        for _ in range(ROUNDS)
    ]
    return found + _timings(f"psum, {HOSTS} hosts at {RATE}", sides)


def _timings(case: str, rounds: Sequence[Sequence[Mapping[int, float]]]) -> list[Timing]:
    return [
        Timing(
            f"{case}, {size >> 10} KiB",
            *(statistics.median(sides[which][size] for sides in rounds) for which in (0, 1)),
        )
        for size in rounds[0][0]
    ]


def killed(ours: bool) -> str:
    """Kill the last of three ranks; return what rank 0 said."""
    said = outputs([RANK, "killed"], 3, ours)[0].splitlines()
    return said[-1] if said else "nothing"


def rows() -> list[Row]:
    """Try the programs, time psum, kill a rank."""
    tried = [
        (f"{name}, {count} ranks", outputs(words, count, True))
        for name, words in PROGRAMS.items()
        for count in RANK_COUNTS
    ]
    tried += [
        (f"{name}, {HOSTS} hosts", outputs_between_hosts(words, True)) for name, words in PROGRAMS.items()
    ]
    wrong = [name for name, said in tried if not all(line.startswith("right") for line in said)]
    return [
        Row("JAX", version("jax"), [name for name, _ in tried], wrong, timings(), killed(True), killed(False))
    ]
