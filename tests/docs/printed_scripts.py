# SPDX-License-Identifier: Apache-2.0
"""Python that a page prints, run as a script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def printed_by(script: str, folder: Path) -> str:
    """Run a script in a folder, where it must succeed; return its output."""
    (folder / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
