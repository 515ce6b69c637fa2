# SPDX-License-Identifier: Apache-2.0
"""`hemiola status` of real jobs: ranks are killed, leave and come, and the answer says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import code_blocks
import pytest
import status_ranks as work

import hemiola as hm
from coming_and_going import Job, seen_by
from hemiola.cli import main
from hemiola.communicator import status
from waiting import wait_until


def asked(*words: str) -> dict[str, Any]:
    """Return the document of the command."""
    done = subprocess.run(
        [sys.executable, "-m", "hemiola", "status", *words, "--json"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture
def job() -> Iterator[Job]:
    """Three ranks that train until there are more than will ever come, and end with their test."""
    started = Job(3, 100)
    for rank in range(3):
        started.start(rank, "until=9")
    started.await_all()
    yield started
    started.end()


def epoch_of(job: Job) -> int:
    found = status.status_at(job.name, 30)
    return found.epochs[-1].number if found else -1


def test_each_change_is_told_by_whoever_is_the_first_rank(job: Job) -> None:
    first, second, third = job.processes
    (told,) = asked(job.name)["jobs"]
    assert told["ranks"] == [0, 1, 2]
    assert told["processes"] == {"0": first.pid, "1": second.pid, "2": third.pid}
    new = job.start("new", "until=9")
    wait_until(lambda: epoch_of(job) == 1 and job.has_come(new))
    second.kill()
    wait_until(lambda: epoch_of(job) == 2)
    third.send_signal(signal.SIGUSR1)
    wait_until(lambda: epoch_of(job) == 3)
    assert "left" in seen_by(third)
    first.kill()  # the job's door goes with it
    wait_until(lambda: epoch_of(job) == 4)
    (told,) = asked(job.name)["jobs"]
    assert (told["joins"], told["leaves"], told["losses"]) == (1, 1, 2)
    assert told["processes"] == {"3": new.pid}
    assert told["ended"] == []
    assert told["refusal"] is None
    epochs = told["epochs"]
    assert [epoch["ranks"] for epoch in epochs] == [[0, 1, 2], [0, 1, 2, 3], [0, 2, 3], [0, 3], [3]]
    assert [epoch["joined"] for epoch in epochs] == [[], [3], [], [], []]
    assert [epoch["left"] for epoch in epochs] == [[], [], [], [2], []]
    assert [epoch["lost"] for epoch in epochs] == [{}, {}, {"1": "has died"}, {}, {"0": "has died"}]
    times = [epoch["at_s"] for epoch in epochs]
    assert times == sorted(times)
    assert [epoch["took_s"] > 0 for epoch in epochs] == [False, True, True, True, True]


@pytest.fixture
def sleepers() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A job of two ranks that sleep, by its name."""
    name = f"sleeping-{uuid.uuid4().hex[:8]}"
    words = [sys.executable, work.__file__, name]
    paths = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ranks = [
        subprocess.Popen([*words, str(rank), "2"], env=paths, stdout=subprocess.PIPE) for rank in range(2)
    ]
    try:
        for rank in ranks:
            assert rank.stdout is not None
            assert rank.stdout.readline() == b"ready\n"
        yield name, ranks
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()


def test_a_member_that_has_just_ended_is_said_to_be_counted_still(
    sleepers: tuple[str, list[subprocess.Popen[bytes]]], capfd: pytest.CaptureFixture[str]
) -> None:
    name, ranks = sleepers
    assert status.status_of(name, 30).ended == ()
    ranks[1].kill()
    wait_until(lambda: status.status_of(name, 30).ended == (1,))  # a zombie, whom nobody has waited for
    assert not status.status_of(name, 30).is_over
    assert main(["status", name]) == 0
    assert "Ended, and still counted by the others: 1" in capfd.readouterr().out


