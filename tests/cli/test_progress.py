# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: a bar on a terminal is Rich's; elsewhere a line now and then, with an estimate."""

import io
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import hemiola as hm
from hemiola import progress, synthesis
from hemiola.progress import ProgressBar
from hemiola.topology import yaml_writer, yaml_written

COST = {"latency_s": 5e-7, "bandwidth": 1e9}


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """What outermost bars are told: their labels, and the share that is done."""
    told: list[tuple[str, float]] = []

    def show(bar: ProgressBar, done: int, total: int, _: str) -> None:
        told.append((bar._label, done / total))

    monkeypatch.setattr(ProgressBar, "_show", show)
    return told


def test_without_a_terminal_a_line_is_written_every_thirty_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with ProgressBar("measuring") as bar:
        for done in range(1, 9):
            now[0] += 10
            bar(done, 12)
    # Lines come once more than 30 s have passed: after 40 s and 80 s of 10 s each.
    assert capsys.readouterr().err.splitlines() == [
        "measuring: 4 of 12 after 40 s, about 80 s left",
        "measuring: 8 of 12 after 80 s, about 40 s left",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_bar_appears_once_a_second_has_passed_and_goes_with_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, terminal = [100.0], Terminal()
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressBar("measuring") as bar:
        now[0] += 0.9
        bar(1, 12)
        assert terminal.getvalue() == ""
        for done, share in ((3, "25%"), (9, "75%")):
            now[0] += 10
            bar(done, 12)
            assert "measuring" in terminal.getvalue()
            assert share in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")  # its line is empty again


def test_work_inside_other_work_moves_its_bar_on(shares: list[tuple[str, float]]) -> None:
    with ProgressBar("outer") as outer:
        with outer.part(0.25):
            pass
        with outer.part(0.5), ProgressBar("inner") as inner:
            inner(1, 2)
            with ProgressBar("innermost") as innermost:
                innermost(1, 2)
        outer(4, 5)
        with ProgressBar("last") as last:
            last(1, 2)
    assert [label for label, _ in shares] == ["outer"] * len(shares)
    assert [share for _, share in shares] == [0, 0.25, 0.5, 0.625, 0.8, 0.9]


def test_a_quiet_bar_leaves_the_bar_outside_where_it_is(shares: list[tuple[str, float]]) -> None:
    with ProgressBar("outer") as outer:
        for _ in outer.each(range(2)):
            with ProgressBar("quiet", quiet=True), ProgressBar("inner") as inner:
                inner(1, 1)
        with ProgressBar("last") as last:
            last(1, 2)
    assert [share for label, share in shares if label == "outer"] == [0, 0.5, 0.75]


def test_a_quiet_bar_keeps_all_inside_it_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    for quiet in (True, False):
        with ProgressBar("outer", quiet=quiet), ProgressBar("inner") as inner:
            now[0] += 60
            inner(1, 4)
    assert capsys.readouterr().err.splitlines() == ["outer: 25% after 60 s, about 180 s left"]


def test_after_an_error_the_next_work_has_a_bar_of_its_own(shares: list[tuple[str, float]]) -> None:
    with pytest.raises(hm.ArgumentError):
        hm.plan(hm.topologies.mesh([2], **COST), "all_to_none", 1)
    shares.clear()
    with ProgressBar("next") as bar:
        bar(1, 2)
    assert shares == [("next", 0.5)]


def mesh(*dims: int) -> hm.Topology:
    return hm.topologies.mesh(list(dims), **COST)


#: Each takes a fraction of a second, on larger networks minutes.
LONG: dict[str, Callable[[], object]] = {
    "planning": lambda: hm.plan(mesh(6, 6), "all_reduce", 1 << 26),
    "bounding": lambda: hm.lower_bound(mesh(20, 20), "all_to_all", 1 << 26),
    "packing trees": lambda: synthesis.forest(mesh(8, 8), "all_gather"),
}


@pytest.mark.parametrize("label", LONG)
def test_long_work_says_how_far_it_is(shares: list[tuple[str, float]], label: str) -> None:
    LONG[label]()
    assert {found for found, _ in shares} - {"bounding"} == {label} - {
        "bounding"
    }  # a plan begins with its bound
    told = [share for found, share in shares if found == label]
    assert all(before <= after for before, after in pairwise(told))
    assert len(set(told)) >= 5
    assert 0.5 < told[-1] <= 1


@pytest.mark.parametrize("comment", ["", "# by hand\n"])
def test_loading_a_long_file_says_how_far_it_is(
    comment: str, shares: list[tuple[str, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we wrote is taken apart in blocks, what others wrote by a parser of YAML."""
    monkeypatch.setattr(yaml_written, "_BLOCK", 1 << 12)
    monkeypatch.setattr(yaml_writer, "_BLOCK", 1 << 8)
    (tmp_path / "mesh.yaml").write_text(comment + mesh(30, 30).to_yaml())
    shares.clear()
    hm.Topology.load(tmp_path / "mesh.yaml")
    told = [share for label, share in shares if label == "loading"]
    assert all(before <= after for before, after in pairwise(told))
    assert 10 <= len(told) < 1000  # telling takes time, too
    assert 0.5 < told[-1] <= 1
