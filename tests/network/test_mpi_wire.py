# SPDX-License-Identifier: Apache-2.0
"""Jobs that mpirun starts and whose ranks talk by MPI, on one host and on two; and what is said where they cannot."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hemiola.cluster import Cluster

PROGRAM = str(Path(__file__).with_name("collective_rank.py"))
MPIRUN = str(Path(sys.executable).with_name("mpirun"))
LIMIT_S = 120.0
#: What a test of equal bits imports.
BESIDE = ":".join(str(Path(__file__).parents[1] / folder) for folder in ("communicator", "", "../benchmarks"))
#: Prints a digest of the digests of all results.
EQUAL_BITS = """
import sys, zlib
from equal_bits_ranks import digests

found = digests(["all_reduce_recursive_doubling"], None)
sys.stdout.write(f"{len(found)} results: {zlib.crc32(repr(found).encode())}\\n")
"""

#: The program has initialized MPI itself, for one thread.
ONE_THREAD = """
import ctypes, sys
from pathlib import Path
import hemiola as hm

mpi = ctypes.CDLL(str(Path(sys.prefix, "lib", "libmpi.so.12")), ctypes.RTLD_GLOBAL)
assert mpi.MPI_Init_thread(None, None, int(sys.argv[1]), ctypes.byref(ctypes.c_int())) == 0
try:
    with hm.init(timeout_s=60) as comm:
        comm.barrier()
    sys.stdout.write("joined\\n")
except hm.ArgumentError as error:
    sys.stdout.write(f"refused: {error}\\n")
hm.communicator.open_communicators._close_all()
finalized = ctypes.c_int()
assert mpi.MPI_Finalized(ctypes.byref(finalized)) == 0
assert not finalized.value
mpi.MPI_Finalize()
"""


def run(command: list[str], **variables: str) -> tuple[int, str]:
    """Return a job's exit code, and what its ranks print; mpirun may mix the lines of ranks that come at once."""
    done = subprocess.run(
        command,
        env=os.environ | {"HEMIOLA_WIRE": "mpi"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(("way", "said"), [("right_results", "right"), ("groups", "group 5")])
def test_ranks_talk_by_the_mpi_that_has_started_them(way: str, said: str) -> None:
    code, out = run([MPIRUN, "-n", "3", sys.executable, PROGRAM, way])
    assert code == 0, out
    assert sorted(re.findall(rf"\d: {said}", out)) == [f"{rank}: {said}" for rank in range(3)]


def test_all_ranks_get_the_same_bits() -> None:
    code, out = run([MPIRUN, "-n", "4", sys.executable, "-c", EQUAL_BITS], PYTHONPATH=BESIDE)
    assert code == 0, out
    found = re.findall(r"(\d+) results: (\d+)", out)
    assert len(found) == 4, out
    assert int(found[0][0]) > 100
    assert len(set(found)) == 1


def test_a_mistake_of_one_rank_is_told_to_all_and_mpi_is_finalized() -> None:
    code, out = run([MPIRUN, "-n", "2", sys.executable, PROGRAM, "mistakes"])
    assert code == 0, out
    told = {
        "0": "mismatch mismatch mismatch mismatch mismatch mismatch",
        "1": "mismatch mismatch mismatch mismatch mismatch argument",
    }
    assert dict(re.findall(r"(\d): ((?:(?:mismatch|argument) ?){6})", out)) == told


def test_a_rank_that_dies_ends_the_job(clusters: Callable[..., Cluster]) -> None:
    host = clusters(1)  # whose /dev/shm goes with it: MPICH leaves there what a killed job had
    ranks = [MPIRUN, "-n", "3", sys.executable, PROGRAM, "one_kills_itself"]
    variables = os.environ | {"HEMIOLA_WIRE": "mpi"}
    job = host.start(0, ranks, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    out, _ = job.communicate(timeout=LIMIT_S)
    assert job.returncode != 0
    assert "working" in out


@pytest.mark.parametrize(
    ("level", "said"), [(1, "refused: the wire 'mpi' needs MPI_THREAD_MULTIPLE"), (3, "joined")]
)
def test_a_program_that_has_initialized_mpi_finalizes_it_and_its_threads_must_suffice(
    level: int, said: str
) -> None:
    code, out = run([MPIRUN, "-n", "2", sys.executable, "-c", ONE_THREAD, str(level)])
    assert code == 0, out
    assert out.count(said) == 2, out


def test_ranks_that_no_mpi_has_started_are_all_refused() -> None:
    _, out = run([sys.executable, "-m", "hemiola", "launch", "-n", "2", PROGRAM, "groups"])
    refusal = "ArgumentError the wire 'mpi' joins ranks that an MPI has started"
    assert [line[:4] for line in sorted(out.splitlines()) if refusal in line] == ["[0] ", "[1] "]
