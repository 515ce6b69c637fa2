# SPDX-License-Identifier: Apache-2.0
"""`python -m papers`: reports in the folder that is asked for, and a line where something is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from papers import ROOT, spccl
from papers.__main__ import main


def test_a_section_is_written_into_the_folder_and_printed_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stragglar", "--only", "table_1", "--out", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["table_1"]
    assert (tmp_path / "stragglar.md").exists()


def test_an_unknown_section_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["optcc", "--only", "figure_99"])
    assert end.value.code == 2
    assert "'table_1', 'bandwidth_only'" in capsys.readouterr().err


def test_a_missing_package_is_named_with_its_extra_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hemiola.environment.packages.find_spec", lambda name: None)
    assert main([spccl.PAPER.name, "--out", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "papers: the package sklearn is not installed here; pip install 'hemiola[demo]'"


def test_it_runs_from_a_clone() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "papers", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    for paper in ("optcc", "pccl", "spccl", "stragglar", "tacos", "workloads"):
        assert paper in ended.stdout
