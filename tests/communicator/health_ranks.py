# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the health tests do; each returns plain data for the test to judge."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import hemiola as hm

NBYTES = 64 << 10


@dataclass
class Story:
    """What one rank saw: wrong elements, the changes, and when ports were degraded."""

    wrong: int = 0
    changes: list[tuple[int, dict[int, float]]] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    slow: list[tuple[int, float, int]] = field(default_factory=list)


def checked_sum(comm: hm.Communicator, number: int, nbytes: int = NBYTES, schedule: Any = None) -> int:
    """All-reduce integers that differ from rank to rank and operation to operation; count wrong ones."""
    own = np.arange(nbytes // 8, dtype=np.int64) * (number + 1)
    x = own + comm.rank
    comm.all_reduce(x, schedule=schedule)
    n = comm.rank_count
    return int((x != n * own + n * (n - 1) // 2).sum())


def note(story: Story, comm: hm.Communicator) -> Story:
    health = comm.health()
    story.changes = [(change.operation, dict(change.slow)) for change in health.changes]
    story.slow = [(one.rank, one.planned_factor, one.since_operation) for one in health.slow]
    return story


def degraded_run(
    operations: int,
    events: Mapping[int, Mapping[int, float]],
    schedule: hm.Schedule | str | None = None,
    adapt: str | None = None,
) -> Story:
    """Run all-reduces; before those that `events` names, rank 0 changes the ports' factors."""
    comm = hm.init(timeout_s=60, adapt=adapt)
    story = Story()
    for number in range(operations):
        if number in events:
            comm.barrier()  # so that no rank is still in the operation before
            if comm.rank == 0:
                comm.degrade(events[number])
            comm.barrier()
            story.marks.append(comm.health().operation_count)
        story.names.append(comm.plan("all_reduce", NBYTES).name)
        story.wrong += checked_sum(comm, number, schedule=schedule)
    return note(story, comm)


def known_since() -> tuple[float, float]:
    """Return for how long the one slow rank is known to be slow, and for how long this rank has been running."""
    begin = time.monotonic()
    comm = hm.init(timeout_s=60)
    (slow,) = comm.health().slow
    return slow.since_s, time.monotonic() - begin


def late_rank(operations: int) -> Story:
    """Rank 1 comes late to every operation."""
    comm = hm.init(timeout_s=60)
    story = Story()
    for number in range(operations):
        time.sleep(0.003 if comm.rank == 1 else 0)
        story.wrong += checked_sum(comm, number)
    return note(story, comm)


def busy_core(operations: int) -> Story:
    """Rank 1 computes for a while between any two operations, and rank 2's process is held up in the middle."""
    comm = hm.init(timeout_s=60)
    story = Story()
    for number in range(operations):
        pending = comm.start_all_reduce(np.ones(NBYTES // 8))
        if comm.rank == 1:
            end = time.perf_counter() + 0.002
            while time.perf_counter() < end:
                pass
        pending.wait()
        story.wrong += checked_sum(comm, number)
    return note(story, comm)


def background_run(operations: int, at: int) -> Story:
    """Start many operations at once; they change their schedule when their turn comes, not when they are started."""
    comm = hm.init(timeout_s=60)
    story = Story()
    arrays, handles = [], []
    for number in range(operations):
        if number == at and comm.rank == 0:
            comm.degrade({2: 2.0})
        arrays.append(np.full(NBYTES // 8, comm.rank + number, np.int64))
        handles.append(comm.start_all_reduce(arrays[-1]))
    n = comm.rank_count
    for number, handle in enumerate(handles):
        handle.wait()
        story.wrong += int((arrays[number] != n * number + n * (n - 1) // 2).sum())
    return note(story, comm)


def degraded_group(operations: int) -> tuple[int, Story]:
    """All ranks but the first are in a group, whose rank 1 (rank 2 of all) gets slow."""
    comm = hm.init(timeout_s=60)
    if comm.rank == 0:
        return -1, note(Story(), comm)
    group = comm.group(range(1, comm.rank_count))
    if group.rank == 0:
        group.degrade({1: 3.0})
    story = Story(wrong=sum(checked_sum(group, number) for number in range(operations)))
    return len(comm.health().slow), note(story, group)


def mistakes() -> list[str]:
    comm = hm.init(timeout_s=60)
    seen = []
    for slow in ({comm.rank_count: 2.0}, {-1: 2.0}, {0: 0.5}, {0: float("nan")}, {0: float("inf")}):
        try:
            comm.degrade(slow)
            seen.append("")
        except hm.errors.ArgumentError:
            seen.append("ArgumentError")
    return seen


def unwatched() -> tuple[bool, int, int, str]:
    comm = hm.init(timeout_s=60)
    before = comm.health().operation_count
    comm.barrier()
    health = comm.health()
    return health.watching, health.operation_count - before, len(health.slow), str(health)


def health_in_the_middle() -> int:
    """Ask for health while operations run in the background and need the GIL to be planned again."""
    comm = hm.init(timeout_s=60)
    if comm.rank == 0:
        comm.degrade({1: 2.0})
    handles = [comm.start_all_reduce(np.ones(NBYTES // 8)) for _ in range(20)]
    asked = 0
    while not handles[-1].done():
        comm.health()
        asked += 1
    return asked
