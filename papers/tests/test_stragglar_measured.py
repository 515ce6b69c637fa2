# SPDX-License-Identifier: Apache-2.0
"""What `python -m papers stragglar` measures, on buffers so small that it takes seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers import stragglar_measured as measured
from papers.report import Report


def report_of(folder: Path) -> Report:
    return Report("small", "Small", folder)


@pytest.mark.long
def test_both_all_reduces_are_measured_beside_the_simulator(tmp_path: Path) -> None:
    report = report_of(tmp_path)
    setting = measured.LateCluster(rank_count=4, nbytes=1 << 16, bandwidth=1e9, repeats=2)
    measured.measured_all_reduce(report, setting, "some command")
    report.write()
    rows = report.data["measured_all_reduce_65536_bytes"]
    assert [row[""] for row in rows] == [measured.RING, measured.LATE, f"{measured.LATE}, by messages"]
    assert all(0 < row["fastest"] <= row["median"] for row in rows)
    assert "Reproduce: `some command`" in report.path.read_text()


def test_the_simulator_expects_the_issues_ratio_for_eight_hosts() -> None:
    # Given 8 ranks, 32 MiB, 200 MB/s, so sβ = 167.8 ms. Ring: 1.75·sβ + 14·0.1 ms = 295 ms. M* = sqrt(2·1678) = 58;
    # (M + 2)(α + sβ/M) is 179.6 ms for M = 56, 182.8 for 28, 187.5 for 21. Expect 56, eight segments of one chunk a
    # rank: more segments cost less than 2 %, and fewer keep a rank waiting longer that comes in the middle of one.
    predicted = measured.LateCluster().predicted_s()
    assert abs(predicted[measured.RING] - 0.295) < 1e-3
    assert abs(predicted[measured.LATE] - 0.1796) < 2e-3


@pytest.mark.long
def test_training_has_the_same_losses_on_all_ranks_with_either(tmp_path: Path) -> None:
    report = report_of(tmp_path)
    training = measured.Training(rank_count=4, widths=(64, 32, 10), epochs=1, seeds=(5,), bandwidth=1e9)
    measured.measured_training(report, training, "some command")
    (row,) = report.data["measured_training"]
    assert row["seed"] == 5
    assert row["losses bit-identical on all ranks"] == "yes"
