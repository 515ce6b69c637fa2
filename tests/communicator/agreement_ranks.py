# SPDX-License-Identifier: Apache-2.0
"""What ranks do in test_agreement.py, each with a planner of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

import hemiola as hm
from hemiola.algorithms import Task, highs
from hemiola.communicator.control_plane import control_plane
from hemiola.planner import Plan, race
from hemiola.planner.communicator_plans import CommunicatorPlans
from waiting import is_alive, tell, wait_until, wait_until_told

#: Of the 60 s that an answer may take.
SOON_S = 10
SIZES = (64, 4096, 1 << 16, 1 << 20)


@contextmanager
def planner(change: Callable[[Plan, hm.Topology], Plan]) -> Iterator[list[str]]:
    """Have this rank's planner come to something else; yield the collectives that it has planned."""
    planned: list[str] = []
    plan = CommunicatorPlans._planned

    def another(plans: CommunicatorPlans, kind: str, *args: Any, **named: Any) -> Plan:
        planned.append(kind)
        return change(plan(plans, kind, *args, **named), plans.network())

    with mock.patch.object(CommunicatorPlans, "_planned", another):
        yield planned


def prefer(rank: int) -> Callable[[Plan, hm.Topology], Plan]:
    """Return a change by which each rank prefers another algorithm."""

    def change(found: Plan, topology: hm.Topology) -> Plan:
        task = Task(found.kind, found.rank_count, found.nbytes, found.speed, found.conditions, 0, topology)
        known = [one for one in found.alternatives if one.name in hm.algorithms.names(found.kind)]
        mine = known[rank % len(known)]
        chosen = hm.algorithms.get(mine.name).candidates(task)[0]
        rest = tuple(one for one in found.alternatives if one is not mine)
        return replace(found, alternatives=(mine, *rest), chosen=chosen)

    return change


def sums(sizes: tuple[int, ...]) -> list[bool]:
    comm = hm.init()
    right = []
    for size in sizes:
        x = np.full(size // 8, comm.rank + 1.0)
        comm.all_reduce(x)
        right.append(bool(np.all(x == comm.rank_count * (comm.rank_count + 1) / 2)))
    return right


def disagreeing_planners() -> tuple[list[bool], list[str], list[str]]:
    """Run all-reduces of several sizes; return whether they were right, what was planned here, and what ran."""
    comm = hm.init()
    with planner(prefer(comm.rank)) as planned:
        right = sums(SIZES)
        return right, planned, [comm.plan("all_reduce", size).name for size in SIZES]


def another_last_bit(odd: int) -> list[bool]:
    """One rank simulates and solves linear programs with other last bits, and other optima among equals."""
    comm = hm.init()
    if comm.rank != odd:
        return sums(SIZES)
    simulate, cheapest = race.simulate, highs.cheapest_shares

    def simulated(*args: Any, **named: Any) -> Any:
        return mock.Mock(seconds=np.nextafter(simulate(*args, **named).seconds, 1e9))

    def solved(cost: Any, *args: Any) -> Any:
        return cheapest(cost + 1e-9 * np.arange(len(cost)), *args)

    with mock.patch.object(race, "simulate", simulated), mock.patch.object(highs, "cheapest_shares", solved):
        return sums(SIZES)


def late_first_rank(folder: str) -> list[str]:
    """Rank 0 comes to a size once another has planned it; return what was planned here."""
    comm = hm.init()
    if comm.rank == 0:
        wait_until_told(folder, "planned")

    def tell_of(found: Plan, topology: hm.Topology) -> Plan:
        tell(folder, "planned")
        return found

    with planner(tell_of) as planned:
        sums((1 << 13,))
    return planned


def nothing_to_choose() -> tuple[str, float]:
    """The planner finds nothing; return what was raised, and a sum that follows."""
    comm = hm.init()
    raised = ""

    def fail(found: Plan, topology: hm.Topology) -> Plan:
        raise hm.errors.ArgumentError("nothing runs this")

    with planner(fail):
        try:
            comm.all_reduce(np.ones(10))
        except hm.errors.ArgumentError as error:
            raised = str(error)
    x = np.ones(3)
    comm.all_reduce(x, schedule="all_reduce_ring")
    return raised, float(x[0])


def keeper_that_leaves(meeting: dict[str, str], how: str, folder: str) -> list[str]:
    """Rank 0, which keeps what has been chosen, closes or dies; the others ask what is planned, known and unknown."""
    os.environ.update(meeting)
    with control_plane("hosts"):
        comm = hm.init(timeout_s=60)
    keeper = int(comm.broadcast(np.array([os.getpid()]))[0])
    known = comm.plan("all_reduce", 4096).name
    comm.barrier()
    if comm.rank == 0:
        wait_until_told(folder, "1 knows", "2 knows")  # it has left the barrier
        if how == "dies":
            os._exit(3)
        comm.close()
        tell(folder, "closed")
        wait_until_told(folder, 1, 2)  # it lives, and answers nothing about this communicator
        return []
    tell(folder, f"{comm.rank} knows")
    if how == "dies":
        wait_until(lambda: not is_alive(keeper))
    else:
        wait_until_told(folder, "closed")
    told = [str(comm.plan("all_reduce", 4096).name == known)]
    for _ in range(2):
        began = time.monotonic()
        try:
            told.append(comm.plan("all_reduce", 1 << 20).name)
        except hm.LostRankError as error:
            told.append(
                f"rank {error.rank} is lost, {'soon' if time.monotonic() - began < SOON_S else 'late'}: {error}"
            )
    tell(folder, comm.rank)
    return told
