# SPDX-License-Identifier: Apache-2.0
"""HEMIOLA_TORCH_REPLACES=gloo: programs that ask for gloo, by whatever name, get this backend, and a line says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from of_pytorch import needs_backends_loaded

PROGRAM = Path(__file__).parent / "replaced_ranks.py"
RANKS = 2
LINE = "hemiola: 'gloo' means Hemiola here (HEMIOLA_TORCH_REPLACES=gloo)"


def ran(asked: str, tmp_path: Path, **variables: str) -> tuple[list[str], str]:
    """Start the ranks as torchrun does, and return what they print, and say on stderr."""
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={RANKS}",
        str(PROGRAM),
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)} | variables
    done = subprocess.run([*command, asked], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if "Group" in line], done.stderr


@needs_backends_loaded
@pytest.mark.parametrize("asked", ["gloo", "cpu:gloo,cuda:nccl", "nothing"])
def test_whoever_asks_for_gloo_gets_hemiola(asked: str, tmp_path: Path) -> None:
    lines, said = ran(asked, tmp_path, HEMIOLA_TORCH_REPLACES="gloo")
    assert lines == [" ".join(["HemiolaProcessGroup"] * 4)] * RANKS
    assert said.count(LINE) == 1


@needs_backends_loaded
def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    lines, said = ran("gloo", tmp_path)
    assert lines == [" ".join(["ProcessGroup"] * 4)] * RANKS
    assert LINE not in said


def test_another_name_is_refused_where_a_group_is_made() -> None:
    program = (
        "import torch.distributed as dist, hemiola.torch; "
        "dist.init_process_group('hemiola', store=dist.HashStore(), rank=0, world_size=1)"
    )
    environment = os.environ | {"HEMIOLA_TORCH_REPLACES": "nccl"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode != 0
    assert "HEMIOLA_TORCH_REPLACES: expected gloo, found 'nccl'" in done.stderr
