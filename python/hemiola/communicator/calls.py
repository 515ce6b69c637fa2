# SPDX-License-Identifier: Apache-2.0
"""How a collective call gets into the core: one way for all kinds."""

from __future__ import annotations

from typing import Any, Generic, TypedDict, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import Schedule, remember_calls
from hemiola.communicator.arguments import root_of, schedule_of, seconds_of
from hemiola.communicator.handle import Handle
from hemiola.communicator.kinds import Array, Kind, R

D = TypeVar("D", bound=np.generic)
M = TypeVar("M")


def remembered(method: M) -> M:
    """Return a collective's method with a memory of its latest call in each communicator.

    A call with equal arguments on the same memory runs the prepared operation again, without Python.
    """
    return cast(M, remember_calls(method))


class _Options(TypedDict, Generic[D], total=False):
    """What every collective takes besides its array and its schedule."""

    sparse: bool | None
    unchecked: bool
    out: NDArray[D] | None
    timeout_s: float | None


class CallOptions(_Options[D], total=False):
    """The options of a collective besides its array."""

    schedule: Schedule | str | None


class CustomOptions(_Options[D]):
    """The options of a custom collective besides its array; a schedule is one, as the planner cannot choose it."""

    schedule: Schedule


class Caller:
    """A rank that calls the core for collectives. It tells the other ranks of errors in a call's arguments."""

    __slots__ = ("__dict__", "_core")  # where the core finds itself without a search

    def __init__(self, core: CoreCommunicator) -> None:
        self._core = core
        self.rank = core.rank
        self.rank_count = core.rank_count
        self._latest: object = None  #: the last request, which may be followed

    def _run(
        self,
        kind: Kind[R],
        x: Any,
        out: Array | None,
        op: object,
        root: object,
        schedule: object,
        unchecked: object,
        timeout_s: object,
        sparse: object = None,
    ) -> R:
        """Run an operation. Where an argument is wrong, a Complaint goes to the core in its place."""
        if kind.is_plain and schedule is None and timeout_s is None and unchecked is False:
            # Nothing to look at, so the shortest way: this is where microseconds count.
            everywhere: Any = x if out is None else out
            self._core.run(kind.name, x, everywhere, op, root, None, None, sparse)
            return everywhere  # type: ignore[no-any-return]  # R, as the kind's row says
        result, arguments = self._arguments(kind, x, out, op, root, schedule, unchecked, timeout_s, sparse)
        self._core.run(*arguments)
        return result  # type: ignore[no-any-return]  # R, as the kind's row says

    def _start(
        self,
        kind: Kind[R],
        x: Any,
        op: object,
        root: object,
        *,
        schedule: object = None,
        sparse: object = None,
        unchecked: object = False,
        out: Array | None = None,
        timeout_s: object = None,
    ) -> Handle[R]:
        """Start an operation, in the same way."""
        result, arguments = self._arguments(kind, x, out, op, root, schedule, unchecked, timeout_s, sparse)
        return Handle(self._core.start(*arguments), result)

    def _arguments(
        self,
        kind: Kind[R],
        x: Any,
        out: Array | None,
        op: object,
        root: object,
        schedule: object,
        unchecked: object,
        timeout_s: object,
        sparse: object,
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return where the result goes, and what the core takes."""
        is_root = True
        if kind.has_root:
            root = root_of(root, self.rank_count)
            is_root = root == self.rank
        brought, result = kind.arrays(x, out, self.rank_count, is_root)
        limit_s = timeout_s if timeout_s is None else seconds_of(timeout_s)
        followed = (
            schedule if schedule is self._latest and unchecked is False else self._judged(schedule, unchecked)
        )
        return result, (kind.name, brought, result, op, root, followed, limit_s, sparse)

    def _judged(self, schedule: object, unchecked: object) -> object:
        """Return what a call is to follow; remember it, so that asking for the same again costs nothing."""
        followed = schedule_of(schedule, unchecked)
        if unchecked is False and followed is schedule:
            self._latest = schedule
        return followed
