# SPDX-License-Identifier: Apache-2.0
"""Ranks come, leave and die while a job trains: nobody hangs, and its weights are those of an undisturbed run."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import membership_ranks as work
import pytest

import hemiola as hm
from coming_and_going import Job, check_leaving, check_replacing, check_sequence, seen_by, sequence


@pytest.fixture
def job(request: pytest.FixtureRequest) -> Iterator[Job]:
    """A job that ends with its test."""
    started = Job(*request.param)
    yield started
    started.end()


@pytest.mark.parametrize("job", [(1, 100), (2, 100), (3, 100)], indirect=True)
def test_a_newcomer_is_let_in_and_the_result_is_as_without(job: Job) -> None:
    until = f"until={job.ranks + 1}"
    old = [job.start(rank, until) for rank in range(job.ranks)]
    job.await_all()
    new = job.start("new", until)
    for process in (*old, new):
        seen = seen_by(process)
        assert seen["right"]
        assert seen["sizes"][-1] == job.ranks + 1


@pytest.mark.parametrize("leaver", [0, 2])
@pytest.mark.parametrize("job", [(3, 200)], indirect=True)
def test_a_rank_that_leaves_is_missed_by_nobody(job: Job, leaver: int) -> None:
    check_leaving(job, leaver)


@pytest.mark.parametrize("victim", [0, 2])
@pytest.mark.parametrize("job", [(3, 200)], indirect=True)
def test_a_dead_rank_is_replaced(job: Job, victim: int) -> None:
    check_replacing(job, victim)


@pytest.mark.parametrize("when", ["during grow", "during shrink", "before shrink", "of an old one"])
def test_a_rank_that_says_so_late_still_leaves(when: str) -> None:
    assert hm.launch(work.left_late, 3, when, timeout_s=90) == [(2, False), (3, True), (2, False)]


def test_a_wrong_limit_leaves_the_communicator_open() -> None:
    for said, total in hm.launch(work.shrunk_in_no_time, 2, timeout_s=90):
        assert "expected a timeout above 0 seconds" in said
        assert total == 2


def test_a_newcomer_finds_a_launched_job_by_its_name() -> None:
    seen = hm.launch(work.launched, 2, timeout_s=90)
    assert seen == [(3, "2 True\n", True), (3, "", True)]


def test_who_cannot_come_or_go_is_told_why() -> None:
    for emulated, unknown, *of_group in hm.launch(
        work.refused, 2, f"nobody-{uuid.uuid4().hex}", timeout_s=90
    ):
        assert emulated.startswith("ArgumentError: ")
        assert "'emulate' gave it a network" in emulated
        assert unknown.startswith("TimeoutError: ")
        assert "is it running on this machine" in unknown
        for error in of_group:
            assert error.startswith("ArgumentError: ")
            assert "found a group" in error


def test_a_newcomer_without_the_name_of_a_job_is_told_what_to_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEMIOLA_JOB", raising=False)
    with pytest.raises(
        hm.ArgumentError, match="expected a store or a name where the job's ranks meet, or HEMIOLA_JOB"
    ):
        hm.join()


@pytest.mark.long
@pytest.mark.parametrize("job", [(2, 100_000)], indirect=True)
def test_forty_joins_and_leaves_leave_nothing_behind(job: Job) -> None:
    old = [job.start(rank) for rank in range(2)]
    held = []
    for _ in range(40):
        new = job.start("new", "stay=50")
        assert seen_by(new)["left"] > 0
        held.append(resources_of(old[0]))
    early, late = held[4], held[-1]
    assert late["descriptors"] <= early["descriptors"]
    assert late["threads"] <= early["threads"]
    assert late["mappings"] <= early["mappings"] + 8  # the allocator's own come and go
    assert late["resident_mib"] <= early["resident_mib"] + 1


def resources_of(process: subprocess.Popen[str]) -> dict[str, int]:
    """Count what a process holds of the system."""
    place = Path(f"/proc/{process.pid}")
    return {
        "descriptors": len(list((place / "fd").iterdir())),
        "threads": len(list((place / "task").iterdir())),
        "mappings": len((place / "maps").read_text().splitlines()),
        "resident_mib": int((place / "statm").read_text().split()[1]) * 4096 >> 20,
    }


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_nobody_hangs_and_sums_are_right(seed: int) -> None:
    ranks, events = sequence(seed)
    check_sequence(Job(ranks, 6000), events)
