# SPDX-License-Identifier: Apache-2.0
"""An algorithm from outside that goes wrong: only rank 1 adds anything. Its cost makes the planner want it."""

from __future__ import annotations

import hemiola as hm
from hemiola.algorithms import Algorithm, Paper, Variant


def all_reduce_one_rank_adds(rank_count: int) -> hm.Schedule:
    """Leave most of it out."""
    promise = hm.Collective.make("all_reduce", rank_count, rank_count)
    return hm.Schedule.from_transfers(promise, [(0, 0, 1, 0, True)])


def all_reduce_that_gathers(rank_count: int) -> hm.Schedule:
    """Make a schedule that is right, for another collective."""
    return hm.algorithms.all_gather_ring(rank_count)


def all_reduce_in_rows(rank_count: int) -> list[tuple[int, ...]]:
    """Return transfers where a Schedule of them is expected."""
    return [(0, 0, 1, 0, True)]


ONE_RANK_ADDS = Algorithm(
    name="all_reduce_one_rank_adds",
    kind="all_reduce",
    paper=Paper("example2026", "Example 2026"),
    idea="Rank 1 adds what rank 0 has.",
    sizes="any n ≥ 2",
    function=all_reduce_one_rank_adds,
    variants=lambda task: [Variant(0.0, 1)],
)
