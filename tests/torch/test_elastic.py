# SPDX-License-Identifier: Apache-2.0
"""Ranks of a training with PyTorch die, leave and come: no other restarts, and its result is that of an undisturbed
run."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from of_pytorch import HAS_FSDP2, needs_fsdp2

PROGRAM = str(Path(__file__).with_name("elastic_jobs.py"))
STEPS = 100
WHERE = ("before", "in", "after")


def outcomes(*jobs: dict[str, Any]) -> list[list[dict[str, Any] | int]]:
    """Run jobs, and return what the processes of each saw; of a killed one, its signal."""
    done = subprocess.run(
        [sys.executable, PROGRAM, *map(json.dumps, jobs)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(jobs)
    return found


def check(job: dict[str, Any], found: list[dict[str, Any] | int]) -> list[dict[str, Any]]:
    """Compare what processes saw with what has happened; return those that were not killed."""
    killed = {event[1] for event in job["events"] if event[0] == "die"}
    left = {event[1] for event in job["events"] if event[0] == "leave"}
    alive = []
    for number, seen in enumerate(found):
        if number in killed:
            assert seen == -9
            continue
        assert isinstance(seen, dict), job
        assert seen["is_each_step_made_once"], job
        assert seen["has_left"] == (number in left)
        assert seen["repeated"] <= sum(event[0] in ("die", "deaf") for event in job["events"])
        alive.append(seen)
    stayed = [seen for seen in alive if not seen["has_left"]]
    assert len({(seen["steps"], seen["lr"], seen["sizes"][-1]) for seen in stayed}) == 1
    assert stayed[0]["sizes"][-1] == len(stayed)
    assert stayed[0]["steps"] >= STEPS
    return alive


#: Run by one process, which imports PyTorch once.
JOBS: dict[str, dict[str, Any]] = {
    "before": {"ranks": 3, "events": [["die", 0, 20, "before"]]},
    "in": {"ranks": 3, "events": [["die", 1, 20, "in"]]},
    "after": {"ranks": 3, "events": [["die", 2, 20, "after"]]},
    "no death": {"ranks": 2, "events": [["come", 20], ["leave", 0, 60]]},
    "slurm": {"ranks": 2, "events": [["die", 0, 20, "in"], ["come", 30]], "slurm": True},
    # rank 1 owes nothing
    "pruned": {
        "ranks": 3,
        "events": [["die", 1, 20, "after"], ["come", 30], ["leave", 0, 60]],
        "hook": "pruned",
    },
    "deaf": {"ranks": 3, "events": [["deaf", 2, 20]], "hook": "pruned"},
    "quantized": {
        "ranks": 3,
        "events": [["die", 1, 20, "after"], ["come", 30], ["leave", 0, 60]],
        "hook": "quantized",
    },
}
SHARDED_JOBS: dict[str, dict[str, Any]] = {
    "replaced": {"ranks": 4, "shards": 2, "events": [["die", 0, 20, "after"], ["come", 30]]},
    "shard lost": {"ranks": 2, "shards": 2, "events": [["die", 1, 20, "in"]]},
}
Ran = dict[str, tuple[dict[str, Any], list[dict[str, Any] | int]]]


@pytest.fixture(scope="module")
def ran() -> Ran:
    """Run the jobs, and return each with what its processes saw."""
    named = {**JOBS, **(SHARDED_JOBS if HAS_FSDP2 else {})}
    jobs = {name: {"steps": STEPS, **job} for name, job in named.items()}
    return dict(zip(jobs, zip(jobs.values(), outcomes(*jobs.values()), strict=True), strict=True))


@pytest.mark.parametrize("where", WHERE)
def test_a_step_that_loses_a_rank_is_made_again_or_has_been_made_by_all(ran: Ran, where: str) -> None:
    for seen in check(*ran[where]):
        assert seen["sizes"] == [3, 2]
        assert seen["repeated"] == 1
        assert seen["apart"] < 1e-9


def test_ranks_leave_and_come_and_no_step_is_made_twice(ran: Ran) -> None:
    for seen in check(*ran["no death"]):
        assert seen["repeated"] == 0
        assert seen["apart"] < 1e-9


@pytest.mark.parametrize("hook", ["pruned", "deaf", "quantized"])
def test_nothing_that_is_owed_is_lost_or_paid_twice(ran: Ran, hook: str) -> None:
    alive = check(*ran[hook])
    if hook == "deaf":
        assert alive[2]["repeated"] == 0  # others had applied the step
    earned = sum(np.array(seen["earned"]) for seen in alive)
    owed = sum(np.array(seen["owed"]) for seen in alive if not seen["has_left"])
    for seen in alive:
        if not seen["has_left"]:
            np.testing.assert_allclose(np.array(seen["got"]) + owed, earned, atol=1e-3)
    assert np.abs(owed).max() > 1 or hook == "quantized"
    assert len(alive) == 3


def test_ranks_of_slurm_are_replaced(ran: Ran) -> None:
    for seen in check(*ran["slurm"]):
        assert seen["apart"] < 1e-9


def check_sharded(job: dict[str, Any], found: list[dict[str, Any] | int]) -> None:
    """Compare the parameters of all ranks that compute with an undisturbed run's, and count replicas."""
    killed = {event[1] for event in job["events"] if event[0] == "die"}
    alive = [seen for number, seen in enumerate(found) if number not in killed]
    assert len(alive) == len(found) - len(killed)
    seated = set()
    for seen in alive:
        assert isinstance(seen, dict), job
        assert seen["is_each_step_made_once"]
        if not seen["has_left"]:
            assert seen["steps"] >= STEPS
            if seen["seat"] is not None:
                seated.add(tuple(seen["seat"]))
                assert seen["apart"] < 1e-9
    stayed = sum(isinstance(seen, dict) and not seen["has_left"] for seen in alive)
    assert seated == {
        (replica, shard) for replica in range(stayed // job["shards"]) for shard in range(job["shards"])
    }


@needs_fsdp2
def test_a_replica_of_shards_is_lost_with_a_rank_and_made_whole_by_a_newcomer(ran: Ran) -> None:
    job, found = ran["replaced"]
    check_sharded(job, found)
    assert isinstance(found[1], dict)
    assert found[1]["sizes"] == [4, 2, 4]


@needs_fsdp2
def test_a_shard_that_nobody_holds_any_more_is_named(ran: Ran) -> None:
    _, [seen, killed] = ran["shard lost"]
    assert killed == -9
    assert isinstance(seen, dict)
    assert "found none that holds shard 1" in seen["error"]


@needs_fsdp2
@pytest.mark.long
def test_replicas_of_shards_come_and_go() -> None:
    come = [["come", 40], ["come", 50], ["come", 55]]
    jobs = [
        {
            "ranks": 6,
            "shards": 2,
            "events": [["die", 0, 20, "after"], ["die", 1, 21, "in"], ["leave", 3, 30], *come],
        },
        {"ranks": 4, "shards": 4, "events": [["come", 20]] * 4 + [["die", 0, 70, "before"]]},
        {"ranks": 5, "shards": 2, "events": [["die", 2, 20, "before"], ["come", 30]]},
    ]
    jobs = [{"steps": STEPS, **job} for job in jobs]
    for job, found in zip(jobs, outcomes(*jobs), strict=True):
        check_sharded(job, found)


def random_job(seed: int) -> dict[str, Any]:
    """Return a job in which somebody who has the state lives on."""
    draw = random.Random(seed)
    ranks, newcomers = draw.randint(2, 4), draw.randint(0, 2)
    gone = draw.sample(range(ranks), draw.randint(1, ranks - 1))
    events: list[list[Any]] = [["come", draw.randrange(5, 80)] for _ in range(newcomers)]
    for rank in gone:
        step = draw.randrange(1, 90)
        is_death = draw.random() < 0.6
        events.append(["die", rank, step, draw.choice(WHERE)] if is_death else ["leave", rank, step])
    return {"ranks": ranks, "steps": STEPS, "events": events}


@pytest.mark.long
def test_any_sequence_ends_with_the_parameters_of_an_undisturbed_run() -> None:
    jobs = [random_job(seed) for seed in range(16)]
    for job, found in zip(jobs, outcomes(*jobs), strict=True):
        for seen in check(job, found):
            assert seen["apart"] < 1e-9, job
