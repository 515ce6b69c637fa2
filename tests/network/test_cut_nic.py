# SPDX-License-Identifier: Apache-2.0
"""One of two NICs is cut during an operation: no rank gets a wrong result, and none waits beyond its time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs import running, said

from hemiola.cluster import Cluster

PROGRAM = str(Path(__file__).with_name("cut_nic_rank.py"))
HOSTS, COUNT = 2, 8
#: An all-reduce keeps both NICs busy for about 0.2 s.
ELEMENTS, RATE = 1_000_003, "200Mbit"
RUN_LIMIT_S = 60.0


def results_of_a_cut(
    cluster: Cluster, nic: int, *, away_s: float | None, limit_s: float
) -> list[dict[str, Any]]:
    """Cut a NIC of host 1 while ranks work, for so long or for ever; return each rank's times and its error."""
    words = [str(COUNT), str(ELEMENTS), str(limit_s)]
    with running(cluster, words, program=PROGRAM, HEMIOLA_INTERFACE="eth") as ranks:
        for rank in ranks:
            assert rank.stdout is not None
            assert rank.stdout.readline() == "works\n"
        cluster.set_link(1, up=False, nic=nic)
        if away_s is not None:
            time.sleep(away_s)
            cluster.set_link(1, up=True, nic=nic)
        return [json.loads(line) for line in said(ranks, RUN_LIMIT_S)]


def test_an_operation_goes_on_when_the_second_nic_comes_back(clusters: Callable[..., Cluster]) -> None:
    cluster = clusters(HOSTS, nics=2, rate=RATE)
    for result in results_of_a_cut(cluster, 1, away_s=2.0, limit_s=30):
        assert result["error"] == ""
        assert len(result["taken"]) == COUNT
        # TCP doubles its pauses from about 0.2 s: after 2 s away it tries again within another 2 to 3.
        assert 1.5 < max(result["taken"]) < 15


def test_a_dead_second_nic_ends_the_operation_at_its_timeout(clusters: Callable[..., Cluster]) -> None:
    cluster = clusters(HOSTS, nics=2, rate=RATE)
    for result in results_of_a_cut(cluster, 1, away_s=None, limit_s=4):
        assert result["error"] == "TimeoutError"
        assert 3.5 < result["taken"][-1] < 8


def test_a_dead_first_nic_loses_the_rank_after_a_second_of_silence(clusters: Callable[..., Cluster]) -> None:
    cluster = clusters(HOSTS, nics=2, rate=RATE)
    for result in results_of_a_cut(cluster, 0, away_s=None, limit_s=30):
        assert result["error"] == "LostRankError"
        assert result["taken"][-1] < 10
