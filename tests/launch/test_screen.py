# SPDX-License-Identifier: Apache-2.0
"""What is printed of a job in which one rank fails, by real ranks: the culprit's traceback once, one line for the
others, the cause at the end; and that a healthy job loses nothing."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

LIMIT_S = 240
#: Lines that a failed job may take.
MOST_LINES = 25
RANKS = """\
import os, sys, numpy as np, hemiola as hm
how = sys.argv[1]
comm = hm.init(timeout_s=60)
for k in range(30):
    comm.all_reduce(np.ones(1000))
    if k == 20 and comm.rank == 2:
        if how == "kill": os.kill(os.getpid(), 9)
        if how == "raise": raise ValueError("bad batch 17")
        if how == "exit": raise SystemExit(7)
        if how == "shape": comm.all_reduce(np.ones(7))
"""
#: Of each way to fail: the exit code, what the others' line and the last line say, and how rank 2's traceback ends.
WAYS = {
    "kill": (137, "LostRankError: rank 2 has died", "killed by signal 9", None),
    "raise": (
        1,
        "LostRankError: rank 2 raised ValueError: bad batch 17",
        "exit code 1: raised ValueError: bad batch 17",
        "[2] ValueError: bad batch 17",
    ),
    "exit": (7, "LostRankError: rank 2 raised SystemExit(7)", "exit code 7: raised SystemExit(7)", None),
    "shape": (
        1,
        "MismatchError: rank 2 passed float64[7]",
        "exit code 1: passed float64[7]",
        "[2] hemiola.errors.MismatchError: ",
    ),
}


def _launched(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hemiola", "launch", *words], capture_output=True, text=True, timeout=LIMIT_S
    )


def _one_screen(folder: Path, rank_count: int, way: str) -> list[str]:
    """Launch ranks of which one fails; return the lines that the job prints, as many as a screen has at most."""
    (folder / "ranks.py").write_text(RANKS)
    done = _launched("-n", str(rank_count), str(folder / "ranks.py"), way)
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines) <= MOST_LINES) == (WAYS[way][0], True), done.stderr
    return lines


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_sixty_four_ranks_that_fail_over_one_are_one_screen(tmp_path: Path, way: str) -> None:
    _, others, cause, _ = WAYS[way]
    lines = _one_screen(tmp_path, 64, way)
    assert lines[-2].startswith(f"hemiola: ranks 0, 1, 3-63: {others}")
    assert cause in lines[-1]


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_job_is_one_screen_that_begins_and_ends_with_its_cause(tmp_path: Path, way: str) -> None:
    _, others, cause, last_of_traceback = WAYS[way]
    lines = _one_screen(tmp_path, 4, way)
    assert lines[-2].startswith(f"hemiola: ranks 0, 1, 3: {others}")
    assert lines[-1].startswith("hemiola: rank 2 on ")
    assert cause in lines[-1]
    assert "\n".join(lines).count("Traceback") == (last_of_traceback is not None)
    if last_of_traceback is None:
        assert lines[0] == lines[-1]
    else:
        assert lines[0] == "[2] Traceback (most recent call last):"
        assert lines[-3].startswith(last_of_traceback)


def test_verbose_prints_everything_behind_its_rank(tmp_path: Path) -> None:
    (tmp_path / "ranks.py").write_text(RANKS)
    done = _launched("-n", "3", "--verbose", "--no-labels", str(tmp_path / "ranks.py"), "raise")
    lines = done.stderr.splitlines()
    for rank in range(3):
        assert lines.count(f"[{rank}] Traceback (most recent call last):") == 1
    assert all(line.startswith(("[0] ", "[1] ", "[2] ", "hemiola: ")) for line in lines)
    assert lines[-1].endswith("raised ValueError: bad batch 17")


@pytest.mark.parametrize(
    ("count", "others"), [("4", "0, 1, 3"), pytest.param("64", "0, 1, 3-63", marks=pytest.mark.long)]
)
def test_an_uncaught_failure_of_launched_functions_is_one_screen(
    tmp_path: Path, count: str, others: str
) -> None:
    script = """\
        import sys, numpy as np, hemiola as hm

        def work():
            comm = hm.init(timeout_s=60)
            for k in range(30):
                comm.all_reduce(np.ones(1000))
                if k == 20 and comm.rank == 2:
                    raise ValueError("bad batch 17")

        if __name__ == "__main__":
            hm.launch(work, int(sys.argv[1]), timeout_s=200)
    """
    (tmp_path / "script.py").write_text(textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py"), count], capture_output=True, text=True, timeout=LIMIT_S
    )
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines) <= MOST_LINES) == (1, True), done.stderr
    assert done.stderr.count("in work") == 1
    assert lines[-2:] == [
        f"ranks {others}: LostRankError: rank 2 raised ValueError: bad batch 17",
        "rank 2: ValueError: bad batch 17",
    ]


def test_sixty_four_ranks_that_fail_alike_are_one_screen() -> None:
    done = _launched("-n", "64", sys.executable, "-c", "import os, nosuchmodule")
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines) <= MOST_LINES) == (1, True), done.stderr
    assert done.stderr.count("Traceback") == 1
    assert "ModuleNotFoundError: No module named 'nosuchmodule'" in lines[-2]


def test_a_script_that_there_is_not_is_said_once() -> None:
    done = _launched("-n", "8", "nosuchscript.py")
    assert done.returncode == 2
    assert sum("can't open file" in line and line.startswith("[") for line in done.stderr.splitlines()) == 1


@pytest.mark.long
def test_a_healthy_job_loses_nothing_that_ranks_print(tmp_path: Path) -> None:
    """Given ranks that print tracebacks and go on: at once, after longer than one is held, and at their end."""
    script = """\
        import sys, time, traceback
        for pause in (0.0, 0.0, 6.0, 0.0):
            try:
                raise KeyError(pause)
            except KeyError:
                traceback.print_exc()
            print("log", pause, file=sys.stderr)
            print("out", pause)
            time.sleep(pause)
        traceback.print_stack()
        sys.stderr.write("no end of line")
    """
    (tmp_path / "talks.py").write_text(textwrap.dedent(script))
    alone = subprocess.run([sys.executable, str(tmp_path / "talks.py")], capture_output=True, text=True)
    done = _launched("-n", "2", str(tmp_path / "talks.py"))
    assert done.returncode == 0
    for rank in range(2):
        own = [line for line in done.stderr.splitlines() if line.startswith(f"[{rank}] ")]
        assert own == [f"[{rank}] {line}" for line in alone.stderr.splitlines()]
        assert sum(line.startswith(f"[{rank}] out") for line in done.stdout.splitlines()) == 4
