# SPDX-License-Identifier: Apache-2.0
"""The picture of a sweep: its lines are the table's rows, and what it leaves out it says."""

import itertools

import pytest

import hemiola as hm
from drawn import figures, lay_out
from hemiola import topologies
from hemiola.sweep import Row, Sweep
from hemiola.view import style
from hemiola.view.sizes import Panel, draw_sizes

SWITCH = topologies.switch(4, latency_s=1e-6, bandwidth=1e9)
RING = topologies.ring(4, latency_s=1e-6, bandwidth=1e9)
SIZES = [64, 1 << 10, 1 << 20]
ALGORITHMS = ["all_reduce_ring", "all_reduce_direct"]
LABELS = ["ring", "direct"]


def _sweep(topology, sizes, algorithms=ALGORITHMS, conditions=None) -> Sweep:
    return hm.sweep(topology, "all_reduce", sizes, algorithms, conditions)


def _told(axes) -> str:
    return " ".join(text.get_text() for text in axes.texts).replace("\n", " ")


def _lines(axes) -> dict[str, list[tuple[float, float]]]:
    return {
        line.get_label(): list(zip(line.get_xdata(), line.get_ydata(), strict=True)) for line in axes.lines
    }


def test_lines_are_the_rows_of_a_table_beside_a_dashed_bound() -> None:
    table = _sweep({"switch": SWITCH}, SIZES)
    axes = table.draw()
    lines = _lines(axes)
    assert list(lines) == [*LABELS, "lower bound"]
    for label, name in zip(LABELS, ALGORITHMS, strict=True):
        assert lines[label] == [(row.nbytes, row.seconds) for row in table if row.algorithm == name]
    assert lines["lower bound"] == [
        (row.nbytes, row.bound_s) for row in table if row.algorithm == ALGORITHMS[0]
    ]
    looks = style.looks_of(ALGORITHMS)
    assert [line.get_color() for line in axes.lines[:2]] == [looks[name].color for name in ALGORITHMS]
    assert [line.get_linestyle() for line in axes.lines] == ["-", "-", "--"]
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == list(lines)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["64 B", "1 KiB", "1 MiB"]
    assert "all_reduce, predicted" in _told(axes)
    assert "switch; no conditions; fluid network" in _told(axes)


def test_topologies_and_conditions_are_panels_of_the_same_scales() -> None:
    late = {"in time": hm.Conditions(), "rank 1 late": hm.Conditions(late={1: 1e-3})}
    table = _sweep({"switch": SWITCH, "ring": RING}, SIZES, conditions=late)
    axes = hm.draw(table)
    titles = [panel.get_title() for panel in axes.child_axes]
    assert titles == [f"{name}, {now}" for name, now in itertools.product(["switch", "ring"], late)]
    for panel, (topology, now) in zip(
        axes.child_axes, itertools.product(["switch", "ring"], late), strict=True
    ):
        own = [row for row in table if (row.topology, row.conditions) == (topology, now)]
        assert _lines(panel)["ring"] == [
            (row.nbytes, row.seconds) for row in own if row.algorithm == "all_reduce_ring"
        ]
    assert len({(panel.get_xlim(), panel.get_ylim()) for panel in axes.child_axes}) == 1
    assert len(axes.figure.legends[0].get_texts()) == 3


def test_panels_and_their_words_stand_apart() -> None:
    many = {f"ring of {n}": topologies.ring(n, latency_s=1e-6, bandwidth=1e9) for n in range(2, 9)}
    axes = hm.draw(_sweep(many, SIZES))
    lay_out(axes.figure)
    boxes = [panel.get_tightbbox() for panel in axes.child_axes]
    assert len(boxes) == 7
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    legend = axes.figure.legends[0].get_window_extent()
    assert all(box.y0 >= legend.y1 - 1 for box in boxes)
    assert all(box.x1 <= axes.figure.bbox.x1 for box in boxes)


def test_one_size_on_one_topology_is_a_bar_for_each_algorithm() -> None:
    table = _sweep(SWITCH, 1 << 20)
    axes = table.draw()
    factor, _ = style.time_unit(row.seconds for row in table)
    assert [label.get_text() for label in axes.get_yticklabels()] == LABELS
    assert [bar.get_width() / factor for bar in axes.patches] == pytest.approx([row.seconds for row in table])
    assert axes.lines[0].get_xdata()[0] / factor == pytest.approx(table.rows[0].bound_s)
    assert "1 MiB" in _told(axes)


