# SPDX-License-Identifier: Apache-2.0
"""Scripts that know Hemiola by the backend's name alone, started as people start theirs."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from of_pytorch import needs_backends_loaded

HERE = Path(__file__).parent
LIMIT_S = 120
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def output_of(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_backends_loaded
def test_the_example_trains_under_torchrun() -> None:
    said = output_of([*TORCHRUN, str(HERE.parents[1] / "examples/ddp.py")])
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", said)]
    assert len(losses) == 3
    assert losses[2] < losses[0] < 6  # ln 256 is 5.5
    assert "hemiola: " in said


@needs_backends_loaded
@pytest.mark.long
def test_processes_of_torch_multiprocessing_meet_at_an_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    said = output_of([sys.executable, str(HERE / "spawned.py"), str(port)])
    assert sorted(said.split("\n")) == ["", "rank 0: 3", "rank 1: 3"]


@pytest.mark.parametrize("times", [13, pytest.param(60, marks=pytest.mark.long)])
def test_a_process_group_made_again_and_again_leaves_nothing_behind(times: int) -> None:
    said = output_of([*TORCHRUN, str(HERE / "opened_again.py"), str(times)])
    # Some gloos print, too, and no line is a rank's own.
    found = [json.loads(one) for one in re.findall(r"\[\{.*?\}\]", said)]
    assert len(found) == 2
    for early, late in found:
        assert late["descriptors"] <= early["descriptors"]
        assert late["threads"] <= early["threads"]
        assert late["mappings"] <= early["mappings"] + 8  # the allocator's own come and go
        assert late["KiB"] <= early["KiB"] + 100 * (times - 10)
