# SPDX-License-Identifier: Apache-2.0
"""Plans for ranks of one memory that share cores. The numbers of hops and messages count, and the bytes that all cores
have to copy and to add, since a waiting rank leaves its core to the others (docs/decisions/0024)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hemiola._core import Topology
from hemiola.algorithms import Candidate, Task, candidates
from hemiola.algorithms.task import given
from hemiola.bounds import lower_bound
from hemiola.planner.brought import checked, made_now
from hemiola.planner.budget import IN_ARRAYS, Searches
from hemiola.planner.machine_model import EngineCosts, Footprint
from hemiola.planner.outcome import SAME, Alternative, LeftOut, Plan, nothing_runs, too_many

#: Bytes of all ranks' buffers together. Buffers that exceed the caches that cores share are planned as pipelines, in
#: collectives where all ranks get one whole or give the parts of one.
MOST_ON_CORES = 64 << 20


def plan_on_cores(task: Task, costs: EngineCosts, fastest: Topology) -> Plan:
    """Choose the algorithm whose hops, messages and work cost least.

    Parameters
    ----------
    task : Task, with nobody late or slow, of ranks that share one memory.
    costs : EngineCosts, of so many ranks on their cores.
    fastest : Topology, which no schedule can beat.

    Returns
    -------
    Plan; of equal times the one with fewest transfers wins. Its times are estimates.

    Raises
    ------
    ArgumentError
        for a collective that nothing known runs on so many ranks.
    """
    found = candidates(task)
    if not found:
        raise nothing_runs(task.kind, task.rank_count)
    # The least there is has to be made, however large.
    most = max(Searches().share("on_cores") / IN_ARRAYS, min(one.transfer_count for one in found))
    left_out = [
        LeftOut(one.label, too_many(one.transfer_count, "transfers to make and count", most))
        for one in found
        if one.transfer_count > most
    ]
    judged = []
    for candidate in found:
        if candidate.transfer_count <= most:
            schedule = checked(candidate.name, candidate.generate())
            seconds = costs.seconds(Footprint.of(schedule), task.nbytes, 0.0)
            judged.append(
                (_judged(candidate, seconds), replace(candidate, generate=partial(given, schedule)))
            )
    judged.sort(key=lambda one: (one[0].seconds, one[0].name, one[0].variant))
    equals = [one for one in judged if one[0].seconds <= SAME * judged[0][0].seconds]
    winner, chosen = min(equals, key=lambda one: one[0].transfer_count)
    return Plan(
        task.kind,
        task.nbytes,
        task.rank_count,
        "" if task.topology is None else task.topology.name,
        task.conditions,
        "fluid",
        lower_bound(fastest, task.kind, task.nbytes, root=task.root),
        task.speed,
        (winner, *(one for one, _ in judged if one is not winner)),
        made_now(chosen),
        left_out=tuple(left_out),
        is_on_cores=True,
    )


def _judged(candidate: Candidate, seconds: float) -> Alternative:
    return Alternative(
        candidate.name,
        candidate.variant,
        candidate.formula_s,
        None,
        candidate.transfer_count,
        estimated_s=seconds,
    )
