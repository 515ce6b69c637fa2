# SPDX-License-Identifier: Apache-2.0
"""Measuring on real processes: times that add up, data that is checked, mistakes that are refused before any starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.measure.checkup import Checkup, _be_checked
from hemiola.measure.contest import Contest, _contend_in, compare
from hemiola.measure.given_data import GivenData
from hemiola.measure.pattern import BLOCKED, Pattern, dtype_named
from hemiola.measure.trial import Measured, RankTimes, Trial, bus_factor, combine, measure

KINDS = (
    "all_gather",
    "reduce_scatter",
    "all_reduce",
    "broadcast",
    "reduce",
    "all_to_all",
    "gather",
    "scatter",
)
FLOAT32 = dtype_named("float32")


def times(begin_s: list[float], end_s: list[float], wrong: int = 0) -> RankTimes:
    return RankTimes(np.array(begin_s), np.array(end_s), wrong)


def test_a_spaced_repetition_lasts_from_the_first_begin_to_the_last_end() -> None:
    # Given: two ranks, two repetitions. Derivation: 4 - 1 = 3 s, 9 - 5 = 4 s.
    pattern = Pattern("all_reduce", 2, 8, FLOAT32)
    measured = combine(pattern, [times([1, 6], [3, 9], 1), times([2, 5], [4, 7], 2)], spaced=True)
    assert measured.durations_s.tolist() == [3, 4]
    assert measured.wrong == 3
    assert measured.nbytes == 32


def test_repetitions_in_a_row_last_what_the_ranks_see_on_average() -> None:
    # (2 + 2) / 2 = 2 s, (3 + 1) / 2 = 2 s.
    pattern = Pattern("all_reduce", 2, 8, FLOAT32)
    measured = combine(pattern, [times([1, 6], [3, 9]), times([2, 6], [4, 7])], spaced=False)
    assert measured.durations_s.tolist() == [2, 2]


def test_bandwidths_are_those_of_nccl_tests() -> None:
    # 64 MB in a median of 2 ms are 32 GB/s; an all-reduce of 4 ranks moves 2 * 3/4 of that through each port.
    measured = Measured(64_000_000, np.array([1e-3, 2e-3, 9e-3]), 0)
    assert measured.algbw == pytest.approx(32e9)
    assert bus_factor("all_reduce", 4) == 1.5
    assert bus_factor("all_gather", 4) == bus_factor("all_to_all", 4) == 0.75
    assert bus_factor("broadcast", 4) == bus_factor("reduce", 4) == 1


def measure_all(trials: list[Trial]) -> list[RankTimes]:
    comm = hm.init()
    return [measure(comm, trial) for trial in trials]


def test_every_collective_is_right_in_place_and_out_of_place_on_real_processes() -> None:
    trials = [
        Trial(
            Pattern.of_bytes(kind, 3, 4000, dtype_named(dtype), root=1),
            None,
            in_place,
            spaced,
            warmups=0,
            repeats=2,
        )
        for kind in KINDS
        for dtype in ("float32", "bfloat16", "int8")
        for in_place, spaced in ((False, True), (True, False))
    ]
    reports = hm.launch(measure_all, 3, trials)
    for index, trial in enumerate(trials):
        measured = combine(trial.pattern, [report[index] for report in reports], spaced=trial.spaced)
        assert measured.wrong == 0, trial
        assert (measured.durations_s > 0).all()


def rank_that_lies(trial: Trial) -> int:
    """Run a trial in which rank 1 brings what rank 2 should: every element that differs is then wrong everywhere."""
    comm = hm.init()
    if comm.rank == 1:
        object.__setattr__(trial.pattern, "input_of", lambda rank: Pattern.input_of(trial.pattern, 2))
    return measure(comm, trial).wrong


def test_a_wrong_contribution_is_counted_on_every_rank() -> None:
    pattern = Pattern("all_reduce", 3, 1000, dtype_named("int32"))
    trial = Trial(pattern, None, warmups=0, repeats=1)
    differ = np.count_nonzero(pattern.input_of(1) != pattern.input_of(2))
    # Checked twice: before and after the timed repetitions.
    assert hm.launch(rank_that_lies, 3, trial) == [2 * differ] * 3


def test_all_algorithms_are_compared_and_the_planned_one_is_among_them() -> None:
    contest = Contest((Pattern.of_bytes("all_reduce", 2, 4096, FLOAT32),), ("all",), warmups=0, repeats=2)
    (comparison,) = compare(contest).sizes
    assert {row.label.split()[0] for row in comparison.rows} == set(hm.algorithms.names("all_reduce"))
    assert comparison.planned in {row.label for row in comparison.rows}
    assert all(row.measured.wrong == 0 for row in comparison.rows)
    medians = [row.measured.p50_s for row in comparison.rows]
    assert medians == sorted(medians)


def test_conditions_bring_their_algorithms_onto_the_emulated_cluster() -> None:
    # Given: 3 ranks at 100 MB/s, rank 1 comes 20 ms late. Expect: no repetition is shorter than that.
    cluster = hm.topologies.switch(3, latency_s=50e-6, bandwidth=100e6)
    contest = Contest(
        (Pattern.of_bytes("all_reduce", 3, 30_000, FLOAT32),),
        ("auto", "all_reduce_ring"),
        emulate=cluster,
        conditions=hm.Conditions(late={1: 20e-3}),
        warmups=0,
        repeats=2,
    )
    (comparison,) = compare(contest).sizes
    assert {row.label for row in comparison.rows} == {comparison.planned, "all_reduce_ring"}
    for row in comparison.rows:
        assert row.measured.wrong == 0
        assert row.measured.durations_s.min() >= 20e-3
        assert row.predicted_s >= comparison.bound.seconds >= 20e-3


def test_gloo_is_measured_on_the_same_ranks_and_is_right() -> None:
    pytest.importorskip("torch")
    patterns = tuple(
        Pattern.of_bytes(kind, 3, size, FLOAT32, root=1) for kind in KINDS for size in (480, 4800)
    )
    contest = Contest(patterns, ("auto",), peers=("gloo",), warmups=0, repeats=2)
    sizes = compare(contest).sizes
    assert [at.pattern.kind for at in sizes] == [kind for kind in KINDS for _ in range(2)]
    for at in sizes:
        assert {row.label for row in at.rows} == {at.planned, "gloo"}
        assert all(row.measured.wrong == 0 for row in at.rows), at.pattern.kind
        (peer,) = [row for row in at.rows if row.label == "gloo"]
        assert (peer.step_count, peer.predicted_s) == (None, None)


def test_a_schedule_of_ones_own_takes_part() -> None:
    own = hm.algorithms.all_reduce_direct(2)
    contest = Contest((Pattern("all_reduce", 2, 100, FLOAT32),), (), (("mine", own),), warmups=0, repeats=1)
    (row,) = compare(contest).sizes[0].rows
    assert row.label == "mine"
    assert row.step_count == 2


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"algorithms": ("nonsense",)}, "nonsense"),
        ({"algorithms": ("all_gather_ring",)}, "runs all_gather"),
        ({"repeats": 0}, "at least 1 repetition"),
        ({"patterns": ()}, "at least one size"),
        ({"peers": ("nccl",)}, "a peer among gloo, found 'nccl'"),
        ({"peers": ("gloo",), "emulate": hm.topologies.switch(2, latency_s=1e-6, bandwidth=1e9)}, "paced"),
        ({"peers": ("gloo",), "schedules": (("gloo", hm.algorithms.all_reduce_ring(2)),)}, "another name"),
        (
            {"patterns": (Pattern("all_reduce", 2, 1 << 45, FLOAT32),)},
            "does not fit into this machine's memory",
        ),
        ({"conditions": hm.Conditions(slow={0: 2.0})}, "emulate"),
        ({"conditions": hm.Conditions(late={0: 2.0})}, "emulate"),
        ({"emulate": hm.topologies.switch(3, latency_s=1e-6, bandwidth=1e9)}, "2 ranks, found 3"),
        ({"schedules": (("mine", hm.algorithms.all_reduce_ring(3)),)}, "all_reduce on 3"),
        ({"schedules": (("mine", hm.algorithms.all_gather_ring(2)),)}, "all_gather on 2"),
    ],
)
def test_what_the_ranks_would_refuse_is_refused_before_they_start(
    changed: dict[str, object], named: str
) -> None:
    contest = Contest(**{"patterns": (Pattern("all_reduce", 2, 100, FLOAT32),), **changed})
    with pytest.raises(ArgumentError, match=named):
        compare(contest)


class TestGivenData:
    """Data that somebody brings."""

    def test_rows_go_round_where_ranks_are_more(self) -> None:
        data = GivenData.of("all_reduce", 3, np.array([[1.0, 2.0], [10.0, 20.0]]))
        assert data.input_of(2).tolist() == [1.0, 2.0]
        assert data.output_of(0).tolist() == [12.0, 24.0]

    @pytest.mark.parametrize("kind", BLOCKED)
    def test_what_makes_no_equal_blocks_is_left_out(self, kind: str) -> None:
        assert GivenData.of(kind, 4, np.arange(11)).count == 8
        assert GivenData.of("all_reduce", 4, np.arange(11)).count == 11

    @pytest.mark.parametrize(
        ("dtype", "op"),
        [
            *((dtype, op) for dtype in ("float16", "bfloat16", "float32", "int32") for op in ("min", "max")),
            *(
                (dtype, op)
                for dtype in ("float16", "bfloat16", "float32", "float64", "complex64", "int32")
                for op in ("sum", "average", "product")
            ),
        ],
    )
    def test_any_order_of_adding_is_right_and_an_error_is_not(self, dtype: str, op: str) -> None:
        random = np.random.default_rng(11)
        rows = (
            random.normal(size=(5, 300)).astype(dtype_named(dtype))
            if dtype != "int32"
            else random.integers(1, 9, (5, 300))
        )
        data = GivenData.of("all_reduce", 5, rows, op)
        combine_two = {"product": np.multiply, "min": np.minimum, "max": np.maximum}.get(op, np.add)
        total = data.input_of(4).copy()
        for rank in (2, 0, 3, 1):
            total = combine_two(total, data.input_of(rank)).astype(data.dtype)
        if op == "average":
            total = (total / 5).astype(data.dtype)
        assert data.wrong(0, total) == 0
        total[7] = total[7] * 2 + 1
        assert data.wrong(0, total) == 1

    def test_not_a_number_is_wrong(self) -> None:
        data = GivenData.of("all_reduce", 2, np.ones(4))
        assert data.wrong(0, np.array([2.0, np.nan, 2.0, 2.0])) == 1

    @pytest.mark.parametrize(
        "rows", [np.array(["a"]), np.zeros((2, 2, 2)), np.zeros((0, 3)), np.zeros(3, "datetime64[s]")]
    )
    def test_what_is_no_row_of_numbers_is_refused(self, rows: np.ndarray) -> None:
        with pytest.raises(ArgumentError):
            GivenData.of("all_reduce", 2, rows)


class Bar:
    """Keeps what it is told in the place of a bar."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, done: int, total: int) -> None:
        self.told.append((done, total))


