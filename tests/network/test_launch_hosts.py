# SPDX-License-Identifier: Apache-2.0
"""Programs on several hosts: `hemiola launch --hosts` through a replaced remote shell, and `hemiola cluster run`."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hemiola.cli import main
from hemiola.cli.exit_codes import NOT_STARTED
from hemiola.cluster import Cluster
from permission import where_permitted
from waiting import sleepers, wait_until

RANK = str(Path(__file__).with_name("launched_rank.py"))
NAME = f"launch-{os.getpid()}"
LIMIT_S = 120.0
HEMIOLA = [sys.executable, "-m", "hemiola"]
THROUGH_CLUSTER = shlex.join([*HEMIOLA, "cluster", "exec", "--name", NAME]) + " {host} --"

Run = Callable[..., tuple[int, list[str], list[str]]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with where_permitted(), Cluster(2, name=NAME) as made:
        yield made


@pytest.fixture
def run(cluster: Cluster, capfd: pytest.CaptureFixture[str]) -> Run:
    def command(*words: str) -> tuple[int, list[str], list[str]]:
        capfd.readouterr()
        code = main(list(words))
        out, err = capfd.readouterr()
        return code, sorted(out.splitlines()), err.splitlines()

    return command


MET = ["[0] all have come", "[1] came from host0 1", "[2] came from host1 0", "[3] came from host1 1"]


def test_ranks_of_two_hosts_meet_where_they_are_told_with_the_same_token(run: Run) -> None:
    assert run("cluster", "run", "--name", NAME, "-n", "2", RANK, "meet") == (0, MET, [])


def test_hosts_are_reached_through_whatever_shell(run: Run) -> None:
    words = ("--hosts", "host0,host1", "--remote-shell", THROUGH_CLUSTER, RANK, "meet")
    assert run("launch", *words) == (0, ["[0] all have come", "[1] came from host1 0"], [])


def test_ranks_meet_where_variables_say(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEMIOLA_IP_FAMILY", "6")
    monkeypatch.setenv("HEMIOLA_PORTS", "29600-29601")
    words = ("cluster", "run", "--name", NAME, "--no-labels", "sh", "-c", "echo $HEMIOLA_RENDEZVOUS")
    assert run(*words) == (0, ["[fd77::1]:29601"] * 2, [])  # ranks take the first ones
    monkeypatch.setenv("HEMIOLA_INTERFACE", "ib")
    code, _, err = run(*words)
    assert code == NOT_STARTED
    assert "host 'host0': expected an IPv6 address at which other hosts reach this one" in err[0]


def test_hosts_are_reached_by_ssh(cluster: Cluster, remote_shell: str) -> None:
    words = [*HEMIOLA, "launch", "--hosts", "host0,host1", "--remote-shell", remote_shell, RANK, "meet"]
    out = cluster.run(0, words, timeout_s=LIMIT_S)
    assert sorted(out.splitlines()) == ["[0] all have come", "[1] came from host1 0"]


def test_a_failure_on_one_host_ends_the_ranks_of_the_others(run: Run) -> None:
    marker = f"{2000 + os.getpid()}.5"
    script = f"[ $HEMIOLA_RANK = 3 ] && exit 9; sleep {marker}"
    code, out, err = run("cluster", "run", "--name", NAME, "-n", "2", "sh", "-c", script)
    assert (code, out, err) == (9, [], ["hemiola: rank 3 on host1: exit code 9"])
    assert not sleepers(marker)


def test_nothing_is_left_on_any_host_when_the_launcher_is_killed(cluster: Cluster) -> None:
    marker = f"{3000 + os.getpid()}.5"
    words = ["launch", "--hosts", "host0,host1", "--remote-shell", THROUGH_CLUSTER]
    with subprocess.Popen(
        [*HEMIOLA, *words, "sh", "-c", f"setsid sleep {marker} & sleep {marker}"]
    ) as launcher:
        wait_until(lambda: len(sleepers(marker)) == 4)
        launcher.send_signal(signal.SIGKILL)
    wait_until(lambda: not sleepers(marker))


def test_the_token_stands_in_no_ones_arguments_or_environment(cluster: Cluster) -> None:
    words = ["cluster", "run", "--name", NAME, "--no-labels", RANK, "tell"]
    with subprocess.Popen([*HEMIOLA, *words], stdout=subprocess.PIPE) as launcher:
        assert launcher.stdout is not None
        token = launcher.stdout.readline().strip()
        assert len(token) == 64
        for path in (*Path("/proc").glob("[0-9]*/cmdline"), *Path("/proc").glob("[0-9]*/environ")):
            try:
                assert token not in path.read_bytes(), path
            except OSError:  # has ended meanwhile
                continue
        launcher.send_signal(signal.SIGINT)
        assert launcher.wait(LIMIT_S) == 130


def test_a_host_that_is_missing_ends_the_launch_before_anything_runs(run: Run, tmp_path: Path) -> None:
    words = ("--hosts", "host0,host7", "--remote-shell", THROUGH_CLUSTER, "touch", str(tmp_path / "ran"))
    code, _, err = run("launch", *words)
    assert code == NOT_STARTED
    assert "launch: host 'host7': no agent: hemiola: expected a host of cluster" in err[0]
    assert not (tmp_path / "ran").exists()
