# SPDX-License-Identifier: Apache-2.0
"""MPI_Init where a rank comes late or never: others wait for it no longer than they were told to, and end well."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from waiting import wait_until

MPIRUN = str(Path(sys.executable).with_name("mpirun"))
LIMIT_S, RANKS = 120.0, 3
#: A rank that is waited for in vain, and how long.
MISSING, WAIT_S = 2, 2.0

#: mpirun ends a job with the first rank that ends without MPI's blessing: so each rank has a parent that stays until
#: all have ended, and tells how its child has.
PARENT = """
import os, subprocess, sys, time
from pathlib import Path

folder, rank, rank_count = Path(sys.argv[1]), os.environ["PMI_RANK"], int(os.environ["PMI_SIZE"])
with open(folder / f"{rank}.out", "w") as out, open(folder / f"{rank}.err", "w") as err:
    words = [sys.executable, "-c", sys.argv[2], *sys.argv[3:]]
    child = subprocess.run(words, stdout=out, stderr=err, close_fds=False, check=False)  # PMI's connection goes along
(folder / f"{rank}.part").write_text(str(child.returncode))
(folder / f"{rank}.part").rename(folder / rank)
while len([each for each in os.listdir(folder) if each.isdigit()]) < rank_count:
    time.sleep(0.02)
"""

#: As if one of the ranks was on another host: they meet by MPI.
CHILD = """
import os, signal, sys, threading, time
import numpy as np
import hemiola as hm

os.environ["MPI_LOCALNRANKS"] = str(int(os.environ["PMI_SIZE"]) - 1)
rank, folder = int(os.environ["PMI_RANK"]), sys.argv[1]
if "mpi4py" in sys.argv:  # initializes MPI, and finalizes it
    from mpi4py import MPI

def wait_for_others():
    while len([each for each in os.listdir(folder) if each.startswith("told")]) < 2:
        time.sleep(0.02)

def tell():
    open(os.path.join(folder, f"told-{rank}"), "w").close()

def init(timeout_s):
    began = time.monotonic()
    try:
        return hm.init(timeout_s=timeout_s)
    except (hm.TimeoutError, KeyboardInterrupt) as error:
        print(type(error).__name__, round(time.monotonic() - began, 3), error)
        return None
"""

NEVER = (
    CHILD
    + """
if rank == 2:
    sys.exit()
init(float(sys.argv[2]))
"""
)

INTERRUPTED = (
    CHILD
    + """
def is_inside():
    return "libmpi.so" in open("/proc/self/maps").read()

def interrupt():
    while not is_inside():
        time.sleep(0.02)
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)

if rank == 2:
    sys.exit()
threading.Thread(target=interrupt).start()
init(60)
"""
)

LATE = (
    CHILD
    + """
comm = None
if rank != 2:
    comm = init(float(sys.argv[2]))
    tell()
wait_for_others()
comm = comm or init(60)
x = np.full(1000, rank + 1)
comm.all_reduce(x)
print("joined", x[0])
"""
)


class Ranks:
    """The ranks of a job that mpirun has started."""

    def __init__(self, folder: Path, program: str, *words: str) -> None:
        self._folder = folder
        own = [sys.executable, "-c", PARENT, str(folder), program, str(folder), *words]
        self._job = subprocess.Popen([MPIRUN, "-n", str(RANKS), *own], stdout=subprocess.PIPE, text=True)

    def said_by(self, rank: int) -> str:
        """Return what a rank has printed so far."""
        path = self._folder / f"{rank}.out"
        return path.read_text() if path.exists() else ""

    def ends(self) -> tuple[int, list[tuple[int, str, str]]]:
        """Return mpirun's exit code, and of each rank its own, what it has printed, and its complaints."""
        try:
            self._job.communicate(timeout=LIMIT_S)
        finally:
            self._job.kill()
        ranks = [
            (
                int((self._folder / str(rank)).read_text()),
                self.said_by(rank),
                (self._folder / f"{rank}.err").read_text(),
            )
            for rank in range(RANKS)
        ]
        return self._job.returncode, ranks


@pytest.mark.parametrize(
    ("first", "awaited"), [("hemiola", "MPI_Init_thread of MPICH"), ("mpi4py", "MPI_Comm_idup has not")]
)
def test_a_rank_that_never_comes_is_waited_for_no_longer_than_was_said(
    tmp_path: Path, first: str, awaited: str
) -> None:
    _, ranks = Ranks(tmp_path, NEVER, str(WAIT_S), first).ends()
    for code, told, complaints in ranks[:MISSING]:
        assert code == 0, complaints
        error, seconds, message = told.split(maxsplit=2)
        assert error == "TimeoutError"
        assert WAIT_S <= float(seconds) < WAIT_S + 30
        assert message.startswith(awaited)
        assert "has not come to its end within 2 s" in message
        # Of the duplicate that is under way, which MPI does not take back.
        assert [line for line in complaints.splitlines() if "pending" not in line] == []


def test_waiting_in_mpi_init_hears_an_interrupt(tmp_path: Path) -> None:
    _, ranks = Ranks(tmp_path, INTERRUPTED).ends()
    for code, told, complaints in ranks[:MISSING]:
        assert (code, told.split()[0], complaints) == (0, "KeyboardInterrupt", "")


@pytest.mark.parametrize("first", ["hemiola", "mpi4py"])
def test_ranks_that_have_given_up_join_when_they_ask_again_and_mpi_is_finalized(
    tmp_path: Path, first: str
) -> None:
    code, ranks = Ranks(tmp_path, LATE, str(WAIT_S), first).ends()
    assert code == 0
    for rank, (own, told, complaints) in enumerate(ranks):
        assert own == 0, complaints
        assert told.splitlines()[-1] == "joined 6"
        assert told.startswith("TimeoutError") == (rank != MISSING)


ENDING = (
    CHILD
    + """
from hemiola.communicator import joining

is_waiting = threading.Event()

class Heard(logging.Handler):
    def emit(self, record):
        print(record.getMessage(), flush=True)
        is_waiting.set()

def interrupt():
    is_waiting.wait()
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)

joining._QUIET_END_S = 0.2
logging.getLogger("hemiola").addHandler(Heard())
if sys.argv[2] == "interrupted":
    threading.Thread(target=interrupt, daemon=True).start()
with hm.init(timeout_s=60) as comm:
    comm.barrier()
while rank != 0 and not os.path.exists(os.path.join(folder, sys.argv[3])):
    time.sleep(0.02)
"""
).replace("import os,", "import logging, os,")


def test_ranks_that_end_later_are_waited_for_and_that_is_told(tmp_path: Path) -> None:
    job = Ranks(tmp_path, ENDING, "patient", "may-end")
    wait_until(lambda: job.said_by(0))
    (tmp_path / "may-end").touch()
    code, ranks = job.ends()
    assert [code, *(own for own, _, _ in ranks)] == [0, 0, 0, 0]
    assert job.said_by(0).startswith("MPI_Finalize of MPICH")


def test_waiting_for_mpis_end_hears_an_interrupt(tmp_path: Path) -> None:
    _, ranks = Ranks(tmp_path, ENDING, "interrupted", "0").ends()
    assert "MPI_Finalize of MPICH" in ranks[0][1]
    assert "KeyboardInterrupt" in ranks[0][2]
