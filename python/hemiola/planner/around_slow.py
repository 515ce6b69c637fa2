# SPDX-License-Identifier: Apache-2.0
"""Whether schedules around slow ranks of a grid, or around slow NICs, come so near the bound that nothing else need be
looked for."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hemiola.algorithms import Candidate
from hemiola.planner.question import Question

_NAME = "all_reduce_grid_trees"
#: How far their formula may be over the bound for up to so many ranks: with many, other trees take a second and more
#: to pack, and are further from it.
_NEAR = ((32, 1.08), (64, 1.15), (128, 1.2), (math.inf, 1.4))

#: How far over the bound pooled NICs may be by their formula. On five clusters with a dead NIC, 256 MiB, they took 1.04
#: to 1.12 of the bound, and schedules by a search 1.12 to 1.31.
_POOLED, _NEAR_POOLED = "all_reduce_pooled_exchange", 1.2


def near_grid_trees(question: Question) -> Iterator[Candidate]:
    """List nothing, and say that it is enough where the registry has such trees, near the bound by their formula, and
    nobody is late."""
    task = question.task
    near = next(times for ranks, times in _NEAR if task.rank_count <= ranks)
    may_be_enough = question.links_decide and question.is_fluid and question.searches.effort == 1
    question.is_enough |= (
        may_be_enough
        and not task.late_ranks
        and any(one.name == _NAME and one.formula_s <= near * question.bound_s for one in question.known)
    )
    yield from ()


def near_pooled_nics(question: Question) -> Iterator[Candidate]:
    """List nothing, and say that it is enough where hosts with dead NICs pool the others near the bound, by the
    formula; simulations may then take longer."""
    task = question.task
    may_be_enough = question.links_decide and question.is_fluid and not task.late_ranks
    is_any_dead = 0.0 in task.nic_rates.values()
    is_near = any(
        one.name == _POOLED and one.formula_s <= _NEAR_POOLED * question.bound_s for one in question.known
    )
    if may_be_enough and is_any_dead and is_near:
        question.is_enough, question.simulating = True, "through_all"
    yield from ()
