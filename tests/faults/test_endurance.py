# SPDX-License-Identifier: Apache-2.0
"""A seeded sample of benchmarks/endurance.py: ranks struck at random moments, and a mixed run in flat memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "endurance.py"


def test_ranks_struck_at_random_moments_are_named_and_memory_stays_flat() -> None:
    counts = {"--kills": 3, "--stops": 1, "--closes": 3, "--operations": 300, "--seed": 7}
    command = [
        sys.executable,
        str(PROGRAM),
        "--json",
        *(str(word) for pair in counts.items() for word in pair),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["event"] for row in rows[:-1]] == ["kill", "stop", "close", "operation"], done.stderr
    assert [row["faults"] for row in rows[:-1]] == [[]] * 4
    assert done.returncode == 0
