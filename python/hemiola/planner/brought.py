# SPDX-License-Identifier: Apache-2.0
"""Schedules that algorithms from outside the package make: verified, once per digest, before anybody takes them."""

from __future__ import annotations

from collections.abc import Callable

from hemiola import algorithms
from hemiola._core import Schedule
from hemiola.algorithms import Candidate
from hemiola.algorithms.registry import is_brought
from hemiola.errors import ArgumentError
from hemiola.verify import first_violation, in_words


def checked(name: str, schedule: Schedule) -> Schedule:
    """Return the schedule that an algorithm made; raise ArgumentError where a registered one made a wrong one."""
    if is_brought(name) and (wrong := _why_wrong(name, schedule)):
        raise ArgumentError(
            f"the registered algorithm '{name}' made {wrong}. Correct its function, or leave it unregistered."
        )
    return schedule


def _why_wrong(name: str, made: object) -> str:
    """Say what a function returned that it should not have; empty where it keeps its word."""
    if not isinstance(made, Schedule):
        return f"something of type {type(made).__name__}, no Schedule"
    kind = algorithms.get(name).kind
    if made.collective.kind != kind:
        return f"a schedule for {made.collective.kind}, not for {kind}"
    wrong = first_violation(made)
    return "" if wrong is None else f"a wrong schedule: {in_words(wrong)}"


def checked_when_made(candidate: Candidate) -> Callable[[], Schedule]:
    """Return its generator, which raises ArgumentError where it makes a wrong schedule."""
    return lambda: checked(candidate.name, candidate.generate())


def made_now(candidate: Candidate) -> Candidate:
    """Return a candidate whose schedule is right; one from outside is made for that, if it is not yet."""
    if not is_brought(candidate.name):
        return candidate
    schedule = checked(candidate.name, candidate.generate())
    return candidate.with_schedule(schedule)
