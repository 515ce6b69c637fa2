# SPDX-License-Identifier: Apache-2.0
"""A job of real processes, one of which is killed: what `hemiola view` says of its records, in words and on a page."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hemiola as hm
from browser import Browser, needed
from hemiola.cli import main
from hemiola.diagnosis.recorded_job import RecordedJob

RANKS, KILLED, LATE = 4, 3, 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the job, and return where its ranks have recorded it."""
    own = tmp_path_factory.mktemp("job")
    program = [sys.executable, str(Path(__file__).with_name("killed_job_rank.py"))]
    environment = os.environ | {"HEMIOLA_RECORD": str(own / "records"), "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen([*program, str(rank), str(RANKS), str(own / "store")], env=environment)
        for rank in range(RANKS)
    ]
    assert [rank.wait(120) for rank in ranks] == [3, 3, 3, -9]
    return own / "records"


def test_the_killed_rank_failed_first_and_each_survivor_has_reacted(folder: Path) -> None:
    job = RecordedJob.read(folder)
    assert (job.failed_first, job.missing) == (KILLED, (KILLED,))
    assert job.findings[0].rank == KILLED
    assert sorted(one.rank for one in job.findings[1:]) == [0, 1, 2]
    assert all(f"rank {KILLED}" in one.text and "all_reduce 5" in one.text for one in job.findings[1:])
    at = [one.at_s for one in job.findings if one.at_s is not None]
    assert at == sorted(at)
    assert len(at) == RANKS


def test_the_late_rank_is_named_with_its_operation_and_its_time(folder: Path) -> None:
    latest = RecordedJob.read(folder).late_calls[0]
    assert (latest.rank, latest.name) == (LATE, "all_reduce 3")
    assert latest.late_s > 0.15  # of 300 ms, after others that are late for reasons of their own


def test_the_command_says_so_in_words(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(folder)]) == 0
    said = capfd.readouterr().out
    assert "Rank 3 failed first." in said
    assert "noticed it first, in all_reduce 5: " in said
    assert "3 of 4 ranks have left a record" in " ".join(said.split())


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Browser]:
    opened = Browser(tmp_path / "profile")
    yield opened
    opened.close()


@needed
def test_the_page_says_the_same(folder: Path, tmp_path: Path, window: Browser) -> None:
    job = RecordedJob.read(folder)
    window.open(hm.explore(folder, tmp_path / "job.html"))
    assert window.ask("document.getElementById('result').textContent").startswith("Rank 3 failed first")
    rows = window.ask("[...document.querySelectorAll('#place tr')].map(row => row.textContent)")
    for row, finding in zip(rows, job.findings, strict=False):
        assert f"rank {finding.rank}" in row
        assert finding.text in row
    latest = rows[len(job.findings)]
    assert f"rank {LATE}came" in latest
    assert "all_reduce 3" in latest
