# SPDX-License-Identifier: Apache-2.0
"""Budgets of small operations as Python sees them: long calls and `spend` draw on them."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola._core import Budget, spend
from hemiola.errors import ArgumentError, BudgetSpentError
from hemiola.synthesis import forest, search


def torus() -> hm.Topology:
    return hm.topologies.torus([4, 4], latency_s=1e-6, bandwidth=10e9)


def hosts() -> hm.Topology:
    return hm.topologies.hosts(3, 4, bandwidth=80e9, nic_bandwidth=12.5e9, latency_s=1e-6, nic_latency_s=5e-6)


def counted(topology: hm.Topology, kind: str, chunks: int) -> int:
    with Budget() as budget:
        search(topology, kind, chunks, trials=1, threads=1, progress=False)
    return budget.spent


def test_what_python_spends_counts_for_all_budgets_around_it() -> None:
    with Budget() as outer:
        spend(5)
        with Budget(100) as inner:
            spend(7)
    assert (outer.spent, inner.spent) == (12, 7)
    assert (outer.limit, inner.limit) == (None, 100)


def test_a_spent_budget_ends_the_work_within_it() -> None:
    with Budget() as outer:
        with pytest.raises(BudgetSpentError, match="100 operations"), Budget(100):
            spend(100)
        spend(1)
    assert outer.spent == 101


def test_a_limit_below_nothing_is_refused() -> None:
    with pytest.raises(ArgumentError, match="-1"):
        Budget(-1)


@pytest.mark.parametrize("kind", ["all_gather", "broadcast", "all_to_all"])
@pytest.mark.parametrize("make", [torus, hosts])
def test_searches_count_the_same_each_time_and_in_proportion_to_their_chunks(make, kind: str) -> None:
    one, some, many = (counted(make(), kind, chunks) for chunks in (1, 8, 64))
    transfers = 15 if make is torus else 11
    assert one >= transfers
    assert some - one >= 7 * transfers
    assert many - some >= 4 * (some - one)  # 8 times the chunks, beside a start that does not depend on them
    assert counted(make(), kind, 8) == some


def test_a_search_and_a_forest_end_when_the_budget_is_spent() -> None:
    for work in (
        lambda: search(hosts(), "all_gather", 64, trials=1, threads=1, progress=False),
        lambda: forest(hosts(), "all_gather", pieces=8),
    ):
        with Budget() as whole:
            work()
        with pytest.raises(BudgetSpentError), Budget(whole.spent // 2) as half:
            work()
        assert whole.spent // 2 <= half.spent < whole.spent


def test_simulations_count() -> None:
    schedule = search(torus(), "all_gather", 4, trials=1, threads=1, progress=False).schedule
    with Budget() as budget:
        hm.simulate(schedule, torus(), 1 << 20)
    assert budget.spent >= schedule.transfer_count
