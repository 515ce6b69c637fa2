# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the tests of brought schedules do: run right and wrong ones, and algorithms from outside."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import one_rank_adds

import hemiola as hm
from hemiola.errors import HemiolaError

#: What a rank saw of a call: the exception's type and text, or "" and what the array held afterwards.
Seen = tuple[str, str | list[float]]

#: Rank 0's first quarter goes to rank 1, and that is all.
TRUNCATED = [(0, 0, 1, 0, True)]


def truncated() -> hm.Schedule:
    """Return an all-reduce of 4 ranks of which almost everything is missing."""
    return hm.Schedule.from_transfers(hm.Collective.make("all_reduce", 4, 4), TRUNCATED)


def without_last_transfer(kind: str, ranks: int) -> hm.Schedule:
    """Return the first known schedule of a kind, less its last transfer."""
    right = hm.algorithms.get(hm.algorithms.names(kind)[0]).generate(ranks)
    return hm.Schedule.from_transfers(right.collective, np.asarray(right.transfers).tolist()[:-1])


def seen_of(comm: hm.Communicator, kind: str, x: np.ndarray[Any, Any], **options: Any) -> Seen:
    """Make a call and return what came of it."""
    try:
        result = getattr(comm, kind)(x, **options)
        if isinstance(result, hm.Handle):
            result.wait()
    except HemiolaError as error:
        return type(error).__name__, str(error)
    return "", x.tolist()


def bring_truncated(odd: int | None, wait: bool, unchecked: bool) -> tuple[Seen, list[float], float]:
    """All ranks bring it, or one alone does; return what came of it, the input afterwards, and a later sum."""
    comm = hm.init(timeout_s=60)
    x = np.ones(4)
    schedule = truncated() if odd in (None, comm.rank) else None
    seen = seen_of(
        comm, "all_reduce" if wait else "start_all_reduce", x, schedule=schedule, unchecked=unchecked
    )
    return seen, x.tolist(), float(comm.all_reduce(np.ones(1))[0])


def bring_every_kind() -> dict[str, Seen]:
    """Call every collective with a schedule of its own that lacks a transfer."""
    comm = hm.init(timeout_s=60)
    kinds = sorted({hm.algorithms.get(name).kind for name in hm.algorithms.names()})
    x = np.ones(comm.rank_count)
    found = {kind: seen_of(comm, kind, x, schedule=without_last_transfer(kind, 4)) for kind in kinds}
    promise = hm.Collective.custom(4, 1, [(0, 0)], [(rank, 0) for rank in range(4)], reducing=False)
    found["custom"] = seen_of(
        comm, "custom", x, schedule=hm.Schedule.from_transfers(promise, [(0, 0, 1, 0, False)])
    )
    return found


def count_verifications() -> list[int]:
    """Return how often the judge has been asked after each of three calls, two of them with equal schedules."""
    import sys

    module = sys.modules["hemiola.verify"]
    judge, asked, counts = module.judge, [], []
    module.judge = lambda *args, **options: asked.append(args) or judge(*args, **options)
    comm = hm.init(timeout_s=60)
    for chunks in (4, 4, 8):
        ring = hm.algorithms.all_reduce_ring(comm.rank_count)
        comm.all_reduce(np.ones(8), schedule=ring.repeat_per_slice(chunks // 4))
        counts.append(len(asked))
    comm.all_reduce(np.ones(8))
    comm.all_reduce(np.ones(8), schedule="all_reduce_ring")
    counts.append(len(asked))
    return counts


def say_unchecked_wrongly(odd: int) -> Seen:
    """Pass something as `unchecked`, with and without a schedule beside it, that is no bool, on one rank."""
    comm = hm.init(timeout_s=60)
    wrong: Any = "yes" if comm.rank == odd else False
    first = seen_of(comm, "all_reduce", np.ones(4), unchecked=wrong)
    ring = hm.algorithms.all_reduce_ring(comm.rank_count)
    second = seen_of(comm, "all_reduce", np.ones(4), schedule=ring, unchecked=wrong)
    return first if first[0] == second[0] else second


def run_an_outside_one(changes: dict[str, Any], by_name: bool, unchecked: bool = False) -> Seen:
    """Register an algorithm that goes wrong, and ask for it, or for whatever the planner chooses."""
    algorithm = dataclasses.replace(one_rank_adds.ONE_RANK_ADDS, **changes)
    hm.algorithms.register(algorithm)
    comm = hm.init(timeout_s=60)
    schedule = algorithm.name if by_name else None
    return seen_of(comm, "all_reduce", np.ones(4), schedule=schedule, unchecked=unchecked)
