# SPDX-License-Identifier: Apache-2.0
"""The papers' training steps: printed figures come out where the constants are theirs, and derivations hold."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from small_reports import written

from papers.pccl.machine import FRONTIER
from papers.workloads import (
    grid_plans,
    pccl_batches,
    spccl_codec,
    spccl_iterations,
    stragglar_iterations,
    tacos_steps,
)


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
        assert row["ahead"] == "yes"


def test_stragglar_s_buckets_save_less_than_one_delay() -> None:
    """Given: buckets that find the delay again. Expect: less than twice what one saves, 5.1 ms for the printed delay.

    Derivation of one bucket: with 6/7·x = d it saves d - 11/28·7/6·d = 13/24·d.
    """
    delay_s = 9.46e-3
    assert stragglar_iterations._saved_by_buckets_s(delay_s, 7 / 6 * delay_s, 0.0, 1) == pytest.approx(
        13 / 24 * delay_s
    )
    most_s = stragglar_iterations.most_saved_by_buckets_s(delay_s)
    assert 0.9 * 13 / 24 * delay_s < most_s < 13 / 12 * delay_s < 0.07


def test_stragglar_is_ahead_where_the_words_say_so_for_buffers_of_a_layer(tmp_path: Path) -> None:
    """Given: 50 MB, between the sizes at which StragglAR and RHD are even at n = 64. Expect: all that is printed."""
    even_mb = [stragglar_iterations.even_with_halving_bytes(64, one) / 1e6 for one in (3e-6, 0.7e-6)]
    assert even_mb == pytest.approx([85.0, 19.8], abs=0.1)  # (68 - 12)·α = (126/64 - 68/63)·x, and x·450 GB/s
    section = partial(
        stragglar_iterations.figures_13_and_14, sizes=(stragglar_iterations._LAYER,), rank_counts=(8, 64)
    )
    for row in written(section, tmp_path).data["stragglar_13"]:
        assert row["ahead"] == row["printed"], row


def fast_codec(_: str | None) -> spccl_codec.Speeds:
    return spccl_codec.steady(40e9)


def test_spccl_s_gains_are_those_of_a_codec_on_a_gpu(tmp_path: Path) -> None:
    """Given: a codec of one rate, fitted on the all-gather. Expect: the reduce-scatter's gain within a fifth.

    Derivation: a reduce-scatter codes twice what a gather does, so that it gains about half: 2.6 of 5.25.
    """
    report = written(partial(spccl_codec.figures_6_to_8, codec_of=fast_codec), tmp_path)
    rows = {(row["link, GB/s"], row["codec"], row["schedule"]): row for row in report.data["spccl_6"]}
    printed, fitted = (
        rows["–", "printed", "the paper's ring"],
        rows[100.0, "a GPU, fitted", "the paper's ring"],
    )
    assert fitted["all-gather"] == pytest.approx(printed["all-gather"], rel=0.01)
    assert fitted["reduce-scatter"] == pytest.approx(printed["reduce-scatter"], rel=0.2)
    bound = rows["any", "bound", "any"]
    for row in report.data["spccl_6"]:
        assert all(row[kind] <= bound[kind] for kind in ("all-gather", "reduce-scatter", "all-reduce"))


def test_spccl_s_other_rank_counts_follow_from_sixteen(tmp_path: Path) -> None:
    """Given: computation with which 16 GPUs save the printed share. Expect: about the others' shares."""
    report = written(partial(spccl_iterations.figures_10_and_11, rank_counts=(8, 16, 64)), tmp_path)
    saved = {(row["model"], row["GPUs"]): float(row["saved"].rstrip("%")) for row in report.data["spccl_10"]}
    assert saved["1.5 B, 40 GB", 16] == pytest.approx(16.0, abs=0.1)
    assert saved["3.3 B, 80 GB", 16] == pytest.approx(26.0, abs=0.1)
    assert saved["1.5 B, 40 GB", 8] >= 13
    assert saved["3.3 B, 80 GB", 64] == pytest.approx(22.0, abs=2.0)
    assert all(row["dense / sparse"] > 2 for row in report.data["spccl_11"])


def test_a_plan_on_a_grid_is_beside_ring_themis_and_synthesis(tmp_path: Path) -> None:
    grid = grid_plans.Grid((4, 4, 2), ("ring",) * 3)
    section = partial(grid_plans.plans, grids=(grid,), sizes=(50_000_000,))
    for row in written(section, tmp_path).data["grid_plans"]:
        assert row["bound"] <= 1 <= min(row["ring"], row["Themis"], row["synthesis"]) * 1.02


def test_tacos_s_steps_are_no_faster_than_their_bounds(tmp_path: Path) -> None:
    setting = tacos_steps.Setting("small", (4, 4, 2), ("ring",) * 3, 1e-3, 2e-3, 50_000_000)
    split = tacos_steps.Setting(
        "split", (4, 4, 2), ("ring",) * 3, 1e-3, 2e-3, 50_000_000, (("all_reduce", 10_000_000, 2),)
    )
    section = partial(tacos_steps.figures_20_and_21, settings=(setting, split))
    for row in written(section, tmp_path).data["tacos"]:
        assert row["bound"] <= 1 <= row["ring"]