def steps_told(module: str, work: Callable[..., object], asked: object) -> list[tuple[int, int]]:
    """Do some work as a rank; return what its bar was told."""
    bar = Bar()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"hemiola.measure.{module}.ProgressBar", lambda _: bar)
        work(hm.init(), asked)
    return bar.told


def contend(comm: hm.Communicator, contest: Contest) -> None:
    _contend_in(comm, contest, lambda index, times: None)


def be_checked(comm: hm.Communicator, checkup: Checkup) -> None:
    assert _be_checked(checkup, comm).operation_count == checkup.steps


@pytest.mark.parametrize(
    ("module", "work", "asked", "count"),
    [
        (
            "contest",
            contend,
            Contest(
                (Pattern("all_reduce", 2, 8, FLOAT32), Pattern("all_reduce", 2, 9, FLOAT32)),
                ("all_reduce_ring", "all_reduce_direct"),
                repeats=1,
            ),
            4,
        ),
        ("checkup", be_checked, Checkup(2, steps=7, work=0.0), 7),
    ],
    ids=["contest", "checkup"],
)
def test_rank_0_alone_says_step_by_step_how_far_it_is(
    module: str, work: Callable[..., object], asked: object, count: int
) -> None:
    first, second = hm.launch(steps_told, 2, module, work, asked)
    assert first == [(done, count) for done in range(1, count + 1)]
    assert second == []
