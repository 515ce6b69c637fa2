# SPDX-License-Identifier: Apache-2.0
"""The page of a job's records: who failed first, who noticed when, who came late; and folders that hold no records."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import hemiola as hm
from hemiola.cli import main
from hemiola.view.page.job_page import job_data
from job_records import killed_job, operation, write_record


def test_the_killed_rank_failed_first_and_the_others_follow_in_order(tmp_path: Path) -> None:
    data = job_data(killed_job(tmp_path / "records"), "")
    assert (data["first"], data["missing"], data["ranks"]) == (2, [2], 3)
    assert [found["rank"] for found in data["findings"]] == [2, 1, 0]
    assert [found["at"] for found in data["findings"]] == pytest.approx([1.1, 1.1, 1.2])
    assert "no record" in data["findings"][0]["text"]
    assert data["findings"][2]["text"].startswith("100 ms later, in all_reduce 2")


def test_the_last_rank_is_late_after_the_median(tmp_path: Path) -> None:
    # Given: calls at 0, 10 and 50 ms. Expect: the last is 40 ms after the median.
    for rank, called in enumerate((0.0, 0.01, 0.05)):
        write_record(tmp_path / "records", rank, [operation(1, called, 0.06)], [0, 1, 2])
    data = job_data(tmp_path / "records", "")
    assert [(one["rank"], one["at"]) for one in data["late"]] == [(2, pytest.approx(0.05))]
    assert data["late"][0]["late"] == pytest.approx(0.04)
    assert (data["first"], data["findings"]) == (None, [])


def test_a_rank_whose_own_error_names_nobody_failed_itself(tmp_path: Path) -> None:
    failed = operation(1, 0.0, 0.5, state="failed", error="ValueError: on rank 1: no")
    write_record(tmp_path / "records", 0, [operation(1, 0.0, None, state="started")], [0, 1])
    write_record(tmp_path / "records", 1, [failed], [0, 1])
    data = job_data(tmp_path / "records", "")
    assert data["first"] == 1
    assert data["length"] == pytest.approx(2.0)  # rank 0's has not ended when its file is written


def test_a_folder_without_records_is_refused_and_a_damaged_one_named(tmp_path: Path) -> None:
    page = tmp_path / "job.html"
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(hm.ArgumentError, match=r"expected files such as hemiola-0\.json"):
            hm.explore(folder, page)
    folder = killed_job(tmp_path / "records")
    file = folder / "hemiola-1.json"
    record = json.loads(file.read_text())
    endless = json.loads(file.read_text())
    endless["groups"][0]["operations"][0]["called_s"] = math.nan
    for damaged in (
        "{",
        json.dumps({**record, "version": 2}),
        json.dumps({**record, "groups": [{}]}),
        json.dumps(endless),
    ):
        file.write_text(damaged)
        with pytest.raises(hm.FormatError, match=r"hemiola-1\.json"):
            hm.explore(folder, page)
    assert not page.exists()


def test_the_command_writes_the_page_of_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder, page = killed_job(tmp_path / "records"), tmp_path / "job.html"
    assert main(["view", str(folder), "--html", str(page)]) == 0
    assert "job.html" in "".join(capfd.readouterr().out.split())
    assert '"first":2' in page.read_text("utf-8")
    assert main(["view", str(tmp_path / "none"), "--html", str(page)]) == 2


def test_messages_that_had_not_come_are_in_the_findings_and_on_the_page(tmp_path: Path) -> None:
    folder = killed_job(tmp_path / "records")
    file = folder / "hemiola-1.json"
    record = json.loads(file.read_text())
    message = {"step": 0, "chunk": 3, "chunks": 1, "bytes": 8, "began_s": 1001.0}
    record["groups"][0]["transfers"] = [
        {**message, "from": 1, "to": 0, "ended_s": 1001.01},
        {**message, "from": 2, "to": 1, "ended_s": None},
    ]
    file.write_text(json.dumps(record))
    data = job_data(folder, "")
    assert data["messageCount"] == 2
    assert data["findings"][1]["text"].endswith("Messages that had not come: 1 of rank 2.")
    assert "had not come" not in data["findings"][2]["text"]
    from hemiola.diagnosis.recorded_trace import save_trace

    assert save_trace(folder, tmp_path / "trace.json") == 4
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    drawn = [event for event in events if event["ph"] == "X" and event["name"].startswith("step")]
    assert [(event["pid"], event["name"]) for event in drawn] == [
        (1, "step 0, chunk 3, to 0"),
        (1, "step 0, chunk 3, from 2"),
    ]


def test_a_page_of_too_many_ranks_is_refused(tmp_path: Path) -> None:
    write_record(tmp_path / "records", 0, [operation(1, 0.0, 0.1)], [0, 99_999])
    with pytest.raises(hm.ArgumentError, match="found 100,000"):
        hm.explore(tmp_path / "records", tmp_path / "job.html")


def test_ranks_that_came_and_went_are_told_with_their_epoch(tmp_path: Path) -> None:
    # Given: rank 2 is killed at 1.1 s, and ranks 0 and 1 go on at 1.3 s with rank 3, which came. Both have recorded it,
    # and two changes before the first call.
    folder = killed_job(tmp_path / "records")
    epoch = {"number": 3, "ranks": [0, 1, 3], "joined": [3], "left": [], "lost": {"2": "has died"}}
    times = {"at_s": 1001.3, "took_s": 0.2, "healed_bytes": 0, "healed_s": 0.0}
    old = [
        {**epoch, **times, "number": 3 - at, "at_s": 1000 - at, "joined": [at], "lost": {}} for at in (2, 1)
    ]
    for rank in (0, 1):
        file = folder / f"hemiola-{rank}.json"
        record = json.loads(file.read_text())
        record["groups"][0]["epochs"] = [*old, {**epoch, **times}]
        file.write_text(json.dumps(record))
    data = job_data(folder, "")
    told = [(found["rank"], found["at"], found["text"]) for found in data["findings"][3:]]
    at_s = pytest.approx(1.3)
    assert told == [
        (1, 0.0, "joined; epoch 2 began after 200 ms, before the first recorded call"),
        (3, at_s, "joined; epoch 3 began after 200 ms"),
        (2, at_s, "was lost: has died; epoch 3 began after 200 ms"),
        (3, None, "has left no record"),
    ]
    assert (data["first"], data["ranks"], data["missing"]) == (2, 4, [2, 3])
    file.write_text(json.dumps({**record, "groups": [{**record["groups"][0], "epochs": [{}]}]}))
    with pytest.raises(hm.FormatError, match=r"hemiola-1\.json"):
        job_data(folder, "")


def test_a_change_without_a_failure_is_told_by_the_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path / "records", 0, [operation(1, 0.0, 0.1)], [0, 1])
    file = tmp_path / "records" / "hemiola-0.json"
    record = json.loads(file.read_text())
    epoch = {"number": 4, "ranks": [0], "joined": [], "left": [1], "lost": {}, "at_s": 1000.5, "took_s": 0.01}
    record["groups"][0]["epochs"] = [epoch]
    file.write_text(json.dumps(record))
    assert main(["view", str(tmp_path / "records")]) == 0
    told = " ".join(capfd.readouterr().out.split())
    assert "No operation failed." in told
    assert "500 ms 1 left; epoch 4 began after 10 ms" in told
