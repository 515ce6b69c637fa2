# SPDX-License-Identifier: Apache-2.0
"""The judge at the API: proves a schedule right, or names each fault and its place."""

from __future__ import annotations

from collections.abc import Callable

from hemiola._core import Schedule, ScheduleFile, Topology, Violation
from hemiola._core import verify as judge
from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.progress import ProgressBar

#: First violations by digest, None for a schedule that is right.
_known: dict[str, Violation | None] = {}
_MOST_KNOWN = 4096
_ADVICE = "hemiola.verify(schedule) lists all that is wrong; unchecked=True takes the schedule as it is."


@typed
def verify(
    schedule: Schedule | ScheduleFile,
    *,
    max_violations: int = 100,
    report_redundant: bool = False,
    topology: Topology | None = None,
    link_capacity: int | None = None,
    port_capacity: int | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Violation]:
    """Prove a schedule right by following every rank's contribution through every slot.

    Parameters
    ----------
    schedule : Schedule, or ScheduleFile to read it block by block.
    max_violations : int >= 1, only the first so many are returned, in the order (step, chunk, rank, rule).
    report_redundant : bool, also report copies of a value that a slot already holds: wasteful, not wrong.
    topology : Topology of as many ranks: transfers may use only its links, or go through switches alone.
    link_capacity : int >= 1, the most chunks that a pair of ranks, in one direction, may carry in a step.
    port_capacity : int >= 1, the most chunks that may leave, and the most that may enter, a rank in a step.
    threads : int >= 1, how many threads judge; None for as many as the machine has and the schedule keeps busy, at
        most 4. The answer does not depend on it.
    progress : called now and then with the transfers judged so far and their total; an error from it ends the judging.
        None for a bar on the terminal after a second.

    Returns
    -------
    list of Violation(rule, step, rank, chunk, message); [] when the schedule keeps its collective's promise.
    The rules:

    ``read_before_defined``
        A transfer reads a slot that holds nothing yet.
    ``reduce_into_undefined``
        A reduce adds into a slot that holds nothing yet.
    ``reduce_not_allowed``
        A reduce occurs in a collective that does not reduce.
    ``copy_conflict``
        Two copies write one slot in one step.
    ``copy_reduce_conflict``
        A copy and a reduce write one slot in one step.
    ``counted_twice``
        A reduce adds a contribution that is there already, and a wanted result shows it.
    ``missing_contribution``
        A wanted result lacks the contributions of some ranks (never sent, or overwritten by a copy).
    ``missing_chunk``
        A wanted slot holds nothing in the end.
    ``leftover``
        A rank that does not want a chunk receives it, and no later transfer reads what it received.
    ``no_link``
        Only with `topology`: a transfer joins two ranks between which there is no link.
    ``over_capacity``
        Only with a capacity: a step puts more chunks on a link or a port than it takes.
    ``redundant``
        Only with `report_redundant`: a copy brings what the slot already holds.

    Raises
    ------
    ArgumentError
        If max_violations, threads or a capacity is < 1, or the topology has another rank count.

    Notes
    -----
    Exact and deterministic; runs without the GIL. Chunks are judged one by one. A sum is a node of a graph
    whose edges are additions; a result is right when exactly one path leads from it to each contribution, and
    paths to 64 results are counted at a time. Time O(transfers), times ceil(r / 64) for chunks whose r wanted
    results are different sums. Memory O(ranks) and at most 1 GiB for transfers sorted by chunk; a file that has
    more is read several times.
    """
    with ProgressBar("verifying") as bar:
        return judge(
            schedule,
            max_violations=max_violations,
            report_redundant=report_redundant,
            topology=topology,
            link_capacity=link_capacity,
            port_capacity=port_capacity,
            threads=threads,
            progress=progress or bar,
        )


def first_violation(
    schedule: Schedule, *, progress: Callable[[int, int], None] | None = None
) -> Violation | None:
    """Return the first fault of a schedule, or None; only the first question about a digest takes time."""
    digest = schedule.digest
    if digest not in _known:
        found = verify(schedule, max_violations=1, progress=progress)
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[digest] = found[0] if found else None
        return found[0] if found else None
    return _known[digest]


def why_wrong(
    schedule: Schedule, what: str = "the schedule", *, progress: Callable[[int, int], None] | None = None
) -> str:
    """Say by which rule, at which step, rank and chunk a schedule first breaks its promise; empty where it keeps it."""
    wrong = first_violation(schedule, progress=progress)
    return "" if wrong is None else f"{what} is wrong: {in_words(wrong)}. {_ADVICE}"


def refuse_wrong(schedule: Schedule, what: str = "the schedule") -> None:
    """Raise ArgumentError with the place of the first fault, unless a schedule keeps its collective's promise."""
    if wrong := why_wrong(schedule, what):
        raise ArgumentError(wrong)


def in_words(violation: Violation) -> str:
    """Return rule, place and sentence of a violation in one line."""
    place = f"step {violation.step}, rank {violation.rank}, chunk {violation.chunk}"
    return f"{violation.rule} at {place} ({violation.message})"
