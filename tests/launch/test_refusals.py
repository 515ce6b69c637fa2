# SPDX-License-Identifier: Apache-2.0
"""What the system may refuse: system calls under a seccomp filter, and limits. Each message says which limit it is and
how to lift it, and none is a raw error of the system."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hemiola as hm

LIMIT_S = 120
SCRIPT = """\
import numpy as np
import hemiola as hm

def total():
    return int(hm.init(timeout_s=20).all_reduce(np.ones(3))[0])

if __name__ == "__main__":
    print(hm.launch(total, 2, timeout_s=60))
"""
#: Numbers of system calls by machine.
PIDFD_OPEN = 434
MEMFD_CREATE = {"x86_64": 319, "aarch64": 279}[platform.machine()]
GET_AFFINITY = {"x86_64": 204, "aarch64": 123}[platform.machine()]
SET_AFFINITY = {"x86_64": 203, "aarch64": 122}[platform.machine()]
#: The limit of processes counts all those of a user, so each worker of the test runner is a user of its own.
STRANGER = str(100_000 + os.getpid())
REFUSED_CALL = str(Path(__file__).with_name("refused_call.py"))


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "script.py").write_text(SCRIPT)
    return str(tmp_path / "script.py")


@pytest.fixture
def ring(tmp_path: Path) -> str:
    hm.topologies.ring(4, latency_s=1e-6, bandwidth=10e9).save(tmp_path / "ring.yaml")
    return str(tmp_path / "ring.yaml")


def _ran(words: list[str], before: str = "") -> subprocess.CompletedProcess[str]:
    command = ["bash", "-c", f'{before} exec "$@"', "sh", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
@pytest.mark.parametrize(("name", "number"), [("pidfd_open", PIDFD_OPEN), ("memfd_create", MEMFD_CREATE)])
@pytest.mark.parametrize("way", ["function", "program"])
def test_a_refused_system_call_is_named_with_the_way_to_allow_it(
    script: str, way: str, name: str, number: int, error: int
) -> None:
    words = {"function": [script], "program": ["-m", "hemiola", "launch", "-n", "2", "true"]}[way]
    done = _ran([sys.executable, REFUSED_CALL, str(number), str(error), sys.executable, *words])
    last = done.stderr.splitlines()[-1]
    assert done.returncode == {"function": 1, "program": 125}[way]
    assert name in last
    assert "seccomp profile" in last
    assert "OSError" not in last


@pytest.mark.parametrize("number", [GET_AFFINITY, SET_AFFINITY])
def test_ranks_run_where_a_sandbox_hides_cores(script: str, number: int) -> None:
    done = _ran([sys.executable, REFUSED_CALL, str(number), str(errno.EPERM), sys.executable, script])
    assert done.stdout == "[2, 2]\n", done.stderr


@pytest.mark.parametrize(
    ("limit", "advice"),
    [
        ("ulimit -n 7;", "ulimit -n"),
        ("ulimit -n 9;", "ulimit -n"),
        ("ulimit -v 300000;", "ulimit -v"),
        ("ulimit -f 0;", "ulimit -f"),
        ("ulimit -f 1;", "ulimit -f"),
        ("ulimit -f 100;", "ulimit -f"),
    ],
)
def test_a_limit_that_is_reached_is_named(script: str, limit: str, advice: str) -> None:
    done = _ran([sys.executable, script], limit)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert advice in last, done.stderr
    assert "Success" not in done.stderr
    assert "fewer or smaller" not in done.stderr


@pytest.mark.parametrize(
    ("command", "limit", "advice", "code"),
    [
        ("launch -n 4 true", "ulimit -n 9;", "ulimit -n", 125),
        ("launch -n 4 true", "ulimit -v 150000;", "ulimit -v", 125),
        ("plan all_reduce {ring} 1MiB", "ulimit -v 150000;", "ulimit -v", 3),
    ],
)
def test_a_command_that_reaches_a_limit_says_so_in_one_line(
    ring: str, command: str, limit: str, advice: str, code: int
) -> None:
    done = _ran([sys.executable, "-m", "hemiola", *command.format(ring=ring).split()], limit)
    assert done.returncode == code
    assert [advice in line for line in done.stderr.splitlines()] == [True], done.stderr


@pytest.mark.parametrize("limit_kib", range(60_000, 300_000, 20_000))
def test_a_command_has_the_memory_that_it_needs_or_says_so(ring: str, limit_kib: int) -> None:
    done = _ran([sys.executable, "-m", "hemiola", "topology", "show", ring], f"ulimit -v {limit_kib};")
    said = ["more memory than there is" in line and "ulimit -v" in line for line in done.stderr.splitlines()]
    assert (done.returncode, said) in [(0, []), (3, [True])], done.stderr


@pytest.mark.parametrize("limit", ["ulimit -l 0;", "ulimit -n 16;"])
def test_a_plan_needs_neither_locked_memory_nor_many_files(ring: str, limit: str) -> None:
    done = _ran([sys.executable, "-m", "hemiola", "plan", "all_reduce", ring, "1MiB"], limit)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("limit", ["ulimit -l 0;", "exec unshare --mount sh -c '{full_shm}' sh"])
def test_ranks_need_neither_locked_memory_nor_dev_shm(script: str, limit: str) -> None:
    full_shm = 'mount -t tmpfs -o size=4k none /dev/shm && head -c 4096 /dev/zero >/dev/shm/full; exec "$@"'
    if "unshare" in limit and os.geteuid() != 0:
        pytest.skip("filling a /dev/shm of its own takes root, which this process is not")
    limit = limit.replace("{full_shm}", full_shm)
    command = limit + ' "$@"' if "unshare" in limit else f'{limit} exec "$@"'
    done = subprocess.run(
        ["bash", "-c", command, "sh", sys.executable, script],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.stdout == "[2, 2]\n", done.stderr


def _ran_with_processes(
    count: int, words: list[str], numpy_threads: int = 1
) -> subprocess.CompletedProcess[str]:
    """Run Python as a user who may have so many processes and threads; NumPy's main thread is one of them."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("the limit binds no root, so it takes setpriv and root to become another user")
    as_stranger = ["setpriv", "--reuid", STRANGER, "--clear-groups"]
    as_reader = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    limited = ["bash", "-c", f'ulimit -u {count}; exec "$@"', "sh", sys.executable]
    return _ran(["env", f"OPENBLAS_NUM_THREADS={numpy_threads}", *as_stranger, *as_reader, *limited, *words])


