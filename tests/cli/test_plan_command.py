# SPDX-License-Identifier: Apache-2.0
"""`hemiola plan`: the plan as a table, as JSON, as a file; mistakes."""

from pathlib import Path

import pytest
from broken_files import BROKEN_FILES

import hemiola as hm
from drawn import bar_lengths, figures


def test_the_table_starts_with_the_winner_and_ends_with_why(hemiola, cluster: Path) -> None:
    ran = hemiola("plan", "all_reduce", cluster, "64KiB")
    plan = hm.plan(hm.Topology.load(cluster), "all_reduce", 64 << 10)
    table, _, _ = ran.out.partition(" The task ")
    rows = [line.strip() for line in table.splitlines() if line.startswith(" all_reduce_")]
    assert ran.code == 0
    assert rows[0].split()[0] == plan.name
    assert len(rows) == len(plan.alternatives)
    assert " ".join(ran.out.split()).endswith(" ".join(plan.explain().split()))


def test_json_holds_the_whole_plan(hemiola, cluster: Path) -> None:
    ran = hemiola("plan", "broadcast", cluster, "1MiB", "--root", 2, "--slow", "1=2", "--json")
    assert ran.data["slow"] == {"1": 2.0}
    assert ran.data["nbytes"] == 1 << 20
    assert ran.data["algorithm"] == ran.data["alternatives"][0]["algorithm"]
    assert ran.data["seconds"] >= ran.data["bound_s"] > 0


def test_the_chosen_schedule_is_saved(hemiola, cluster: Path, tmp_path: Path) -> None:
    ran = hemiola("plan", "all_gather", cluster, "4096", "--save", tmp_path / "chosen.sched")
    assert ran.code == 0
    assert hm.verify(hm.Schedule.load(tmp_path / "chosen.sched")) == []
    assert hemiola("verify", tmp_path / "chosen.sched").code == 0


def test_the_alternatives_are_drawn(hemiola, cluster: Path, tmp_path: Path) -> None:
    with figures() as drawn:
        ran = hemiola("plan", "all_reduce", cluster, "1MiB", "--chart", tmp_path / "plan.png", "--json")
    assert ran.code == 0
    (axes,) = drawn[0].axes
    named = [label.get_text() for label in axes.get_yticklabels()]
    known = {
        one.label: one.seconds
        for one in hm.plan(hm.Topology.load(cluster), "all_reduce", 1 << 20).alternatives
    }
    assert named[0] == next(iter(known))
    lengths = bar_lengths(axes)
    for name, length in zip(named, lengths, strict=True):
        assert length / lengths[0] == pytest.approx(known[name] / known[named[0]])
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "arguments",
    [
        ["all_scatter", "1MiB"],
        ["all_reduce", "1XiB"],
        ["all_reduce", "-5"],
        ["all_reduce"],
        [],
        ["all_reduce", "9999999 TiB"],
        ["all_reduce", "1MiB", "--late", "4=1ms"],
        ["all_reduce", "1MiB", "--late", "1=1"],
        ["all_reduce", "1MiB", "--late", "1"],
        ["all_reduce", "1MiB", "--slow", "1=0.5"],
        ["all_reduce", "1MiB", "--slow", "1=2,1=3"],
        ["all_reduce", "1MiB", "--network", "ether"],
        ["broadcast", "1MiB", "--root", "4"],
        ["broadcast", "1MiB", "--root", "-1"],
        ["all_reduce", "1MiB", "--save", "/no/such/folder/x.sched"],
        ["all_reduce", "1MiB", "--chart", "x.gif"],
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(hemiola, cluster: Path, arguments: list[str]) -> None:
    ran = hemiola("plan", *arguments[:1], cluster, *arguments[1:])
    assert ran.is_users_mistake(), ran


@pytest.mark.parametrize("broken", BROKEN_FILES)
def test_a_file_that_is_no_topology_is_one_line_and_exit_code_2(hemiola, tmp_path: Path, broken: str) -> None:
    (tmp_path / "broken.yaml").write_bytes(BROKEN_FILES[broken])
    ran = hemiola("plan", "all_reduce", tmp_path / "broken.yaml", "1MiB")
    assert ran.is_users_mistake(), ran


@pytest.mark.parametrize("path", ["/no/such/file.yaml", "/tmp", "", "x\0y", "a" * 5000, "\udcff"])
def test_a_path_that_is_no_file_is_one_line_and_exit_code_2(hemiola, path: str) -> None:
    ran = hemiola("plan", "all_reduce", path, "1MiB")
    assert ran.is_users_mistake(), ran


def test_nothing_to_move_takes_no_time_and_why_is_said(hemiola, cluster: Path) -> None:
    ran = hemiola("plan", "all_reduce", cluster, "0", "--json")
    assert ran.data["seconds"] == 0
    assert "no latency counts" in ran.data["explanation"]
    assert (
        "no latency counts" not in hemiola("plan", "all_reduce", cluster, "1", "--json").data["explanation"]
    )


@pytest.mark.parametrize("columns", [60, 80, 110])
def test_a_narrow_table_still_tells_the_algorithms_apart(
    hemiola, cluster: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    planned = [
        row["algorithm"]
        for row in hemiola("plan", "all_reduce", cluster, "64KiB", "--json").data["alternatives"]
    ]
    shown = hemiola("plan", "all_reduce", cluster, "64KiB").out.splitlines()
    ran = hemiola("run", "all_reduce", "4K", "-n", 4, "-a", "ring,direct,bruck", "--repeats", 1)
    assert max(map(len, shown[: len(planned) + 4])) <= columns
    assert all(any(name.removeprefix("all_reduce_") in line for line in shown) for name in planned)
    assert all(
        any(f"{name} " in line for line in ran.out.splitlines()) for name in ("ring", "direct", "bruck")
    )
