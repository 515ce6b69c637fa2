# SPDX-License-Identifier: Apache-2.0
"""A predicted step as bars: what each role's streams do, and when. Pictures and pages are made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hemiola.units import format_bytes
from hemiola.workload.prediction import WhatIf
from hemiola.workload.task import LATE, Task

COMPUTATION, COMMUNICATION, LATENESS = KINDS = ("computation", "communication", "lateness")


@dataclass(frozen=True)
class Bar:
    """A task on one stream of one role.

    Attributes
    ----------
    row : (role, stream).
    kind : str, one of `KINDS`.
    text : str, the task in words.
    begin_s, end_s : float, seconds from the step's begin.
    """

    row: tuple[str, str]
    kind: str
    text: str
    begin_s: float
    end_s: float


def question_in_words(found: WhatIf) -> str:
    """Return a step's question in words: ranks, network, split and conditions."""
    told = (
        f"{found.rank_count:,} ranks",
        found.topology_name,
        found.parallel.in_words(),
        *found.conditions.in_words(),
    )
    return "; ".join(filter(None, told))


def rows_of(found: WhatIf) -> list[tuple[str, str]]:
    """Return the roles and streams that have a task: a role's computation stands before its communication."""
    step = found._ran.step
    seen = dict.fromkeys((role, task.stream) for task in step.tasks for role in task.roles)
    order = {role: place for place, role in enumerate(step.roles)}
    return sorted(seen, key=lambda row: (order[row[0]], row[1] != "compute", row[1]))


def bars_of(found: WhatIf) -> Iterator[Bar]:
    """Yield the bars that last, in the order of the step's tasks."""
    ran = found._ran
    times = zip(ran.step.tasks, ran.begin_s.tolist(), ran.end_s.tolist(), strict=True)
    for task, begin_s, end_s in times:
        if end_s > begin_s:
            kind, text = _kind(task), _in_words(task)
            for role in task.roles:
                yield Bar((role, task.stream), kind, text, begin_s, end_s)


def _kind(task: Task) -> str:
    if task.call is not None:
        return COMMUNICATION
    return LATENESS if task.label == LATE else COMPUTATION


def _in_words(task: Task) -> str:
    if (call := task.call) is None:
        return task.label
    times = f"{call.count:,} × " if call.count > 1 else ""
    return f"{times}{call.kind} of {format_bytes(call.nbytes)} ({call.group})"
