# SPDX-License-Identifier: Apache-2.0
"""hemiola.mpi beside real MPI: programs print the same. What it lacks, and what goes wrong, is named."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MPIRUN = Path(sys.executable).with_name("mpirun")
#: Before each line of a rank.
_RANK = re.compile(r"^\[\d+\] ", re.M)


def printed(command: list[str | Path]) -> str:
    """Return what a job prints, without the ranks' numbers before its lines."""
    ended = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return _RANK.sub("", ended.stdout)


def ours(ranks: int, *program: str | Path) -> str:
    launch = [sys.executable, "-m", "hemiola", "launch", "-n", str(ranks)]
    return printed([*launch, sys.executable, "-m", "hemiola.mpi", *program])


@pytest.mark.parametrize(
    "ranks", [2, pytest.param(3, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)]
)
def test_a_program_prints_what_it_prints_with_real_mpi(ranks: int) -> None:
    program = HERE / "mpi_everything.py"
    theirs = printed([shutil.which("mpirun") or MPIRUN, "-n", str(ranks), sys.executable, program])
    assert theirs.count("\n") > 25 * ranks
    assert ours(ranks, program) == theirs


def test_a_missing_name_and_a_lost_rank_are_named_by_mpis_exception() -> None:
    launch = [sys.executable, "-m", "hemiola", "launch", "-n", "3", sys.executable, "-m", "hemiola.mpi"]
    ended = subprocess.run([*launch, HERE / "mpi_failing.py"], capture_output=True, text=True, timeout=200)
    lines = _RANK.sub("", ended.stdout).splitlines()
    expected = [
        "hemiola.mpi has no MPI.Win",
        "hemiola.mpi has no Comm.Scan",
        "hemiola.mpi has no such op for all_reduce",
        "rank 2 has died",
    ]
    assert len(lines) == len(expected), ended.stdout + ended.stderr
    for line, sentence in zip(lines, expected, strict=True):
        assert sentence in line


def test_one_process_alone_is_a_world_of_one() -> None:
    code = "from hemiola import mpi as MPI; print(MPI.COMM_WORLD.allreduce(5), MPI.COMM_WORLD.Get_size())"
    assert printed([sys.executable, "-c", code]) == "5 1\n"
