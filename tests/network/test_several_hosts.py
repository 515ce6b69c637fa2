# SPDX-License-Identifier: Apache-2.0
"""Jobs on several hosts: collectives, groups, mistakes and deaths over TCP, between network namespaces."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import numpy as np
import pytest
from collective_rank import PAYLOAD_BYTES
from jobs import LIMIT_S, outputs, running, said

import hemiola as hm
from hemiola.cluster import Cluster
from permission import where_permitted

Start = Callable[..., list[subprocess.Popen[str]]]
Job = Callable[[int, int, str], list[dict[str, str]]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with where_permitted(), Cluster(3) as made:
        yield made


@pytest.fixture
def start(cluster: Cluster) -> Iterator[Start]:
    """What starts a job on the cluster; its ranks end with the test."""
    with ExitStack() as jobs:

        def ranks(way: str, per_host: int = 1, family: int = 4, **more: str) -> list[subprocess.Popen[str]]:
            return jobs.enter_context(running(cluster, way, per_host, family, **more))

        yield ranks


@pytest.fixture(scope="module")
def job(cluster: Cluster) -> Job:
    """What one job after another has done with one communicator, once for all tests that ask; by rank and way."""

    @cache
    def done(per_host: int, family: int, wire: str) -> list[dict[str, str]]:
        ways = ("carriers", "right_results", "messages", "payload", "groups", "mistakes")
        told = []
        with running(cluster, ",".join(ways), per_host, family, HEMIOLA_WIRE=wire) as ranks:
            for number, out in enumerate(outputs(ranks)):
                lines = [line.removeprefix(f"{number}: ") for line in out.splitlines()]
                told.append(dict(zip(ways, lines, strict=True)))
        return told

    return done


ONE_PER_HOST, TWO_PER_HOST, TWO_OVER_UCX = (1, 4, "auto"), (2, 6, "auto"), (2, 4, "shm,ucx")


@pytest.mark.parametrize(
    ("per_host", "family", "wire"),
    [
        ONE_PER_HOST,
        TWO_PER_HOST,
        pytest.param(2, 4, "tcp", marks=pytest.mark.long),
        pytest.param(1, 4, "ucx", marks=pytest.mark.long),
        TWO_OVER_UCX,
    ],
)
def test_every_collective_and_message_is_right_between_hosts(
    job: Job, per_host: int, family: int, wire: str
) -> None:
    told = job(per_host, family, wire)
    assert [each["right_results"] for each in told] == ["right"] * 3 * per_host
    assert [each["messages"] for each in told] == ["right"] * 3 * per_host


@pytest.mark.parametrize(("per_host", "family", "wire"), [ONE_PER_HOST, TWO_PER_HOST])
def test_each_host_sends_and_receives_what_the_schedule_says_to_the_byte(
    job: Job, per_host: int, family: int, wire: str
) -> None:
    schedule = hm.algorithms.all_reduce_hierarchical(3, per_host)
    chunk_bytes = PAYLOAD_BYTES // schedule.chunk_count
    transfers = schedule.transfers
    src, dst = transfers["src"] // per_host, transfers["dst"] // per_host
    told = np.array([each["payload"].split() for each in job(per_host, family, wire)], int)
    for host in range(3):
        ranks = told[host * per_host : (host + 1) * per_host]
        assert ranks[:, 0].sum() == chunk_bytes * ((src == host) & (dst != host)).sum()
        expected = chunk_bytes * ((dst == host) & (src != host)).sum()
        assert ranks[:, 1].sum() == expected
        assert expected <= ranks[:, 2].max() <= 1.05 * expected  # frames have headers


def test_ranks_of_one_host_share_memory_and_others_talk_by_tcp(job: Job) -> None:
    rows = [told["carriers"].split() for told in job(*TWO_PER_HOST)]
    for rank, row in enumerate(rows):
        near = {rank, rank ^ 1}
        assert row == ["self" if to == rank else "shm" if to in near else "tcp" for to in range(6)]


def test_a_wire_that_was_asked_for_serves_all_and_the_log_says_so(start: Start) -> None:
    ranks = start("carriers", 2, HEMIOLA_WIRE="tcp", HEMIOLA_LOG="debug")
    for number, rank in enumerate(ranks):
        out, log = rank.communicate(timeout=LIMIT_S)
        assert out.split(": ")[1].split() == ["self" if to == number else "tcp" for to in range(6)]
        others = ", ".join(str(to) for to in range(6) if to != number)
        assert f"rank {number} of a communicator of 6: tcp to {others}" in log


def test_a_wire_that_cannot_serve_all_is_refused_on_every_rank(start: Start) -> None:
    for end in said(start("carriers", 2, HEMIOLA_WIRE="shm")):
        assert "ArgumentError the wire 'shm' reaches from rank" in end


def test_groups_of_ranks_of_several_hosts_and_of_one_work_side_by_side(job: Job) -> None:
    assert [told["groups"] for told in job(*TWO_PER_HOST)] == ["group 45"] * 6


@pytest.mark.parametrize("place", [ONE_PER_HOST, TWO_PER_HOST, TWO_OVER_UCX])
def test_a_mistake_of_one_rank_is_told_to_all_and_all_go_on(job: Job, place: tuple[int, int, str]) -> None:
    for rank, told in enumerate(job(*place)):
        last = "argument" if rank == 1 else "mismatch"
        assert told["mistakes"] == f"mismatch mismatch mismatch mismatch mismatch {last}"


def strike_at_work(ranks: list[subprocess.Popen[str]], victim: int, strike: signal.Signals) -> None:
    """Wait until all ranks work, then send a signal to one; the others must name it."""
    for rank in ranks:
        assert rank.stdout is not None
        if rank.stdout.readline() != "working\n":
            pytest.fail("\n".join(each.communicate(timeout=LIMIT_S)[1] for each in ranks))
    ranks[victim].send_signal(strike)
    survivors = [rank for number, rank in enumerate(ranks) if number != victim]
    assert {end.split(": ")[1] for end in said(survivors)} == {f"lost {victim}"}


#: With two ranks a host see test_survivors_on_several_hosts_go_on_without_the_lost, too.
STRIKES = [
    (1, 0, "auto", signal.SIGKILL),
    (1, 0, "auto", signal.SIGSTOP),
    (2, 3, "auto", signal.SIGSTOP),
]
MORE_STRIKES = [
    (per_host, victim, wire, strike)
    for per_host, victim, wire in ((1, 1, "auto"), (2, 3, "auto"), (1, 0, "ucx"), (2, 3, "shm,ucx"))
    for strike in (signal.SIGKILL, signal.SIGSTOP)
    if (per_host, victim, wire, strike) not in STRIKES
]


@pytest.mark.parametrize(
    ("per_host", "victim", "wire", "strike"),
    [*STRIKES, *(pytest.param(*each, marks=pytest.mark.long) for each in MORE_STRIKES)],
)
def test_a_rank_that_dies_or_stands_still_is_named_to_all(
    start: Start, per_host: int, victim: int, wire: str, strike: signal.Signals
) -> None:
    strike_at_work(start("endless", per_host, HEMIOLA_WIRE=wire), victim, strike)


def test_a_dead_rank_is_not_kept_alive_by_a_process_that_it_has_forked(start: Start) -> None:
    ranks = start(
        "endless_with_helper", 2, HEMIOLA_SILENCE="60s"
    )  # nothing but its connections' end tells it
    strike_at_work(ranks, 2, signal.SIGKILL)


def test_ranks_of_a_host_use_all_nics_that_were_named(clusters: Callable[..., Cluster]) -> None:
    # Given that a connection goes by the NIC of the rank that is connected to. Expect that of the four pairs across at
    # least one goes by each NIC: a megabyte.
    cluster = clusters(2, nics=2)
    with running(cluster, "traffic", 2, HEMIOLA_INTERFACE="=eth0,eth1") as ranks:
        ends = said(ranks)
    for end in ends:
        received = dict(word.split("=") for word in end.split(": ")[1].split())
        assert set(received) == {"eth0", "eth1"}
        assert all(int(count) > 1 << 20 for count in received.values()), received


def test_a_look_for_zeros_stays_within_the_first_block(clusters: Callable[..., Cluster]) -> None:
    """NICs are slow enough that all look for zeros, unasked."""
    with running(clusters(3, rate="400mbit"), "blocks_beside_a_guard") as ranks:
        assert said(ranks) == [f"{rank}: right" for rank in range(3)]


@pytest.mark.parametrize(
    "victims", [[(0, signal.SIGKILL)], [(0, signal.SIGSTOP)], [(0, signal.SIGKILL), (3, signal.SIGKILL)]]
)
def test_survivors_on_several_hosts_go_on_without_the_lost(
    start: Start, victims: list[tuple[int, signal.Signals]]
) -> None:
    ranks = start("shrinking", 2, DEATHS=str(len(victims)))
    for rank in ranks:
        assert rank.stdout is not None
        assert rank.stdout.readline() == "working\n", rank.communicate(timeout=LIMIT_S)[1]
    for victim, strike in victims:
        ranks[victim].send_signal(strike)
    lost = {victim for victim, _ in victims}
    survivors = [rank for number, rank in enumerate(ranks) if number not in lost]
    total, count = 15 - sum(lost), 6 - len(lost)
    for end in said(survivors):
        named, left = end.split(": named ")[1].split(", ")
        assert int(named) in lost
        assert left == f"left {total} of {count}"
