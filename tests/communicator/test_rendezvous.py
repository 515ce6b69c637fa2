# SPDX-License-Identifier: Apache-2.0
"""Where ranks of several hosts meet, and what is said where they cannot."""

from __future__ import annotations

import logging
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from hemiola.communicator.joining import wait_until_known
from hemiola.communicator.launch_environment import Job, job_of
from hemiola.communicator.rendezvous import AtAddress, ThroughTorch, first_node, rendezvous_of
from hemiola.errors import ArgumentError, HemiolaError, TimeoutError

TOKEN = "ab" * 32
SLURM = {
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "5",
    "SLURM_NNODES": "3",
    "SLURM_NODEID": "1",
    "SLURM_TASKS_PER_NODE": "2(x2),1",
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "n[07-09]",
}


def test_slurms_variables_say_how_many_ranks_are_here() -> None:
    job = job_of(SLURM)
    assert (job.rank, job.rank_count, job.host_rank_count, job.spans_hosts) == (3, 5, 2, True)
    assert not job_of(SLURM | {"SLURM_NNODES": "1"}).spans_hosts


@pytest.mark.parametrize(("node", "count"), [("0", 2), ("1", 2), ("2", 1), ("3", None), ("99", None)])
def test_a_node_that_slurms_list_does_not_have_has_an_unknown_number_of_ranks(
    node: str, count: int | None
) -> None:
    assert job_of(SLURM | {"SLURM_NODEID": node}).host_rank_count == count


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("n[07-09]", "n07"),
        ("n[3,5-9],login", "n3"),
        ("login,n[1-2]", "login"),
        ("a1", "a1"),
        ("n[01-02]-ib", "n01-ib"),
    ],
)
def test_the_first_node_of_slurms_list(nodes: str, first: str) -> None:
    assert first_node(nodes) == first


def test_a_list_of_nodes_that_is_none_is_refused() -> None:
    with pytest.raises(ArgumentError, match="expected a node list"):
        first_node("[")


