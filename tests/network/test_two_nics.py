# SPDX-License-Identifier: Apache-2.0
"""A rank per host uses both NICs of its host, and one where one is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs import running, said

from hemiola.cluster import Cluster

PROGRAM = str(Path(__file__).with_name("nics_rank.py"))
HOSTS, COUNT, ELEMENTS = 3, 2, 500_003


def run(cluster: Cluster, per_host: int, interface: str) -> None:
    """Run all-reduces over the named interfaces; every rank checks every element."""
    words = [str(COUNT), str(ELEMENTS)]
    with running(cluster, words, per_host, program=PROGRAM, HEMIOLA_INTERFACE=interface) as ranks:
        for line in said(ranks):
            assert len(json.loads(line)) == COUNT


@pytest.mark.parametrize("per_host", [1, 2])
@pytest.mark.parametrize(("interface", "least"), [("eth", 0.35), ("=eth0", 0.0)])
def test_named_nics_carry_equal_shares_and_others_nothing(
    clusters: Callable[..., Cluster], per_host: int, interface: str, least: float
) -> None:
    cluster = clusters(HOSTS, nics=2)
    run(cluster, per_host, interface)
    for host in range(HOSTS):
        sent = [cluster.counters(host, nic=nic).sent for nic in range(2)]
        assert sent[0] > ELEMENTS * 8, "an all-reduce sends more than this over some NIC"
        share = sent[1] / sum(sent)
        assert least <= share <= (1 - least if least else 0.01), sent
