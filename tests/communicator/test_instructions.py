"""How many instructions a small call takes, counted by valgrind: the same on a busy machine as on an idle one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: Of a call by a rank alone, less those of a call of an empty function: Python 3.11 without PGO, GCC 12, x86-64.
COUNTS = {"all_reduce": 2240, "all_reduce out": 2520, "all_gather": 3950, "broadcast": 2220, "barrier": 1690}
CALLS = 5_000
PROGRAM = Path(__file__).with_name("counted_calls.py")
ALONE = {"HEMIOLA_RANK": "0", "HEMIOLA_RANK_COUNT": "1", "PYTHONHASHSEED": "0"}


def per_call(folder: Path) -> list[float]:
    """Return the instructions of each call of the program, which marks the begin and the end of many."""
    found = folder / "callgrind"
    command = ["valgrind", "--tool=callgrind", "--dump-before=getsid", f"--callgrind-out-file={found}"]
    environment = os.environ | ALONE | {"HEMIOLA_JOB": f"count-{os.getpid()}"}
    subprocess.run(
        [*command, sys.executable, PROGRAM, str(CALLS)], env=environment, check=True, capture_output=True
    )
    counted = [found.with_name(f"callgrind.{dump}") for dump in range(2, 2 * len(COUNTS) + 3, 2)]
    return [total(each) / CALLS for each in counted]


def total(dump: Path) -> int:
    return next(int(line.split()[1]) for line in dump.read_text().splitlines() if line.startswith("totals:"))


@pytest.mark.long
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the counts are of x86-64")
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the counts are of Python 3.11")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind (apt install valgrind)")
def test_a_small_call_takes_as_many_instructions_as_it_did(tmp_path: Path) -> None:
    empty, *counted = per_call(tmp_path)
    found = dict(zip(COUNTS, (count - empty for count in counted), strict=True))
    assert found == {name: pytest.approx(count, rel=0.1) for name, count in COUNTS.items()}
