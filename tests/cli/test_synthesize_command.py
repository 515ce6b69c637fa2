# SPDX-License-Identifier: Apache-2.0
"""`hemiola synthesize`: a schedule for one network, with its distance from the bound."""

from __future__ import annotations

from pathlib import Path

import pytest

import hemiola as hm
from hemiola.progress import ProgressBar


@pytest.mark.parametrize("suffix", ["sched", "schedb"])
def test_the_schedule_is_written_and_right(hemiola, cluster: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"x.{suffix}"
    ran = hemiola("synthesize", "all_gather", cluster, "--chunks", 2, "--out", out, "--json")
    assert ran.code == 0, ran
    schedule = hm.Schedule.load(out)
    assert hm.verify(schedule) == []
    assert schedule.chunk_count == ran.data["chunks"] == 8
    assert ran.data["bound_s"] <= ran.data["simulated_s"]


def test_people_read_the_share_of_the_bound_and_what_proves_it(hemiola, cluster: Path) -> None:
    ran = hemiola("synthesize", "all_reduce", cluster, "--size", "64MiB")
    assert ran.code == 0, ran
    assert "%" in ran.out
    assert "Not written" in ran.out


def test_equal_seeds_write_equal_files(hemiola, cluster: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.sched", "b.sched")]
    for file in files:
        assert hemiola("synthesize", "broadcast", cluster, "--root", 2, "--seed", 5, "--out", file).code == 0
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["all_gatherr"],
        ["all_gather", "--chunks", "0"],
        ["all_gather", "--trials", "0"],
        ["all_gather", "--size", "lots"],
        ["broadcast", "--root", "9"],
        ["all_gather", "--latency", "none"],
    ],
)
def test_mistakes_are_one_line(hemiola, cluster: Path, arguments: list[str]) -> None:
    ran = hemiola("synthesize", arguments[0], cluster, *arguments[1:])
    assert ran.is_users_mistake(), ran


def test_a_missing_topology_is_one_line(hemiola, tmp_path: Path) -> None:
    assert hemiola("synthesize", "all_gather", tmp_path / "none.yaml").is_users_mistake()


@pytest.mark.parametrize("algorithm", ["multitree", "blueconnect", "themis", "forest", "sccl", "taccl"])
def test_other_algorithms_are_made_for_the_topology(hemiola, tmp_path: Path, algorithm: str) -> None:
    grid = hm.topologies.torus([3, 3], latency_s=1e-6, bandwidth=1e9)
    grid.save(tmp_path / "grid.yaml")
    out = tmp_path / "x.sched"
    ran = hemiola(
        "synthesize", "all_reduce", tmp_path / "grid.yaml", "--algorithm", algorithm, "--out", out, "--json"
    )
    assert ran.code == 0, ran
    assert hm.verify(hm.Schedule.load(out), topology=grid) == []
    assert ran.data["bound_s"] <= ran.data["simulated_s"]


def test_a_broadcast_forest_starts_at_the_root(hemiola, cluster: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.sched"
    ran = hemiola("synthesize", "broadcast", cluster, "--algorithm", "forest", "--root", 2, "--out", out)
    assert ran.code == 0, ran
    schedule = hm.Schedule.load(out)
    assert schedule.collective.root == 2
    assert hm.verify(schedule) == []
    assert hemiola("synthesize", "broadcast", cluster, "-a", "forest", "--root", 99).is_users_mistake()


def test_c_cube_is_made_for_a_dgx1_only(hemiola, cluster: Path, tmp_path: Path) -> None:
    hm.topologies.dgx1().save(tmp_path / "box.yaml")
    assert hemiola("synthesize", "all_reduce", tmp_path / "box.yaml", "-a", "c_cube").code == 0
    assert hemiola("synthesize", "all_reduce", cluster, "-a", "c_cube").is_users_mistake()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["all_reduce", "-a", "magic"], "unknown algorithm 'magic'"),
        (["gather", "-a", "themis"], "no 'gather_themis'"),
        (["all_reduce", "-a", "forest", "--trials", "3"], "are for --algorithm matching"),
        (["all_reduce", "-a", "forest", "--chunks", "0"], "pieces"),
        (["all_gather", "-a", "multitree"], "switches"),
        (["all"], "unknown collective 'all'"),
        (["broadcast,reduce"], "unknown collective"),
    ],
)
def test_what_an_algorithm_does_not_take_is_one_line(
    hemiola, cluster: Path, arguments: list[str], words: str
) -> None:
    ran = hemiola("synthesize", arguments[0], cluster, *arguments[1:])
    assert ran.is_users_mistake(), ran
    assert words in ran.err


def test_nothing_is_drawn_where_standard_error_is_no_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hemiola.progress.time.monotonic", iter(range(0, 100, 5)).__next__)
    with ProgressBar("working") as bar:
        bar(1, 2)
        bar(2, 2)
    assert capfd.readouterr().err == ""