def test_one_size_on_several_topologies_is_a_row_of_marks_for_each() -> None:
    table = _sweep({"switch": SWITCH, "ring": RING}, 1 << 20)
    axes = table.draw()
    factor, _ = style.time_unit(row.seconds for row in table)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["switch", "ring"]
    marks = _lines(axes)
    for label, name in zip(LABELS, ALGORITHMS, strict=True):
        own = [row.seconds * factor for row in table if row.algorithm == name]
        assert marks[label] == [(time, place) for place, time in enumerate(own)]
    assert [time / factor for time, _ in marks["lower bound"]] == pytest.approx(
        [row.bound_s for row in table if row.algorithm == ALGORITHMS[0]]
    )


def test_what_is_left_out_is_said() -> None:
    rows = [
        Row("a", "all_reduce", size, f"algorithm {number}", "none", 1e-6 * (number + 1) * size, 1e-6)
        for size in SIZES
        for number in range(20)
    ]
    rows.append(Row("a", "all_reduce", 64, "never", "none", None, 1e-6, note="cannot"))
    axes = Sweep(tuple(rows), "fifo").draw()
    assert set(_lines(axes)) == {*(f"algorithm {number}" for number in range(12)), "lower bound"}
    assert "the best 12 of 20 algorithms" in _told(axes)
    assert "1 of 61 predictions not possible" in _told(axes)
    assert "fifo network" in _told(axes)


def test_zero_bytes_and_no_time_at_all_have_a_place() -> None:
    one = topologies.ring(1, latency_s=1e-6, bandwidth=1e9)
    for topology in (SWITCH, one):
        axes = _sweep(topology, [0, *SIZES], ["all_reduce_ring"]).draw()
        lay_out(axes.figure)
        assert [x for x, _ in _lines(axes)["ring"]] == [0, *SIZES]


@pytest.mark.parametrize("columns", [1, 2])
def test_a_sweep_fits_a_papers_columns(columns: int) -> None:
    axes = _sweep({"switch": SWITCH, "ring": RING}, SIZES).draw(columns=columns)
    lay_out(axes.figure)
    assert axes.figure.get_size_inches()[0] == (3.5, 7.2)[columns - 1]
    assert axes.get_tightbbox().x1 <= axes.figure.bbox.x1 + 1


def test_whiskers_are_drawn_where_times_were_measured(tmp_path) -> None:
    panel = Panel("", {"ring": {8: 2e-3, 64: 4e-3}}, {8: 1e-3}, {"ring": {8: (1.5e-3, 3e-3)}})
    with figures() as drawn:
        draw_sizes([panel], tmp_path / "x.svg", title="measured")
    (axes,) = drawn[0].axes
    assert axes.collections[0].get_segments()[0].tolist() == [[8, 1.5e-3], [8, 3e-3]]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (Sweep((), "fluid"), "at least one time to draw, found 0 predictions and none possible"),
        (
            Sweep((Row("a", "all_reduce", 8, "x", "none", None, None, note="no"),), "fluid"),
            "at least one time to draw, found 1 predictions and none possible",
        ),
        (
            Sweep(
                tuple(
                    Row(f"t{n}", "all_reduce", size, "x", "none", 1.0, 1.0)
                    for n in range(13)
                    for size in (8, 9)
                ),
                "fluid",
            ),
            "at most 12 topologies × collectives × conditions to draw, found 13",
        ),
    ],
)
def test_a_table_that_no_picture_shows_is_one_sentence(table: Sweep, says: str) -> None:
    for draw in (table.draw, lambda: hm.draw(table)):
        with pytest.raises(hm.ArgumentError, match=says) as raised:
            draw()
        assert "\n" not in str(raised.value)


def test_bandwidths_are_sizes_over_times_below_a_bound() -> None:
    table = _sweep({"switch": SWITCH}, [0, *SIZES])
    axes = table.draw(bandwidth=True)
    lines = _lines(axes)
    assert list(lines) == [*LABELS, "bound"]
    for label, name in zip(LABELS, ALGORITHMS, strict=True):
        rows = [row for row in table if row.algorithm == name and row.nbytes]
        assert lines[label] == [(row.nbytes, row.nbytes / row.seconds) for row in rows]
        assert all(y <= bound for (_, y), (_, bound) in zip(lines[label], lines["bound"], strict=True))
    assert axes.get_ylabel() == "size over time"
    with pytest.raises(hm.ArgumentError, match="expected a sweep with bandwidth=True, found a Topology"):
        hm.draw(SWITCH, bandwidth=True)
