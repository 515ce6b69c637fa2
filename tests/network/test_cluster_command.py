# SPDX-License-Identifier: Apache-2.0
"""`hemiola cluster`: exit codes, prefixes, and that commands end with the tool that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hemiola.cli import main
from hemiola.cli.exit_codes import FAILED, MISTAKE, NOT_STARTED
from hemiola.cluster import Cluster
from hemiola.cluster.cluster import end
from json_documents import read_document
from permission import where_permitted
from waiting import sleepers, wait_until

LIMIT_S = 60.0
NAME = f"command-{os.getpid()}"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def command(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["cluster", words[0], "--name", NAME, *words[1:]])
        return code, *capfd.readouterr()

    return command


@pytest.fixture(scope="module")
def up() -> Iterator[None]:
    """A cluster of two hosts that outlives who made it; skips where the kernel permits none."""
    with where_permitted():
        Cluster(2, rate="200mbit", slow={1: 4.0}, name=NAME).detach()
    yield
    end(NAME)


def test_up_says_what_there_is_status_finds_it_and_down_ends_it(up: None, run: Run) -> None:
    other = ("--name", f"{NAME}-up")
    code, out, err = run("up", "--hosts", "2", "--rate", "200mbit", "--slow", "1=4", "--json", *other)
    assert (code, err) == (0, "")
    state = read_document(out)
    assert [(host["name"], host["out_Bps"], host["in_Bps"], host["link"]) for host in state["hosts"]] == [
        ("host0", 25e6, 25e6, "up"),
        ("host1", 6.25e6, 6.25e6, "up"),
    ]
    assert state.pop("command") == "cluster up"
    assert state.pop("version") == 1
    assert read_document(run("status", "--json", *other)[1])["results"] == [state]
    assert "host1" in run("status", *other)[1]
    assert run("down", *other) == (0, f"Cluster '{NAME}-up' is down.\n", "")
    code, _, err = run("exec", *other, "0", "--", "true")
    assert code == NOT_STARTED
    assert f"none named '{NAME}-up'" in err
    assert f"'{NAME}'" in err


def test_a_second_cluster_of_that_name_is_refused(up: None, run: Run) -> None:
    code, _, err = run("up")
    assert (code, "exists" in err) == (FAILED, True)


def test_exec_ends_with_the_commands_exit_code_and_output(up: None, run: Run) -> None:
    assert run("exec", "host1", "--", "sh", "-c", "uname -n; echo problem >&2; exit 5") == (
        5,
        "host1\n",
        "problem\n",
    )
    assert run("exec", "0", "--", "sh", "-c", "kill -TERM $$")[0] == 128 + signal.SIGTERM


def test_exec_on_all_prints_lines_behind_names_and_ends_with_the_first_failure(up: None, run: Run) -> None:
    script = 'printf "one\\ntwo"; echo problem >&2; exit $(uname -n | tr -d a-z)'
    code, out, err = run("exec", "all", "--", "sh", "-c", script)
    assert code == 1
    assert sorted(out.splitlines()) == ["[host0] one", "[host0] two", "[host1] one", "[host1] two"]
    assert sorted(err.splitlines()) == ["[host0] problem", "[host1] problem"]


def test_exec_answers_in_json(up: None, run: Run) -> None:
    code, out, _ = run("exec", "all", "--json", "--", "sh", "-c", "uname -n; exit 3")
    assert code == 3
    assert [(row["host"], row["exit_code"], row["output"]) for row in read_document(out)["results"]] == [
        ("host0", 3, "host0\n"),
        ("host1", 3, "host1\n"),
    ]


def test_rate_and_link_change_one_host_and_say_so(up: None, run: Run) -> None:
    changed = read_document(run("rate", "0", "100mbit", "--json")[1])
    assert (changed["out_Bps"], changed["in_Bps"]) == (12.5e6, 12.5e6)
    assert read_document(run("rate", "0", "unlimited", "--json")[1])["out_Bps"] is None
    assert read_document(run("link", "1", "down", "--json")[1])["link"] == "down"
    assert read_document(run("link", "host1", "up", "--json")[1])["link"] == "up"


def test_hosts_with_two_nics_show_both_and_commands_change_one(up: None, run: Run) -> None:
    other = ("--name", f"{NAME}-nics")
    code, _, err = run("up", "--hosts", "1", "--nics", "2", "--rate", "200mbit", *other)
    assert (code, err) == (0, "")
    run("rate", "0", "100mbit", "--nic", "1", *other)
    changed = read_document(run("link", "0", "down", "--nic", "0", "--json", *other)[1])
    assert [(nic["ipv4"], nic["in_Bps"], nic["link"]) for nic in changed["nics"]] == [
        ("10.77.0.1", 25e6, "down"),
        ("10.78.0.1", 12.5e6, "up"),
    ]
    shown = run("status", *other)[1]
    assert "10.77.0.1" in shown
    assert "10.78.0.1" in shown
    assert run("rate", "0", "100mbit", "--nic", "2", *other)[0] == MISTAKE
    run("down", *other)


@pytest.mark.parametrize(
    "words",
    [
        ("exec", "2", "--", "true"),
        ("rate", "0", "fast"),
        ("link", "0", "sideways"),
        ("exec", "0", "--", "/nowhere"),
    ],
)
def test_a_users_mistake_is_one_line_with_the_exit_code_of_mistakes(
    up: None, run: Run, words: tuple[str, ...]
) -> None:
    code, out, err = run(*words)
    expected = NOT_STARTED if words[0] == "exec" else MISTAKE
    assert (code, out, len(err.splitlines())) == (expected, "", 1)


@pytest.mark.parametrize(
    ("number", "host"), [(signal.SIGKILL, "all"), (signal.SIGINT, "0"), (signal.SIGTERM, "all")]
)
def test_a_command_ends_with_the_tool_that_started_it_and_the_cluster_goes_on(
    up: None, run: Run, number: signal.Signals, host: str
) -> None:
    marker = f"{1000 + os.getpid()}.{number}"
    command = [
        sys.executable,
        "-m",
        "hemiola",
        "cluster",
        "exec",
        "--name",
        NAME,
        host,
        "--",
        "sleep",
        marker,
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tool:
        wait_until(lambda: len(set(sleepers(marker)) - {tool.pid}) == (2 if host == "all" else 1))
        tool.send_signal(number)
        tool.wait(LIMIT_S)
    wait_until(lambda: not sleepers(marker))
    assert run("exec", "0", "--", "true")[0] == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_cluster_in_the_foreground_ends_with_its_command(up: None, number: signal.Signals) -> None:
    command = [
        sys.executable,
        "-m",
        "hemiola",
        "cluster",
        "up",
        "--name",
        f"{NAME}-{number}",
        "--foreground",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tool:
        assert tool.stdout is not None
        lines = [line := tool.stdout.readline()]
        while line not in ("}\n", ""):
            lines.append(line := tool.stdout.readline())
        tool.send_signal(number)
        tool.wait(LIMIT_S)
    processes = [host["process"] for host in read_document("".join(lines))["hosts"]]
    wait_until(lambda: not any(Path(f"/proc/{process}").exists() for process in processes))


def test_down_ends_a_cluster_in_the_foreground_too(up: None, run: Run) -> None:
    other = f"{NAME}-foreground"
    command = [sys.executable, "-m", "hemiola", "cluster", "up", "--name", other, "--foreground"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tool:
        assert tool.stdout is not None
        tool.stdout.readline()
        assert read_document(run("down", "--json", "--name", other)[1])["name"] == other
        assert tool.wait(LIMIT_S) == 0
