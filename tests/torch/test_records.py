# SPDX-License-Identifier: Apache-2.0
"""What a group has done of late: as JSON, for PyTorch's analyzer, as one trace of all ranks, and for Prometheus."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from forked import run
from of_pytorch import needs_analyzer

RANKS = 3
FUNCTIONS = ["recorded", "many", "explained", "told"]


@pytest.fixture(scope="module")
def found(way: str) -> Iterator[dict[str, list[Any]]]:
    """What every function has returned, by rank."""
    returned = run("record_ranks", FUNCTIONS, RANKS)
    yield returned
    shutil.rmtree(returned["recorded"][0])


@pytest.fixture(scope="module")
def folder(found: dict[str, list[Any]]) -> Path:
    """Where the ranks have written."""
    return Path(found["recorded"][0])


def record_of(folder: Path, rank: int) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / f"hemiola-{rank}.json").read_text())
    return loaded


def test_operations_stand_with_kind_size_type_and_times_that_follow_each_other(folder: Path) -> None:
    for rank in range(RANKS):
        world = next(
            g for g in record_of(folder, rank)["groups"] if len(g["operations"]) > 5 and g["failures"]
        )
        assert world["ranks"] == list(range(RANKS))
        rows = [(one["operation"], one["type"], *one["elements"]) for one in world["operations"]]
        assert ("all_reduce", "bfloat16", 1000, 1000) in rows
        assert rows.count(("all_reduce", "float32", 50_000, 50_000)) == 3
        assert ("all_to_all", "float32", 2 * RANKS, 2 * RANKS) in rows
        for one in world["operations"]:
            if one["state"] == "completed":
                assert one["called_s"] <= one["began_s"] <= one["ended_s"]
        background = [one for one in world["operations"] if one["elements"] == [50_000, 50_000]]
        for first, second in pairwise(background):
            assert first["ended_s"] <= second["began_s"] + 1e-6  # one after the other, though called at once
        assert [one["from"] for one in world["operations"] if one["operation"] in ("send", "recv")] == (
            [0] if rank < 2 else []
        )


def test_an_error_and_a_signal_write_what_has_been_done(folder: Path) -> None:
    for rank in range(RANKS):
        record = record_of(folder / "failed", rank)
        assert record["reason"] == "SIGUSR2"  # the error's file, which was here before, has been replaced
        failed = [
            one for group in record["groups"] for one in group["operations"] if one["state"] == "failed"
        ]
        assert len(failed) == 1
        assert "MismatchError" in failed[0]["error"]
        assert "float32[4]" in failed[0]["error"]


@needs_analyzer
def test_pytorchs_analyzer_matches_all_ranks_and_names_the_operation_that_does_not_fit(folder: Path) -> None:
    dump = pickle.loads((folder / "hemiola_record_0").read_bytes())
    assert len(dump["entries"]) >= 8
    command = [sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace"]
    at = folder / "analyzed"
    done = subprocess.run(
        [*command, "-p", "hemiola_record_", "-o", str(at), str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    _, database = pickle.loads(at.read_bytes())
    assert {row.size for row in database.groups} >= {RANKS}
    matched = [row.collective_name for row in database.collectives if row.pass_check]
    assert "gloo:all_reduce" in matched
    assert "gloo:all_gather" in matched
    # The one that failed: rank 1 had four elements.
    bad = [row for row in database.collectives if not row.pass_check]
    assert len(bad) == 1
    mismatch = bad[0].mismatch_collectives
    assert 1 in mismatch or set(mismatch) == {0, 2}  # the analyzer begins with any of them


def test_all_ranks_operations_are_one_trace(folder: Path, tmp_path: Path) -> None:
    from hemiola.torch import save_trace

    count = save_trace(folder, tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    drawn = [event for event in events if event["ph"] == "X"]
    assert len(drawn) == count
    assert {event["pid"] for event in drawn} == set(range(RANKS))
    assert all(event["dur"] >= 0 for event in drawn)
    began = [event["ts"] for event in drawn if event["args"]["elements"] == [1000, 1000]]
    assert max(began) - min(began) < 5e6  # one clock: the same operation, seconds apart at most


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    from hemiola.errors import ArgumentError
    from hemiola.torch import save_trace

    with pytest.raises(ArgumentError, match=r"expected files such as hemiola-0\.json"):
        save_trace(tmp_path, tmp_path / "trace.json")


def test_the_latest_1024_operations_are_remembered(found: dict[str, list[Any]]) -> None:
    assert found["many"] == [1024] * RANKS


def test_explain_names_the_schedule_of_what_has_moved_most(found: dict[str, list[Any]]) -> None:
    for text, diagnosis in found["explained"]:
        assert "all_reduce of 1200000 B" in text
        assert "all_reduce_" in text
        assert diagnosis == "Diagnosis"


def test_prometheus_reads_operations_bytes_failures_and_lateness(found: dict[str, list[Any]]) -> None:
    for text in found["told"]:
        assert re.search(r'hemiola_operations_total\{group="[^"]*",operation="all_reduce"\} 2\d\.0', text)
        assert re.search(r'hemiola_bytes_total\{group="[^"]*",operation="all_reduce"\} 2\.\d+e\+07', text)
        assert re.search(r'hemiola_failures_total\{group="[^"]*"\} 1\.0', text)
        assert len(re.findall(r"hemiola_last_share\{", text)) >= RANKS
        assert re.search(r'hemiola_port_slowdown\{group="[^"]*",rank="0"\} 1\.0', text)
