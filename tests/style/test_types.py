# SPDX-License-Identifier: Apache-2.0
"""What type checkers know of the package's results."""

import subprocess
import sys
from pathlib import Path

LIMIT_S = 120


def test_types_of_results_are_known_to_mypy() -> None:
    checked = Path(__file__).with_name("communicator_types.py")
    command = [sys.executable, "-m", "mypy", "--strict", str(checked)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, cwd=checked.parents[2])
    assert done.returncode == 0, done.stdout
