# SPDX-License-Identifier: Apache-2.0
"""`hemiola.sweep`: predictions for every combination of topologies, collectives, sizes, algorithms and conditions."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hemiola import algorithms as known
from hemiola._core import Schedule, Topology
from hemiola.arguments import typed
from hemiola.arguments.names import Kind
from hemiola.bounds import lower_bound
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.progress import ProgressBar
from hemiola.sweep.cell import PLAN, Cell, Own, QuestionCell, predicted
from hemiola.sweep.question import Names, Question
from hemiola.sweep.record import Record
from hemiola.sweep.table import Row, Sweep
from hemiola.synthesis import topology_algorithms

AnyCell = Cell | QuestionCell
#: Applies a function to each of some values, in any process, and returns or yields the results in their order.
Map = Callable[[Callable[[AnyCell], list[Row]], Iterable[AnyCell]], Iterable[list[Row]]]

#: Under which a table names the absence of conditions.
NO_CONDITIONS = "none"


@typed
def sweep(
    topologies: Topology | Sequence[Topology] | Mapping[str, Topology],
    collectives: Kind | Question | Sequence[Kind | Question] | Mapping[str, Question],
    sizes: int | Sequence[int] | None = None,
    algorithms: str | Sequence[str] | Mapping[str, Any] = PLAN,
    conditions: Conditions | Sequence[Conditions] | Mapping[str, Conditions] | None = None,
    *,
    root: int = 0,
    network: str = "fluid",
    resume: str | os.PathLike[str] | None = None,
    map: Callable[..., Any] = map,
) -> Sweep:
    """Predict the time of every combination, beside its lower bound.

    Parameters
    ----------
    topologies : Topology, or several; a mapping names them in the table.
    collectives : str, a collective such as "all_reduce", or several. Or a `hemiola.workload.Training`, or several; a
        mapping names them in the table.
    sizes : int >= 0, bytes of one rank's buffer, or several. Trainings have none.
    algorithms : "plan" for the planner's choice, a name out of `hemiola.algorithms`, or several. A mapping of labels to
        names, schedules, or functions ``(topology, nbytes) -> Schedule`` brings algorithms of your own. A name is
        used for its own collective alone. Trainings have a row for each library of `hemiola.whatif`.
    conditions : Conditions, or several; a mapping names them in the table. None: all ranks in time and at full speed.
    root : int, of rooted collectives.
    network : "fluid" or "fifo", the network model of the simulations. Trainings know the first one.
    resume : path of a file that keeps each cell as it is done, so that the same call goes on after an interrupt. Delete
        it when a function among `algorithms` changes.
    map : function that applies a function to each of several values and returns the results in order, such as
        ``multiprocessing.Pool().imap``. Progress is seen where it yields them one by one.

    Returns
    -------
    Sweep, a table with a row for each combination. A row whose algorithm cannot run has no time, and says why. Of
    trainings its rows are `hemiola.sweep.StepRow`.

    Raises
    ------
    ArgumentError
        An argument is empty, out of range or unknown, before anything is predicted. No algorithm can run any
        combination.
    FormatError
        `resume` is a file of something else.
    OSError
        `resume` cannot be read or written.

    Notes
    -----
    Cost: a simulation for each row, about 0.1 ms for a ring of 8 ranks; a plan takes up to a second or two. All
    algorithms for one topology, collective, size and set of conditions are predicted in one process.
    """
    networks = _named(topologies, "topology", lambda place, one: one.name or f"topology {place}")
    situations = _named(
        Conditions() if conditions is None else conditions,
        "set of conditions",
        lambda _, one: ", ".join(one.in_words()) or NO_CONDITIONS,
    )
    cells: Sequence[AnyCell]
    if (questions := _questions(collectives)) is not None:
        if sizes is not None or (algorithms, root, network) != (PLAN, 0, "fluid"):
            raise ArgumentError(
                "sweep: expected sizes, algorithms, a root and a network model of collectives alone"
            )
        cells = _question_cells(networks, questions, situations)
    elif sizes is None:
        raise ArgumentError("sweep: expected sizes in bytes of collectives, found none")
    else:
        cells = _cells(networks, collectives, sizes, algorithms, situations, root, network)
    record = Record(resume)
    try:
        rows = _done(cells, record, map)
    finally:
        record.save()
    if all(row.seconds is None for row in rows):
        raise ArgumentError(f"sweep: no algorithm can run any combination; the first one: {rows[0].note}")
    return Sweep(tuple(rows), network)


def _done(cells: Sequence[AnyCell], record: Record, map: Map) -> list[Row]:
    found = [record.rows(cell) for cell in cells]
    left = [place for place, rows in enumerate(found) if rows is None]
    with ProgressBar("sweeping") as bar:
        come = iter(map(predicted, [cells[place] for place in left]))
        for number, place in enumerate(left):
            bar(number, len(left))
            rows = next(come, None)
            if rows is None:
                raise ArgumentError(
                    f"sweep: expected a result of map for each of {len(left):,} values, found {number:,}"
                )
            record.add(cells[place], rows)
            found[place] = tuple(rows)
    return [row for rows in found if rows is not None for row in rows]


def _questions(asked: Any) -> list[tuple[str, Question]] | None:
    """Return questions beside collectives by their names; None where collectives are asked for."""
    if isinstance(asked, str):
        return None
    values = (
        asked.values() if isinstance(asked, Mapping) else [asked] if isinstance(asked, Question) else asked
    )
    count = sum(isinstance(one, Question) for one in values)
    if 0 < count < len(values):
        raise ArgumentError("sweep: expected collectives or trainings, found both; make a table of each")
    return _named(asked, "training", lambda _, one: one.name) if count else None


def _question_cells(
    networks: Sequence[tuple[str, Topology]],
    questions: Sequence[tuple[str, Question]],
    situations: Sequence[tuple[str, Conditions]],
) -> list[QuestionCell]:
    """Return the cells in the table's order; raise where a question cannot be asked."""
    for (name, topology), (question_name, question), (_, now) in itertools.product(
        networks, questions, situations
    ):
        try:
            question._check(topology, now)
        except ArgumentError as error:
            raise ArgumentError(f"sweep: {question_name} on '{name}': {error}") from None
    return [
        QuestionCell(question, topology, now, Names(name, question_name, situation))
        for (name, topology), (question_name, question), (situation, now) in itertools.product(
            networks, questions, situations
        )
    ]


