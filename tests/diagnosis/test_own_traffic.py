# SPDX-License-Identifier: Apache-2.0
"""comm.diagnose() on what an application does anyway: a loop of its own steps and all-reduces."""

import os
import time

import numpy as np

import hemiola as hm
from hemiola.diagnosis import Cause, Diagnosis
from undisturbed import undisturbed

RANKS, STEPS, LATE = 4, 40, 2
CLUSTER = hm.topologies.switch(RANKS, latency_s=1e-4, bandwidth=1e8)


def trained(late: int | None) -> Diagnosis:
    """Train a little: the rank that is late loads its data more slowly than the others, in every step."""
    comm = hm.init()
    weights = np.zeros(5_000, np.float32)
    comm.broadcast(weights)
    for step in range(STEPS):
        time.sleep(0.04 if comm.rank == late else 0.005)
        gradient = np.full_like(weights, step + comm.rank)
        comm.all_reduce(gradient, op="average")
        weights -= 0.1 * gradient
        if step % 10 == 9:
            comm.all_gather(np.array([float(np.abs(weights).sum())]))
    return comm.diagnose()


def causes(late: int | None) -> set[tuple[Cause, tuple[int, ...]]]:
    """Return what was found, the same on every rank. That other programs have the cores is no fault of the loop's."""
    said = hm.launch(trained, RANKS, late, emulate=CLUSTER)
    assert all(one.findings == said[0].findings for one in said)
    return {
        (found.cause, found.ranks) for found in said[0].findings if found.cause is not Cause.OVERSUBSCRIBED
    }


def test_the_rank_that_is_late_in_a_training_loop_is_found() -> None:
    expected = {(Cause.COMPUTE_LATE, (LATE,))}
    assert undisturbed(lambda: causes(LATE), lambda found: found == expected) == expected


def test_nothing_is_found_in_a_training_loop_where_nothing_is_wrong() -> None:
    assert undisturbed(lambda: causes(None), lambda found: not found) == set()


def crowded() -> Diagnosis:
    """Work for some milliseconds a step, beside other ranks that do so on the same core."""
    comm = hm.init()
    for _ in range(STEPS):
        end_s = time.process_time() + 0.01
        while time.process_time() < end_s:
            pass
        comm.all_reduce(np.ones(8))
    return comm.diagnose()


def test_ranks_that_crowd_on_a_core_are_told_that_the_machine_is_oversubscribed() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})  # which the ranks inherit
    try:
        said = hm.launch(crowded, 3, timeout_s=120)
    finally:
        os.sched_setaffinity(0, allowed)
    # Given three ranks on one core. Derivation: each runs for a third of a step and waits for two. Expect a share of
    # that order; whatever else runs on the core makes it larger.
    (found,) = [one for one in said[0].findings if one.cause is Cause.OVERSUBSCRIBED]
    assert found.amount > 0.4
    assert all(one.findings == said[0].findings for one in said)
