# SPDX-License-Identifier: Apache-2.0
"""The device executor between ranks, over gloo's messages and with Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from forked import run
from of_pytorch import needs_triton

RANKS = 4


@pytest.fixture(scope="module")
def found() -> dict[str, list[Any]]:
    """What every function has returned, by rank."""
    return run("device_ranks", ["bits", "in_a_group"], RANKS)


@needs_triton
def test_every_schedule_has_the_bits_of_the_hosts_executor(found: dict[str, list[Any]]) -> None:
    assert found["bits"] == [2 * 16] * RANKS


@needs_triton
def test_a_groups_tensors_on_a_device_go_by_the_queue_and_what_it_cannot_do_is_refused(
    found: dict[str, list[Any]],
) -> None:
    for (layout, reduction, sizes), _ in found["in_a_group"]:
        assert "elements lie side by side" in layout
        assert "found xor of float32" in reduction
        assert "found [1, 1, 1, 2]" in sizes


@needs_triton
@pytest.mark.parametrize(
    "mistake", ["uneven", "uneven, expected", "no sizes", "too few", "negative", "a longer result", "longer"]
)
def test_ranks_that_split_on_a_device_all_hear_of_sizes_that_do_not_fit(
    found: dict[str, list[Any]], mistake: str
) -> None:
    for rank, (_, seen) in enumerate(found["in_a_group"]):
        kind, text = seen[mistake]
        is_own = rank == 1 and mistake != "longer"
        assert kind == ("GroupArgumentError" if is_own else "MismatchError"), text
        assert is_own or "rank 1" in text


@pytest.mark.skipif(torch.cuda.device_count() > 0, reason="a GPU is there: CUDA is served")
def test_where_no_cuda_is_there_the_backend_is_for_the_cpu_alone() -> None:
    import torch.distributed as dist

    assert dist.Backend.backend_capability["hemiola"] == ["cpu"]


@pytest.mark.long
def test_the_kernels_compile_for_gpus_that_need_not_be_there(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(Path(__file__).with_name("compiled_kernels.py"))]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=200,
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["46"]
