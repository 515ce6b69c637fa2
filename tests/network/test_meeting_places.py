# SPDX-License-Identifier: Apache-2.0
"""What is said where ranks cannot meet because of the host: a loopback interface that is down, a name that nobody
knows, a port that is taken; on one host, and at an address."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from hemiola.cluster import Cluster

LIMIT_S = 60.0
PORT = "3000"
RANK = "import hemiola as hm, numpy as np; print(hm.init(timeout_s=5).all_reduce(np.ones(1))[0])"
TAKE_PORT = f"""
import socket, sys
with socket.create_server(("", {PORT})):
    print("taken", flush=True)
    sys.stdin.read()
"""
AT_ADDRESS = {"HEMIOLA_TOKEN": "ab" * 32, "HEMIOLA_RENDEZVOUS": f"127.0.0.1:{PORT}"}
Last = list[tuple[int, str]]


def ended(processes: list[subprocess.Popen[str]]) -> Last:
    """Return the exit code of each, and the last line that it has printed."""
    outputs = [(process.communicate(timeout=LIMIT_S)[0], process) for process in processes]
    return [(process.returncode, (output.splitlines() or [""])[-1]) for output, process in outputs]


def ranks(cluster: Cluster, **variables: str) -> Last:
    """Run two ranks on the first host, started by hand; return how they ended."""
    common = {"HEMIOLA_RANK_COUNT": "2", "HEMIOLA_LOCAL_RANK_COUNT": "2", "HEMIOLA_JOB": "places"}
    started = []
    for rank in ("0", "1"):
        own = {"HEMIOLA_RANK": rank, "HEMIOLA_LOCAL_RANK": rank, "OMP_NUM_THREADS": "1"}
        started.append(_started(cluster, [sys.executable, "-c", RANK], common | own | variables))
    return ended(started)


def launched(cluster: Cluster, **variables: str) -> Last:
    """Have `hemiola launch` run two ranks on the first host; return how it ended."""
    command = [sys.executable, "-m", "hemiola", "launch", "-n", "2", "--", sys.executable, "-c", RANK]
    return ended([_started(cluster, command, {"OMP_NUM_THREADS": "1"} | variables)])


def _started(cluster: Cluster, command: list[str], variables: dict[str, str]) -> subprocess.Popen[str]:
    return cluster.start(
        0,
        command,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.long
def test_ranks_of_one_host_need_no_loopback_interface_but_for_addresses(
    clusters: Callable[..., Cluster],
) -> None:
    cluster = clusters(1)
    cluster.run(0, ["ip", "link", "set", "lo", "down"])
    assert ranks(cluster) == [(0, "2.0")] * 2
    for found in (
        launched(cluster, HEMIOLA_WIRE="tcp"),
        ranks(cluster, **AT_ADDRESS),
        ranks(cluster, **AT_ADDRESS, HEMIOLA_INTERFACE="lo"),
        ranks(cluster, **AT_ADDRESS | {"HEMIOLA_RENDEZVOUS": f"localhost:{PORT}"}),
    ):
        for code, line in found:
            assert code == 1, line
            assert "ArgumentError: expected " in line
            assert "Down: lo; 'ip link set lo up' brings it up" in line


@pytest.mark.long
def test_a_name_that_nobody_knows_is_named_with_the_systems_reason(clusters: Callable[..., Cluster]) -> None:
    unknown = {"HEMIOLA_RENDEZVOUS": f"no-such-host.invalid:{PORT}"}
    cluster = clusters(1)
    for code, line in ranks(cluster, **AT_ADDRESS | unknown):
        assert code == 1
        assert f"ArgumentError: the host of 'no-such-host.invalid:{PORT}' is not known here: " in line
        assert line.endswith(("not known", "name resolution"))
    assert ranks(cluster, HEMIOLA_INTERFACE="eth0") == [(0, "2.0")] * 2  # on one host nobody asks for names


@pytest.mark.long
def test_a_port_that_is_taken_is_named_in_both_kinds_of_meeting(clusters: Callable[..., Cluster]) -> None:
    cluster = clusters(1)
    other = cluster.start(
        0,
        [sys.executable, "-c", TAKE_PORT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "taken\n"
    (code, line), _ = ranks(cluster, **AT_ADDRESS)
    assert code == 1
    assert f"ArgumentError: cannot listen at any address on port {PORT}: Address already in use" in line
    assert line.endswith("another process listens there; end it, or choose another port")
    ((code, line),) = launched(cluster, HEMIOLA_WIRE="tcp", HEMIOLA_PORTS=PORT)
    assert code == 125
    assert f"HEMIOLA_PORTS: expected a free port among {PORT}-{PORT}, found none" in line
    other.communicate("", timeout=LIMIT_S)
