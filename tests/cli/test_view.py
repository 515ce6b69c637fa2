# SPDX-License-Identifier: Apache-2.0
"""`hemiola view`: schedules as text, times as bars, and files that are neither."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from job_records import killed_job

TIMES = {
    "collective": "all_reduce",
    "nbytes": 1024,
    "rank_count": 4,
    "bound_s": 1e-5,
    "algorithms": [{"algorithm": "all_reduce_ring", "predicted_s": 2e-5, "p50_s": 3e-5, "p99_s": 4e-5}],
}


def test_a_ring_of_two_is_written_out(hemiola) -> None:
    ran = hemiola("view", "all_reduce_ring", "--ranks", 2)
    rows = [line.split() for line in ran.out.splitlines()[-3:-1]]
    assert rows == [["0", "1+0", "0>1"], ["1", "0+1", "1>0"]]


def test_a_schedule_wider_than_the_terminal_says_what_is_hidden(hemiola) -> None:
    ran = hemiola("view", "all_reduce_ring", "--ranks", 64)
    assert max(len(line) for line in ran.out.splitlines()) <= 110
    assert "and 32 more chunks and" in ran.out


def test_one_rank_has_nothing_to_do(hemiola) -> None:
    ran = hemiola("view", "all_reduce_ring", "--ranks", 1)
    assert ran.code == 0
    assert "1 rank, 1 chunk, 0 steps, 0 transfers" in ran.out


def test_json_lists_the_transfers(hemiola) -> None:
    ran = hemiola("view", "all_gather_ring", "--ranks", 2, "--json")
    assert ran.data["transfers"] == [
        {"step": 0, "src": 0, "dst": 1, "chunk": 0, "reduce": False},
        {"step": 0, "src": 1, "dst": 0, "chunk": 1, "reduce": False},
    ]


@pytest.mark.parametrize("ranks", [1, 4, 40])
def test_a_schedule_is_drawn_into_a_file(hemiola, tmp_path: Path, ranks: int) -> None:
    chart = tmp_path / "steps.png"
    assert hemiola("view", "all_reduce_ring", "--ranks", ranks, "--chart", chart).code == 0
    assert chart.read_bytes().startswith(b"\x89PNG")


def test_measured_times_are_read_back_and_drawn(hemiola, tmp_path: Path) -> None:
    (tmp_path / "times.json").write_text(json.dumps(TIMES))
    ran = hemiola("view", tmp_path / "times.json", "--chart", tmp_path / "times.svg")
    assert ran.code == 0
    assert "all_reduce of 1 KiB over 4 ranks" in ran.out
    assert "<svg" in (tmp_path / "times.svg").read_text()


def test_an_unknown_kind_of_picture_is_refused(hemiola, tmp_path: Path) -> None:
    ran = hemiola("view", "all_reduce_ring", "--ranks", 2, "--chart", tmp_path / "steps.bmp")
    assert ran.is_users_mistake(), ran


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    content=st.binary(max_size=200)
    | st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), st.lists).map(
        lambda value: json.dumps(value).encode()
    )
    | st.fixed_dictionaries(
        {},
        optional={
            key: st.none() | st.text() | st.integers() | st.lists(st.none() | st.text()) for key in TIMES
        },
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_file_is_read_or_refused_in_one_line(hemiola, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "times.json").write_bytes(content)
    ran = hemiola("view", tmp_path / "times.json")
    assert ran.code == 0 or ran.is_users_mistake(), ran


@pytest.mark.parametrize("number", ["1e400", "Infinity", "NaN"])
def test_a_number_that_json_cannot_hold_is_refused_in_one_line(hemiola, tmp_path: Path, number: str) -> None:
    path = tmp_path / "times.json"
    path.write_text(f'{{"collective": "all_reduce", "nbytes": {number}, "rank_count": 2, "algorithms": []}}')
    ran = hemiola("view", path, "--json")
    assert ran.is_users_mistake(), ran
    assert "expected finite numbers" in ran.err


def test_as_many_steps_are_shown_as_the_terminal_has_room_for(
    hemiola, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    for columns in range(40, 100, 3):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = hemiola("view", "all_reduce_ring", "--ranks", 16).out.splitlines()
        first = next(at for at, line in enumerate(lines) if "chunk" in line and "step 0" in line)
        header, *below = lines[first:]
        rows = [line for line in below if line.split()[:1] and line.split()[0].isdigit()]
        assert [int(row.split()[0]) for row in rows] == list(range(16))  # nothing is broken into two lines
        assert all(len(line) <= columns for line in (header, *rows))
        shown.append(header.count("step"))
        assert shown[-1] == 30 or len(header.rstrip()) + 20 > columns  # two more had no room
    assert shown == sorted(shown)
    assert shown[0] < shown[-1]


def test_a_page_is_written_and_its_path_printed(hemiola, cluster: Path, tmp_path: Path) -> None:
    page = tmp_path / "ring.html"
    rest = ("--topology", cluster, "--size", "1MiB", "--late", "3=1ms")
    ran = hemiola("view", "all_reduce_ring", *rest, "--html", page)
    assert (ran.code, "".join(ran.out.split())) == (0, str(page))
    assert '"late":{"3":0.001}' in page.read_text("utf-8")
    assert (
        hemiola("view", "all_reduce_ring", *rest, "--html", page, "--json").data["bytes"]
        == page.stat().st_size
    )


def test_a_page_needs_a_network_and_a_folder(hemiola, cluster: Path, tmp_path: Path) -> None:
    assert hemiola("view", "all_reduce_ring", "--html", tmp_path / "x.html").is_users_mistake()
    assert hemiola("view", "all_reduce_ring", "--topology", cluster).is_users_mistake()
    none = tmp_path / "none" / "x.html"
    assert "no folder" in hemiola("view", "all_reduce_ring", "--topology", cluster, "--html", none).err


def test_the_command_prints_who_failed_first_who_reacted_and_who_was_late(hemiola, tmp_path: Path) -> None:
    folder = killed_job(tmp_path / "records")
    said = hemiola("view", folder).out
    lines = [line.split() for line in said.splitlines() if line.strip()]
    assert "Rank 2 failed first." in said
    assert [line[2] for line in lines if line[0] in ("1.1", "1.2")] == ["2", "1", "0"]
    assert ["300", "ms", "1", "all_reduce", "1"] in lines
    told = hemiola("view", folder, "--json").data
    assert (told["failed_first"], told["missing"], told["ranks"]) == (2, [2], [0, 1, 2])
    assert [one["rank"] for one in told["findings"]] == [2, 1, 0]
    assert told["late_calls"][0]["late_s"] == pytest.approx(0.3)
    assert told["late_ranks"][0] == {"rank": 1, "count": 1, "late_s": pytest.approx(0.3)}
