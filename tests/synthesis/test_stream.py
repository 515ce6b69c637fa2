# SPDX-License-Identifier: Apache-2.0
"""Schedules that are written while they are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from grids import grid, ring, star

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.synthesis import synthesize_to_file


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "topology", [ring(5), grid([9, 7]), grid([6, 6], wrap=True), grid([4, 5, 3])], ids=str
)
def test_a_streamed_schedule_is_right_and_the_same_on_any_number_of_threads(
    topology: hm.Topology, threads: int, tmp_path: Path
) -> None:
    path = tmp_path / "x.schedb"
    made = synthesize_to_file(topology, "all_gather", path, 2, seed=3, threads=threads)
    assert made.streamed
    assert hm.verify(hm.ScheduleFile(path)) == []
    one = tmp_path / "one.schedb"
    synthesize_to_file(topology, "all_gather", one, 2, seed=3, threads=1)
    assert path.read_bytes() == one.read_bytes()


def test_the_file_says_what_was_promised(tmp_path: Path) -> None:
    # Given a 32 x 32 mesh: a corner lacks 1,023 chunks and has 2 links.
    path = tmp_path / "mesh.schedb"
    made = synthesize_to_file(grid([32, 32]), "all_gather", path)
    schedule = hm.Schedule.load(path)
    assert made.transfer_count == schedule.transfer_count == 1024 * 1023
    assert made.step_count == schedule.step_count == 512


def test_a_streamed_torus_takes_as_many_ticks_as_its_ports_need(tmp_path: Path) -> None:
    # Given a 40 x 48 torus: a rank lacks 1,919 chunks and has 4 links, so that it needs 480 ticks. Its ranks could be
    # numbered in more shapes than are tried in full.
    path = tmp_path / "torus.schedb"
    torus = grid([40, 48], wrap=True)
    made = synthesize_to_file(torus, "all_gather", path, nbytes=1920 << 20)
    assert made.streamed
    assert made.transfer_count == 1920 * 1919
    assert made.step_count == 480
    assert hm.verify(hm.ScheduleFile(path)) == []


def test_a_streamed_torus_whose_chunks_leave_late_takes_a_hop_after_the_other(tmp_path: Path) -> None:
    # Given chunks of 1,024 B, which a link takes in 19 ns, and latency of 500 ns: a chunk leaves 26 ticks after the
    # next. The farthest of an 8 x 8 torus is 8 hops away: seven of 27 ticks and one more.
    path = tmp_path / "torus.schedb"
    made = synthesize_to_file(grid([8, 8], wrap=True), "all_gather", path, nbytes=64 << 10)
    assert made.streamed
    assert made.step_count == 7 * 27 + 1
    assert hm.verify(hm.ScheduleFile(path)) == []


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "broadcast", "scatter"])
def test_what_cannot_be_streamed_is_written_all_the_same(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.schedb"
    made = synthesize_to_file(star(4), kind, path)
    assert not made.streamed
    assert hm.verify(hm.ScheduleFile(path)) == []


def test_a_failed_search_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.schedb"
    path.write_text("precious")
    with pytest.raises(ArgumentError, match="cannot reach"):
        synthesize_to_file(hm.Topology(2, [(0, 1, 0, 1e9)]), "all_gather", path)
    assert [p.name for p in tmp_path.iterdir()] == ["x.schedb"]
    assert path.read_text() == "precious"


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        synthesize_to_file(ring(3), "all_gather", tmp_path / "missing" / "x.schedb")


@pytest.mark.parametrize("wrap", [False, True], ids=["mesh", "torus"])
def test_ctrl_c_leaves_no_file(wrap: bool, tmp_path: Path) -> None:
    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "x.schedb"
    with pytest.raises(KeyboardInterrupt):
        synthesize_to_file(grid([60, 60], wrap=wrap), "all_gather", path, threads=1, progress=interrupt)
    assert list(tmp_path.iterdir()) == []
