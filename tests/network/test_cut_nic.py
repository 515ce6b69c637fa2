# SPDX-License-Identifier: Apache-2.0
"""One of two NICs is cut during an operation: it ends over the other NIC with exact results. Without any NIC, the rank
behind them is lost."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from nic_cuts import HOSTS, LIMIT_S, RATE, results_of_a_cut, seeded_run

from hemiola.cluster import Cluster


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_an_operation_ends_over_the_other_nic_with_exact_results(
    clusters: Callable[..., Cluster], seed: int
) -> None:
    seeded_run(clusters, seed)


@pytest.mark.long
def test_of_many_cuts_all_end_well(clusters: Callable[..., Cluster]) -> None:
    count = int(os.environ.get("CUTS", "10"))
    pauses = sorted(seeded_run(clusters, seed) for seed in range(100, 100 + count))
    shown = [pauses[round(q * (len(pauses) - 1))] for q in (0, 0.1, 0.5, 0.9, 1)]
    print("pause in s, least, a tenth, median, nine tenths, most:", *(f"{pause:.2f}" for pause in shown))


def test_without_any_nic_the_rank_is_lost(clusters: Callable[..., Cluster]) -> None:
    cluster = clusters(HOSTS, nics=2, rate=RATE)
    for rank, result in enumerate(results_of_a_cut(cluster, "all_reduce", 1, None)):
        assert result["error"] == "LostRankError"
        assert result["lost"] == 1 - rank
        assert result["taken"][-1] < LIMIT_S
