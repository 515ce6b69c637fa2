# SPDX-License-Identifier: Apache-2.0
"""Arguments of a call, checked: the value that counts, or a Complaint in its place.

A rank that raised for a wrong argument before its operation would leave the others waiting for it. So the complaint
goes into the core with the other arguments, and the operation tells it to everybody. Only `limit_of` raises: it is for
calls by which ranks come together."""

from __future__ import annotations

import numpy as np

from hemiola._core import Complaint, Schedule
from hemiola.algorithms.in_switch import NAMES as IN_SWITCH_NAMES
from hemiola.algorithms.in_switch import InSwitch, not_executable
from hemiola.errors import ArgumentError
from hemiola.verify import why_wrong


def seconds_of(timeout_s: object) -> float | Complaint:
    """Return a timeout as a float."""
    if not isinstance(timeout_s, (int, float)) or not 0 < timeout_s < 1e9:
        return Complaint(f"expected a timeout above 0 seconds, found {timeout_s!r}")
    return float(timeout_s)


def limit_of(timeout_s: float | None, usual_s: float) -> float:
    """Return a call's limit in seconds, the usual one where none is given; raise ArgumentError for a wrong one."""
    limit_s = seconds_of(usual_s if timeout_s is None else timeout_s)
    if isinstance(limit_s, Complaint):
        raise ArgumentError(limit_s.text)
    return limit_s


def root_of(root: object, rank_count: int) -> int | Complaint:
    """Return a root as an int."""
    if isinstance(root, int) and 0 <= root < rank_count:
        return root
    if isinstance(root, np.integer):
        return root_of(int(root), rank_count)
    return Complaint(f"expected a root in 0 … {rank_count - 1}, found {root!r}")


def schedule_of(schedule: object, unchecked: object) -> object:
    """Return a schedule that is right, or that nobody wants checked; the core judges anything but a Schedule."""
    if not isinstance(unchecked, bool):
        return Complaint(f"expected True or False as unchecked, found {unchecked!r}")
    if isinstance(schedule, InSwitch) or (isinstance(schedule, str) and schedule in IN_SWITCH_NAMES):
        raise not_executable(schedule if isinstance(schedule, str) else schedule.name)
    if unchecked or not isinstance(schedule, Schedule):
        return schedule
    wrong = why_wrong(schedule, progress=_listen)
    return Complaint(wrong) if wrong else schedule


def _listen(done: int, total: int) -> None:
    """Let Python notice a Ctrl-C while the core verifies; a rank draws no bar."""
