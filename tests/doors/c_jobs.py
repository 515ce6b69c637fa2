# SPDX-License-Identifier: Apache-2.0
"""Jobs whose ranks are programs in C, on this host."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from c_library import LIMIT_S, Library

Said = list[list[str]]
Start = Callable[[Sequence[str], Mapping[str, str]], subprocess.Popen[str]]
#: What the functions return.
INVALID, MISMATCH, LOST_RANK, TIMEOUT = 1, 2, 3, 4


@contextmanager
def started(
    library: Library, commands: Sequence[Sequence[str]], variables: Sequence[Mapping[str, str]], start: Start
) -> Iterator[list[subprocess.Popen[str]]]:
    """Start processes with variables of their own; they end with this."""
    with ExitStack() as running:
        processes = []
        for command, own in zip(commands, variables, strict=True):
            process = start(command, os.environ | library.path | {"HEMIOLA_TIMEOUT": "60"} | own)
            running.callback(process.wait)
            running.callback(process.kill)
            processes.append(process)
        yield processes


def start_here(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def said(processes: Sequence[subprocess.Popen[str]]) -> Said:
    """Return the lines of each; all have to end."""
    return [process.communicate(timeout=LIMIT_S)[0].splitlines() for process in processes]


def together(library: Library, program: Path, what: str, variables: Sequence[Mapping[str, str]]) -> Said:
    """Run processes of this host that differ by their variables."""
    commands = [[str(program), *what.split()]] * len(variables)
    with started(library, commands, variables, start_here) as processes:
        return said(processes)


def on_host(library: Library, program: Path, what: str, count: int, **more: str) -> Said:
    """Run the ranks of a job on this host."""
    job = {"HEMIOLA_JOB": secrets.token_hex(4), "HEMIOLA_RANK_COUNT": str(count)}
    return together(
        library, program, what, [job | {"HEMIOLA_RANK": str(rank)} | more for rank in range(count)]
    )


def mistakes_of(lines: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return what a rank of `c_ranks bad` says: the result and the sentence of each mistake."""
    return {name: (int(code), text) for name, code, text in (line.split(": ", 2) for line in lines)}
