# SPDX-License-Identifier: Apache-2.0
"""How many instructions a small call takes, counted by valgrind: the same on a busy machine as on an idle one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: Of a call by a rank alone, less those of a call of an empty function: Python 3.11 without PGO, GCC 12, x86-64.
ALONE = {"all_reduce": 2000, "all_reduce out": 2280, "all_gather": 3710, "broadcast": 1980, "barrier": 1500}
#: The same of rank 0 of two, where rank 1 has come before.
OF_TWO = {"all_reduce": 3840, "all_reduce out": 3930, "all_gather": 5410, "broadcast": 2870, "barrier": 1690}
#: What recording takes, as docs/how-to/explore.md says: of a call, and of a message.
RECORDED_CALL, RECORDED_MESSAGE = 410, 1000
PROGRAM = Path(__file__).with_name("counted_calls.py")
#: valgrind 3.19 does not know pidfd_open, by which ranks learn of each other's death; here nobody dies.
NO_PIDFD = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/eventfd.h>
long syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (number == 434) return eventfd(0, EFD_CLOEXEC);
  static long (*next)(long, ...);
  if (!next) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return next(number, a, b, c, d, e, f);
}
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="the counts are of x86-64"),
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the counts are of Python 3.11"),
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind (apt install valgrind)"),
]


def per_call(folder: Path, ranks: int, batches: int, count: int, pause_s: float, **more: str) -> list[float]:
    """Return the instructions of each call of rank 0, beyond those of the empty one: of the shortest batch."""
    found = folder / "callgrind"
    program = [sys.executable, str(PROGRAM), str(batches), str(count), str(pause_s)]
    tool = ["valgrind", "--tool=callgrind", "--dump-before=getsid", f"--callgrind-out-file={found}"]
    job = {"HEMIOLA_RANK_COUNT": str(ranks), "HEMIOLA_JOB": f"count-{os.getpid()}", "PYTHONHASHSEED": "0"}
    environments = [os.environ | job | {"HEMIOLA_RANK": str(rank)} for rank in range(ranks)]
    others = [subprocess.Popen(program, env=environment) for environment in environments[1:]]
    subprocess.run([*tool, *program], env=environments[0] | more, check=True, capture_output=True)
    assert [other.wait() for other in others] == [0] * (ranks - 1)
    totals = [total(found.with_name(f"callgrind.{2 * (i + 1)}")) for i in range(batches * (len(ALONE) + 1))]
    empty, *calls = (min(totals[i : i + batches]) for i in range(0, len(totals), batches))
    return [(instructions - empty) / count for instructions in calls]


def total(dump: Path) -> int:
    return next(int(line.split()[1]) for line in dump.read_text().splitlines() if line.startswith("totals:"))


def test_a_small_call_of_a_rank_alone_takes_as_many_instructions_as_it_did(tmp_path: Path) -> None:
    found = dict(zip(ALONE, per_call(tmp_path, 1, 1, 5000, 0), strict=True))
    assert found == {name: pytest.approx(count, rel=0.1) for name, count in ALONE.items()}


def test_recording_takes_400_instructions_of_a_call_without_messages(tmp_path: Path) -> None:
    found = dict(zip(ALONE, per_call(tmp_path, 1, 1, 5000, 0, HEMIOLA_RECORD_TRANSFERS="1000"), strict=True))
    assert found["barrier"] == pytest.approx(ALONE["barrier"], rel=0.1)
    for name in ("all_reduce", "all_reduce out", "all_gather", "broadcast"):
        assert found[name] - ALONE[name] == pytest.approx(RECORDED_CALL, abs=0.1 * ALONE[name])


@pytest.fixture
def without_pidfd(tmp_path: Path) -> dict[str, str]:
    """Return what has rank 0 of two run under valgrind."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    library = tmp_path / "no_pidfd.so"
    compiler = ["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(library), "-ldl"]
    subprocess.run(compiler, input=NO_PIDFD, text=True, check=True)
    return {"LD_PRELOAD": str(library)}


def test_a_small_call_of_two_ranks_takes_as_many_instructions_as_it_did(
    tmp_path: Path, without_pidfd: dict[str, str]
) -> None:
    found = dict(zip(OF_TWO, per_call(tmp_path, 2, 8, 25, 0.002, **without_pidfd), strict=True))
    assert found == {name: pytest.approx(count, rel=0.1) for name, count in OF_TWO.items()}


def test_recording_takes_about_1000_instructions_a_message(
    tmp_path: Path, without_pidfd: dict[str, str]
) -> None:
    recording = {**without_pidfd, "HEMIOLA_RECORD_TRANSFERS": "1000"}
    found = dict(zip(OF_TWO, per_call(tmp_path, 2, 8, 25, 0.002, **recording), strict=True))
    for name, messages in {"all_reduce": 2, "all_reduce out": 2, "broadcast": 1, "barrier": 0}.items():
        assert found[name] - OF_TWO[name] == pytest.approx(
            messages * RECORDED_MESSAGE, abs=0.15 * OF_TWO[name]
        )
