# SPDX-License-Identifier: Apache-2.0
"""The page of a predicted training step: its bars are the step's tasks, and its tables the answer's."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import hemiola as hm
from hemiola.cli import main
from hemiola.view.page.step_page import step_data
from hemiola.workload import transformer
from hemiola.workload.bars import bars_of

SWITCH = hm.topologies.switch(8, latency_s=2e-6, bandwidth=5e9)
SMALL = transformer(4, 512, 128, vocabulary=1000, name="small")
LATE = hm.Conditions(late={1: 1e-3})


def predicted() -> hm.WhatIf:
    return hm.whatif(SMALL, SWITCH, LATE, parallel=hm.Parallel(tp=2))


def test_the_page_has_the_answers_parts() -> None:
    found = predicted()
    data = step_data(found, "")
    assert (data["title"], data["length"], data["bound"]) == (
        "small: a step, predicted",
        found.seconds,
        found.bound_s,
    )
    assert "8 ranks" in data["subtitle"]
    assert "rank 1 late by 1 ms" in data["subtitle"]
    assert (data["limit"], data["assumptions"]) == (found.limit, found.assumptions)
    assert data["result"] in found.explain()
    assert [call["exposed"] for call in data["calls"]] == [call.exposed_s for call in found.calls]
    assert data["labels"] == [
        "all ranks: compute", "all ranks: dp", "all ranks: tp",
        "all ranks, late: compute", "all ranks, late: dp", "all ranks, late: tp",
    ]  # fmt: skip


def test_bars_of_a_stream_follow_each_other_and_fill_the_step() -> None:
    found = predicted()
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for bar in bars_of(found):
        rows.setdefault(bar.row, []).append((bar.begin_s, bar.end_s))
    for spans in rows.values():
        assert all(before[1] <= after[0] + 1e-12 for before, after in itertools.pairwise(spans))
    computed = sum(end - begin for begin, end in rows["all ranks", "compute"])
    assert computed == pytest.approx(found.compute_s)
    assert max(end for spans in rows.values() for _, end in spans) == found.seconds


def test_a_step_of_no_time_and_arguments_of_schedules_are_refused(tmp_path: Path) -> None:
    page = tmp_path / "step.html"
    found = predicted()
    with pytest.raises(hm.ArgumentError, match="a step has its own"):
        hm.explore(found, page, SWITCH)
    assert not page.exists()


def test_the_command_writes_a_page_and_a_picture(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    SWITCH.save(tmp_path / "switch.yaml")
    page, chart = tmp_path / "step.html", tmp_path / "step.svg"
    asked = ["whatif", "transformer:layers=2,width=64", "-t", str(tmp_path / "switch.yaml")]
    assert main([*asked, "--html", str(page), "--chart", str(chart)]) == 0
    told = "".join(capfd.readouterr().out.split())
    assert "step.html" in told
    assert "step.svg" in told
    assert '"kind":"step"' in page.read_text("utf-8")
    assert main([*asked, "--html", str(tmp_path / "none" / "step.html")]) == 2


def test_a_picture_has_a_row_for_each_stream_and_a_bar_for_each_task() -> None:
    pytest.importorskip("matplotlib")
    found = predicted()
    axes = hm.draw(found)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == step_data(found, "")["labels"]
    drawn = sum(len(shapes.get_paths()) for shapes in axes.collections)
    assert drawn == len(list(bars_of(found)))
    assert axes.get_xlim()[1] == pytest.approx(found.seconds * 1e3)
