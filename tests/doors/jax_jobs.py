# SPDX-License-Identifier: Apache-2.0
"""Jobs whose processes are programs of JAX, on this host."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

LIMIT_S = 280


def started(
    words: Sequence[str], count: int, more: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> list[subprocess.Popen[str]]:
    """Start so many processes of a program; they get coordinator, number of processes, and own number."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **(variables or {})}
    return [
        subprocess.Popen(
            [sys.executable, *words, address, str(count), str(rank), *more],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]


def ended(processes: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    """Wait for all; return exit code, output and errors of each."""
    try:
        texts = [process.communicate(timeout=LIMIT_S) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, *text) for process, text in zip(processes, texts, strict=True)]


def library() -> str:
    """The path that `python -m hemiola.jax` prints."""
    command = [sys.executable, "-m", "hemiola.jax"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def by_variable() -> dict[str, str]:
    return {"MPITRAMPOLINE_LIB": library()}
