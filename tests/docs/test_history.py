# SPDX-License-Identifier: Apache-2.0
"""The history of benchmarks: each line names date, commit, machine and command, and a recorded run becomes one."""

import argparse
import json
import sys
from pathlib import Path

import pytest
from pages import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import history

LINES = [
    pytest.param(json.loads(line), id=f"{path.stem}-{number}")
    for path in sorted(history.FOLDER.glob("*.jsonl"))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
]
KEYS = {"date", "commit", "machine", "command", "rows"}


@pytest.mark.parametrize("line", LINES)
def test_a_line_says_when_where_and_how(line: dict[str, object]) -> None:
    assert line.keys() >= KEYS
    assert line["rows"]
    assert all(line[key] for key in ("date", "machine", "command"))


def test_a_recorded_run_is_one_more_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "FOLDER", tmp_path / "history")
    monkeypatch.setattr(sys, "argv", ["benchmarks/judge.py", "--ranks", "8", "--record"])
    parser = argparse.ArgumentParser()
    history.add_option(parser)
    history.record(parser.parse_args([]), [{"ms": 1.0}])
    assert not history.FOLDER.exists()
    for ms in (2.0, 3.0):
        history.record(parser.parse_args(["--record"]), [{"ms": ms}])
    first, second = map(json.loads, (history.FOLDER / "judge.jsonl").read_text().splitlines())
    assert first.keys() == KEYS
    assert first["command"] == "python benchmarks/judge.py --ranks 8 --record"
    assert (first["rows"], second["rows"]) == ([{"ms": 2.0}], [{"ms": 3.0}])
