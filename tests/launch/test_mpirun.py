# SPDX-License-Identifier: Apache-2.0
"""A real mpirun (MPICH's, from PyPI) starts ranks that find each other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
from pathlib import Path

import hemiola as hm
import numpy as np

comm = hm.init(timeout_s=60)
x = np.full(5, comm.rank + 1.0)
comm.all_reduce(x)
Path(sys.argv[1], f"rank{comm.rank}").write_text(f"one of {comm.rank_count}: {x[0]:g}")
"""


def test_ranks_that_mpirun_starts_join_by_themselves(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    mpirun = Path(sys.executable).with_name("mpirun")
    done = subprocess.run(
        [mpirun, "-n", "3", sys.executable, script, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Files, because mpirun may mix what ranks print.
    assert [(tmp_path / f"rank{rank}").read_text() for rank in range(3)] == ["one of 3: 6"] * 3
