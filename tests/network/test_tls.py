# SPDX-License-Identifier: Apache-2.0
"""Ranks on several hosts encrypt what they say to each other, and refuse by name who does not belong."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from jobs import LIMIT_S, outputs, running, said
from nic_cuts import HOSTS, RATE, results_of_a_cut, seeded_run
from tls_rank import REPEATS

from certificates import Authority
from coming_and_going import Job, seen_by
from hemiola.cluster import Cluster
from permission import where_permitted

PROGRAM = str(Path(__file__).with_name("tls_rank.py"))
#: So long a rank waits for another one that will not come.
JOIN_S = 5.0

Joined = Callable[..., list[str]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with where_permitted(), Cluster(3) as made:
        yield made


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def good(ours: Authority) -> Path:
    return ours.files("good")


@pytest.fixture
def encrypted(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test starts encrypts."""
    monkeypatch.setenv("HEMIOLA_TLS", str(good))


@pytest.fixture
def joined(cluster: Cluster) -> Iterator[Joined]:
    """What has ranks join, one a host, each with its own HEMIOLA_TLS ("" for none), and returns their words."""
    with ExitStack() as up:

        def started(files: Sequence[object], pattern: bytes = b"0123456789abcdef", **more: str) -> list[str]:
            shared = os.environ | {
                "HEMIOLA_RANK_COUNT": str(len(files)),
                "HEMIOLA_LOCAL_RANK_COUNT": "1",
                "HEMIOLA_LOCAL_RANK": "0",
                "HEMIOLA_JOB": secrets.token_hex(4),
                "HEMIOLA_SILENCE": "20",  # also on a machine with other work
                "HEMIOLA_TOKEN": secrets.token_hex(32),
                "HEMIOLA_RENDEZVOUS": f"{cluster.hosts[0].ipv4}:29400",
                **more,
            }
            command = [sys.executable, PROGRAM, str(JOIN_S), pattern.hex()]
            ranks = []
            for rank, own in enumerate(files):
                environment = {"HEMIOLA_RANK": str(rank)} | shared | {"HEMIOLA_TLS": str(own)}
                pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
                ranks.append(cluster.start(rank, command, env=environment, text=True, **pipes))
                up.callback(ranks[-1].wait)
                up.callback(ranks[-1].kill)
            return said(ranks)

        yield started


def refused(words: str, error: str, *parts: str) -> None:
    """Check one rank's error: its type, and that it says all of these."""
    assert words.startswith(f"{error}: "), words
    for part in parts:
        assert part in words


@pytest.mark.parametrize("per_host", [1, 2])
def test_every_collective_and_message_is_right_over_tls(
    cluster: Cluster, encrypted: None, per_host: int
) -> None:
    words = "carriers,right_results,messages,groups,mistakes"
    with running(
        cluster, words, per_host, HEMIOLA_SILENCE="20"
    ) as ranks:  # also on a machine with other work
        for out in outputs(ranks):
            lines = [line.partition(": ")[2] for line in out.splitlines()]
            assert "tcp" in lines[0]
            assert lines[1:3] == ["right", "right"]


def test_a_foreign_authority_is_refused_by_name_on_both_sides(
    joined: Joined, good: Path, tmp_path: Path
) -> None:
    foreign = Authority(tmp_path / "theirs", "their authority").files("stranger")
    zero, one = joined([good, foreign])
    refused(zero, "TimeoutError", "rank 1", "10.77.0.2:", str(good), "unknown ca", "of one authority")
    refused(
        one, "EncryptionError", "10.77.0.1:29400", "rank 0 was expected", str(foreign), "'/CN=our authority'"
    )


