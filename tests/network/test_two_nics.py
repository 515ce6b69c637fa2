"""A rank per host uses both NICs of its host, and one where one is named."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hemiola.cluster import Cluster

PROGRAM = str(Path(__file__).with_name("nics_rank.py"))
HOSTS, COUNT, ELEMENTS = 3, 2, 500_003
LIMIT_S = 120.0


def run(cluster: Cluster, per_host: int, interface: str) -> None:
    """Run all-reduces over the named interfaces; every rank checks every element."""
    shared = os.environ | {
        "HEMIOLA_RANK_COUNT": str(HOSTS * per_host),
        "HEMIOLA_LOCAL_RANK_COUNT": str(per_host),
        "HEMIOLA_JOB": secrets.token_hex(4),
        "HEMIOLA_RENDEZVOUS": f"{cluster.hosts[0].ipv4}:29400",
        "HEMIOLA_TOKEN": secrets.token_hex(32),
        "HEMIOLA_INTERFACE": interface,
    }
    ranks = [
        cluster.start(
            rank // per_host,
            [sys.executable, PROGRAM, str(COUNT), str(ELEMENTS)],
            env=shared | {"HEMIOLA_RANK": str(rank), "HEMIOLA_LOCAL_RANK": str(rank % per_host)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(HOSTS * per_host)
    ]
    try:
        for rank in ranks:
            out, err = rank.communicate(timeout=LIMIT_S)
            assert rank.returncode == 0, err
            assert len(json.loads(out)) == COUNT
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


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
