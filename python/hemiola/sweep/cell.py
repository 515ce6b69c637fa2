# SPDX-License-Identifier: Apache-2.0
"""One cell of a sweep: all algorithms on one topology, collective, size and set of conditions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from hemiola import algorithms
from hemiola._core import Schedule, Topology
from hemiola.arguments.names import Kind
from hemiola.bounds import lower_bound
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.planner import plan
from hemiola.simulate import simulate
from hemiola.sweep.question import Names, Question
from hemiola.sweep.table import Row
from hemiola.synthesis import topology_algorithms
from hemiola.topology.port_speed import port_speed

#: The planner, among the algorithms of a sweep.
PLAN = "plan"

#: An algorithm of the caller's: a schedule, or what makes one for a topology and a size in bytes.
Own = Schedule | Callable[[Topology, int], Schedule]

_Times = tuple[float, str]


@dataclass(frozen=True)
class Cell:
    """What one call of `predicted` answers; a process elsewhere may do it.

    `algorithms` are by their labels, as names or the caller's own.
    """

    topology_name: str
    topology: Topology
    kind: Kind
    nbytes: int
    conditions_name: str
    conditions: Conditions
    algorithms: tuple[tuple[str, str | Own], ...]
    root: int
    network: str


@dataclass(frozen=True)
class QuestionCell:
    """The same of a question beside collectives, which answers with rows of its own."""

    question: Question
    topology: Topology
    conditions: Conditions
    names: Names


def predicted(cell: Cell | QuestionCell) -> list[Row]:
    """Return a row for each algorithm of a cell, in their order."""
    if isinstance(cell, QuestionCell):
        return list(cell.question._rows(cell.topology, cell.conditions, cell.names))
    bound_s = float(lower_bound(cell.topology, cell.kind, cell.nbytes, cell.conditions, cell.root).seconds)
    return [_row(cell, label, algorithm, bound_s) for label, algorithm in cell.algorithms]


def _row(cell: Cell, label: str, algorithm: str | Own, bound_s: float) -> Row:
    seconds, chosen, note = None, "", ""
    try:
        seconds, chosen = _planned(cell) if algorithm == PLAN else _simulated(cell, algorithm)
    except ArgumentError as error:
        note = str(error)
    return Row(
        cell.topology_name,
        cell.kind,
        cell.nbytes,
        label,
        cell.conditions_name,
        seconds,
        bound_s,
        chosen,
        note,
    )


def _planned(cell: Cell) -> _Times:
    made = plan(cell.topology, cell.kind, cell.nbytes, cell.conditions, root=cell.root, network=cell.network)
    return made.seconds, made.alternatives[0].label


def _simulated(cell: Cell, algorithm: str | Own) -> _Times:
    if isinstance(algorithm, str):
        schedule = _named(cell, algorithm)
    else:
        schedule = algorithm if isinstance(algorithm, Schedule) else algorithm(cell.topology, cell.nbytes)
        _check_own(cell, schedule)
    timeline = simulate(schedule, cell.topology, cell.nbytes, cell.conditions, network=cell.network)
    return timeline.seconds, ""


def _named(cell: Cell, name: str) -> Schedule:
    if name in algorithms.names():
        return _by_rank_count(name, cell.topology.rank_count, cell.root)
    if name in topology_algorithms.names():
        return topology_algorithms.generate(name, cell.topology, nbytes=cell.nbytes, root=cell.root)
    speed = port_speed(cell.topology, cell.conditions)
    task = algorithms.Task(
        cell.kind, cell.topology.rank_count, cell.nbytes, speed, cell.conditions, cell.root, cell.topology
    )
    return algorithms.get(name).schedule_for(task)


@functools.lru_cache(maxsize=64)
def _by_rank_count(name: str, rank_count: int, root: int) -> Schedule:
    """Make it once for all sizes, conditions and topologies of so many ranks."""
    return algorithms.get(name).generate(rank_count, root=root)


def _check_own(cell: Cell, schedule: Schedule) -> None:
    if not isinstance(schedule, Schedule):
        raise ArgumentError(
            f"sweep: expected an algorithm that returns a Schedule, found {type(schedule).__name__}"
        )
    if schedule.collective.kind != cell.kind:
        raise ArgumentError(
            f"sweep: expected a schedule of {cell.kind}, found one of {schedule.collective.kind}"
        )
