# SPDX-License-Identifier: Apache-2.0
"""All algorithms: the core's, those that Python makes, and those that users register."""

from __future__ import annotations

import copyreg
import difflib
from collections.abc import Callable
from typing import Any

from hemiola._core import algorithms as core
from hemiola.algorithms import (
    in_switch,
    late_relayed,
    slow_exchanges,
    slow_grid,
    slow_nics,
    slow_rails,
    slow_relayed,
    stragglar_matching,
)
from hemiola.algorithms.algorithm import Algorithm, from_core
from hemiola.algorithms.task import Candidate, Task
from hemiola.arguments import typed
from hemiola.arguments.names import Kind
from hemiola.conditions import refuse_density
from hemiola.errors import ArgumentError

#: An algorithm is pickled by its name: unpickling finds it in the registry of that process.
copyreg.pickle(Algorithm, lambda algorithm: (get, (algorithm.name,)))

#: The conditions that an algorithm may need beside the rank count.
NEEDS = ("", "late", "slow", "topology")

#: By name, in the order of docs/reference/algorithms.md.
ENTRIES: dict[str, Algorithm] = {}


@typed
def register(algorithm: Algorithm) -> Algorithm:
    """Add an algorithm, so that the planner considers it and communicators and commands know it by name.

    Parameters
    ----------
    algorithm : Algorithm.

    Returns
    -------
    Algorithm, the same.

    Raises
    ------
    ArgumentError
        Another one has this name, the name does not begin with the collective's, or `needs` is none of its values.

    Notes
    -----
    Each schedule that it makes is verified, once per digest, before the planner chooses it or a communicator runs it.
    In this process only: ranks that are to run it register it, too, for instance where their module is imported.
    """
    if algorithm.name in ENTRIES:
        raise ArgumentError(f"there is an algorithm '{algorithm.name}' already; choose another name")
    if not algorithm.name.startswith(f"{algorithm.kind}_"):
        raise ArgumentError(f"expected a name like '{algorithm.kind}_…', found '{algorithm.name}'")
    _check_needs(algorithm.needs)
    ENTRIES[algorithm.name] = algorithm
    return algorithm


@typed
def names(kind: Kind | None = None, *, needs: str | None = "") -> list[str]:
    """List the names of algorithms, of those for one collective if `kind` is given.

    Parameters
    ----------
    kind : str or None, a collective such as 'all_reduce'.
    needs : str or None, the condition that they must know beside the rank count: '' (nothing), 'late', 'slow' or
        'topology'; None for all of them.

    Returns
    -------
    list of str, in the order of docs/reference/algorithms.md.

    Raises
    ------
    ArgumentError
        if no collective or need has that name.
    """
    _check_needs(needs)
    if kind is not None:
        core.check_kind(kind)
    return [
        name
        for name, algorithm in ENTRIES.items()
        if kind in (None, algorithm.kind) and needs in (None, algorithm.needs)
    ]


@typed
def get(name: str) -> Algorithm:
    """Look up an algorithm by name.

    Parameters
    ----------
    name : str, one of names(needs=None).

    Returns
    -------
    Algorithm

    Raises
    ------
    ArgumentError
        if there is none of that name.
    """
    if name in in_switch.NAMES:
        raise in_switch.not_executable(name)
    if name not in ENTRIES:
        raise ArgumentError(
            "expected the name of an algorithm, one of those in docs/reference/algorithms.md, "
            f"found '{name[:60]}'{_meant(name)}"
        )
    return ENTRIES[name]


def is_brought(name: str) -> bool:
    """Say whether an algorithm comes from outside the package: its schedules are verified before they are taken."""
    return name in ENTRIES and name not in _OWN


@typed
def candidates(task: Task) -> list[Candidate]:
    """List candidates for a task, cheapest by formula first; equal costs are ordered by name.

    Parameters
    ----------
    task : Task.

    Returns
    -------
    list of Candidate. Algorithms made for late ranks, slow ranks or slow hosts are among them where there are such.

    Raises
    ------
    ArgumentError
        for an unknown collective, a rank count below 1, or conditions with a density.
    """
    refuse_density(task.conditions, "candidates")
    found = [candidate for name in names(task.kind, needs=None) for candidate in get(name).candidates(task)]
    return sorted(found, key=lambda candidate: (candidate.formula_s, candidate.name, candidate.variant))


def functions() -> dict[str, Callable[..., Any]]:
    """Return every function that algorithms offer, by name: those that make a schedule, and their companions."""
    own = {name: algorithm.function for name, algorithm in ENTRIES.items()}
    beside = {name: getattr(core, name) for entry in core.entries() for name, _ in entry.functions}
    return {**own, **beside}


def _meant(name: str) -> str:
    """Return a question after the algorithms whose names end so, or are written alike."""
    ending = [known for known in ENTRIES if known.endswith(f"_{name.lower().replace('-', '_')}")]
    close = ending[:3] or difflib.get_close_matches(name, ENTRIES, n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _check_needs(needs: str | None) -> None:
    if needs is not None and needs not in NEEDS:
        raise ArgumentError(
            f"expected one of '', 'late', 'slow' and 'topology' as an algorithm's need, found '{needs[:60]}'"
        )


for _entry in core.entries():
    register(from_core(_entry))
# One line per module of algorithms that Python makes.
for _algorithm in (
    *stragglar_matching.ALGORITHMS,
    *late_relayed.ALGORITHMS,
    *slow_exchanges.ALGORITHMS,
    *slow_relayed.ALGORITHMS,
    *slow_nics.ALGORITHMS,
    *slow_rails.ALGORITHMS,
    *slow_grid.ALGORITHMS,
):
    register(_algorithm)

#: The package's own algorithms; those registered later come from outside.
_OWN = frozenset(ENTRIES)
