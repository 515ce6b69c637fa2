# SPDX-License-Identifier: Apache-2.0
"""Predictions beside measurements: what counts as an error, which settings are sampled, what is printed when."""

import time
from dataclasses import replace
from typing import Any

import pytest

from hemiola.cli import truth as printed
from hemiola.doctor import truth
from hemiola.doctor.engine import Rates
from hemiola.doctor.settings import KINDS, Job, Setting, every_job, sampled_jobs
from hemiola.doctor.truth import Row, hold_to_truth, summaries
from hemiola.planner.machine_model import WorkRates

_HERE = Setting(Job(2, False), "all_reduce", 4096)
_THERE = Setting(Job(2, True, "late"), "broadcast", 4096)


def row(predicted_s: float, *measured_s: float, bound_s: float = 0.0, setting: Setting = _HERE) -> Row:
    first_s, second_s = measured_s
    return Row(setting, "all_reduce_ring", predicted_s, bound_s, (first_s, second_s), predicted_s / 2)


def test_a_prediction_between_two_runs_of_a_setting_has_no_error() -> None:
    assert row(1.5, 2.0, 1.0).error == 0
    assert row(1.5, 2.0, 1.0).repeatability == 1


def test_an_error_counts_from_the_nearer_of_the_two_runs() -> None:
    assert row(3.0, 2.0, 1.0).error == pytest.approx(0.5)
    assert row(0.5, 2.0, 1.0).error == pytest.approx(-0.5)


def test_the_network_alone_has_an_error_of_its_own() -> None:
    """Given half the prediction for the network alone, Expect 1.5 to lie between the runs, and 0.5 half below both."""
    assert row(3.0, 2.0, 1.0).network_error == 0
    assert row(1.0, 2.0, 1.0).network_error == pytest.approx(-0.5)


def test_a_bound_is_broken_where_both_runs_are_faster() -> None:
    assert row(1.0, 1.0, 2.0, bound_s=2.1).is_bound_broken
    assert not row(1.0, 1.0, 2.0, bound_s=1.9).is_bound_broken
    assert not row(1.0, 2.0, 2.0, bound_s=2.0).is_bound_broken


def test_wires_are_summed_up_apart() -> None:
    """Given errors of 0.1, 0.2 and -0.9 on shared memory and 4 on the wire, Expect their sizes' medians: 0.2 and 4."""
    rows = [row(1.1, 1.0, 1.0), row(5.0, 1.0, 1.0, setting=_THERE, bound_s=3.0), row(1.2, 1.0, 1.0)]
    rows.append(row(0.1, 1.0, 1.0))
    here, there = summaries(rows)
    assert (here.wire, here.count, here.median, here.broken_bounds) == (
        "shared memory",
        3,
        pytest.approx(0.2),
        0,
    )
    assert here.p95 == pytest.approx(0.2 + 0.9 * 0.7)  # 90 % of the way from the second to the third
    assert (there.wire, there.count, there.median, there.broken_bounds) == ("emulated wire", 1, 4, 1)
    assert summaries([]) == []


def test_all_settings_are_every_size_by_every_collective_and_condition_on_both_wires() -> None:
    jobs = every_job()
    settings = [setting for _, of_job in jobs for setting in of_job]
    assert len(set(settings)) == len(settings) == 15 * 8 * 7 * (1 + 3)
    assert {setting.nbytes for setting in settings} == {4096 << power for power in range(15)}
    assert {job.rank_count for job, _ in jobs} == set(range(2, 9))
    assert {job.condition for job, _ in jobs if not job.is_emulated} == {"none"}
    for job, of_job in jobs:
        assert {setting.job for setting in of_job} == {job}


