# SPDX-License-Identifier: Apache-2.0
"""The status of running jobs: the first rank leaves it at its door, where other processes of the user may read it.

No rank stops for that. The status changes with the ranks alone."""

from __future__ import annotations

import json
import os
import re
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from hemiola._core import LocalSession
from hemiola.communicator.epochs import Epoch, History
from hemiola.communicator.launch_environment import meeting_name
from hemiola.errors import ArgumentError, FormatError, HemiolaError

#: While members agree, the job has no door for a moment.
_GAP_S, _PAUSE_S = 1.0, 0.02
_SOCKETS = Path("/proc/net/unix")
_LISTENS = 1 << 16


@dataclass(frozen=True)
class JobStatus:
    """A job, as its first rank tells of it.

    `name` is the one at which its ranks met, and where they are on several hosts, the host's. `processes` has the
    process numbers of this host's members by rank, and `ended` those whose process has ended since the last change.
    `refusal` says why nobody may join; empty: newcomers may.
    `joins`, `leaves` and `losses` count since the job was founded, also what `epochs` keeps no more.
    """

    name: str
    host: str
    refusal: str
    processes: dict[int, int]
    ended: tuple[int, ...]
    joins: int
    leaves: int
    losses: int
    epochs: tuple[Epoch, ...]

    @property
    def is_over(self) -> bool:
        """Whether all its processes are known, and have ended."""
        return bool(self.processes) and ended_of(self.processes) == tuple(self.processes)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "name": self.name,
            "host": self.host,
            "refusal": self.refusal or None,
            "ranks": list(self.epochs[-1].ranks),
            "processes": {str(rank): process for rank, process in self.processes.items()},
            "ended": list(self.ended),
            "joins": self.joins,
            "leaves": self.leaves,
            "losses": self.losses,
            "epochs": [epoch.as_dict() for epoch in self.epochs],
        }


def status_text(history: History, processes: dict[int, int], refusal: str) -> str:
    """Return what a job's first rank leaves at its door."""
    head = {
        "host": socket.gethostname(),
        "process_space": _process_space(),
        "processes": processes,
        "refusal": refusal,
    }
    return f"{json.dumps(head)}\n{history.text}"


def _read(name: str, text: str) -> JobStatus:
    head, _, told = text.partition("\n")
    try:
        about, history = json.loads(head), History(told)
        processes = {int(rank): int(process) for rank, process in about["processes"].items()}
        here = about["process_space"] == _process_space()
        totals = {total: int(history.present[total]) for total in ("joins", "leaves", "losses")}
        return JobStatus(
            name=name,
            host=str(about["host"]),
            refusal=str(about["refusal"]),
            processes=processes if here else {},
            ended=ended_of(processes) if here else (),
            **totals,
            epochs=history.epochs(),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise FormatError(f"job '{name}': expected its status, found something else: {error}") from None


def _process_space() -> int:
    """Return what processes have in common that know each other by the same numbers."""
    return os.stat("/proc/self/ns/pid").st_ino


def ended_of(processes: dict[int, int]) -> tuple[int, ...]:
    """Return the ranks whose processes have ended."""
    return tuple(rank for rank, process in processes.items() if _has_ended(process))


def _has_ended(process: int) -> bool:
    try:
        descriptor = os.pidfd_open(process)
    except OSError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 0)[0])  # a zombie has ended, too
    finally:
        os.close(descriptor)


def status_at(name: str, timeout_s: float) -> JobStatus | None:
    """Return the status of the job whose ranks met at a name; None where none tells it now.

    Raises
    ------
    TimeoutError
        where its first rank does not answer in time.
    MismatchError
        where it runs another version of Hemiola.
    """
    text = LocalSession.status_of(name, metadata.version("hemiola"), timeout_s)
    return None if text is None else _read(name, text)


def status_of(job: str, timeout_s: float) -> JobStatus:
    """Return the status of a job on this machine.

    Parameters
    ----------
    job : str, the name at which its ranks met, or the HEMIOLA_JOB of a job of hemiola.launch.
    timeout_s : float, seconds; how long to wait for an answer.

    Raises
    ------
    ArgumentError
        where no such job of this user runs, or two have that name.
    TimeoutError, MismatchError
        as of `status_at`.
    """
    deadline = time.monotonic() + min(timeout_s, _GAP_S)
    while True:
        names = (job, meeting_name(job))
        found = [status for name in names if (status := _status_here(name, timeout_s)) is not None]
        if len(found) == 2:
            raise ArgumentError(
                f"two jobs run as '{job}': one met at '{names[0]}', one was launched and met at '{names[1]}'. End one, "
                f"or ask for '{names[1]}'"
            )
        if found:
            return found[0]
        if time.monotonic() >= deadline:
            raise ArgumentError(_why_none(job, names))
        time.sleep(_PAUSE_S)


def _status_here(name: str, timeout_s: float) -> JobStatus | None:
    """Return the status of the job that met at a name. On several hosts it has a door on each, named by the host."""
    on_host = re.compile(re.escape(name) + " on [0-9a-f]{16}")
    doors = sorted(door for user, door in _doors() if user == os.getuid() and on_host.fullmatch(door))
    told = (status_at(door, timeout_s) for door in (name, *doors))
    return next((status for status in told if status is not None), None)


def _why_none(job: str, names: Sequence[str]) -> str:
    doors = _doors()
    others = sorted({user for user, name in doors if name in names and user != os.getuid()})
    if others:
        return f"job '{job}' is one of user {others[0]}, this is user {os.getuid()}; ask as that user"
    own = sorted(name for user, name in doors if user == os.getuid())
    running = f"running: {', '.join(repr(name) for name in own)}" if own else "none does"
    return f"no job '{job}' of user {os.getuid()} runs on this machine ({running}), or its first rank has just ended"


def running_jobs(timeout_s: float) -> tuple[list[JobStatus], dict[str, str]]:
    """Return the status of every running job of this user on this machine, by name; and why others tell none."""
    found, silent = [], {}
    for name in sorted(name for user, name in _doors() if user == os.getuid()):
        try:
            status = status_at(name, timeout_s)
        except HemiolaError as error:
            silent[name] = str(error)
        else:
            found += [status] if status is not None else []
    return found, silent


def _doors() -> set[tuple[int, str]]:
    """Return the users and the names of the jobs whose doors are open on this machine."""
    found = set()
    for line in _SOCKETS.read_text("utf-8", "surrogateescape").split("\n")[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) < 8 or not int(fields[3], 16) & _LISTENS:
            continue
        door = re.fullmatch(r"@hemiola-(\d+)-(.*) lobby", fields[7])
        if door:
            found.add((int(door[1]), door[2]))
    return found
