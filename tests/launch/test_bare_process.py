# SPDX-License-Identifier: Apache-2.0
"""Launching from a process that lacks what most have: open standard descriptors, a working folder, /proc."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_S = 90
SCRIPT = """\
import numpy as np
import hemiola as hm

def total():
    return int(hm.init(timeout_s=60).all_reduce(np.ones(3))[0])

if __name__ == "__main__":
    found = hm.launch(total, 2, timeout_s=60)
    open("found", "w").write(str(found))
"""
CLOSED = ("<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-")


def _shell(folder: Path, words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHON": sys.executable}
    return subprocess.run(
        ["bash", "-c", words], cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S
    )


@pytest.mark.parametrize("closed", CLOSED)
def test_functions_are_launched_whatever_descriptors_are_closed(tmp_path: Path, closed: str) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = _shell(tmp_path, f"$PYTHON script.py {closed}")
    assert (done.returncode, (tmp_path / "found").read_text()) == (0, "[2, 2]"), done.stderr


@pytest.mark.parametrize("given", ["function", "program"])
def test_a_deleted_working_folder_is_said(tmp_path: Path, given: str) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "gone").mkdir()
    words = {"function": f"{tmp_path}/script.py", "program": "-m hemiola launch -n 2 true"}[given]
    done = _shell(tmp_path / "gone", f'rmdir "$PWD"; $PYTHON {words}')
    assert done.returncode == {"function": 1, "program": 125}[given]
    assert done.stderr.splitlines()[-1].endswith(
        "the working folder of this process has been deleted; change into one that exists"
    )
