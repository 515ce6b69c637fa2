# SPDX-License-Identifier: Apache-2.0
"""Who came last: judged from times written down by hand, and from real ranks and groups."""

from __future__ import annotations

from pathlib import Path

import communicator_ranks as work
import numpy as np
import pytest

import hemiola as hm
from hemiola.communicator.arrivals import Arrivals
from hemiola.errors import ArgumentError
from hemiola.view.arrivals import draw_arrivals


def test_the_rank_that_is_named_is_the_late_one_and_the_lag_is_to_the_last_but_one() -> None:
    # Given 3 operations of 3 ranks. Derivation: last are 2 (9 - 4 = 5), 0 (7 - 6 = 1), 2 (3 - 3 = 0, a tie).
    found = Arrivals.of(np.array([[0.0, 4, 9], [7, 0, 6], [3, 1, 3]]))
    assert found.last_rank.tolist() == [2, 0, 2]
    assert found.lag_s.tolist() == [5, 1, 0]
    assert [one.last_count for one in found.ranks] == [1, 0, 2]
    assert [one.p50_s for one in found.ranks] == [1, 0, 2.5]


def test_percentiles_are_over_the_operations_to_which_the_rank_came_last() -> None:
    # Given rank 1 last by 1, 2, … 100. Expect median 50.5, p95 = 95.05, p99 = 99.01 (linear between neighbours).
    times = np.stack([np.zeros(100), np.arange(1.0, 101)], axis=1)
    one = Arrivals.of(times).ranks[1]
    assert (one.p50_s, one.p95_s, one.p99_s) == pytest.approx((50.5, 95.05, 99.01))
    assert one.last_share == 1
    assert one.persistent


def test_chance_does_not_make_a_rank_persistent() -> None:
    for seed in range(20):
        times = np.random.default_rng(seed).random((200, 2))
        assert Arrivals.of(times).persistent_rank is None, f"seed {seed}"


def test_few_operations_do_not_make_a_rank_persistent() -> None:
    # Given 4 ranks, one last in both of 2 operations. Derivation: by chance up to 2/4 + 3·sqrt(2·3/16) = 2.3.
    assert Arrivals.of(np.array([[0.0, 0, 0, 1]] * 2)).persistent_rank is None
    assert Arrivals.of(np.array([[0.0, 0, 0, 1]] * 4)).persistent_rank == 3


def test_no_operations_and_one_rank_are_nothing_special() -> None:
    none = Arrivals.of(np.zeros((0, 3)))
    assert none.operation_count == 0
    assert [one.last_share for one in none.ranks] == [0, 0, 0]
    alone = Arrivals.of(np.zeros((5, 1)))
    assert alone.lag_s.tolist() == [0] * 5
    assert alone.persistent_rank is None


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((2, 0)), np.array([[0.0, np.nan]])])
def test_times_that_make_no_sense_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(ArgumentError, match="arrival times"):
        Arrivals.of(bad)


def test_a_late_rank_is_named_in_all_ranks_and_in_a_group() -> None:
    # Given rank 3 of 4 late, and a group of ranks 1 and 3, in which it is number 1.
    for whole, in_group in hm.launch(work.who_is_persistent, 4, 3, timeout_s=90):
        assert whole["persistent_rank"] == 3
        assert whole["ranks"][3]["p50_s"] > 0.5 * work.PERSISTENT_DELAY_S
        if in_group is not None:
            assert in_group["persistent_rank"] == 1


@pytest.mark.parametrize("rank_count", [2, 5])
def test_what_a_start_up_measures_is_nobodys_arrival(rank_count: int) -> None:
    assert hm.launch(work.arrivals_at_first, rank_count, timeout_s=90) == [(0, 1)] * rank_count


def test_the_distribution_is_drawn(tmp_path: Path) -> None:
    arrivals = Arrivals.of(np.random.default_rng(1).exponential(1e-3, (300, 6)))
    draw_arrivals(arrivals, tmp_path / "late.png", title="Who was late")
    assert (tmp_path / "late.png").stat().st_size > 5000
    with pytest.raises(ArgumentError, match="at least one operation"):
        draw_arrivals(Arrivals.of(np.zeros((0, 2))), tmp_path / "none.png", title="nobody")
