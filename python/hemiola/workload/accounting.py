# SPDX-License-Identifier: Apache-2.0
"""Where a role's time goes: computation, communication beside it or not, and waiting for others."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from hemiola.workload.running import Ran
from hemiola.workload.task import LATE, Call, Task, is_late

#: Of sums of times, relative.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Account:
    """The time of one role in a step. compute_s, exposed_s and waiting_s add up to the step.

    Attributes
    ----------
    compute_s : float, seconds of computation.
    exposed_s : float, of communication during which the role computes nothing.
    waiting_s : float, without either: for a late rank, or another pipeline stage.
    hidden_s : float, of computation during which the role communicates.
    exposed_by : dict of Call to its share of exposed_s; calls that run together share evenly.
    """

    compute_s: float
    exposed_s: float
    waiting_s: float
    hidden_s: float
    exposed_by: dict[Call, float]


def main_role(ran: Ran) -> str:
    """Return the role that computes longest, late ones left out; the first of equals."""
    computed: dict[str, float] = defaultdict(float)
    for task, begin_s, end_s in _tasks(ran):
        if task.call is None:
            computed[task.roles[0]] += end_s - begin_s
    punctual = [role for role in ran.step.roles if not is_late(role)]
    return max(punctual, key=lambda role: computed[role])


def account(ran: Ran, role: str) -> Account:
    """Split a step's time for a role.

    Parameters
    ----------
    ran : Ran.
    role : str, one of the step's.

    Returns
    -------
    Account

    Notes
    -----
    O(tasks × log tasks).
    """
    events: list[tuple[float, int, Call | None]] = []
    for task, begin_s, end_s in _tasks(ran):
        if role in task.roles and end_s > begin_s and task.label != LATE:
            events += [(begin_s, 1, task.call), (end_s, -1, task.call)]
    events.sort(key=lambda event: (event[0], event[1]))
    computing, before_s = 0, 0.0
    running: dict[Call, int] = defaultdict(int)
    compute_s = exposed_s = hidden_s = 0.0
    exposed_by: dict[Call, float] = defaultdict(float)
    for at_s, change, call in events:
        passed_s, before_s = at_s - before_s, at_s
        if computing:
            compute_s += passed_s
            hidden_s += passed_s if running else 0.0
        elif running and passed_s > 0:
            exposed_s += passed_s
            for each, count in running.items():
                exposed_by[each] += passed_s * count / sum(running.values())
        if call is None:
            computing += change
        else:
            running[call] += change
            if running[call] == 0:
                del running[call]
    waiting_s = ran.seconds - compute_s - exposed_s
    if waiting_s < _ROUNDING * ran.seconds:
        waiting_s = 0.0
    return Account(compute_s, exposed_s, waiting_s, hidden_s, dict(exposed_by))


def _tasks(ran: Ran) -> list[tuple[Task, float, float]]:
    return list(zip(ran.step.tasks, ran.begin_s.tolist(), ran.end_s.tolist(), strict=True))