@pytest.mark.parametrize(
    ("count", "numpy_threads", "words", "code"),
    [
        (1, 2, ["-m", "hemiola", "plan", "all_reduce", "{ring}", "1MiB"], 3),
        (3, 1, ["-m", "hemiola", "launch", "-n", "4", "true"], 125),
        (2, 1, ["{script}"], 1),
        (1, 1, ["-c", "import hemiola as hm; hm.Communicator.join(0, 1, 'a lobby needs a thread')"], 1),
    ],
)
def test_a_limit_of_processes_is_named(
    script: str, ring: str, count: int, numpy_threads: int, words: list[str], code: int
) -> None:
    words = [word.format(script=script, ring=ring) for word in words]
    done = _ran_with_processes(count, words, numpy_threads)
    assert done.returncode == code, done.stderr
    assert "ulimit -u" in done.stderr.splitlines()[-1], done.stderr


@pytest.mark.parametrize(
    "call",
    [
        "verify(hm.algorithms.all_reduce_ring(8), threads=4)",
        "synthesis.synthesize(hm.topologies.ring(6, latency_s=1e-6, bandwidth=1e9), 'all_gather', trials=4, threads=4)",
    ],
)
def test_work_of_several_threads_is_done_by_one_where_there_are_no_others(call: str) -> None:
    done = _ran_with_processes(1, ["-c", f"import hemiola as hm; hm.{call}"])
    assert (done.returncode, done.stderr) == (0, "")


def _without_proc(words: str) -> subprocess.CompletedProcess[str]:
    inside = f"mount -t tmpfs none /proc && exec {sys.executable} {words}"
    done = _ran(["unshare", "--map-root-user", "--mount", "sh", "-c", inside])
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mount namespace to take /proc away in: {done.stderr.strip()}")
    return done


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("{script}", 1),
        ("-m hemiola launch -n 2 true", 125),
        ("-m hemiola run all_reduce 1KiB -n 2", 3),
        ("-m hemiola doctor", 3),
    ],
)
def test_a_missing_proc_is_said(script: str, words: str, code: int) -> None:
    done = _without_proc(words.format(script=script))
    assert done.returncode == code
    assert "/proc is not mounted" in done.stderr.splitlines()[-1]
    assert "mount -t proc" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "words", ["plan all_reduce {ring} 1MiB", "topology show {ring}", "verify {schedule}"]
)
def test_what_starts_no_ranks_needs_no_proc(tmp_path: Path, ring: str, words: str) -> None:
    schedule = tmp_path / "ring.sched"
    hm.algorithms.all_reduce_ring(4).save(schedule)
    done = _without_proc(f"-m hemiola {words.format(ring=ring, schedule=schedule)}")
    assert done.returncode == 0, done.stderr