def test_a_sample_is_the_same_for_the_same_seed_and_takes_both_wires_in_turn() -> None:
    assert sampled_jobs(5) == sampled_jobs(5) != sampled_jobs(6)
    every = dict(every_job())
    chosen = sampled_jobs(5)
    assert [job.is_emulated for job, _ in chosen] == [False, True] * (len(chosen) // 2)
    for job, settings in chosen:
        assert len(set(settings)) == len(settings)
        assert set(settings) <= set(every[job])


def test_the_last_rank_is_the_one_that_is_late_or_slow() -> None:
    assert Job(3, True, "late").conditions.late == {2: 5e-3}
    assert Job(3, True, "slow").conditions.slow == {2: 2.0}
    assert Job(3, True).conditions.late == Job(3, True).conditions.slow == {}
    assert Job(3, False).emulated is None


@pytest.mark.parametrize("job", [Job(3, True, "slow"), Job(2, False)], ids=["emulated", "memory"])
def test_every_collective_is_predicted_and_measured_twice(job: Job) -> None:
    rows: list[Row] = []
    hold_to_truth([(job, [Setting(job, kind, 5000) for kind in KINDS])], rows.append)
    assert {each.setting.kind for each in rows} == set(KINDS)
    for each in rows:
        assert each.wrong == 0
        assert min(each.measured_s) > 0
        # The slow rank's port alone, or the fastest way of one block: predictions are never below the bound.
        assert 0 < each.bound_s <= each.predicted_s * 1.0001


def test_rates_between_two_sizes_are_interpolated_and_beyond_them_kept() -> None:
    """Given rates of 1 and 3 MB/s for 4 KiB and 64 KiB. Derivation: 16 KiB lies half way, by powers of 2."""
    slow, fast = WorkRates(1e6, 2e6), WorkRates(3e6, 6e6)
    rates = Rates((4096, 65536), (slow, fast), (fast, slow))
    assert rates.at(16384) == (WorkRates(2e6, 4e6), WorkRates(2e6, 4e6), None)
    assert rates.at(1) == (slow, fast, None)
    assert rates.at(1 << 30) == (fast, slow, None)
    assert replace(rates, spread=(1e6, 3e6)).at(16384)[2] == pytest.approx(2e6)


def test_without_time_nothing_is_measured() -> None:
    hold_to_truth([(_HERE.job, [_HERE])], pytest.fail, budget_s=0.0)


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_rows_are_said_as_they_come_and_printed_even_after_ctrl_c(
    hemiola, monkeypatch: pytest.MonkeyPatch, is_interrupted: bool
) -> None:
    def measure_some(jobs, on_row, budget_s=None) -> None:
        on_row(row(1.5, 1.0, 1.2, bound_s=1.4))
        on_row(row(1.0, 1.0, 1.0, setting=_THERE))
        if is_interrupted:
            raise KeyboardInterrupt

    monkeypatch.setattr(printed, "hold_to_truth", measure_some)
    ran = hemiola("doctor", "--truth", "--json")
    assert ran.data["interrupted"] == is_interrupted
    assert ran.code == (130 if is_interrupted else 0)
    first, second = ran.data["rows"]
    assert (first["collective"], first["wire"], first["bound_is_broken"]) == (
        "all_reduce",
        "shared memory",
        True,
    )
    assert first["error"] == pytest.approx(0.25)
    assert (second["condition"], second["error"]) == ("late", 0)
    assert [each["count"] for each in ran.data["summaries"]] == [1, 1]
    assert "broadcast 4 KiB, 2 ranks, emulated wire, late" in ran.err
    assert "load" in hemiola("doctor", "--truth").out


def test_a_wrong_element_is_printed_and_exits_with_1(hemiola, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure_wrong(jobs, on_row, budget_s=None) -> None:
        on_row(Row(_HERE, "all_reduce_ring", 1.0, 1.0, (1.0, 1.0), 1.0, wrong=7))

    monkeypatch.setattr(printed, "hold_to_truth", measure_wrong)
    ran = hemiola("doctor", "--truth", "--all")
    assert ran.code == 1
    assert "7 wrong" in ran.out


@pytest.mark.parametrize("option", [["--all"], ["--seed", "3"]])
def test_what_truth_measures_is_said_only_with_truth(hemiola, option: list[str]) -> None:
    ran = hemiola("doctor", *option)
    assert ran.code == 2
    assert "add --truth" in ran.err


def test_each_job_has_an_equal_share_of_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given 12 s for three jobs that take no time. Expect that the first may take 4 s, and what it leaves is shared.
    ends_s: list[float] = []
    monkeypatch.setattr(truth, "_run_job", lambda job, settings, on_row, until_s: ends_s.append(until_s))
    began_s = time.monotonic()
    jobs: Any = [("first", []), ("second", []), ("third", [])]
    truth.hold_to_truth(jobs, lambda row: None, budget_s=12.0)
    assert [end_s - began_s for end_s in ends_s] == pytest.approx([4.0, 6.0, 12.0], abs=1.0)
