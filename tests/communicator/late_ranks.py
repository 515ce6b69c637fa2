# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the late all-reduce's tests do; each returns plain data for the test to judge."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import hemiola as hm
from hemiola.communicator.control_plane import control_plane
from hemiola.errors import ArgumentError, HemiolaError

NAME = "all_reduce_late"


def by_messages(
    meeting: dict[str, str], function: Callable[..., Any], *args: Any, topology: hm.Topology | None = None
) -> Any:
    """Do something with a communicator whose ranks agree by messages on who is late."""
    os.environ.update(meeting)
    with control_plane("hosts"):
        hm.init(timeout_s=60, topology=topology)
    return function(*args)


def contribution(rank: int, size: int, call: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return what a rank brings: another number at every place, rank and call."""
    return np.arange(size, dtype=np.int64) * (rank + 1) + call * 1000 + rank


def soak(size: int, calls: int, seed: int, *, in_place: bool) -> tuple[int, int]:
    """All-reduce after random delays; return the wrong elements and the inputs that did not stay as they were."""
    comm = hm.init(timeout_s=60)
    n, rng = comm.rank_count, np.random.default_rng([seed, comm.rank])
    wrong = spoilt = 0
    for call in range(calls):
        delay_s = rng.choice([0.0, 0.0, 0.0, 1e-4, 1e-3, 3e-3])
        if delay_s:
            time.sleep(delay_s)
        x = contribution(comm.rank, size, call)
        out = x if in_place else np.empty_like(x)
        comm.all_reduce(x, schedule=NAME, out=out)
        places = np.arange(size, dtype=np.int64)
        wrong += int((out != places * (n * (n + 1) // 2) + n * call * 1000 + n * (n - 1) // 2).sum())
        if not in_place:
            spoilt += int((x != contribution(comm.rank, size, call)).any())
    return wrong, spoilt


def bits(size: int, calls: int, seed: int, op: str) -> list[bytes]:
    """All-reduce float32 values whose sum depends on the order, and return every result's bits."""
    comm = hm.init(timeout_s=60)
    rng = np.random.default_rng([seed, comm.rank])
    found = []
    for _ in range(calls):
        x = rng.standard_normal(size).astype(np.float32)
        time.sleep(rng.choice([0.0, 2e-3]))
        found.append(comm.all_reduce(x, op, schedule=NAME).tobytes())
    return found


def order_of_adding(late: int, size: int, op: str) -> set[float]:
    """Let one rank come last; what it brings, 1, is lost unless the others' 2^60 and -2^60 have met before."""
    comm = hm.init(timeout_s=60)
    early = [rank for rank in range(comm.rank_count) if rank != late]
    brought = {late: 1.0, early[0]: 2.0**60, early[1]: -(2.0**60)}.get(comm.rank, 0.0)
    x = np.full(size, brought)
    comm.all_reduce(np.zeros(size), op, schedule=NAME)  # all are here
    time.sleep(0.7 if comm.rank == late else 0.0)
    return set(comm.all_reduce(x, op, schedule=NAME).tolist())


def never_comes(absent: int, size: int) -> tuple[str, str, bool]:
    """Leave one rank out; return what the others raise, and whether their inputs are as they were."""
    comm = hm.init(timeout_s=60)
    comm.all_reduce(np.zeros(size, np.int64), schedule=NAME)
    x = contribution(comm.rank, size, 1)
    if comm.rank == absent:
        time.sleep(3)
        return "", "", True
    try:
        comm.all_reduce(x, schedule=NAME, timeout_s=1.0)
    except HemiolaError as error:
        return type(error).__name__, str(error), np.array_equal(x, contribution(comm.rank, size, 1))
    return "", "", False


def dies_when_late(victim: int, size: int, folder: str) -> None:
    """End one rank's process while the others wait for it; they write down what they raise."""
    comm = hm.init(timeout_s=60)
    comm.all_reduce(np.zeros(size, np.int64), schedule=NAME)
    x = contribution(comm.rank, size, 1)
    if comm.rank == victim:
        time.sleep(0.5)
        os._exit(3)
    try:
        comm.all_reduce(x, schedule=NAME)
    except HemiolaError as error:
        intact = np.array_equal(x, contribution(comm.rank, size, 1))
        with open(os.path.join(folder, str(comm.rank)), "w") as file:
            file.write(f"{type(error).__name__} {intact} {error}")


def disagreements(size: int) -> list[tuple[str, bool, int]]:
    """Let one rank call something else, then all the same again; return errors, intact inputs and a sum."""
    comm = hm.init(timeout_s=60)
    seen = []
    for odd_one, schedule in [
        (0, "all_reduce_ring"),
        (comm.rank_count - 1, "all_reduce_ring"),
        (1, "nonsense"),
    ]:
        x = contribution(comm.rank, size, 0)
        name = ""
        try:
            comm.all_reduce(x, schedule=schedule if comm.rank == odd_one else NAME)
        except HemiolaError as error:
            name = type(error).__name__
        intact = np.array_equal(x, contribution(comm.rank, size, 0))
        seen.append((name, intact, int(comm.all_reduce(np.ones(1, np.int64), schedule=NAME)[0])))
    return seen


def background(calls: int) -> list[float]:
    """Start several at once, each on what the one before it left."""
    comm = hm.init(timeout_s=60)
    x = np.ones(3000)
    handles = [comm.start_all_reduce(x, schedule=NAME) for _ in range(calls)]
    time.sleep(0.05 * comm.rank)
    handles[-1].wait()
    return [float(x.min()), float(x.max())]


def barrier_mismatch(size: int) -> tuple[str, bool]:
    """Reduce in place, then let ranks disagree about a barrier; return the error and whether the sum is still there."""
    comm = hm.init(timeout_s=60)
    x = np.ones(size)
    comm.all_reduce(x)
    try:
        comm.barrier() if comm.rank == 0 else comm.all_reduce(np.ones(size + 1))
    except HemiolaError as error:
        return type(error).__name__, bool((x == comm.rank_count).all())
    return "", False


def changing_lateness(
    size: int, phases: list[tuple[int, float]], *, wait: bool, adapt: str | None = None
) -> tuple[int, list[bool]]:
    """All-reduce without naming a schedule, the last rank late by a time per phase.

    Return the wrong elements, and whether a late rank was expected after each call.
    """
    comm = hm.init(timeout_s=60, adapt=adapt)
    wrong, expected = 0, []
    small = np.ones(1, np.int64)
    for calls, delay_s in phases:
        for call in range(calls):
            if comm.rank == comm.rank_count - 1:
                time.sleep(delay_s)
            x = contribution(comm.rank, size, call)
            if wait:
                comm.all_reduce(x)
                expected.append(comm.expects_late_rank(x.nbytes))
            else:
                handles = [comm.start_all_reduce(y) for y in (x, small)]
                handles[0].wait()
                handles[1].wait()
            comm.all_reduce(small)  # meets nobody late, and counts for itself
            small[:] = 1
            n = comm.rank_count
            whole = np.arange(size, dtype=np.int64) * (n * (n + 1) // 2) + n * call * 1000 + n * (n - 1) // 2
            wrong += int((x != whole).sum())
    if not wait:
        expected.append(comm.expects_late_rank(8 * size))
    return wrong, expected


def changing_lateness_in_a_group(size: int, phases: list[tuple[int, float]]) -> list[bool]:
    """The same in a group of the ranks but the first; return what the group and what all expect."""
    comm = hm.init(timeout_s=60)
    if comm.rank == 0:
        return []
    group = comm.group(range(1, comm.rank_count))
    for calls, delay_s in phases:
        for _ in range(calls):
            if group.rank == group.rank_count - 1:
                time.sleep(delay_s)
            group.all_reduce(np.ones(size, np.int64))
    return [group.expects_late_rank(8 * size), comm.expects_late_rank(8 * size)]


def ask_about(nbytes: Any) -> bool:
    """Return whether a size is refused."""
    try:
        hm.init(timeout_s=60).expects_late_rank(nbytes)
    except ArgumentError:
        return True
    return False


def groups_in_turn(size: int) -> list[int]:
    """Reduce in two groups that share a rank, with a late one each, and in all; return a sum of each."""
    comm = hm.init(timeout_s=60)
    groups = [comm.group(ranks) for ranks in ((0, 1, 2), (2, 3, 4)) if comm.rank in ranks]
    found = []
    for group in [*groups, comm]:
        for call in range(10):
            time.sleep(0.002 if group.rank == call % group.rank_count else 0.0)
            x = np.full(size, comm.rank + 1, np.int64)
            group.all_reduce(x, schedule=NAME)
        found.append(int(x[-1]))
    return found


def total(size: int, ranks: int, call: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the sum of what all ranks bring."""
    places = np.arange(size, dtype=np.int64) * (ranks * (ranks + 1) // 2)
    return places + ranks * call * 1000 + ranks * (ranks - 1) // 2


def changing_plans(
    size: int,
    phases: list[tuple[int, int | None, float]],
    adapt: str | None = None,
    topology: hm.Topology | None = None,
) -> tuple[int, list[tuple[str, tuple[int, ...], bool]]]:
    """All-reduce without naming a schedule; phases are of so many calls, to which a rank comes late by a time, or, of
    None, each in its turn.

    Return the wrong elements, and after each call what would run, for whom, and whether a late rank is expected.
    """
    comm = hm.init(timeout_s=60, adapt=adapt, topology=topology)
    wrong, seen = 0, []
    for calls, late, delay_s in phases:
        for call in range(calls):
            if comm.rank == (call % comm.rank_count if late is None else late):
                time.sleep(delay_s)
            x = contribution(comm.rank, size, call)
            comm.all_reduce(x)
            wrong += int((x != total(size, comm.rank_count, call)).sum())
            plan = comm.plan("all_reduce", x.nbytes)
            seen.append((plan.name, tuple(plan.conditions.late), comm.expects_late_rank(x.nbytes)))
    return wrong, seen


def dies_where_each_may_be_late(size: int, calls: int, delay_s: float, victim: int, folder: str) -> None:
    """Let each rank come late in its turn until that is expected, and one end its process instead of coming late; the
    others write down what they raise, and whether their inputs are as they were."""
    comm = hm.init(timeout_s=60)
    for call in range(calls):
        time.sleep(delay_s if comm.rank == call % comm.rank_count else 0.0)
        comm.all_reduce(contribution(comm.rank, size, call))
    expected = comm.expects_late_rank(8 * size)
    x = contribution(comm.rank, size, calls)
    if comm.rank == victim:
        time.sleep(delay_s)
        os._exit(3)
    try:
        comm.all_reduce(x)
    except HemiolaError as error:
        intact = np.array_equal(x, contribution(comm.rank, size, calls))
        with open(os.path.join(folder, str(comm.rank)), "w") as file:
            file.write(f"{expected} {type(error).__name__} {intact}")


def plans_in_the_background(size: int, calls: int, late: int, delay_s: float) -> tuple[int, str]:
    """All but one start all calls at once, when nobody is known to be late, and that one comes late to each.

    Return the wrong elements, and what would run in the end.
    """
    comm = hm.init(timeout_s=60)
    arrays = [contribution(comm.rank, size, call) for call in range(calls)]
    if comm.rank == late:
        for x in arrays:
            time.sleep(delay_s)
            comm.all_reduce(x)
    else:
        for handle in [comm.start_all_reduce(x) for x in arrays]:
            handle.wait()
    wrong = [int((x != total(size, comm.rank_count, call)).sum()) for call, x in enumerate(arrays)]
    return sum(wrong), comm.plan("all_reduce", 8 * size).name
