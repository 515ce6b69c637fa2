# SPDX-License-Identifier: Apache-2.0
"""Jobs of two hosts with two NICs each, of which one is cut while `cut_nic_rank.py` works."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs import running, said

from hemiola.cluster import Cluster

PROGRAM = str(Path(__file__).with_name("cut_nic_rank.py"))
HOSTS, COUNT = 2, 8
#: A collective keeps both NICs busy for 0.1 to 0.2 s.
ELEMENTS, RATE = 1_000_004, "200Mbit"
COLLECTIVES = ["all_reduce", "all_to_all", "broadcast"]
#: Turns take this long in all before a NIC is cut and afterwards, so a cut meets one of them.
LATEST_CUT_S = 0.4
RUN_LIMIT_S, LIMIT_S = 60.0, 20.0


def cut(cluster: Cluster, host: int, nic: int | None, *, inside: bool) -> None:
    """Take a NIC of a host down inside the host, or pull its cable (of all NICs, for None)."""
    if not inside:
        cluster.set_link(host, up=False, nic=nic)
        return
    assert cluster.start(host, ["ip", "link", "set", f"eth{nic}", "down"]).wait() == 0


def results_of_a_cut(
    cluster: Cluster,
    collective: str,
    host: int,
    nic: int | None,
    *,
    inside: bool = False,
    after_s: float = 0.0,
) -> list[dict[str, Any]]:
    """Cut a NIC while ranks work; return each rank's times and its error."""
    words = [collective, str(COUNT), str(ELEMENTS), str(LIMIT_S)]
    with running(cluster, words, program=PROGRAM, HEMIOLA_INTERFACE="eth") as ranks:
        for rank in ranks:
            assert rank.stdout is not None
            assert rank.stdout.readline() == "works\n", said(ranks)
        time.sleep(after_s)
        cut(cluster, host, nic, inside=inside)
        return [json.loads(line) for line in said(ranks, RUN_LIMIT_S)]


def seeded_run(clusters: Callable[..., Cluster], seed: int) -> float:
    """Cut a NIC as the seed says, expect exact results, and return the pause in seconds."""
    draw = random.Random(seed)
    collective, nic, host = COLLECTIVES[seed % 3], seed // 3 % 2, draw.randrange(HOSTS)
    inside, after_s = draw.random() < 0.5, draw.uniform(0, LATEST_CUT_S)
    with clusters(HOSTS, nics=2, rate=RATE) as cluster:
        results = results_of_a_cut(cluster, collective, host, nic, inside=inside, after_s=after_s)
    case = f"seed {seed}: {collective}, NIC {nic} of host {host}, {'inside' if inside else 'its cable'}: {results}"
    assert [result["error"] for result in results] == [""] * HOSTS, case
    assert all(len(result["taken"]) == COUNT for result in results), case
    return max(max(taken) - statistics.median(taken) for taken in (result["taken"][1:] for result in results))