def test_the_commands_of_the_page_show_a_job(
    sleepers: tuple[str, list[subprocess.Popen[bytes]]],
) -> None:
    name, ranks = sleepers
    page = code_blocks.ROOT / "docs/how-to/membership.md"
    (block,) = [each for each in code_blocks.blocks(page) if each.file == "tests/communicator/test_status.py"]
    here = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    running = subprocess.Popen(
        ["bash", "-ec", block.text.replace("my job", name)], env=here, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    seen: list[str] = []
    while len([line for line in seen if line.startswith("0 ranks joined")]) < 2:
        seen.append(running.stdout.readline())
    for rank in ranks:
        rank.kill()
        rank.wait()
    told = "".join(seen) + running.communicate(timeout=60)[0]
    assert running.returncode == 0
    assert len([line for line in told.splitlines() if line.split()[:1] == [name]]) == 1
    assert told.count(f"Job '{name}': 2 ranks in epoch 0") == 2
    assert told.endswith(f"Job '{name}' is over.\n")


def test_watching_prints_a_line_for_each_change_and_ends_with_the_job(job: Job) -> None:
    watching = subprocess.Popen(
        [sys.executable, "-um", "hemiola", "status", job.name, "--watch"], stdout=subprocess.PIPE, text=True
    )
    assert watching.stdout is not None
    try:
        seen: list[str] = []
        while "joined, 0 left" not in "".join(seen[-1:]):
            seen.append(watching.stdout.readline())
        assert "3 ranks in epoch 0" in seen[0]
        job.processes[1].kill()
        line = watching.stdout.readline()
        assert "epoch 1, 2 ranks" in line
        assert "rank 1 was lost: has died" in line
        for process in job.processes:
            process.kill()
            process.wait()
        assert watching.communicate(timeout=60)[0] == f"Job '{job.name}' is over.\n"
        assert watching.returncode == 0
    finally:
        watching.kill()


def test_running_jobs_are_listed_and_a_stopped_one_is_named(
    job: Job, capfd: pytest.CaptureFixture[str]
) -> None:
    assert job.name in [each["name"] for each in asked()["jobs"]]
    job.processes[0].send_signal(signal.SIGSTOP)
    assert main(["status", job.name]) == 3
    assert "its first rank is stopped, or has no time to" in capfd.readouterr().err
    document = asked()
    assert job.name not in [each["name"] for each in document["jobs"]]
    assert job.name in [each["name"] for each in document["silent"]]
    job.processes[0].send_signal(signal.SIGCONT)


def test_a_job_that_lets_nobody_in_says_why() -> None:
    for told in hm.launch(work.refusing, 2, timeout_s=90):
        assert "'emulate' gave it a network" in told["refusal"]
        assert told["ranks"] == [0, 1]


def test_bytes_of_state_that_moved_are_counted_on_all_ranks_and_in_the_status() -> None:
    assert hm.launch(work.healed, 3, timeout_s=90) == [[16_000, 16_000]] * 3


def founded(*names: str) -> list[hm.Communicator]:
    """Return a job of one rank, this process, for each name."""
    return [hm.Communicator.join(0, 1, name) for name in names]


def test_a_name_that_no_address_holds_is_found_and_listed() -> None:
    name = f"long-{uuid.uuid4().hex}-{'x' * 200}"
    (comm,) = founded(name)
    try:
        wait_until(lambda: status.status_at(name, 30) is not None)
        found, _ = status.running_jobs(30)
        processes = [each.processes for each in found if each.name.startswith("#")]
        assert {0: os.getpid()} in processes
    finally:
        comm.close()


def test_wrong_jobs_are_answered_with_a_sentence(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job = f"wrong-{uuid.uuid4().hex[:8]}"

    def error_of(*words: str) -> str:
        assert main(["status", *words]) == 2
        lines = capfd.readouterr().err.splitlines()
        assert len(lines) == 1
        return lines[0]

    assert f"no job '{job}' of user {os.getuid()} runs on this machine" in error_of(job)
    assert "leave one out" in error_of(job, "--watch", "--json")
    plain, launched = founded(job, f"hemiola-{job}-0")
    for comm in (plain, launched):
        wait_until(lambda comm=comm: bool(comm.epochs))
    wait_until(lambda: {job, f"hemiola-{job}-0"} <= {name for _, name in status._doors()})
    assert f"two jobs run as '{job}'" in error_of(job)
    assert "say which" in error_of("--watch")
    launched.close()
    monkeypatch.setattr(status.metadata, "version", lambda package: "0.0.1")
    assert f"job '{job}' runs hemiola {hm.__version__}, this process hemiola 0.0.1" in error_of(job)
    monkeypatch.undo()
    plain.close()
    theirs = tmp_path / "unix"
    line = f"0000: 00000002 00000000 00010000 0005 01 7 @hemiola-{os.getuid() + 1}-{job} lobby\n"
    theirs.write_text(f"Num RefCount Protocol Flags Type St Inode Path\n{line}")
    monkeypatch.setattr(status, "_SOCKETS", theirs)
    assert f"is one of user {os.getuid() + 1}, this is user {os.getuid()}" in error_of(job)


@pytest.mark.parametrize("victim", [0, 1])
def test_all_ranks_have_one_history_and_the_first_one_logs_each_change(
    monkeypatch: pytest.MonkeyPatch, victim: int
) -> None:
    monkeypatch.setenv("HEMIOLA_LOG", "info")
    cluster = Job(2, 100)
    try:
        old = [cluster.start(rank, "until=2", *(["die=50"] if rank == victim else [])) for rank in range(2)]
        old[victim].wait(timeout=60)
        new = cluster.start("new", "until=2")
        survivor = old[1 - victim]
        out, log = survivor.communicate(timeout=120)
        assert survivor.returncode == 0, log
        epochs = json.loads(out)["epochs"]
        assert seen_by(new)["epochs"] == epochs
        assert [each["number"] for each in epochs] == list(range(len(epochs)))
        assert {k: v for each in epochs for k, v in each["lost"].items()} == {str(victim): "has died"}
        assert [rank for each in epochs for rank in each["joined"]] == [2]
        lines = [line for line in log.splitlines() if line.startswith("hemiola INFO: epoch ")]
        assert len(lines) == len(epochs) - 1
        assert sum(f"rank {victim} was lost: has died" in line for line in lines) == 1
        assert lines[-1].startswith(f"hemiola INFO: epoch {len(epochs) - 1} of 2 ranks after ")
    finally:
        cluster.end()
