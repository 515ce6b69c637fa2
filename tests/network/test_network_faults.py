# SPDX-License-Identifier: Apache-2.0
"""A seeded sample of benchmarks/network_faults.py: what the tests beside it do not do to a job on several hosts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hemiola.cluster import Cluster

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "network_faults.py"


@pytest.mark.parametrize(
    "kind",
    [
        "kill_host",
        "cut",
        *(pytest.param(kind, marks=pytest.mark.long) for kind in ("full_table", "other_version")),
    ],
)
def test_faults_between_hosts_harm_nobody_who_is_left(kind: str, clusters: Callable[..., Cluster]) -> None:
    clusters(1).close()  # where the kernel permits none, this skips
    command = [sys.executable, str(PROGRAM), "--json", "--runs", "1", "--seed", "3", "--only", kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["kind"], row["complaints"]) for row in rows] == [(kind, [])], done.stderr
    assert done.returncode == 0