@pytest.mark.parametrize("outdated", [0, 1])
def test_an_expired_certificate_is_refused_by_name_on_both_sides(
    joined: Joined, good: Path, ours: Authority, outdated: int, tmp_path: Path
) -> None:
    old = ours.files(f"old {outdated}", days=-1)
    files = [good, good]
    files[outdated] = old
    words = joined(files)
    assert [each.partition(":")[0] for each in words] == ["TimeoutError", "EncryptionError"]
    for rank, address in ((0, "10.77.0.2:"), (1, "10.77.0.1:29400")):
        for part in (address, f"'/CN=old {outdated}'", "expired", "renew it"):
            assert part in words[rank]


@pytest.mark.parametrize("plain", [0, 1])
def test_a_peer_without_tls_is_refused_by_name_on_both_sides(joined: Joined, good: Path, plain: int) -> None:
    files: list[object] = [good, good]
    files[plain] = ""
    words = joined(files)
    assert [each.partition(":")[0] for each in words] == ["TimeoutError", "EncryptionError"]
    assert "encrypts, and this rank does not: expected plain TCP, found TLS" in words[plain]
    assert "does not encrypt, and this rank does: expected TLS, found plain TCP" in words[1 - plain]
    for rank, address in ((0, "10.77.0.2:"), (1, "10.77.0.1:29400")):
        assert address in words[rank]
        assert "set HEMIOLA_TLS on all ranks, or on none" in words[rank]


def test_a_rank_that_cannot_encrypt_says_why(joined: Joined, good: Path, tmp_path: Path) -> None:
    """A file that is missing, one that is no key, and a system without OpenSSL, where a file of that name is none."""
    broken = tmp_path / "broken"
    shutil.copytree(good, broken)
    (broken / "tls.key").write_text("no key")
    (tmp_path / "libssl.so.3").write_text("no library")
    for own, more, part in (
        (tmp_path, {}, f"'{tmp_path}/tls.crt', found none that can be read (No such file or directory)"),
        (broken, {}, f"'{broken}/tls.key', found something else"),
        (good, {"LD_LIBRARY_PATH": str(tmp_path)}, "expected OpenSSL 3 on this system, found none"),
    ):
        (words,) = joined([own], **more)
        refused(words, "ArgumentError", "HEMIOLA_TLS: expected", part)


def test_a_value_that_names_no_three_files_is_refused(joined: Joined) -> None:
    (words,) = joined(["/a,/b"])
    refused(
        words, "ArgumentError", "HEMIOLA_TLS: expected a folder with tls.crt, tls.key and ca.crt", "'/a,/b'"
    )


def test_three_paths_do_as_well_as_a_folder(joined: Joined, good: Path) -> None:
    paths = ",".join(str(good / name) for name in ("tls.crt", "tls.key", "ca.crt"))
    assert joined([paths, good]) == ["right", "right"]


@pytest.mark.parametrize("wire", ["ucx", "shm,mpi"])
def test_a_wire_that_does_not_encrypt_is_refused(joined: Joined, good: Path, wire: str) -> None:
    for words in joined([good, good], HEMIOLA_WIRE=wire):
        refused(words, "ArgumentError", "expected a wire that encrypts", f"'{wire[-3:]}'", "'tcp'")


def test_a_peer_that_stays_silent_is_waited_for_no_longer_than_asked(
    cluster: Cluster, joined: Joined, good: Path
) -> None:
    command = [sys.executable, str(Path(__file__).with_name("peers.py")), "serve", "29400"]
    with cluster.start(0, command, stdout=subprocess.PIPE, text=True) as silent:
        assert silent.stdout is not None
        assert silent.stdout.readline() == "ready\n"
        begin = time.monotonic()
        (words,) = joined([good], HEMIOLA_RANK="1", HEMIOLA_RANK_COUNT="2")
        assert time.monotonic() - begin < LIMIT_S / 2
        refused(words, "TimeoutError", "rank 0", "10.77.0.1:29400")
        silent.kill()


