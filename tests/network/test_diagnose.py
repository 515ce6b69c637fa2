# SPDX-License-Identifier: Apache-2.0
"""What slows a job on several hosts is named by host, NIC and rank, and `diagnose` and `health` agree; real processes,
real rates. All causes, twenty times each: benchmarks/diagnosis.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs import running, said

from hemiola.cli import main
from hemiola.cluster import Cluster
from hemiola.diagnosis import Cause
from json_documents import read_document
from permission import where_permitted

BENCHMARK = Path(__file__).parents[2] / "benchmarks"
RANK = str(Path(__file__).with_name("diagnosed_rank.py"))
NAME = f"diagnose-{os.getpid()}"
HOSTS, SLOW = 4, 2
RATE = 200e6 / 8


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with where_permitted(), Cluster(HOSTS, rate=RATE, name=NAME) as made:
        yield made


@pytest.fixture
def slow_nic(cluster: Cluster) -> Iterator[Callable[[float], None]]:
    yield lambda factor: cluster.set_rate(SLOW, RATE / factor)
    cluster.set_rate(SLOW, RATE)


def said_by_ranks(cluster: Cluster, *words: str) -> list[dict[str, Any]]:
    """Return what diagnosed_rank.py says on one rank of each host."""
    with running(cluster, words, program=RANK) as ranks:
        return [json.loads(line) for line in said(ranks)]


def test_a_nic_that_was_slow_from_the_start_is_named_by_diagnose_and_health_on_all_ranks(
    cluster: Cluster, slow_nic: Callable[[float], None]
) -> None:
    slow_nic(10)
    first, *others = said_by_ranks(cluster)
    nics = [one for one in first["findings"] if one["cause"] == Cause.NIC_SLOW]
    assert [one["where"] for one in nics] == [f"eth0 of host{SLOW} (rank {SLOW})"]
    assert nics[0]["amount"] == pytest.approx(10, rel=0.2)
    assert list(first["health"]) == [str(SLOW)]
    assert first["health"][str(SLOW)] == pytest.approx(nics[0]["amount"])
    assert f"rank {SLOW} (eth0 of host{SLOW}) is" in first["health_in_words"]
    assert all(other["findings"] == first["findings"] for other in others)
    assert all(list(other["health"]) == [str(SLOW)] for other in others)


def test_no_nic_is_named_where_none_is_slow_and_the_network_was_looked_at(cluster: Cluster) -> None:
    first = said_by_ranks(cluster)[0]
    assert not [one for one in first["findings"] if one["cause"] in (Cause.NIC_SLOW, Cause.LINK_SLOW)]
    assert first["health"] == {}
    assert first["notes"] == []


def test_the_command_joins_its_job_and_rank_0_alone_answers(
    cluster: Cluster, slow_nic: Callable[[float], None], capfd: pytest.CaptureFixture[str]
) -> None:
    slow_nic(4)
    words = ["cluster", "run", "--name", NAME, "--no-labels", "-m", "hemiola", "diagnose", "--steps", "8"]
    assert main([*words, "--json"]) == 0
    told = read_document(capfd.readouterr().out)
    assert told["rank_count"] == HOSTS
    nics = [one for one in told["findings"] if one["cause"] == Cause.NIC_SLOW]
    assert [one["where"] for one in nics] == [f"eth0 of host{SLOW} (rank {SLOW})"]
    assert not [note for note in told["notes"] if "no message over a network" in note]
    assert main([*words, "--ranks", "3"]) == 2


@pytest.mark.long
def test_the_benchmark_runs_with_its_smallest_arguments() -> None:
    words = ["diagnosis.py", "--hosts", "3", "--rounds", "0", "--nothing", "1", "--steps", "8", "--json"]
    with where_permitted():
        ended = subprocess.run(
            [sys.executable, *words], cwd=BENCHMARK, capture_output=True, text=True, timeout=300, check=False
        )
    told = json.loads(ended.stdout)
    assert [(row["hosts"], row["case"], row["rounds"]) for row in told["cases"]] == [(3, "nothing", 1)]
