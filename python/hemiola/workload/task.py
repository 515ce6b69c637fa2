# SPDX-License-Identifier: Apache-2.0
"""Tasks of a training step: computation, and calls of collectives, in order on the streams of roles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hemiola.errors import ArgumentError

#: The kind of a message from each rank of one pipeline stage to the same rank of the next.
SEND = "send"
#: The label of a task that is no computation, but a late rank's delay. The name of its role ends with it.
LATE = "late"


def late_role(role: str) -> str:
    """Return the name of the late rank's part of a role."""
    return f"{role}, {LATE}"


def is_late(role: str) -> bool:
    """Return whether a role is the late rank's part of another."""
    return role.endswith(late_role(""))


@dataclass(frozen=True)
class Call:
    """A collective that all groups of a class run at once.

    Attributes
    ----------
    kind : str, a collective such as "all_reduce", or "send" between pipeline stages.
    nbytes : int >= 0, one rank's buffer in bytes, as `hemiola.plan` counts it.
    group : str, the class of groups: "dp", "tp", "ep", "pp" or "world".
    count : int >= 1, equal calls, one after the other.
    density : float in (0, 1], share of the elements that are not zero.
    skew : float >= 1, in an all-to-all, how many times the mean the fullest rank receives.
    """

    kind: str
    nbytes: int
    group: str
    count: int = 1
    density: float = 1.0
    skew: float = 1.0


@dataclass(frozen=True)
class Task:
    """A piece of work.

    Attributes
    ----------
    roles : tuple of str, who does it together; a computation has one.
    stream : str, such as "compute". Tasks of one stream of a role run in order.
    needs : tuple of int, places of the tasks before it, beside its streams' order.
    seconds : float, alone and at full speed, of a computation.
    call : Call, of communication; None of a computation.
    label : str, such as "forward".
    """

    roles: tuple[str, ...]
    stream: str
    needs: tuple[int, ...]
    seconds: float = 0.0
    call: Call | None = None
    label: str = ""


@dataclass(frozen=True)
class Step:
    """One iteration of a training.

    Attributes
    ----------
    name : str.
    tasks : tuple of Task; each needs earlier ones only.
    roles : tuple of str.
    assumptions : tuple of str, sentences.
    tensor_ranks : int, the ranks of a tensor group where a trace has such; 0: none, or any number.
    element_bytes : int, bytes of an element of a gradient; 0: a trace does not tell them.
    recorded_s : float, the seconds that the step took under a profiler; 0: nobody has recorded it.
    """

    name: str
    tasks: tuple[Task, ...]
    roles: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    tensor_ranks: int = 0
    element_bytes: int = 0
    recorded_s: float = 0.0

    def calls(self) -> list[Call]:
        """Return its different calls, in the order of their first use."""
        return list(dict.fromkeys(task.call for task in self.tasks if task.call is not None))


@dataclass
class Program:
    """Puts tasks together, in order."""

    tasks: list[Task] = field(default_factory=list)

    def compute(self, role: str, seconds: float, needs: Iterable[int] = (), label: str = "compute") -> int:
        """Add computation; return its place."""
        return self._add(Task((role,), "compute", _places(needs), seconds, None, label))

    def call(
        self,
        roles: Sequence[str],
        call: Call,
        needs: Iterable[int] = (),
        *,
        stream: str = "",
        label: str = "",
    ) -> int:
        """Add a call, by default on its group's stream; return its place."""
        named = stream or call.group
        return self._add(Task(tuple(roles), named, _places(needs), 0.0, call, label or call.kind))

    def _add(self, task: Task) -> int:
        place = len(self.tasks)
        for need in task.needs:
            if not 0 <= need < place:
                raise ArgumentError(
                    f"task {place} ({task.label}): expected needs among the {place} tasks before it, found "
                    f"{need}"
                )
        self.tasks.append(task)
        return place


def _places(needs: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(needs))
