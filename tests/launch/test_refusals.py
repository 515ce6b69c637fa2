"""What the system may refuse: system calls under a seccomp filter, and limits. Each message says which limit it is and
how to lift it, and none is a raw error of the system."""

from __future__ import annotations

import errno
import platform
import subprocess
import sys
from pathlib import Path

import pytest

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
REFUSED_CALL = str(Path(__file__).with_name("refused_call.py"))


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "script.py").write_text(SCRIPT)
    return str(tmp_path / "script.py")


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


@pytest.mark.parametrize("way", ["function", "program"])
def test_a_missing_proc_is_said(script: str, way: str) -> None:
    words = {"function": script, "program": "-m hemiola launch -n 2 true"}[way]
    inside = f"mount -t tmpfs none /proc && exec {sys.executable} {words}"
    done = _ran(["unshare", "--map-root-user", "--mount", "sh", "-c", inside])
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mount namespace to take /proc away in: {done.stderr.strip()}")
    assert done.returncode == {"function": 1, "program": 125}[way]
    assert "/proc is not mounted" in done.stderr.splitlines()[-1]
