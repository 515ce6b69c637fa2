# SPDX-License-Identifier: Apache-2.0
"""Waiting for other processes, for a time in which they come even where this machine is busy."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def wait_until(what: Callable[[], object], limit_s: float = 120) -> None:
    until = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)


def tell(folder: str, what: object) -> None:
    """Note in a folder that processes share that this one is so far."""
    Path(folder, str(what)).touch()


def wait_until_told(folder: str, *what: object) -> None:
    """Wait until all of it has been noted there."""
    wait_until(lambda: all(Path(folder, str(one)).exists() for one in what))


def is_alive(process: int) -> bool:
    """Say whether a process runs: one that has ended may wait to be reaped."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the second where it ends between opening and reading
        return False


def sleepers(marker: str) -> list[int]:
    """Return the processes that run `sleep MARKER`, not those that are about to."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().rstrip(b"\0").split(b"\0")
        except OSError:
            continue
        if words[0] == b"sleep" and words[-1] == marker.encode():
            found.append(int(path.parent.name))
    return found
