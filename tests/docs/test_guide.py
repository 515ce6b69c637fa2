"""The guide keeps its word: its Python runs from top to bottom, and its commands and options exist."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hemiola.cli import main

DOCS = Path(__file__).parent.parent.parent / "docs"
GUIDE = (DOCS / "guide.md").read_text()
COMMANDS = re.findall(r"^    (hemiola .*)$", GUIDE, re.MULTILINE)
QUICK = [line for line in COMMANDS if line.split()[1] in ("plan", "simulate", "view")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the guide's Python as one script, and return the folder with the files that it wrote."""
    folder = tmp_path_factory.mktemp("guide")
    blocks = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    # Ranks import the script, so only functions stand outside of the guard.
    guarded = [
        b if "def " in b else 'if __name__ == "__main__":\n' + textwrap.indent(b, "    ") for b in blocks
    ]
    (folder / "guide.py").write_text("\n".join(["import hemiola as hm\n", *guarded]))
    done = subprocess.run(
        [sys.executable, "guide.py"], cwd=folder, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_python_of_the_guide_runs(folder: Path) -> None:
    assert {"cluster.yaml", "ring.json", "chain.sched"} <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("line", QUICK)
def test_commands_of_the_guide_run(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert main(line.split()[1:]) == 0


@pytest.mark.parametrize("line", COMMANDS)
def test_options_in_the_guide_are_in_the_reference(line: str) -> None:
    name = line.split()[1]
    (section,) = re.findall(
        rf"^## hemiola {name}$(.*?)(?=^## |\Z)", (DOCS / "cli.md").read_text(), re.M | re.S
    )
    for option in re.findall(r"(?<= )--?[a-z-]+", line):
        assert f"`{option}" in section, option
