# SPDX-License-Identifier: Apache-2.0
"""Two of the trainings of benchmarks/torch_frameworks.py, which has all of them; and compiled programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from of_pytorch import needs_fsdp2

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks/torch_frameworks.py"


def check_equal(trainings: list[str], into: Path) -> None:
    command = [sys.executable, str(BENCHMARK), *trainings, "--json", str(into / "rows")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in (into / "rows").read_text().splitlines()]
    assert [(row["training"], row["result"], row["steps"]) for row in rows] == [
        (training, "equal", 20) for training in trainings
    ]


@needs_fsdp2
def test_sharded_replicas_and_a_pipeline_train_as_on_gloo_to_six_digits(tmp_path: Path) -> None:
    check_equal(["hsdp", "pipeline"], tmp_path)


@pytest.mark.long
def test_compiled_programs_train_as_on_gloo(tmp_path: Path) -> None:
    check_equal(["compiled"], tmp_path)
