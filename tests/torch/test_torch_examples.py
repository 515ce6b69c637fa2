# SPDX-License-Identifier: Apache-2.0
"""The examples for PyTorch, started as their first lines say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from of_pytorch import needs_backends_loaded

pytestmark = needs_backends_loaded
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LIMIT_S = 120
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def output_of(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*TORCHRUN, *arguments], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.long
def test_fsdp2_holds_half_of_the_parameters_and_learns() -> None:
    said = output_of(str(EXAMPLES / "fsdp2.py")).stdout
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", said)]
    assert len(losses) == 2
    assert losses[1] < losses[0] < 6  # ln 256 is 5.5
    [(held, whole)] = re.findall(r"holds (\d+) of (\d+)", said)
    assert int(held) == int(whole) / 2
    assert f"the checkpoint has {whole}" in said


@pytest.mark.long
def test_pruned_gradients_send_a_hundredth_and_learn() -> None:
    said = output_of(str(EXAMPLES / "pruned.py")).stdout
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", said)]
    assert len(losses) == 3
    assert losses[2] < losses[0] < 6
    [(sent, whole)] = re.findall(r"sent (\d+) of (\d+)", said)
    assert int(sent) == pytest.approx(int(whole) / 100, rel=0.15)


@pytest.mark.long
def test_a_killed_rank_is_named_and_the_run_ends_where_one_that_nobody_interrupted_ends(
    tmp_path: Path,
) -> None:
    elastic = str(EXAMPLES / "elastic.py")
    # The agent would look every 0.1 s, and end on a busy machine whoever has not yet said what it heard.
    restarts = ["--max-restarts=3", "--monitor-interval=2"]
    done = output_of(*restarts, elastic, str(tmp_path / "interrupted"), "12")
    assert re.findall(r"life (\d): from step (\d+)", done.stdout) == [("0", "0"), ("1", "10")]
    assert re.search(r"LostRankError: .*rank 1", done.stderr)
    [(life, loss)] = re.findall(r"life (\d): loss ([\d.]+) after step 30", done.stdout)
    assert life == "1"
    assert float(loss) < 0.3  # ln 2 is 0.69
    assert f"loss {loss} after step 30" in output_of(elastic, str(tmp_path / "whole")).stdout
