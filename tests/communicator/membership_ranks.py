# SPDX-License-Identifier: Apache-2.0
"""A training loop of processes that come and go: a program of its own, one process a rank.

    python membership_ranks.py NAME|STORE RANK RANKS STEPS [leave=STEP] [stay=STEPS] [die=STEP] [until=COUNT]

RANK is "new" of a newcomer. A process trains for so many steps, and until there are so many ranks. SIGUSR1 has it
leave. It makes the file READY once it has come. It prints what it saw, and whether its weights are those of an
undisturbed run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from folder_store import FolderStore

import hemiola as hm
from hemiola.communicator import membership

BATCH, FEATURES, RATE = 64, 32, 0.002
_RNG = np.random.default_rng(7)
X, Y = _RNG.standard_normal((BATCH, FEATURES)), _RNG.standard_normal(BATCH)


def gradient(weights: np.ndarray, part: slice) -> np.ndarray:
    """Return the gradient of a part of the batch."""
    return np.asarray(X[part].T @ (X[part] @ weights - Y[part]))


def undisturbed(steps: int) -> np.ndarray:
    """Return the weights that one process alone comes to."""
    weights = np.zeros(FEATURES)
    for _ in range(steps):
        weights -= RATE * gradient(weights, slice(None))
    return weights


def settled(
    comm: hm.Communicator, step: int, weights: np.ndarray, before: np.ndarray
) -> tuple[int, np.ndarray]:
    """Bring all ranks to one step: that of the slowest rank with a past, which others have the weights of, too."""
    steps = comm.all_gather(np.array([step], np.int64))
    past = steps[steps >= 0]
    agreed = int(past.min())
    own = np.concatenate([[agreed], weights if step == agreed else before])
    comm.broadcast(own, root=int(np.flatnonzero(steps >= agreed)[0]))
    return agreed, own[1:]


def regrouped(
    comm: hm.Communicator, step: int, weights: np.ndarray, before: np.ndarray, lost: list[int | None]
) -> tuple[hm.Communicator, int, np.ndarray] | None:
    """Settle in the next group, whoever dies meanwhile; None for a rank that leaves."""
    while True:
        try:
            following = comm.grow()
            if following is None:
                return None
            comm = following
            return comm, *settled(comm, step, weights, before)
        except hm.LostRankError as error:
            lost.append(error.world_rank)


def main(name: str, rank: str, ranks: int, steps: int, **events: int) -> dict[str, Any]:
    """Train, let others in, and go on without those that are lost."""
    is_new = rank == "new"
    place = FolderStore(name) if Path(name).is_dir() else name
    take_part = hm.join if is_new else partial(hm.Communicator.join, int(rank), ranks)
    comm = take_part(place, timeout_s=60)
    step, weights, sizes, pauses, lost = (-1 if is_new else 0), np.zeros(FEATURES), [comm.rank_count], [], []
    before = weights
    if is_new:
        try:
            step, weights = settled(comm, step, weights, before)
        except hm.LostRankError as error:
            lost.append(error.world_rank)
            group = regrouped(comm, step, weights, before, lost)
            assert group is not None
            comm, step, weights = group
    wants_to_leave: list[int] = []
    signal.signal(signal.SIGUSR1, lambda *_: wants_to_leave.append(1))
    first = step
    Path(os.environ["READY"]).touch()
    while step < steps or comm.rank_count < events.get("until", 0):
        if step == events.get("die"):
            os.kill(os.getpid(), signal.SIGKILL)
        if wants_to_leave or step in (
            events.get("leave"),
            first + events["stay"] if "stay" in events else None,
        ):
            comm.leave()
        begin = time.perf_counter()
        try:
            summed = comm.all_reduce(gradient(weights, slice(comm.rank, BATCH, comm.rank_count)))
            before, weights, step = weights, weights - RATE * summed, step + 1
            if not comm.is_called:
                time.sleep(0.002)
                continue
        except hm.LostRankError as error:
            lost.append(error.world_rank)
        group = regrouped(comm, step, weights, before, lost)
        if group is None:
            return {"left": step, "sizes": sizes}
        comm, step, weights = group
        sizes.append(comm.rank_count)
        pauses.append(time.perf_counter() - begin)
    comm.all_reduce(np.zeros(1))
    return {
        "sizes": sizes,
        "right": bool(np.allclose(weights, undisturbed(step), rtol=1e-9, atol=1e-12)),
        "pauses": pauses,
        "lost": lost,
        "epochs": [epoch.as_dict() for epoch in comm.epochs],
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "mappings": len(Path("/proc/self/maps").read_text().splitlines()),
    }


NEWCOMER = (
    "import hemiola as hm; comm = hm.join(timeout_s=60); print(comm.rank, hm.init() is comm); comm.barrier()"
)


def launched() -> tuple[int, str, bool]:
    """Let a process into a launched job that knows its name alone; return the size and what that process saw."""
    comm, new = hm.init(timeout_s=60), None
    if comm.rank == 0:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HEMIOLA_")}
        job = {"HEMIOLA_JOB": os.environ["HEMIOLA_JOB"]}
        new = subprocess.Popen(
            [sys.executable, "-c", NEWCOMER], env=kept | job, stdout=subprocess.PIPE, text=True
        )
    while comm.rank_count < 3:
        comm.all_reduce(np.ones(100))
        if comm.is_called:
            comm = comm.grow() or comm
    comm.barrier()
    return comm.rank_count, new.communicate()[0] if new else "", hm.init() is comm


def refused(name: str) -> list[str]:
    """Return the errors of a newcomer to a job with an emulated network, of a group, and of a job that nobody knows."""
    network = hm.topologies.switch(2, latency_s=1e-6, bandwidth=1e9)
    comm = hm.init(timeout_s=60, emulate=network)
    found = []
    for call in (
        lambda: hm.join(f"hemiola-{os.environ['HEMIOLA_JOB']}-0", timeout_s=30),
        lambda: hm.join(name, timeout_s=0.2),
        lambda: comm.group([comm.rank]).grow(),
        lambda: comm.group([comm.rank]).leave(),
    ):
        try:
            call()
        except hm.HemiolaError as error:
            found.append(f"{type(error).__name__}: {error}")
    comm.barrier()
    return found


def _left_by(comm: hm.Communicator) -> tuple[int, bool]:
    """Call `grow` where that is called for; return the next size, and whether this rank is among the next."""
    comm.barrier()
    called = comm.is_called
    following = comm.grow() if called else comm
    return (following or comm).rank_count, following is None


def shrunk_in_no_time() -> tuple[str, int]:
    """Return the error of a `shrink` within a time that is none, and what ranks add up to afterwards."""
    comm, said = hm.init(timeout_s=60), ""
    try:
        comm.shrink(timeout_s=0)
    except hm.ArgumentError as error:
        said = str(error)
    return said, int(comm.all_reduce(np.ones(1))[0])


def left_late(when: str) -> tuple[int, bool]:
    """Rank 1 says that it leaves too late for the call that makes the next communicator, or before one that has nobody
    leave. Return what `_left_by` does of the next communicator."""
    comm = hm.init(timeout_s=60)
    if when == "before shrink" and comm.rank == 1:
        comm.leave()
    if when == "before shrink":
        comm.barrier()
        return _left_by(comm.shrink())
    if when == "of an old one":
        made = comm.shrink()
        if comm.rank == 1:
            comm.leave()
        return _left_by(made)
    agree = membership.next_members

    def agree_and_leave(*args: Any, **options: Any) -> membership.Agreed | None:
        agreed = agree(*args, **options)
        comm.leave()
        return agreed

    with mock.patch.object(membership, "next_members", agree_and_leave) if comm.rank == 1 else nullcontext():
        made = comm.grow() if when == "during grow" else comm.shrink()
    assert made is not None
    return _left_by(made)


if __name__ == "__main__":
    _, called, own, count, until, *said = sys.argv
    when = {key: int(value) for key, value in (event.split("=") for event in said)}
    print(json.dumps(main(called, own, int(count), int(until), **when)))
