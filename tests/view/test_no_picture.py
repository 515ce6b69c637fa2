# SPDX-License-Identifier: Apache-2.0
"""Input of which no picture can be made, and places where none can be written: one sentence before any work."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import hemiola as hm
from hemiola import algorithms, topologies
from hemiola.communicator.arrivals import Arrivals
from hemiola.sweep import Row, Sweep
from hemiola.view import style
from hemiola.view.algorithm_time import AlgorithmTime, TimesAtSize
from hemiola.view.arrivals import draw_arrivals
from hemiola.view.losses import draw_losses
from hemiola.view.over_sizes import draw_over_sizes
from hemiola.view.picture_file import check_suffix
from hemiola.view.sizes import Panel, draw_sizes
from hemiola.view.steps import draw_steps
from hemiola.view.timeline import draw_timeline
from hemiola.view.times import draw_times
from hemiola.view.topology import draw_topology
from places import PLACES, place, read_only_file

SWITCH = topologies.switch(4, latency_s=1e-6, bandwidth=1e9)
RING = algorithms.all_reduce_ring(4)
TIMELINE = hm.simulate(RING, SWITCH, 1 << 20)
TIMES = [AlgorithmTime("a", predicted_s=1.0)]
ARRIVALS = Arrivals.of(np.array([[0.0, 1e-3]]))
NAN = math.nan

#: Every drawing that writes a file.
DRAWINGS: dict[str, Callable[[Path], object]] = {
    "topology": lambda path: draw_topology(SWITCH, path),
    "steps": lambda path: draw_steps(RING, path, title="t"),
    "timeline": lambda path: draw_timeline(RING, TIMELINE, path, title="t"),
    "times": lambda path: draw_times(TIMES, path, title="t"),
    "sizes": lambda path: draw_sizes([Panel("", {"a": {8: 1.0}})], path, title="t"),
    "times over sizes": lambda path: draw_over_sizes([TimesAtSize(8, tuple(TIMES))], path, title="t"),
    "arrivals": lambda path: draw_arrivals(ARRIVALS, path, title="t"),
    "losses": lambda path: draw_losses([1.0], [1.0], path, title="t", rank_count=2, allowed=1.0),
}


def _refused(says: str, act: Callable[[], object]) -> None:
    with pytest.raises(hm.ArgumentError, match=says) as raised:
        act()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("what", DRAWINGS)
def test_a_picture_that_cannot_be_written_is_not_begun(
    what: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for begin in ("new_axes", "new_axes_above_each_other"):
        monkeypatch.setattr(style, begin, lambda *args, **options: pytest.fail("it was begun"))
    _refused(PLACES[where], lambda: DRAWINGS[what](place(where, tmp_path, ".png")))


@pytest.mark.parametrize("what", DRAWINGS)
def test_what_cannot_be_written_can_be_drawn_elsewhere(what: str, tmp_path: Path) -> None:
    """Otherwise the test above would say nothing."""
    DRAWINGS[what](tmp_path / "x.svg")
    assert "</svg>" in (tmp_path / "x.svg").read_text()


def test_a_read_only_file_is_named_and_kept() -> None:
    with read_only_file(".png") as path:
        _refused("cannot be written: Permission denied; name another file", lambda: check_suffix(path))


def test_a_place_that_can_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "old.png").write_bytes(b"old")
    for name in ("new.png", "old.png"):
        check_suffix(tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"old.png": b"old"}


def test_a_trace_that_cannot_be_written_is_not_simulated(tmp_path: Path) -> None:
    timeline = hm.simulate(RING, SWITCH, 1 << 20)
    with pytest.raises(OSError, match=r"none/x\.json"):
        timeline.save_trace(tmp_path / "none" / "x.json")
    assert "_record" not in vars(timeline)


@pytest.mark.parametrize("where", PLACES)
def test_a_sweep_that_cannot_be_kept_is_not_begun(where: str, tmp_path: Path) -> None:
    def never(function, cells):
        pytest.fail("it was begun")

    with pytest.raises(OSError, match=r"x\.json|taken") as raised:
        hm.sweep(SWITCH, "all_reduce", 8, resume=place(where, tmp_path, ".json"), map=never)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("says", "draw"),
    [
        ("at least one algorithm", lambda path: draw_times([], path, title="t")),
        ("at least one time", lambda path: draw_sizes([], path, title="t")),
        ("at least one size", lambda path: draw_over_sizes([], path, title="t")),
        (
            "at least one operation",
            lambda path: draw_arrivals(Arrivals.of(np.zeros((0, 2))), path, title="t"),
        ),
        ("found 0 and 0 steps", lambda path: draw_losses([], [], path, title="t", rank_count=2, allowed=1.0)),
        (
            "found nan for 'a'",
            lambda path: draw_times([AlgorithmTime("a", measured_s=NAN)], path, title="t"),
        ),
        ("found nan for the lower bound", lambda path: draw_times(TIMES, path, title="t", bound_s=NAN)),
        (
            "found inf for 'a'",
            lambda path: draw_times([AlgorithmTime("a", 1.0, spread_s=(1.0, math.inf))], path, title="t"),
        ),
        ("found nan for 'a'", lambda path: draw_sizes([Panel("", {"a": {8: NAN}})], path, title="t")),
        (
            "found nan for 1 process",
            lambda path: draw_losses([NAN], [1.0], path, title="t", rank_count=2, allowed=1.0),
        ),
        (
            "at most 1024 ranks and switches to draw, found 100000",
            lambda path: draw_topology(topologies.ring(100_000, latency_s=1e-6, bandwidth=1e9), path),
        ),
    ],
)
def test_nothing_nan_and_too_many_ranks_leave_no_file(
    says: str, draw: Callable[[Path], object], tmp_path: Path
) -> None:
    _refused(says, lambda: draw(tmp_path / "x.png"))
    assert not list(tmp_path.iterdir())


def test_a_hundred_thousand_ranks_are_drawn_in_groups() -> None:
    axes = hm.draw(algorithms.broadcast_binomial(100_000))
    assert axes.images[0].get_array().shape[:2] == (1024, 17)
    assert axes.get_ylim() == (99_999.5, -0.5)


def test_a_table_with_nan_is_refused() -> None:
    for row in (
        Row("a", "all_reduce", 8, "ring", "none", NAN, 1.0),
        Row("a", "all_reduce", 8, "ring", "none", 1.0, NAN),
    ):
        _refused("found nan for 'ring' at 8 B", Sweep((row,), "fluid").draw)


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (([], "all_reduce", 8), "at least one topology, found none"),
        ((SWITCH, [], 8), "at least one collective, found none"),
        ((SWITCH, "all_reduce", []), "at least one size, found none"),
        ((SWITCH, "all_reduce", 8, []), "at least one algorithm, found none"),
        ((SWITCH, "all_reduce", 8, "plan", []), "at least one set of conditions, found none"),
        ((SWITCH, "all_reduce", NAN), "sizes: expected a whole number.*found nan"),
        ((SWITCH, "all_reduce", [8, NAN]), "sizes: .*found"),
        (
            (topologies.switch(100_000, latency_s=1e-6, bandwidth=1e9), "all_reduce", 8, "all_reduce_ring"),
            "no algorithm can run any combination.* 100000 ranks would need",
        ),
    ],
)
def test_a_sweep_of_nothing_nan_or_too_many_ranks_is_one_sentence(question, says: str) -> None:
    _refused(says, lambda: hm.sweep(*question))


def test_a_sweep_of_one_rank_has_times_and_a_picture() -> None:
    table = hm.sweep(
        topologies.switch(1, latency_s=1e-6, bandwidth=1e9), "all_reduce", [8, 64], "all_reduce_ring"
    )
    assert [row.seconds for row in table] == [0.0, 0.0]
    assert table.draw().lines[0].get_ydata().tolist() == [0.0, 0.0]