def test_under_slurm_ranks_meet_at_the_first_node(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SLURM.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HEMIOLA_TOKEN", TOKEN)
    monkeypatch.setenv("HEMIOLA_PORTS", "30000-30009")
    assert rendezvous_of(job_of()) == AtAddress("n07:30007", 30007, bytes.fromhex(TOKEN), "slurm-77-0")


def test_an_address_that_was_given_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEMIOLA_RENDEZVOUS", "[fd00::1]:4000")
    monkeypatch.setenv("HEMIOLA_TOKEN", TOKEN)
    assert rendezvous_of(Job(0, 2, "x", "torchrun", 1)) == AtAddress(
        "[fd00::1]:4000", 4000, bytes.fromhex(TOKEN), "x"
    )


def test_a_launcher_that_names_no_job_has_it_named_after_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEMIOLA_RENDEZVOUS", "node:4000")
    monkeypatch.setenv("HEMIOLA_TOKEN", TOKEN)
    job = job_of({"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "2"})
    assert rendezvous_of(job) == AtAddress("node:4000", 4000, bytes.fromhex(TOKEN), "node:4000")


def test_without_a_token_it_is_said_how_to_make_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEMIOLA_RENDEZVOUS", "node:4000")
    with pytest.raises(ArgumentError, match="openssl rand -hex 32"):
        rendezvous_of(Job(0, 2, "x", "hemiola.launch", 1))


def test_without_an_address_it_is_said_what_to_set() -> None:
    with pytest.raises(ArgumentError, match="HEMIOLA_RENDEZVOUS=host:port"):
        rendezvous_of(Job(0, 2, "x", "hemiola.launch", 1))


def _met_through_torch(monkeypatch: pytest.MonkeyPatch, rank: int, host: str, port: int) -> HemiolaError:
    """Return what is raised where a rank of two, both on other hosts, meets at torchrun's store."""
    pytest.importorskip("torch", reason="needs PyTorch, whose store this is (pip install torch)")
    monkeypatch.setenv("MASTER_ADDR", host)
    monkeypatch.setenv("MASTER_PORT", str(port))
    with pytest.raises(HemiolaError) as raised:
        ThroughTorch(Job(rank, 2, "x", "torchrun", 1)).meet(["10.0.0.1:1"], 1.0)
    return raised.value


def test_whoever_waits_for_rank_0_at_torchruns_store_blames_it(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("torch.distributed", reason="needs PyTorch (pip install torch)")
    store = distributed.TCPStore("127.0.0.1", 0, 2, is_master=True, wait_for_workers=False)
    error = _met_through_torch(monkeypatch, 1, "127.0.0.1", store.port)
    assert isinstance(error, TimeoutError)
    assert error.cause is not None
    assert (error.cause.rank, error.cause.reason) == (0, "has not come to torchrun's store within 1 s")


def test_a_store_of_torchruns_that_cannot_be_had_is_named_with_the_systems_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        used = _met_through_torch(monkeypatch, 0, "127.0.0.1", port)
    free = _met_through_torch(monkeypatch, 1, "127.0.0.1", port)
    unknown = _met_through_torch(monkeypatch, 1, "no-such-host.invalid", port)
    for error, kind, words in (
        (used, ArgumentError, f"cannot be opened at 127.0.0.1:{port}: .*address already in use"),
        (free, TimeoutError, f"cannot be reached at 127.0.0.1:{port} within 1 s: "),
        (unknown, TimeoutError, "no-such-host.invalid:.*(not known|name resolution)"),
    ):
        assert isinstance(error, kind)
        assert re.search(words, str(error)), error


def test_a_name_that_comes_to_be_known_is_waited_for_and_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []

    def known_at_the_third(host: str, *_: object) -> list[object]:
        asked.append(host)
        if len(asked) < 3:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return []

    monkeypatch.setattr(socket, "getaddrinfo", known_at_the_third)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with caplog.at_level(logging.WARNING, "hemiola"):
        wait_until_known("train-master-0:29400", 60)
    assert asked == ["train-master-0"] * 3
    assert [record.args[0] for record in caplog.records if record.args] == ["train-master-0:29400"]


def test_a_name_that_stays_unknown_is_waited_for_until_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))

    def unknown(*_: object) -> None:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    wait_until_known("no-such-pod:29400", 5)
    assert 4.5 < clock[0] < 5


def _silent(connection: socket.socket) -> None:
    """Say nothing."""


def _of_another_protocol(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" + bytes(400))


def _hangs_up(connection: socket.socket) -> None:
    connection.close()


@pytest.mark.parametrize("answer", [None, _silent, _of_another_protocol, _hangs_up])
def test_where_rank_0_is_not_at_its_address_the_others_say_which_to_check(
    answer: Callable[[socket.socket], None] | None,
) -> None:
    """Another program has the port of rank 0, or nobody has. Rank 1 cannot know why, and names the place to look at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if answer is None:
            server.close()
        variables = os.environ | {
            "HEMIOLA_RENDEZVOUS": f"127.0.0.1:{port}",
            "HEMIOLA_TOKEN": "ab" * 32,
            "HEMIOLA_INTERFACE": "lo",
            "HEMIOLA_JOB": "elsewhere",
            "HEMIOLA_RANK": "1",
            "HEMIOLA_RANK_COUNT": "2",
        }
        command = [sys.executable, "-c", "import hemiola; hemiola.init(timeout_s=1.5)"]
        with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) as rank:
            kept: list[socket.socket] = []
            if answer is None:
                rank.wait()
            while rank.poll() is None:
                server.settimeout(0.1)
                with suppress(OSError):
                    kept.append(server.accept()[0])
                    answer(kept[-1])
            assert rank.stderr is not None
            last = rank.stderr.read().strip().splitlines()[-1]
        for connection in kept:
            connection.close()
    assert "TimeoutError" in last
    assert f"127.0.0.1:{port}" in last
    assert "check that" in last
