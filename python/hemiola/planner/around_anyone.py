"""Plans around each rank of a communicator, for a late one that is another one at each operation. Ranks choose among
them once all but one have come."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.planner.outcome import Plan
from hemiola.planner.recipe import LateHabit

#: Transfers of all plans. Two million take 7 MB to tell.
_MOST_TRANSFERS = 1 << 21


def around_anyone(
    planned: Callable[..., Plan],
    network_s: Callable[[Plan], float],
    rank_count: int,
    found: Plan,
    habit: LateHabit,
    least_gain: float,
) -> LateHabit:
    """Plan around each rank that may be late by the habit's delay, and say how long the slowest of these takes.

    Parameters
    ----------
    planned : makes the plan for `conditions` at an `effort`. All plans together have that of one: each has 1/n of it.
    network_s : returns what a plan takes, without what messages cost beside links.
    rank_count : int >= 3.
    found : Plan of which nobody is late. It runs for ranks around which nothing saves `least_gain` of its time.
    habit : LateHabit with its delay.
    least_gain : float >= 0.

    Returns
    -------
    LateHabit with the schedules, None for a rank where `found` stands; without any where nothing is saved.
    """
    plans: list[Plan | None] = []
    transfers = 0
    for rank in range(rank_count):
        try:
            plan = planned(conditions=Conditions(late={rank: habit.delay_s}), effort=1 / rank_count)
        except (
            ArgumentError
        ):  # of a user's own algorithm, or where others reach each other through this rank alone
            plans.append(None)
            continue
        saves = found.seconds - (plan.seconds - habit.delay_s) >= least_gain * found.seconds
        plans.append(plan if saves else None)
        transfers += plan.schedule.transfer_count if saves else 0
        if transfers * rank_count > _MOST_TRANSFERS * (rank + 1):  # as if the others took as many
            return dataclasses.replace(habit, finish_s=habit.plain_s)
    saving = [plan for plan in plans if plan is not None]
    if not saving:
        return dataclasses.replace(habit, finish_s=habit.plain_s)
    finish_s = max(map(network_s, saving)) - habit.delay_s
    around = tuple(None if plan is None else plan.schedule for plan in plans)
    return dataclasses.replace(habit, finish_s=finish_s, around=around)
