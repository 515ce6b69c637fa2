# SPDX-License-Identifier: Apache-2.0
"""The Python of docs/how-to/elastic-training.md."""

import importlib.util
from pathlib import Path

import code_blocks
import pytest
from pages import ROOT
from printed_scripts import printed_by


def test_the_python_of_the_page_trains(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch (pip install torch)")
    blocks = code_blocks.blocks(ROOT / "docs/how-to/elastic-training.md")
    scripts = [block.text for block in blocks if block.language == "python" and block.file]
    assert len(scripts) == 2
    for script in scripts:
        losses = [float(line.rpartition(" ")[2]) for line in printed_by(script, tmp_path).splitlines()]
        assert len(losses) == 3
        assert losses[2] < losses[0]
