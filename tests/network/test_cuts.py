# SPDX-License-Identifier: Apache-2.0
"""A seeded sample of benchmarks/cuts.py: networks that are cut while a job works."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hemiola.cluster import Cluster

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "cuts.py"
RUNS = 6


@pytest.mark.long
def test_a_cut_network_splits_no_job(clusters: Callable[..., Cluster]) -> None:
    clusters(1).close()  # where the kernel permits none, this skips
    command = [sys.executable, str(PROGRAM), "--json", "--runs", str(RUNS), "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["complaints"] for row in rows] == [[]] * RUNS, done.stderr
    assert done.returncode == 0
