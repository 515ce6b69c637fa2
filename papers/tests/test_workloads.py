# SPDX-License-Identifier: Apache-2.0
"""The papers' training steps: printed figures come out where the constants are theirs, and derivations hold."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from small_reports import written

from papers.pccl.machine import FRONTIER
from papers.workloads import pccl_batches, spccl_iterations, stragglar_iterations, tacos_steps


def test_pccl_s_printed_shares_come_out_of_zero_3_as_shares_of_time_saved(tmp_path: Path) -> None:
    report = written(pccl_batches.figure_12, tmp_path)
    for row in report.data["pccl_12"]:
        if row["printed"] is not None:
            assert float(row["saved"]) == pytest.approx(row["printed"], abs=0.08), row
    assert pccl_batches._fit(0, False)[0] < 0.05 < pccl_batches._fit(0, True)[0]


def test_more_ranks_take_less_time_with_pccl_and_gain_more() -> None:
    times = [pccl_batches.batch_s(FRONTIER, "GPT 7B", ranks, 4e13, "pccl") for ranks in (256, 512, 1024)]
    assert times == sorted(times, reverse=True)


def test_stragglar_s_figure_2b_bounds_both_and_reaches_the_printed_share(tmp_path: Path) -> None:
    section = partial(stragglar_iterations.figure_2b, rank_counts=(8, 32), shares=(0.5,))
    eight, thirty_two = written(section, tmp_path).data["stragglar_2b"]
    for row in (eight, thirty_two):
        assert row["worst, %"] < 0 < row["StragglAR, best, %"] <= row["ours, best, %"] <= row["bound, %"]
    assert thirty_two["StragglAR, best, %"] == pytest.approx(26.5, abs=0.1)


def test_stragglar_s_table_2_would_need_the_delay_again_for_each_bucket(tmp_path: Path) -> None:
    """Derivation: one all-reduce saves at most (1 - 0.393·7/6)·9.46 ms = 5.1 ms of the 70 ms: 14 times."""
    section = partial(stragglar_iterations.table_2, draws=200, bandwidths=(235e9,))
    report = written(section, tmp_path)
    assert "at least 14 all-reduces" in report.path.read_text()
    for row in report.data["stragglar_table_2"]:
        assert row["StragglAR, %"] < row["printed, %"] / 4
        assert row["ours, %"] >= 0


def test_behind_a_late_rank_nothing_is_faster_than_the_bound(tmp_path: Path) -> None:
    section = partial(
        stragglar_iterations.figures_13_and_14, rank_counts=(8, 16), delays=(2e-3,), latencies=(3e-6,)
    )
    for row in written(section, tmp_path).data["stragglar_13"]:
        assert row["bound"] <= min(row["ring"], row["RHD"], row["StragglAR"], row["ours"])
        assert row["StragglAR ahead"] == "yes"


def test_spccl_s_other_rank_counts_follow_from_sixteen(tmp_path: Path) -> None:
    """Derivation: c = (r(1 - 1/2.3 - s) - p)/s makes 16 GPUs save s."""
    report = written(partial(spccl_iterations.figures_10_and_11, rank_counts=(8, 16)), tmp_path)
    saved = {(row["model"], row["GPUs"]): float(row["saved"].rstrip("%")) for row in report.data["spccl_10"]}
    assert saved["1.5 B, 40 GB", 16] == pytest.approx(16.0, abs=0.1)
    assert saved["3.3 B, 80 GB", 16] == pytest.approx(26.0, abs=0.1)
    assert saved["1.5 B, 40 GB", 8] >= 13


def test_tacos_s_steps_are_no_faster_than_their_bounds(tmp_path: Path) -> None:
    setting = tacos_steps.Setting("small", (4, 4, 2), ("ring",) * 3, 1e-3, 2e-3, 50_000_000)
    split = tacos_steps.Setting(
        "split", (4, 4, 2), ("ring",) * 3, 1e-3, 2e-3, 50_000_000, (("all_reduce", 10_000_000, 2),)
    )
    section = partial(tacos_steps.figures_20_and_21, settings=(setting, split))
    for row in written(section, tmp_path).data["tacos"]:
        assert row["bound"] <= 1 <= row["ring"]
