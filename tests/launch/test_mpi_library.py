# SPDX-License-Identifier: Apache-2.0
"""The library of the MPI that has started a job: which one is taken, and what is said where it does not fit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hemiola._core import broadcast_by_mpi
from hemiola.communicator.launch_environment import Job
from hemiola.communicator.mpi import announce
from hemiola.errors import ArgumentError

WHEEL = str(Path(sys.prefix, "lib", "libmpi.so.12"))
ASK = """
import sys
from hemiola._core import announce_mpi, broadcast_by_mpi, leave_mpi
announce_mpi(rank=int(sys.argv[1]), rank_count=int(sys.argv[2]), libraries=sys.argv[3:])
try:
    print(broadcast_by_mpi(b"said by rank 0", 20.0).decode())
finally:
    leave_mpi(all_is_well=True, timeout_s=20.0)
"""


def ask(rank: int, rank_count: int, *libraries: str) -> tuple[str, str]:
    """Return what a process of its own prints, and its last line of complaint."""
    words = [sys.executable, "-c", ASK, str(rank), str(rank_count), *libraries]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout.strip(), (done.stderr.splitlines() or [""])[-1]


def test_a_job_of_one_needs_no_launcher() -> None:
    assert ask(0, 1, "/nowhere/libmpi.so.12", WHEEL) == ("said by rank 0", "")


def test_the_library_of_another_mpi_than_the_launchers_is_refused() -> None:
    complaint = ask(1, 3, WHEEL)[1]
    assert complaint.startswith(
        "hemiola.errors.ArgumentError: expected MPI to know this process as rank 1 of 3"
    )
    assert "found rank 0 of 1 in MPICH" in complaint
    assert "HEMIOLA_MPI" in complaint


def test_where_there_is_no_library_it_is_said_what_was_tried() -> None:
    complaint = ask(0, 1, "/nowhere/libmpi.so.12", "libnompi.so")[1]
    assert complaint.startswith(
        "hemiola.errors.ArgumentError: expected the MPI library that has started this job"
    )
    assert "/nowhere/libmpi.so.12" in complaint
    assert "libnompi.so" in complaint


def test_what_is_no_mpi_is_refused() -> None:
    assert "this MPI has no MPI_Initialized" in ask(0, 1, "libc.so.6")[1]


def test_a_job_that_no_mpi_has_started_is_told_so() -> None:
    announce(Job(0, 2, "x", "torchrun"))
    with pytest.raises(ArgumentError, match="joins ranks that an MPI has started"):
        broadcast_by_mpi(b"", 1.0)
