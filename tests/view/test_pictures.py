# SPDX-License-Identifier: Apache-2.0
"""Pictures: what they are drawn from, and that every kind of input makes a file."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import hemiola as hm
from drawn import figures, lay_out, whiskers
from hemiola import algorithms
from hemiola.algorithms.schedule_text import describe, step_cells
from hemiola.errors import ArgumentError
from hemiola.view import steps, style, timeline
from hemiola.view.algorithm_time import AlgorithmTime
from hemiola.view.losses import draw_losses
from hemiola.view.times import draw_times
from hemiola.view.waits import moves_of


def test_cells_name_source_and_destination_and_how() -> None:
    assert step_cells(hm.algorithms.all_reduce_direct(3), 1, 2) == [["1+0 2+0", "0>1 0>2"]]


def test_a_crowded_cell_is_a_count() -> None:
    # All-pairs over 8 ranks: 7 transfers of each chunk in each of 2 steps.
    assert step_cells(hm.algorithms.all_reduce_direct(8), 1, 2) == [["7 transfers", "7 transfers"]]


def test_sizes_are_in_the_singular_where_there_is_one() -> None:
    assert describe(hm.algorithms.all_gather_ring(2)) == "2 ranks, 2 chunks, 1 step, 2 transfers"


def test_a_legend_names_the_colours_that_occur() -> None:
    def keys(subject) -> list[str]:
        return [text.get_text() for text in hm.draw(subject).figure.legends[0].get_texts()]

    both, copies = hm.algorithms.all_reduce_ring(64), hm.algorithms.all_gather_ring(64)
    note = "the chunk sent, darker from first to last"
    assert (keys(both), keys(copies)) == (["copy", "reduce", note], ["copy", note])
    network = hm.topologies.switch(64, latency_s=0, bandwidth=1e9)
    assert keys(hm.simulate(copies, network, 1 << 20)) == ["sends a copy", "done"]
    assert keys(hm.simulate(both, network, 1 << 20)) == ["sends a copy", "sends to be added", "done"]


def test_a_timeline_says_how_many_of_the_ranks_it_shows_and_whether_chunks_are_numbered() -> None:
    def words(rank_count: int) -> str:
        network = hm.topologies.switch(rank_count, latency_s=1e-6, bandwidth=1e9)
        timeline = hm.simulate(hm.algorithms.all_reduce_ring(rank_count), network, 1 << 20)
        return hm.draw(timeline).get_xlabel()

    assert words(4) == "time (ms); numbers are chunks"
    assert words(64) == "time (ms); 32 of 64 ranks"


def test_cells_of_a_large_schedule_are_binned_without_losing_transfers() -> None:
    schedule = hm.algorithms.all_reduce_ring(1100)
    counts, reduces, _ = steps._cells(schedule, "chunk")
    assert counts.shape == (1024, 1024)
    assert counts.sum() == schedule.transfer_count
    assert reduces.sum() == schedule.transfer_count // 2


@pytest.mark.parametrize(
    ("times_s", "unit"),
    [([], "ns"), ([0.0], "ns"), ([9e-7], "ns"), ([1e-6], "µs"), ([5e-4, 2e-2], "ms"), ([3.0], "s")],
)
def test_axes_take_the_unit_of_the_largest_time(times_s: list[float], unit: str) -> None:
    assert style.time_unit(times_s)[1] == unit


@pytest.mark.parametrize(
    "times",
    [
        [AlgorithmTime("a", measured_s=1e-3, predicted_s=9e-4, spread_s=(1e-3, 2e-3))],
        [AlgorithmTime("a", predicted_s=0.0)],
        [AlgorithmTime("a"), AlgorithmTime("b", measured_s=1.0)],
    ],
)
@pytest.mark.parametrize("bound_s", [None, 0.0, 1e-4])
def test_bars_are_drawn_whatever_is_known(
    times: list[AlgorithmTime], bound_s: float | None, tmp_path: Path
) -> None:
    draw_times(times, tmp_path / "times.png", title="t", bound_s=bound_s)
    assert (tmp_path / "times.png").stat().st_size > 1000


def test_no_bars_and_unknown_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="at least one"):
        draw_times([], tmp_path / "times.png", title="t")
    with pytest.raises(ArgumentError, match=r"\.png, \.svg, \.pdf"):
        draw_times([AlgorithmTime("a", predicted_s=1.0)], tmp_path / "times.gif", title="t")


def test_reduces_are_painted_orange_and_copies_blue() -> None:
    counts, reduces = np.array([[0, 1, 1]]), np.array([[0, 1, 0]])
    nothing, reduce, copy = steps._tinted(counts, reduces, counts.astype(float), strongest=0.8)[0]
    assert nothing.tolist() == [1, 1, 1]
    assert reduce[0] > reduce[2]
    assert copy[2] > copy[0]


def test_a_ring_of_16_shows_each_ranks_chunk_in_each_step(tmp_path: Path) -> None:
    # A ring's rank r sends chunk r - 1 - s in step s of the reduce-scatter: diagonals, no areas of one colour.
    with figures() as drawn:
        steps.draw_steps(hm.algorithms.all_reduce_ring(16), tmp_path / "ring.png", title="ring")
    (axes,) = drawn[0].axes
    assert axes.get_ylabel() == "sending rank"
    numbers = {(int(text.get_position()[1]), int(text.get_position()[0])): text for text in axes.texts[2:]}
    assert len(numbers) == 16 * 30
    for (rank, step), text in numbers.items():
        if step < 15:
            assert int(text.get_text()) == (rank - 1 - step) % 16
    painted = axes.images[0].get_array()
    assert len(np.unique(painted[:, 0], axis=0)) == 16


def test_a_legend_covers_no_cell(tmp_path: Path) -> None:
    with figures() as drawn:
        for rank_count in (4, 16):
            steps.draw_steps(hm.algorithms.all_reduce_ring(rank_count), tmp_path / "r.png", title="ring")
    for figure in drawn:
        (axes,) = figure.axes
        (legend,) = figure.legends
        lay_out(figure)
        assert legend.get_window_extent().y1 <= axes.xaxis.label.get_window_extent().y0
        assert legend.get_window_extent().y0 > 0
        assert legend.get_window_extent().x0 > 0


def test_a_legend_of_long_names_leaves_the_axes_their_width() -> None:
    axes = style.new_axes(7.2, 4, "t")[1]
    marks = [axes.plot([0, 1], [0, 1], label=f"all_reduce_of_a_long_name_{n}")[0] for n in range(6)]
    style.legend_below(axes, marks)
    lay_out(axes.figure)
    assert axes.get_window_extent().width > 0.8 * axes.figure.bbox.width
    assert axes.figure.legends[0].get_window_extent().x0 >= 0


def test_an_algorithm_looks_alike_in_every_figure_and_no_two_of_a_figure_do() -> None:
    everything = ["all_reduce_ring", *algorithms.names()[6:], "NCCL", "gloo", "lower bound"]
    together = style.looks_of(everything)
    assert len(set(together.values())) == len(everything)
    assert (
        together["all_reduce_ring"]
        == style.looks_of(["ring"])["ring"]
        == style.looks_of(["x", "Ring"])["Ring"]
    )
    assert together["lower bound"].linestyle == "--"
    two = style.looks_of(["bound, shared", "ring", "bound, one message"])
    assert {look.color for name, look in two.items() if "bound" in name} == {style.BLACK}
    assert len(set(two.values())) == 3
    assert style.looks_of(["rhd"])["rhd"] == style.looks_of(["recursive_halving_doubling"]).popitem()[1]
    assert all(
        look.color not in (style.GREY, style.BLACK) for name, look in together.items() if "bound" not in name
    )


@pytest.mark.parametrize(
    "together",
    [
        ["ring", "rhd", "allpairs", "stragglar", "late", "late, segmented", "bound"],
        ["MPICH", "RCCL", "PCCL", "Hemiola"],
        ["ICCL", "R²CCL", "OptCC ring", "weighted exchange", "bound"],
        ["Ring", "Direct", "RHD", "Hemiola", "TACCL-like", "bound"],
        ["hemiola", "gloo", "mpi", "torch"],
        ["4 ranks", "8 ranks", "16 ranks", "32 ranks", "64 ranks", "256 ranks"],
    ],
)
def test_six_series_of_a_figure_have_six_colours(together: list[str]) -> None:
    looks = style.looks_of(together)
    assert list(looks) == together
    assert len({look.color for look in looks.values()}) == len(together)


def test_more_series_than_there_are_looks_are_drawn_all_the_same() -> None:
    looks = style.looks_of(str(number) for number in range(60))
    assert len(looks) == 60
    assert len(set(looks.values())) == 48


def test_two_loss_curves_are_drawn_even_where_they_are_equal(tmp_path: Path) -> None:
    draw_losses([1.0, 0.5], [1.0, 0.5], tmp_path / "losses.png", title="t", rank_count=4, allowed=1e-6)
    assert (tmp_path / "losses.png").stat().st_size > 1000


def test_loss_curves_of_different_length_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="2 and 1 steps"):
        draw_losses([1.0, 0.5], [1.0], tmp_path / "losses.png", title="t", rank_count=4, allowed=1e-6)


def test_each_rank_sends_its_transfers_one_step_after_the_other() -> None:
    # Given: ring of 2, 2 chunks of 500 KB at 1 GB/s. Expect: each rank sends for 500 us, then for 500 us again.
    topology = hm.topologies.ring(2, latency_s=0.0, bandwidth=1e9)
    schedule = hm.algorithms.all_reduce_ring(2)
    moves = moves_of(hm.simulate(schedule, topology, 1_000_000))
    assert moves.src.tolist() == [0, 1, 0, 1]
    assert moves.begin_s.tolist() == pytest.approx([0, 0, 500e-6, 500e-6])
    assert moves.leave_s.tolist() == pytest.approx([500e-6, 500e-6, 1e-3, 1e-3])


def test_transfers_of_one_step_share_a_ranks_row() -> None:
    # All pairs of 3: in each of two steps each rank sends two chunks, to ranks in increasing order.
    transfers = hm.algorithms.all_reduce_direct(3).transfers
    lane, lane_count = timeline._lanes(*(transfers[name].astype(int) for name in ("src", "step", "dst")))
    assert lane.tolist() == [0, 1] * 6
    assert lane_count.tolist() == [2] * 12


@pytest.mark.parametrize("rank_count", [1, 2, 40])
@pytest.mark.parametrize("nbytes", [0, 1 << 20])
def test_timelines_are_drawn_for_any_number_of_ranks(rank_count: int, nbytes: int, tmp_path: Path) -> None:
    topology = hm.topologies.switch(rank_count, latency_s=1e-6, bandwidth=1e9)
    schedule = hm.algorithms.all_reduce_direct(rank_count)
    simulated = hm.simulate(schedule, topology, nbytes)
    timeline.draw_timeline(
        schedule, simulated, tmp_path / "timeline.png", title="t", conditions=hm.Conditions(late={0: 1e-3})
    )
    assert (tmp_path / "timeline.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("times", "bound_s", "right_end"),
    [
        # Given a slowest bar of 2 ms, in ms. Expect 8 % more than that, whatever else is faster.
        ([AlgorithmTime("a", predicted_s=2e-3), AlgorithmTime("b", predicted_s=1e-3)], None, 2.16),
        # A spread ends beyond its bar, and its words need a fifth more; a bound lies beyond both.
        ([AlgorithmTime("a", measured_s=2e-3, spread_s=(1e-3, 5e-3))], None, 6.48),
        ([AlgorithmTime("a", measured_s=2e-3)], 10e-3, 10.8),
        # Without any time there is still an axis.
        ([AlgorithmTime("a")], None, 1.0),
    ],
)
def test_axes_end_a_little_beyond_what_is_slowest_and_have_a_row_for_each_bar(
    times: list[AlgorithmTime], bound_s: float | None, right_end: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(style, "save", lambda figure, path: drawn.append(figure))
    draw_times(times, "times.png", title="t", bound_s=bound_s)
    (axes,) = drawn[0].axes
    assert axes.get_xlim() == pytest.approx((0.0, right_end))
    assert axes.get_ylim() == pytest.approx((len(times) - 0.4, -0.6))
    assert [label.get_text() for label in axes.get_yticklabels()] == [row.name for row in times]


def test_a_bar_is_as_long_as_its_time_and_says_so() -> None:
    drawn: list[Figure] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "save", lambda figure, path: drawn.append(figure))
        draw_times([AlgorithmTime("a", predicted_s=2e-3, measured_s=3e-3)], "x.png", title="t", bound_s=1e-3)
    (axes,) = drawn[0].axes
    assert sorted(bar.get_width() for bar in axes.patches) == pytest.approx([2.0, 3.0])
    assert {text.get_text() for text in axes.texts} >= {"2", "3"}
    (bound,) = axes.lines
    assert bound.get_xdata() == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("predicted_s", [None, 2e-3])
def test_a_spread_is_a_line_over_its_own_bar_that_ends_in_short_strokes(
    predicted_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(style, "save", lambda figure, path: drawn.append(figure))
    row = AlgorithmTime("a", predicted_s=predicted_s, measured_s=3e-3, spread_s=(2e-3, 5e-3))
    draw_times([row, row], "x.png", title="t")
    (axes,) = drawn[0].axes
    measured = [bar for bar in axes.patches if bar.get_width() == pytest.approx(3.0)]
    segments = [each for lines in axes.collections for each in lines.get_segments()]
    assert len(segments) == 3 * len(measured)
    for number, bar in enumerate(measured):
        line, *strokes = segments[3 * number : 3 * number + 3]
        middle = bar.get_y() + bar.get_height() / 2
        assert line[:, 0].tolist() == pytest.approx([2.0, 5.0])
        assert line[:, 1].tolist() == pytest.approx([middle, middle])
        for stroke, end in zip(strokes, (2.0, 5.0), strict=True):
            assert stroke[:, 0].tolist() == pytest.approx([end, end])
            assert stroke[:, 1].mean() == pytest.approx(middle)
            assert 0 < np.ptp(stroke[:, 1]) < bar.get_height()


def test_a_pdf_has_no_type_3_fonts_and_an_svg_has_words(tmp_path: Path) -> None:
    for name in ("times.pdf", "times.svg"):
        draw_times([AlgorithmTime("a", predicted_s=1.0)], tmp_path / name, title="A title")
    assert b"/Type3" not in (tmp_path / "times.pdf").read_bytes()
    assert ">A title<" in (tmp_path / "times.svg").read_text()


def test_words_beside_a_whisker_name_the_value_of_each_end(tmp_path: Path) -> None:
    repetitions = [1e-3] * 50 + [2e-3] * 49 + [9e-3]
    with figures() as drawn:
        draw_times([AlgorithmTime.measured("a", repetitions, 5e-4)], tmp_path / "t.png", title="t")
    (axes,) = drawn[0].axes
    assert whiskers(axes) == [pytest.approx((1.0, float(np.percentile(repetitions, 99)) * 1e3))]
    words = {text.get_text(): text.xy for text in axes.texts if hasattr(text, "xy")}
    median = float(np.median(repetitions)) * 1e3
    assert f"{median:.3g}; p99 {np.percentile(repetitions, 99) * 1e3:.3g}" in words
    assert "0.5" in words


@pytest.mark.parametrize("kind", ["times", "timeline"])
def test_titles_name_late_and_slow_ranks(kind: str, tmp_path: Path) -> None:
    now = hm.Conditions(late={1: 1e-3}, slow={2: 3.0})
    switch, ring = hm.topologies.switch(4, latency_s=1e-6, bandwidth=1e9), hm.algorithms.all_reduce_ring(4)
    with figures() as drawn:
        if kind == "times":
            draw_times([AlgorithmTime("a", predicted_s=1.0)], tmp_path / "t.png", title="t", conditions=now)
        else:
            simulated = hm.simulate(ring, switch, 1024, now)
            timeline.draw_timeline(ring, simulated, tmp_path / "t.png", title="t", conditions=now)
    words = " ".join(text.get_text() for text in drawn[0].axes[0].texts)
    assert "rank 1 late by 1 ms" in words
    assert "the ports of rank 2 are 3 times slower" in words
