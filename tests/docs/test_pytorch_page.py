# SPDX-License-Identifier: Apache-2.0
"""The Python of docs/how-to/pytorch.md, and README.md's one line of it, in a training of one rank."""

import importlib.util
from pathlib import Path

import code_blocks
import pytest
from pages import ROOT
from printed_scripts import printed_by

TRAINING = """
import torch
{beginning}
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
{hook}
model(torch.ones(1, 64)).sum().backward()
torch.distributed.destroy_process_group()
"""


def python_of(page: str) -> list[str]:
    return [block.text for block in code_blocks.blocks(ROOT / page) if block.language == "python"]


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch (pip install torch)")
    beginning, hook = python_of("docs/how-to/pytorch.md")
    assert python_of("README.md")[0] == beginning
    for name, value in {"RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "localhost", "MASTER_PORT": 0}.items():
        monkeypatch.setenv(name, str(value))
    printed_by(TRAINING.format(beginning=beginning, hook=hook), tmp_path)
