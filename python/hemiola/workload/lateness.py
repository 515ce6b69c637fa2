# SPDX-License-Identifier: Apache-2.0
"""A recorded step in which one rank comes late: its computation once more, as a role of its own."""

from __future__ import annotations

from dataclasses import replace

from hemiola.errors import ArgumentError
from hemiola.workload.task import LATE, Program, Step, late_role

#: Classes whose calls join all roles; in the others a late rank's own group waits with it.
_JOINT = ("world", "dp", "edp")


def with_late_rank(step: Step, seconds: float) -> Step:
    """Return a step of one role with a second role that begins so many seconds later.

    Parameters
    ----------
    step : Step of one role.
    seconds : float > 0.

    Returns
    -------
    Step

    Raises
    ------
    ArgumentError
        The step has several roles already.
    """
    if len(step.roles) != 1:
        raise ArgumentError(
            f"expected a step of one role to add a late rank to, found {len(step.roles)} roles"
        )
    roles = (step.roles[0], late_role(step.roles[0]))
    program = Program()
    begin = program.compute(roles[1], seconds, label=LATE)
    places: dict[tuple[str, int], int] = {}
    for number, task in enumerate(step.tasks):
        is_joint = task.call is not None and task.call.group in _JOINT
        for together in [roles] if is_joint else [roles[:1], roles[1:]]:
            needs = [places[role, need] for role in together for need in task.needs]
            if roles[1] in together and not task.needs:
                needs.append(begin)
            if task.call is None:
                place = program.compute(together[0], task.seconds, needs, task.label)
            else:
                place = program.call(together, task.call, needs, stream=task.stream, label=task.label)
            places.update({(role, number): place for role in together})
    return replace(step, tasks=tuple(program.tasks), roles=roles)
