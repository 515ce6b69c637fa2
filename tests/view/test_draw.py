# SPDX-License-Identifier: Apache-2.0
"""`hemiola.draw`: the content of each picture, and one sentence where there is none."""

import itertools
import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

import hemiola as hm
from drawn import lay_out
from hemiola import algorithms, topologies
from hemiola.algorithms.schedule_text import step_cells
from hemiola.communicator.arrivals import Arrivals
from hemiola.view import style

SWITCH = topologies.switch(4, latency_s=1e-6, bandwidth=1e9)
RING = algorithms.all_reduce_ring(4)
NOW = hm.Conditions(late={1: 1e-3}, slow={2: 3.0})


def _words(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_a_small_schedule_is_arrows_per_step_with_their_chunks() -> None:
    axes = hm.draw(RING)
    panels = axes.child_axes
    assert [panel.get_title() for panel in panels] == [f"step {step}" for step in range(6)]
    transfers = np.asarray(RING.transfers)
    for step, panel in enumerate(panels):
        of_step = transfers[transfers["step"] == step]
        arrows = [patch for patch in panel.patches if isinstance(patch, FancyArrowPatch)]
        assert len(arrows) == len(of_step) == 4
        # Of a ring of 4, each rank's chunk once beside its arrow and each rank's number once in its circle.
        assert sorted(_words(panel)) == sorted([*map(str, of_step["chunk"]), *"0123"])
        expected = style.ORANGE if step < 3 else style.BLUE
        assert {arrow.get_edgecolor()[:3] for arrow in arrows} == {_rgb(expected)}


def test_arrows_that_do_not_occur_have_no_key() -> None:
    axes = hm.draw(algorithms.all_gather_ring(4))
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["copies a chunk"]


def test_words_beside_crossing_arrows_stand_apart_and_nearest_to_their_own() -> None:
    panel = hm.draw(algorithms.all_reduce_recursive_halving_doubling(4)).child_axes[0]
    places = {text.get_position(): text.get_text() for text in panel.texts if "," in text.get_text()}
    assert len(places) == 4
    for a, b in itertools.combinations(places, 2):
        assert np.hypot(a[0] - b[0], a[1] - b[1]) > 0.4


def _rgb(color: str) -> tuple[float, ...]:
    return tuple(int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))


def test_a_large_schedule_is_a_matrix_of_ranks_by_steps() -> None:
    axes = hm.draw(algorithms.all_reduce_ring(64))
    assert axes.get_ylabel() == "sending rank"
    assert axes.images[0].get_array().shape[:2] == (64, 126)


def test_a_plan_is_its_alternatives_beside_the_bound() -> None:
    plan = hm.plan(SWITCH, "all_reduce", 1 << 20, NOW)
    axes = hm.draw(plan)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [one.label for one in plan.alternatives[: len(names)]]
    factor, _ = style.time_unit([one.seconds for one in plan.alternatives[: len(names)]] + [plan.bound_s])
    assert [bar.get_width() / factor for bar in axes.patches] == pytest.approx(
        [one.seconds for one in plan.alternatives[: len(names)]]
    )
    assert axes.lines[0].get_linestyle() == "--"
    assert axes.lines[0].get_xdata()[0] / factor == pytest.approx(plan.bound_s)
    assert "rank 1 late by 1 ms" in " ".join(_words(axes)).replace("\n", " ")


def test_a_timeline_names_its_conditions_and_marks_the_late_rank() -> None:
    axes = hm.draw(hm.simulate(RING, SWITCH, 1 << 20, NOW))
    words = " ".join(_words(axes)).replace("\n", " ")
    assert "rank 1 late by 1 ms" in words
    assert "the ports of rank 2 are 3 times slower" in words
    (late,) = [bar for bar in axes.patches if bar.get_hatch()]
    assert late.get_y() + late.get_height() / 2 == pytest.approx(1)


def test_late_and_slow_ranks_have_rows_of_their_own_among_many_ranks() -> None:
    many = topologies.switch(100, latency_s=1e-6, bandwidth=1e9)
    now = hm.Conditions(late={2: 1e-3}, slow={5: 3.0})
    names = [
        label.get_text()
        for label in hm.draw(
            hm.simulate(algorithms.all_reduce_direct(100), many, 1 << 20, now)
        ).get_yticklabels()
    ]
    assert {"rank 2 (late)", "rank 5 (slow)"} < set(names)
    assert len(names) <= 34


@pytest.mark.parametrize("columns", [1, 2])
def test_the_lines_above_a_picture_meet_neither_each_other_nor_the_picture(columns: int) -> None:
    axes = hm.draw(hm.simulate(RING, SWITCH, 1 << 20, NOW), columns=columns)
    lay_out(axes.figure)
    title, told = (text.get_window_extent() for text in axes.texts[:2])
    assert title.y0 >= told.y1 - 1
    assert told.y0 >= axes.get_window_extent().y1
    assert told.x1 <= axes.figure.bbox.x1
    assert axes.get_window_extent().width > 0.5 * axes.figure.bbox.width


def test_arrivals_are_distributions_that_end_at_one() -> None:
    axes = hm.draw(Arrivals.of(np.array([[0.0, 1e-3], [0.0, 2e-3], [3e-3, 0.0]])))
    assert [line.get_label() for line in axes.lines][-1] == "all operations"
    assert all(line.get_ydata()[-1] == 1.0 for line in axes.lines)


