# SPDX-License-Identifier: Apache-2.0
"""Explains a group's choice of schedules, and diagnoses its slowness."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hemiola.arguments.names import as_kind
from hemiola.diagnosis import Diagnosis
from hemiola.torch.lookup import group_of

_SHOWN = 3
_WITHOUT_PLAN = ("barrier", "custom")
#: Its input is a part of the buffer that a plan is made for.
_OF_PARTS = ("all_gather", "gather")


def explain(group: Any = None) -> str:
    """Say by which schedules a group's latest collectives run, and why: the three that have moved most.

    Parameters
    ----------
    group : torch.distributed.ProcessGroup of the backend "hemiola"; None for the default one.

    Returns
    -------
    str, for each the text of `hm.plan(...).explain()`: the schedule, its predicted time, and the candidates.

    Raises
    ------
    ArgumentError
        for a group of another backend, and one that is closed.

    Notes
    -----
    Needs no other rank. Plans are for the ranks that are known to be slow by now.
    """
    found = group_of(group)
    moved: Counter[tuple[str, int]] = Counter()
    for kind, nbytes in found._comm._core.operations():
        if kind not in _WITHOUT_PLAN:
            whole = nbytes * len(found.job_ranks) if kind in _OF_PARTS else nbytes
            moved[kind, whole] += whole
    if not moved:
        return f"group {found.record_name!r} of {len(found.job_ranks)} ranks has run nothing that is planned"
    told = [
        f"{kind} of {nbytes} B, {total // max(nbytes, 1)} of the latest:\n"
        f"{found._comm.plan(as_kind(kind), nbytes).explain()}"
        for (kind, nbytes), total in moved.most_common(_SHOWN)
    ]
    return "\n\n".join(told)


def diagnose(group: Any = None) -> Diagnosis:
    """Find the causes that slow a group's latest operations, their cost, and remedies. All its ranks call this
    together.

    Parameters
    ----------
    group : torch.distributed.ProcessGroup of the backend "hemiola"; None for the default one.

    Returns
    -------
    Diagnosis, the same on every rank: see `hemiola.Communicator.diagnose`.

    Raises
    ------
    ArgumentError
        for a group of another backend, and one that is closed.
    LostRankError, TimeoutError
        naming the rank that died or did not call this.
    """
    return group_of(group)._comm.diagnose()
