# SPDX-License-Identifier: Apache-2.0
"""Ranks come, leave and die while a job of several hosts trains: nobody hangs, and its weights are those of an
undisturbed run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from coming_and_going import Job, check_leaving, check_replacing, check_sequence, seen_by, sequence
from hemiola.cluster import Cluster

#: Founders on so many hosts, one on each unless said otherwise; one more host has room.
_HOSTS = 3


@pytest.fixture
def hosts(clusters: Callable[..., Cluster]) -> Cluster:
    return clusters(_HOSTS + 1)


@pytest.fixture
def job(hosts: Cluster) -> Iterator[Job]:
    started = Job(_HOSTS, 200, hosts)
    yield started
    started.end()


@pytest.mark.parametrize("host", [_HOSTS, 0], ids=["on a new host", "on a host of the job"])
def test_a_newcomer_is_let_in_and_the_result_is_as_without(job: Job, host: int) -> None:
    until = f"until={job.ranks + 1}"
    old = [job.start(rank, until, host=rank) for rank in range(job.ranks)]
    job.await_all()
    new = job.start("new", until, host=host)
    for process in (*old, new):
        seen = seen_by(process)
        assert seen["right"]
        assert seen["sizes"][-1] == job.ranks + 1
        assert not seen["lost"]


@pytest.mark.parametrize("leaver", [0, 2])
def test_a_rank_that_leaves_is_missed_by_nobody(job: Job, leaver: int) -> None:
    check_leaving(job, leaver)


@pytest.mark.parametrize("victim", [0, 2])
def test_a_dead_rank_is_replaced(job: Job, victim: int) -> None:
    check_replacing(job, victim)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_nobody_hangs_and_sums_are_right(hosts: Cluster, seed: int) -> None:
    ranks, events = sequence(seed)
    check_sequence(Job(ranks, 3000, hosts), events, len(hosts.hosts))
