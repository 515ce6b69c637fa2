# SPDX-License-Identifier: Apache-2.0
"""A paper's report is made section by section, whole or in part."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hemiola.errors import ArgumentError
from hemiola.progress import ProgressBar
from papers import optcc, pccl, spccl, stragglar, tacos, workloads
from papers.paper import Paper
from papers.report import Report

PAPERS = [optcc.PAPER, pccl.PAPER, spccl.PAPER, stragglar.PAPER, tacos.PAPER, workloads.PAPER]
REPORTS = Path(__file__).parents[2] / "docs" / "results"


def counting(calls: list[str]) -> Paper:
    """Return a paper whose two sections say how often they were made."""

    def section(key: str, report: Report, command: str) -> None:
        calls.append(key)
        report.section(f"Section {key}", f"made {calls.count(key)} times", command)

    sections = {key: lambda report, command, key=key: section(key, report, command) for key in ("a", "b")}
    return Paper("counted", "A paper", sections, "no time", ("An introduction.",))


def test_all_sections_are_made_in_order_each_with_its_own_command(tmp_path: Path) -> None:
    calls: list[str] = []
    text = counting(calls).reproduce(tmp_path).path.read_text()
    assert calls == ["a", "b"]
    assert text.index("An introduction.") < text.index("## Section a") < text.index("## Section b")
    assert re.search(
        r"Reproduce: `python -m papers counted --only b`; made \d{4}-\d\d-\d\d with hemiola \d", text
    )


def test_one_section_is_renewed_and_the_other_kept(tmp_path: Path) -> None:
    calls: list[str] = []
    paper = counting(calls)
    paper.reproduce(tmp_path)
    text = paper.reproduce(tmp_path, only="a").path.read_text()
    assert calls == ["a", "b", "a"]
    assert "made 2 times" in text.split("## Section b")[0]
    assert "made 1 times" in text.split("## Section b")[1]


def test_each_section_is_announced_with_the_time_so_far_and_in_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paper = counting([])
    paper.reproduce(tmp_path)
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"counted: a, section 1 of 2; all take {paper.takes}"
    assert re.fullmatch(rf"counted: b, section 2 of 2, after \d+ s; all take {paper.takes}", second)
    paper.reproduce(tmp_path, only="b")
    assert capsys.readouterr().err.splitlines() == ["counted: b, section 1 of 1"]


def test_every_section_moves_the_bar_on_by_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given two sections of which the second has two bars: 0, 1/2, and what is inside never takes it back."""
    shown: list[float] = []
    monkeypatch.setattr(ProgressBar, "_show", lambda bar, done, total, _: shown.append(done / total))

    def section(report: Report, command: str) -> None:
        for _ in range(2):
            with ProgressBar("inside") as bar:
                assert list(bar.each("ab")) == ["a", "b"]

    Paper("counted", "A paper", {"a": lambda *_: None, "b": section}, "no time").reproduce(tmp_path)
    assert shown == [0, 0.5, 0.5, 0.75, 0.75, 0.75]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_an_unknown_section_is_refused_with_the_known_ones(paper: Paper, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=f"{next(iter(paper.sections))}, .* found 'figure_20'"):
        paper.reproduce(tmp_path, only="figure_20")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_committed_reports_begin_as_they_would_be_written(paper: Paper, tmp_path: Path) -> None:
    """Else `--only` would replace what somebody has put there by hand."""
    report = Report(paper.name, paper.title, tmp_path)
    report.text(*paper.introduction)
    report.write()
    committed = (REPORTS / f"{paper.name}.md").read_text()
    assert committed.split("## ")[0].rstrip() == report.path.read_text().rstrip()


@pytest.mark.parametrize("paper", [optcc.PAPER, stragglar.PAPER], ids=lambda paper: paper.name)
def test_table_1_is_made_from_the_command_line_s_name(paper: Paper, tmp_path: Path) -> None:
    report = paper.reproduce(tmp_path, only="table_1")
    assert report.data["table_1"]
    assert f"python -m papers {paper.name} --only table_1" in report.path.read_text()
