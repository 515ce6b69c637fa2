# SPDX-License-Identifier: Apache-2.0
"""Tutorial and how-to pages keep their word: their Python runs, and their commands and options exist."""

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from printed_scripts import printed_by

import hemiola as hm
from hemiola.cli import main

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = {
    f"{path.parent.name}/{path.name}": path.read_text(encoding="utf-8")
    for folder in ("tutorial", "how-to")
    for path in sorted((DOCS / folder).glob("*.md"))
}
BLOCKS = {name: re.findall(r"```python\n(.*?)```", page, re.DOTALL) for name, page in PAGES.items()}
#: Pages whose blocks are no script of their own, and the test that runs them.
ELSEWHERE = {
    "how-to/failures.md": "tests/docs/test_failures.py",
    "how-to/pytorch.md": "test_the_python_of_the_page_on_pytorch_runs",
    "tutorial/first-training.md": "test_the_first_training_learns",
}
SCRIPTS = [name for name, blocks in BLOCKS.items() if blocks and name not in ELSEWHERE]
COMMANDS = sorted(
    {line for page in PAGES.values() for line in re.findall(r"^    (hemiola .*)$", page, re.MULTILINE)}
)
QUICK = [line for line in COMMANDS if line.split()[1] in ("plan", "simulate", "view")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that has the files that commands of the pages read."""
    hm.topologies.switch(8, latency_s=50e-6, bandwidth=125e6).save(tmp_path / "cluster.yaml")
    return tmp_path


@pytest.fixture(scope="module")
def torch() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch (pip install torch)")


def test_pages_whose_python_runs_elsewhere_are_there() -> None:
    assert {name for name in ELSEWHERE if not BLOCKS[name]} == set()


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_python_of_a_page_runs_from_top_to_bottom(name: str, folder: Path) -> None:
    # What needs network namespaces runs in tests/network.
    blocks = [each for each in BLOCKS[name] if "Cluster(" not in each]
    printed_by("\n".join(["import hemiola as hm", *map(guarded, blocks)]), folder)


def guarded(block: str) -> str:
    """Return a block of which ranks, which import the script, run functions and imports alone."""
    if "def " in block:
        return block
    imports = "\n".join(re.findall(r"^(?:import|from) .*", block, re.M))
    return f'{imports}\nif __name__ == "__main__":\n{textwrap.indent(block, "    ")}'


@pytest.mark.usefixtures("torch")
def test_the_python_of_the_page_on_pytorch_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beginning, hook = BLOCKS["how-to/pytorch.md"]
    for name, value in {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "0",
    }.items():
        monkeypatch.setenv(name, value)
    model = "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))\n"
    step = "model(torch.ones(1, 64)).sum().backward()\ntorch.distributed.destroy_process_group()\n"
    printed_by("import torch\n" + beginning + model + hook + step, tmp_path)


@pytest.mark.usefixtures("torch")
def test_the_first_training_learns(tmp_path: Path) -> None:
    (script,) = BLOCKS["tutorial/first-training.md"]
    (tmp_path / "train.py").write_text(script)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    ran = subprocess.run(
        [*torchrun, "train.py"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert "step 99: loss 0.0000" in ran.stdout


@pytest.mark.parametrize("line", QUICK)
def test_commands_of_the_pages_run(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert main(line.split()[1:]) == 0


@pytest.mark.parametrize("line", COMMANDS)
def test_options_in_the_pages_are_in_the_reference(line: str) -> None:
    name = line.split()[1]
    reference = (DOCS / "reference/cli.md").read_text()
    (section,) = re.findall(rf"^## hemiola {name}$(.*?)(?=^## |\Z)", reference, re.M | re.S)
    for option in re.findall(r"(?<= )--?[a-z-]+", line):
        assert f"`{option}" in section, option