def test_pictures_go_into_a_readers_axes() -> None:
    figure = Figure(figsize=(8, 3))
    for axes, one in zip(figure.subplots(1, 2), (SWITCH, RING), strict=True):
        assert hm.draw(one, axes) is axes
        assert axes.get_title(loc="left")


@pytest.mark.parametrize("columns", [1, 2])
def test_a_figure_is_as_wide_as_a_papers_columns(columns: int) -> None:
    assert hm.draw(SWITCH, columns=columns).figure.get_size_inches()[0] == (3.5, 7.2)[columns - 1]


@pytest.mark.parametrize(
    ("subject", "options", "says"),
    [
        (
            "all_reduce_ring",
            {},
            "expected a Topology, a Schedule, a Timeline, a Plan, a Sweep, a WhatIf or an Arrivals",
        ),
        (float("nan"), {}, "found nan"),
        (None, {}, "found None"),
        (Arrivals.of(np.zeros((0, 2))), {}, "at least one operation"),
        (
            topologies.ring(100_000, latency_s=1e-6, bandwidth=1e9),
            {},
            "at most 1024 ranks and switches to draw",
        ),
        (RING, {"topology": topologies.ring(5, latency_s=1e-6, bandwidth=1e9)}, "4 ranks, found 5"),
        (RING, {"columns": 3}, "1 or 2, found 3"),
        (RING, {"columns": float("nan")}, "columns: expected a whole number such as 8, found nan"),
    ],
)
def test_a_subject_that_no_picture_shows_is_one_sentence(subject, options, says: str) -> None:
    with pytest.raises(hm.ArgumentError, match=says) as raised:
        hm.draw(subject, **options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "subject",
    [
        topologies.ring(1, latency_s=1e-6, bandwidth=1e9),
        hm.Topology(3, []),
        algorithms.all_reduce_ring(1),
        algorithms.all_reduce_direct(300),
        hm.simulate(algorithms.all_reduce_ring(1), topologies.ring(1, latency_s=1e-6, bandwidth=1e9), 0),
        hm.plan(SWITCH, "all_reduce", 0),
        hm.plan(topologies.switch(1, latency_s=1e-6, bandwidth=1e9), "all_reduce", 8),
    ],
    ids=lambda one: repr(one)[:40],
)
def test_small_and_large_subjects_are_drawn(subject) -> None:
    figure = hm.draw(subject).figure
    lay_out(figure)
    assert figure.axes


def test_notebooks_show_tables_and_text_is_one_line() -> None:
    plan, timeline = hm.plan(SWITCH, "all_reduce", 1 << 20, NOW), hm.simulate(RING, SWITCH, 1 << 20, NOW)
    for one in (plan, timeline, RING, SWITCH):
        assert "\n" not in repr(one)
        assert len(repr(one)) < 160
    assert plan._repr_html_().count("<tr>") == 1 + len(plan.alternatives)
    assert timeline._repr_html_().count("<tr>") == 1 + 4
    assert "<Timeline" not in timeline._repr_html_()


def test_a_notebook_shows_a_schedule_as_chunks_by_steps() -> None:
    rows = _table_of(RING._repr_html_())
    assert rows[0] == ["chunk", *(f"step {step}" for step in range(6))]
    assert rows[1:] == [
        [str(chunk), *(cell.replace(">", "&gt;") for cell in cells)]
        for chunk, cells in enumerate(step_cells(RING, 4, 6))
    ]
    assert "<p>all_reduce: 4 ranks, 4 chunks, 6 steps, 24 transfers; 0&gt;1 copies, 0+1 adds</p>" in (
        RING._repr_html_()
    )


def test_a_notebook_shows_the_beginning_of_a_large_schedule_without_its_whole_table() -> None:
    shown = algorithms.all_reduce_ring(700)._repr_html_()
    rows = _table_of(shown)
    assert (len(rows), len(rows[0])) == (1 + 16, 1 + 12)
    assert "and 684 more chunks and 1,386 more steps" in shown
    assert _table_of(algorithms.all_reduce_ring(1)._repr_html_()) == [["chunk"], ["0"]]


def test_a_notebook_shows_a_topology_as_its_kinds_of_links() -> None:
    shown = hm.Topology(
        3, [(0, 1, 1e-6, 2e9), (1, 0, 1e-6, 2e9), (1, 2, 2e-6, 1e9)], name="a<b"
    )._repr_html_()
    assert "<p>a&lt;b: 3 ranks, 3 links</p>" in shown
    assert _table_of(shown) == [
        ["links", "count", "bandwidth", "latency"],
        ["rank - rank", "2", "2 GB/s", "1 us"],
        ["rank - rank", "1", "1 GB/s", "2 us"],
    ]
    unlike = hm.Topology(2, [(0, 1, 1e-6, 1e9 + number) for number in range(20)])._repr_html_()
    assert "and 4 more kinds of links" in unlike


def _table_of(html: str) -> list[list[str]]:
    return [re.findall("<t[hd]>(.*?)</t[hd]>", row) for row in re.findall("<tr>(.*?)</tr>", html)]
