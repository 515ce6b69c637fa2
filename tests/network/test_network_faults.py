"""A seeded sample of benchmarks/network_faults.py: what the tests beside it do not do to a job on several hosts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hemiola.cluster import Cluster

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "network_faults.py"
KINDS = ["kill_host", "cut", "full_table", "other_version"]


def test_faults_between_hosts_harm_nobody_who_is_left(clusters: Callable[..., Cluster]) -> None:
    clusters(1).close()  # where the kernel permits none, this skips
    command = [
        sys.executable,
        str(PROGRAM),
        "--json",
        "--runs",
        str(len(KINDS)),
        "--seed",
        "3",
        "--only",
        *KINDS,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["kind"] for row in rows] == KINDS, done.stderr
    assert [row["complaints"] for row in rows] == [[]] * len(KINDS)
    assert done.returncode == 0
