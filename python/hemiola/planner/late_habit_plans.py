# SPDX-License-Identifier: Apache-2.0
"""The plan for a rank that keeps coming late, and plans around each rank, for a late one that is another one at each
operation: among these ranks choose once all but one have come."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable

from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.planner.outcome import Plan
from hemiola.planner.recipe import LateHabit
from hemiola.side_channel import log

#: The least saving of a plan for a late rank, as a share of the time without.
_LEAST_GAIN = 0.05
#: Transfers of all plans around each rank. Two million take 7 MB to tell.
_MOST_TRANSFERS = 1 << 21


def planned_for_habit(
    planned: Callable[..., Plan],
    network_s: Callable[[Plan], float],
    found: Plan,
    habit: LateHabit,
    rank: int | None,
) -> tuple[Plan, LateHabit]:
    """Plan for a rank that is late by the habit's delay, or for each that may be, and say what that brings.

    Parameters
    ----------
    planned : makes the plan for `conditions`, at an `effort` where one is given.
    network_s : returns what a plan takes, without what messages cost beside links.
    found : Plan of which nobody is late. It stands where nothing saves a twentieth of its time, or an algorithm fails.
    habit : LateHabit with its delay.
    rank : int, the late one; None if it is another one each time.

    Returns
    -------
    Plan to run while nobody else is known, and the LateHabit with the time that is left after the arrival. Where `rank`
    is None, it has the schedule around each rank, None for one for which `found` stands.
    """
    nothing = dataclasses.replace(habit, finish_s=habit.plain_s)
    if rank is None:
        around = _around_each(planned, found, habit.delay_s)
        saving = [plan for plan in around if plan is not None]
        if not saving:
            return found, nothing
        finish_s = max(map(network_s, saving)) - habit.delay_s
        schedules = tuple(None if plan is None else plan.schedule for plan in around)
        return found, dataclasses.replace(habit, finish_s=finish_s, around=schedules)
    try:
        plan = planned(conditions=Conditions(late={rank: habit.delay_s}))
    except ArgumentError as error:  # of a user's own algorithm; nobody has asked for this plan
        log(logging.WARNING, "rank %d keeps coming late, and nothing is planned for that: %s", rank, error)
        return found, nothing
    if not _saves(plan, found, habit.delay_s):
        return found, nothing
    finish_s = network_s(plan) - habit.delay_s
    return plan, dataclasses.replace(habit, finish_s=finish_s, rank=rank)


def _around_each(planned: Callable[..., Plan], found: Plan, delay_s: float) -> list[Plan | None]:
    """Return the plan around each rank, None where it saves too little; none at all where they are too long to tell.

    All together have the effort of one: each has 1/n of it.
    """
    n = found.rank_count
    plans: list[Plan | None] = []
    transfers = 0
    for rank in range(n):
        try:
            plan = planned(conditions=Conditions(late={rank: delay_s}), effort=1 / n)
        except ArgumentError:
            plans.append(None)  # of a user's own algorithm, or where this rank alone joins the others
            continue
        saves = _saves(plan, found, delay_s)
        plans.append(plan if saves else None)
        transfers += plan.schedule.transfer_count if saves else 0
        if transfers * n > _MOST_TRANSFERS * (rank + 1):  # as if the others took as many
            return []
    return plans


def _saves(plan: Plan, found: Plan, delay_s: float) -> bool:
    return found.seconds - (plan.seconds - delay_s) >= _LEAST_GAIN * found.seconds
