# SPDX-License-Identifier: Apache-2.0
"""`hemiola trace`: ranks' records from elsewhere, merged without PyTorch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def record(rank: int, **changed: Any) -> dict[str, Any]:
    done = {"operation": "all_reduce", "state": "completed", "called_s": 1.0, "began_s": 2.0, "ended_s": 3.5}
    waiting = {
        "operation": "barrier",
        "state": "scheduled",
        "called_s": 4.0,
        "began_s": None,
        "ended_s": None,
    }
    group = {"name": "0", "ranks": [0, 1], "operations": [done, waiting]}
    return {"version": 1, "rank": rank, "host": "a", "written_s": 6.0, "groups": [group], **changed}


def written(folder: Path, *records: object) -> Path:
    for rank, one in enumerate(records):
        (folder / f"hemiola-{rank}.json").write_text(one if isinstance(one, str) else json.dumps(one))
    return folder


def test_ranks_become_processes_and_what_has_not_ended_lasts_until_it_was_written(
    hemiola, tmp_path: Path
) -> None:
    ran = hemiola(
        "trace", str(written(tmp_path, record(0), record(1))), str(tmp_path / "trace.json"), "--json"
    )
    assert ran.code == 0, ran
    assert ran.data["operation_count"] == 4
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    drawn = [(e["pid"], e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    assert drawn == [
        (rank, *rest)
        for rank in (0, 1)
        for rest in (("all_reduce", 2e6, 1.5e6), ("barrier (scheduled)", 4e6, 2e6))
    ]


@pytest.mark.parametrize(
    "second", ["", "[]", "null", "{", json.dumps(record(1, version=2)), json.dumps(record(1, groups=[{}]))]
)
def test_a_file_that_is_no_record_is_named_in_one_line(hemiola, tmp_path: Path, second: str) -> None:
    ran = hemiola("trace", str(written(tmp_path, record(0), second)), str(tmp_path / "trace.json"))
    assert ran.is_users_mistake(), ran
    assert "hemiola-1.json" in ran.err
    assert not (tmp_path / "trace.json").exists()


def test_a_folder_without_records_is_one_line(hemiola, tmp_path: Path) -> None:
    assert hemiola("trace", str(tmp_path), str(tmp_path / "trace.json")).is_users_mistake()
    assert hemiola("trace", str(tmp_path / "none"), str(tmp_path / "trace.json")).is_users_mistake()


def test_no_pytorch_is_imported() -> None:
    code = "import sys, hemiola.cli.trace; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
