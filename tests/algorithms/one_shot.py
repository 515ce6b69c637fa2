# SPDX-License-Identifier: Apache-2.0
"""An algorithm that the package does not know: every rank sends its whole buffer to every other one, in one step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import hemiola as hm
from hemiola.algorithms import Algorithm, Paper, Task, Variant


def all_reduce_one_shot(rank_count: int) -> hm.Schedule:
    """All-reduce in one step."""
    pairs = [(src, dst) for src in range(rank_count) for dst in range(rank_count) if src != dst]
    collective = hm.Collective.with_owners("all_reduce", rank_count, [0])
    return hm.Schedule.from_transfers(collective, [(0, src, dst, 0, True) for src, dst in pairs])


def _variants(task: Task) -> Iterator[Variant]:
    others = task.rank_count - 1
    serial_s = others * task.nbytes / task.speed.bandwidth
    yield Variant(task.delay_s + task.speed.latency_s + serial_s, task.rank_count * others)


ONE_SHOT = Algorithm(
    name="all_reduce_one_shot",
    kind="all_reduce",
    paper=Paper("example2026", "Example 2026"),
    idea="Everybody sends everything to everybody.",
    sizes="any n ≥ 2",
    function=all_reduce_one_shot,
    formula="α + (n-1)·N·β",
    unable=lambda task: "" if task.rank_count >= 2 else "expected at least 2 ranks, found 1",
    variants=_variants,
)


def run_it() -> tuple[list[float], str]:
    """Register it, as every rank must, and run it on real buffers: by name, and by what the planner chooses."""
    hm.algorithms.register(ONE_SHOT)
    comm = hm.init()
    named = comm.all_reduce(np.full(3, comm.rank + 1.0), schedule="all_reduce_one_shot")
    return named.tolist(), comm.plan("all_reduce", 8).name