@pytest.mark.parametrize("encrypts", [False, True])
def test_nothing_of_the_data_passes_the_nic_as_it_is_where_ranks_encrypt(
    cluster: Cluster, joined: Joined, good: Path, encrypts: bool
) -> None:
    """Given a pattern in the data, and the word with which a rank greets. Expect both on the NIC of a job that does not
    encrypt, and neither where it does."""
    pattern = secrets.token_bytes(16)
    command = [
        sys.executable,
        str(Path(__file__).with_name("listening.py")),
        pattern.hex(),
        b"hemiola\n".hex(),
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with cluster.start(1, command, text=True, **pipes) as listener:
        assert listener.stdout is not None
        assert listener.stdout.readline() == "ready\n"
        assert joined([good if encrypts else ""] * 2, pattern) == ["right", "right"]
        heard = json.loads(listener.communicate("", timeout=LIMIT_S)[0])
    assert heard["bytes"] > len(pattern) * REPEATS
    assert [count > 0 for count in heard["found"]] == [not encrypts] * 2


def test_the_death_of_a_rank_is_named_over_tls(cluster: Cluster, encrypted: None) -> None:
    with running(cluster, "endless") as ranks:
        for rank in ranks:
            assert rank.stdout is not None
            assert rank.stdout.readline() == "working\n"
        ranks[2].send_signal(signal.SIGKILL)
        assert said(ranks[:2]) == ["0: lost 2", "1: lost 2"]


def test_a_newcomer_is_let_in_over_tls(clusters: Callable[..., Cluster], encrypted: None) -> None:
    hosts = clusters(3)
    job = Job(2, 200, hosts)
    try:
        old = [job.start(rank, "until=3", host=rank) for rank in range(2)]
        job.await_all()
        new = job.start("new", "until=3", host=2)
        for process in (new, *old):
            seen = seen_by(process)
            assert seen["right"]
            assert seen["sizes"][-1] == 3
    finally:
        job.end()


@pytest.mark.parametrize("seed", [0, 4, 5])  # a collective each
def test_an_operation_outlives_a_nic_over_tls(
    clusters: Callable[..., Cluster], encrypted: None, seed: int
) -> None:
    seeded_run(clusters, seed)


def test_a_rank_without_any_nic_is_lost_over_tls(clusters: Callable[..., Cluster], encrypted: None) -> None:
    cluster = clusters(HOSTS, nics=2, rate=RATE)
    for rank, result in enumerate(results_of_a_cut(cluster, "all_reduce", 1, None)):
        assert (result["error"], result["lost"]) == ("LostRankError", 1 - rank)


def test_a_job_that_encrypts_tells_its_status_on_each_host(
    clusters: Callable[..., Cluster], encrypted: None
) -> None:
    cluster, job = clusters(2), f"job-{secrets.token_hex(4)}"
    command = [sys.executable, "-m", "hemiola", "status"]

    def asked(host: int, *words: str) -> str:
        asking = cluster.start(host, [*command, *words], stdout=subprocess.PIPE, text=True)
        answer = asking.communicate(timeout=LIMIT_S)[0]
        assert asking.returncode == 0
        return str(answer)

    with running(cluster, "endless", HEMIOLA_JOB=job) as ranks:
        for rank in ranks:
            assert rank.stdout is not None
            assert rank.stdout.readline() == "working\n"
        for host in range(len(ranks)):
            (told,) = json.loads(asked(host, job, "--json"))["jobs"]
            assert told["name"].startswith(f"hemiola-{job}-0 on ")
            assert told["host"] == f"host{host}"
            assert told["ranks"] == [0, 1]
            assert list(told["processes"]) == [str(host)]
            assert told["ended"] == []
            assert told["refusal"] is None
            assert f"Job '{told['name']}': 2 ranks in epoch 0" in asked(host, job)
            assert told["name"] in [each["name"] for each in json.loads(asked(host, "--json"))["jobs"]]
        ranks[1].send_signal(signal.SIGKILL)
        assert said(ranks[:1]) == ["0: lost 1"]
