# SPDX-License-Identifier: Apache-2.0
"""One step out of those that several ranks have recorded: a collective begins when its last rank has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hemiola.workload.task import Step, Task


def slowest(steps: Sequence[Step]) -> Step | None:
    """Return the step of the rank that computes longest, with each computation as long as its slowest rank needs.

    Parameters
    ----------
    steps : sequence of Step of one role, the same step of the training on each rank.

    Returns
    -------
    Step; None where the ranks run different collectives.

    Notes
    -----
    A part is the computation between two calls. Between two waits a rank may be fast in one part and slow in the next,
    so that sums of parts are compared. Behind a wait all ranks are level again.
    """
    calls = [[task.call for task in step.tasks if task.call is not None] for step in steps]
    if any(other != calls[0] for other in calls[1:]):
        return None
    parts = np.array([_parts(step) for step in steps])
    base = int(parts.sum(axis=1).argmax())
    wanted = _longest(parts, _waits(steps[base]))
    factors = np.divide(wanted, parts[base], out=np.ones(len(wanted)), where=parts[base] > 0)
    return replace(steps[base], tasks=_scaled(steps[base], factors))


def _parts(step: Step) -> list[float]:
    """Return the seconds of computation before each call, and after the last one."""
    found = [0.0]
    for task in step.tasks:
        if task.call is None:
            found[-1] += task.seconds
        else:
            found.append(0.0)
    return found


def _waits(step: Step) -> set[int]:
    """Return the parts in which a computation waits for a call."""
    found, part = set(), 0
    for task in step.tasks:
        if task.call is not None:
            part += 1
        elif any(step.tasks[need].call is not None for need in task.needs):
            found.add(part)
    return found


def _longest(parts: NDArray[np.float64], waits: set[int]) -> NDArray[np.float64]:
    """Return the time of each part until the last of the ranks, the rows, has come to its end."""
    found = np.zeros(parts.shape[1])
    passed_s, reached_s = np.zeros(len(parts)), 0.0
    for part, seconds in enumerate(parts.T):
        if part in waits:
            passed_s, reached_s = np.zeros(len(parts)), 0.0
        passed_s = passed_s + seconds
        last_s = max(reached_s, float(passed_s.max()))
        found[part], reached_s = last_s - reached_s, last_s
    return found


def _scaled(step: Step, factors: NDArray[np.float64]) -> tuple[Task, ...]:
    tasks, part = [], 0
    for task in step.tasks:
        if task.call is not None:
            part += 1
            tasks.append(task)
        else:
            tasks.append(replace(task, seconds=task.seconds * float(factors[part])))
    return tuple(tasks)
