# SPDX-License-Identifier: Apache-2.0
"""`hemiola launch` on this host: places, output, exit codes, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hemiola.cli import main
from hemiola.cli.exit_codes import NOT_STARTED
from json_documents import read_document
from waiting import wait_until

PROGRAM = str(Path(__file__).with_name("launched_program.py"))
LIMIT_S = 60.0

Launch = Callable[..., tuple[int, list[str], list[str]]]


@pytest.fixture
def launch(capfd: pytest.CaptureFixture[str]) -> Launch:
    def run(*words: str) -> tuple[int, list[str], list[str]]:
        capfd.readouterr()
        code = main(["launch", *words])
        out, err = capfd.readouterr()
        return code, sorted(out.splitlines()), err.splitlines()

    return run


def processes_with(marker: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if marker.encode() in words[:2]:
            found.append(int(path.parent.name))
    return found


def test_ranks_of_one_host_meet_where_a_wire_needs_addresses(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEMIOLA_WIRE", "tcp")
    words = "import hemiola as hm; comm = hm.init(timeout_s=60); comm.barrier(); print(comm.traffic().carriers[1])"
    code, out, _ = launch("-n", "2", sys.executable, "-c", words)
    assert (code, out) == (0, ["[0] tcp", "[1] "])


def test_ranks_know_their_place_and_their_lines_begin_with_it(
    launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = launch("-n", "2", "--env", "COLOR=red", PROGRAM, "place", "-n", "--json", "x")
    assert (code, err) == (0, [])
    assert [line[:4] for line in out] == ["[0] ", "[1] "]
    told = [json.loads(line[4:]) for line in out]
    assert [each["place"] for each in told] == [[0, 2, 0, 2], [1, 2, 1, 2]]
    assert all(each["arguments"] == ["-n", "--json", "x"] for each in told)
    assert {(each["folder"], each["color"]) for each in told} == {(str(tmp_path), "red")}


def test_ranks_join_each_other(launch: Launch) -> None:
    assert launch("-n", "2", "--no-labels", PROGRAM, "adds") == (0, ["3", "3"], [])


def test_an_address_to_meet_at_is_said_to_be_ignored_on_one_host(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEMIOLA_RENDEZVOUS", "10.1.2.3:77")
    code, out, (line,) = launch("-n", "2", "--no-labels", PROGRAM, "adds")
    assert (code, out) == (0, ["3", "3"])
    assert line.startswith("hemiola: HEMIOLA_RENDEZVOUS=10.1.2.3:77 is ignored: ")


def test_a_module_is_run_as_python_does(launch: Launch) -> None:
    code, out, _ = launch("-m", "platform", "--terse")
    assert code == 0
    assert out[0].startswith("[0] Linux")


def test_the_first_rank_to_fail_is_named_and_ends_the_others(launch: Launch) -> None:
    script = "if [ $HEMIOLA_RANK = 1 ]; then echo last words; exit 7; fi; sleep 1000"
    code, out, err = launch("-n", "3", "sh", "-c", script)
    assert (code, out) == (7, ["[1] last words"])
    assert len(err) == 1
    assert err[0].startswith("hemiola: rank 1 on ")
    assert err[0].endswith(": exit code 7")


def test_a_killed_rank_counts_as_128_and_the_signal(launch: Launch) -> None:
    code, _, err = launch("-n", "2", "sh", "-c", "[ $HEMIOLA_RANK = 0 ] && kill -KILL $$; sleep 1000")
    assert code == 128 + signal.SIGKILL
    assert "rank 0" in err[0]
    assert "killed by signal 9" in err[0]


def test_a_rank_that_is_killed_after_the_culprit_has_failed_is_told_as_a_shell_does(
    launch: Launch, tmp_path: Path
) -> None:
    first = f"touch {tmp_path}/failed; exit 7"
    second = f"until [ -e {tmp_path}/failed ]; do sleep 0.05; done; sleep 0.2; kill -KILL $$"
    code, _, err = launch("-n", "2", "sh", "-c", f"[ $HEMIOLA_RANK = 1 ] && {{ {second}; }}; {first}")
    assert code == 7
    assert any(line.endswith(f"rank 1: killed by signal {int(signal.SIGKILL)}") for line in err), err


def test_with_json_the_answer_stands_alone_on_standard_output() -> None:
    command = [sys.executable, "-m", "hemiola", "launch", "-n", "2", "--json", "echo", "text"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    told = read_document(done.stdout)
    assert (told["program"], told["hosts"], told["ranks"], told["exit_code"]) == (["echo", "text"], [], 2, 0)
    assert sorted(done.stderr.splitlines()) == ["[0] text", "[1] text"]


@pytest.mark.parametrize(
    "words",
    [
        ("-n", "0", "true"),
        ("--hosts", "a,,b", "true"),
        ("--hosts", "a,a", "true"),
        ("--hosts", "-oProxyCommand=x", "true"),
        ("--env", "NO_SUCH_VARIABLE", "true"),
    ],
)
def test_a_users_mistake_is_one_line(launch: Launch, words: tuple[str, ...]) -> None:
    code, out, err = launch(*words)
    assert (code, out, len(err)) == (NOT_STARTED, [], 1)


def test_a_program_that_there_is_not_is_named(launch: Launch) -> None:
    assert launch("-n", "2", "/no/such/program") == (
        127,
        [],
        ["hemiola: '/no/such/program': No such file or directory"],
    )


def test_a_host_that_is_not_reached_is_named_with_the_shells_words(launch: Launch) -> None:
    shell = "sh -c 'echo Permission denied >&2; exit 255' {host}"
    code, _, err = launch("--hosts", "a,b", "--remote-shell", shell, "true")
    assert (code, err) == (NOT_STARTED, ["hemiola: launch: host 'a': no agent: Permission denied"])
    code, _, err = launch("--hosts", "a,b", "--remote-shell", "sh -c 'echo Welcome!; cat' {host}", "true")
    assert code == NOT_STARTED
    assert "found 'Welcome!'" in err[0]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_the_launcher_ends(number: signal.Signals) -> None:
    """Given ranks of which each has a child in a session of its own, and does not listen to SIGTERM."""
    marker = f"{1000 + os.getpid()}.{number}"
    script = f"trap '' TERM; setsid sleep {marker} & sleep {marker}"
    command = [sys.executable, "-m", "hemiola", "launch", "-n", "2", "sh", "-c", script]
    with subprocess.Popen(command) as launcher:
        wait_until(lambda: len(processes_with(marker)) == 4)
        launcher.send_signal(number)
        code = launcher.wait(LIMIT_S)
    wait_until(lambda: not processes_with(marker))
    assert code == {signal.SIGKILL: -9, signal.SIGINT: 130}[number]
