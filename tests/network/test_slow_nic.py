# SPDX-License-Identifier: Apache-2.0
"""A NIC that loses half its rate in the middle of a job, and has it back: all ranks notice, at the same operation."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jobs import running

from hemiola.cluster import Cluster

PROGRAM = str(Path(__file__).with_name("health_rank.py"))
HOSTS, SLOW = 4, 2
RATE = 400e6 / 8

Ranks = list[subprocess.Popen[str]]


@pytest.fixture
def limited(clusters: Callable[..., Cluster]) -> Cluster:
    return clusters(HOSTS, rate=RATE)


@pytest.fixture(params=[1, 2], ids=["a rank a host", "two ranks a host"])
def per_host(request: pytest.FixtureRequest) -> int:
    count: int = request.param
    return count


@pytest.fixture
def ranks(limited: Cluster, per_host: int) -> Iterator[Ranks]:
    words = [str(RATE), str(HOSTS), str(per_host)]
    with running(limited, words, per_host, program=PROGRAM) as started:
        yield started


def said(ranks: Ranks) -> set[str]:
    """Return what the ranks say next."""
    lines = set()
    for rank in ranks:
        assert rank.stdout is not None
        assert rank.stderr is not None
        lines.add(line := rank.stdout.readline().strip())
        assert line, rank.stderr.read()
    return lines


def go_on(ranks: Ranks) -> None:
    for rank in ranks:
        assert rank.stdin is not None
        rank.stdin.write("\n")
        rank.stdin.flush()


def test_all_ranks_notice_a_slow_nic_at_the_same_operation_and_that_it_has_recovered(
    limited: Cluster, ranks: Ranks, per_host: int
) -> None:
    assert said(ranks) == {"well"}
    limited.set_rate(SLOW, RATE / 2)
    go_on(ranks)
    assert said(ranks) == {"slow"}
    limited.set_rate(SLOW, RATE)
    go_on(ranks)
    (told,) = said(ranks)
    changes = json.loads(told)
    first, last = changes[0]["slow"], changes[-1]["slow"]
    assert list(first) == [str(rank) for rank in range(SLOW * per_host, (SLOW + 1) * per_host)]
    assert len(set(first.values())) == 1
    assert 1.2 <= first[str(SLOW * per_host)] <= 4  # a busy machine makes the bucket's part larger
    assert last == {}
