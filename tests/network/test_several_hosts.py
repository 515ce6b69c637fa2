"""Jobs on several hosts: collectives, groups, mistakes and deaths over TCP, between network namespaces."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hemiola.cluster import Cluster
from hemiola.errors import ClusterError

PROGRAM = str(Path(__file__).with_name("collective_rank.py"))
LIMIT_S = 120.0

Start = Callable[..., list[subprocess.Popen[str]]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    try:
        with Cluster(3) as made:
            yield made
    except ClusterError as error:
        if "may not create" in str(error):
            pytest.skip(str(error))
        raise


@pytest.fixture
def start(cluster: Cluster) -> Iterator[Start]:
    """What starts a program as the ranks of a job, so many on each host; they end with the test."""
    started: list[subprocess.Popen[str]] = []

    def ranks(way: str, per_host: int = 1, family: int = 4, **more: str) -> list[subprocess.Popen[str]]:
        hosts = range(len(cluster.hosts))
        zero = cluster.hosts[0]
        at = f"{zero.ipv4}:29400" if family == 4 else f"[{zero.ipv6}]:29400"
        environment = os.environ | {
            "HEMIOLA_RANK_COUNT": str(per_host * len(hosts)),
            "HEMIOLA_LOCAL_RANK_COUNT": str(per_host),
            "HEMIOLA_JOB": secrets.token_hex(4),
            "HEMIOLA_RENDEZVOUS": at,
            "HEMIOLA_IP_FAMILY": str(family),
            "HEMIOLA_TOKEN": secrets.token_hex(32),
            **more,
        }
        for host in hosts:
            for local in range(per_host):
                started.append(
                    cluster.start(
                        host,
                        [sys.executable, PROGRAM, way],
                        env=environment | {"HEMIOLA_RANK": str(host * per_host + local)},
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                )
        return started

    yield ranks
    for process in started:
        process.kill()
        process.wait()


def said(processes: list[subprocess.Popen[str]]) -> list[str]:
    """Return what each rank says in the end; all must end well."""
    lines = []
    for process in processes:
        out, err = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, err
        lines.append(out.splitlines()[-1])
    return lines


@pytest.mark.parametrize(("per_host", "family"), [(1, 4), (2, 6)])
def test_every_collective_is_right_between_hosts(start: Start, per_host: int, family: int) -> None:
    count = 3 * per_host
    assert said(start("right_results", per_host, family)) == [f"{rank}: right" for rank in range(count)]


def test_groups_of_ranks_of_several_hosts_and_of_one_work_side_by_side(start: Start) -> None:
    assert said(start("groups", 2)) == [f"{rank}: group 45" for rank in range(6)]


def test_a_mistake_of_one_rank_is_told_to_all_and_all_go_on(start: Start) -> None:
    ends = said(start("mistakes"))
    assert ends[0] == "0: mismatch mismatch mismatch mismatch mismatch"
    assert ends[1] == "1: mismatch mismatch mismatch mismatch argument"
    assert ends[2] == "2: mismatch mismatch mismatch mismatch mismatch"


@pytest.mark.parametrize("strike", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_dies_or_stands_still_is_named_to_all(
    start: Start, victim: int, strike: signal.Signals
) -> None:
    ranks = start("endless")
    for rank in ranks:
        assert rank.stdout is not None
        if rank.stdout.readline() != "working\n":
            pytest.fail("\n".join(each.communicate(timeout=LIMIT_S)[1] for each in ranks))
    ranks[victim].send_signal(strike)
    survivors = [rank for number, rank in enumerate(ranks) if number != victim]
    assert [end.split(": ")[1] for end in said(survivors)] == [f"lost {victim}"] * 2