def _cells(
    networks: Sequence[tuple[str, Topology]],
    collectives: Any,
    sizes: int | Sequence[int],
    algorithms: Any,
    situations: Sequence[tuple[str, Conditions]],
    root: int,
    network: str,
) -> list[Cell]:
    """Return the cells in the table's order; raise where the bound of one would."""
    kinds = [collectives] if isinstance(collectives, str) else _some(collectives, "collective")
    counts = [sizes] if isinstance(sizes, int) else _some(sizes, "size")
    runners = _runners(algorithms, kinds)
    if network not in ("fluid", "fifo"):
        raise ArgumentError(f"sweep: expected the network 'fluid' or 'fifo', found {network!r}")
    for (name, topology), kind, (_, now) in itertools.product(networks, kinds, situations):
        try:
            lower_bound(topology, kind, min(counts), now, root)
        except ArgumentError as error:
            raise ArgumentError(f"sweep: {kind} on '{name}': {error}") from None
    return [
        Cell(name, topology, kind, nbytes, situation, now, runners[kind], root, network)
        for (name, topology), kind, (situation, now), nbytes in itertools.product(
            networks, kinds, situations, counts
        )
    ]


def _some(values: Sequence[Any], noun: str) -> list[Any]:
    if len(values) == 0:
        raise ArgumentError(f"sweep: expected at least one {noun}, found none")
    return list(values)


def _named(given: Any, noun: str, name_of: Callable[[int, Any], str]) -> list[tuple[str, Any]]:
    """Pair each value with its name; equal names would make rows that nobody can tell apart."""
    if isinstance(given, Mapping):
        return list(zip(given, _some(list(given.values()), noun), strict=True))
    values = _some(given, noun) if isinstance(given, Sequence) else [given]
    names = [name_of(place, value) for place, value in enumerate(values)]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(
                f"sweep: expected different names, found {names.count(name)} of {noun} '{name}'; give a mapping of "
                "names"
            )
    return list(zip(names, values, strict=True))


def _runners(given: Any, kinds: Sequence[str]) -> dict[str, tuple[tuple[str, str | Own], ...]]:
    """Return for each collective its algorithms by label."""
    named = given.items() if isinstance(given, Mapping) else _pairs(given)
    found: dict[str, list[tuple[str, str | Own]]] = {kind: [] for kind in kinds}
    for label, algorithm in named:
        if not (isinstance(algorithm, str | Schedule) or callable(algorithm)):
            raise ArgumentError(
                f"sweep: expected algorithm '{label}' to be a name, a schedule or a function, found "
                f"{type(algorithm).__name__}"
            )
        own = algorithm.collective.kind if isinstance(algorithm, Schedule) else _kind_of(algorithm)
        if own and own not in found:
            raise ArgumentError(f"sweep: algorithm '{label}' runs {own}, which is not among the collectives")
        for kind in [own] if own else kinds:
            found[kind].append((label, algorithm))
    for kind, runners in found.items():
        if not runners:
            raise ArgumentError(f"sweep: expected an algorithm for {kind}, found none")
    return {kind: tuple(runners) for kind, runners in found.items()}


def _pairs(given: str | Sequence[str]) -> list[tuple[str, str]]:
    return [(name, name) for name in ([given] if isinstance(given, str) else _some(given, "algorithm"))]


def _kind_of(algorithm: str | Own) -> str:
    """Return the collective of a named algorithm; empty for one that serves all."""
    if not isinstance(algorithm, str) or algorithm == PLAN:
        return ""
    if algorithm in topology_algorithms.names():
        return topology_algorithms.split(algorithm)[0]
    return known.get(algorithm).kind
