# SPDX-License-Identifier: Apache-2.0
"""Schedules as a program of NCCL's grouped sends and receives: one group a step, in C++ with a CUDA kernel that adds.

A rank's memory is one array: its slots of all chunks, then scratch. Offsets count units, the common part of all chunks'
sizes; the program is told how many elements a unit has.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hemiola._core import Schedule
from hemiola.arguments import typed
from hemiola.arguments.names import Op
from hemiola.errors import ArgumentError
from hemiola.export.layout import refuse_wrong, units_of

_WHAT = "NCCL program"
#: How the program combines two elements a and b.
_OPERATIONS = {"sum": "a + b", "prod": "a * b", "min": "a < b ? a : b", "max": "a > b ? a : b"}
_ROWS_PER_LINE = 4
#: Transfers whose table a compiler still takes.
_MOST_ROWS = 1 << 20


class Row(NamedTuple):
    """A transfer of `units` from offset `source` of rank src's memory to `landing` of rank dst's.

    After the group it goes from `landing` to `target`: it is combined with what is there if `reduces`, and copied
    otherwise. Where both offsets are one, nothing remains to be done.
    """

    src: int
    dst: int
    source: int
    landing: int
    target: int
    units: int
    reduces: bool


class Steps(NamedTuple):
    """A schedule as rows by step, for ranks with `memory_units` units of memory each."""

    rows: tuple[tuple[Row, ...], ...]
    unit_count: int
    memory_units: int


def steps_of(schedule: Schedule) -> Steps:
    """Return a schedule as groups of sends and receives.

    A message of a copy lands in its slot unless that is sent in the same step; every other message lands in scratch.
    Messages of one step between two ranks keep the order of the rows.
    """
    start, size, unit_count = units_of(schedule, _WHAT)
    slots = (schedule.scratch_count + 1) * unit_count
    most_scratch = 0
    found = []
    rows = np.asarray(schedule.transfers)
    for first, end in pairwise(np.asarray(schedule.step_offset).tolist()):
        step, scratch = _rows_of_step(rows[first:end].tolist(), start, size, unit_count, slots)
        found.append(step)
        most_scratch = max(most_scratch, scratch)
    return Steps(tuple(step for step in found if step), unit_count, slots + most_scratch)


def _rows_of_step(
    rows: Sequence[tuple[int, ...]], start: Sequence[int], size: Sequence[int], unit_count: int, slots: int
) -> tuple[tuple[Row, ...], int]:
    """Return a step's rows, and how much scratch a rank needs for them."""
    places = []
    for _, src, dst, chunk, reduce, *of_slots in rows:
        from_slot, to_slot = of_slots or (0, 0)
        source, target = from_slot * unit_count + start[chunk], to_slot * unit_count + start[chunk]
        if size[chunk]:
            places.append((src, dst, source, target, size[chunk], bool(reduce)))
    read = {(src, source) for src, _, source, *_ in places}
    used = dict.fromkeys((dst for _, dst, *_ in places), 0)
    found = []
    for src, dst, source, target, units, reduces in places:
        landing = target
        if reduces or (dst, target) in read:
            landing = slots + used[dst]
            used[dst] += units
        found.append(Row(src, dst, source, landing, target, units, reduces))
    return tuple(found), max(used.values(), default=0)


@typed
def nccl_program(schedule: Schedule, *, op: Op = "sum", name: str = "schedule") -> str:
    """Write a schedule as a CUDA program of NCCL's grouped sends and receives.

    Parameters
    ----------
    schedule : of any collective but custom.
    op : sum, prod, min or max.
    name : stands in the program's first line and its output.

    Returns
    -------
    str, a program for nvcc and NCCL 2.7 or later. It fills every rank's buffer, runs the schedule on float32, and
    checks every element that the collective promises.

    Raises
    ------
    ArgumentError
        If the collective is custom, the operation is another, or the schedule is wrong or has more than 2^20 transfers.

    Notes
    -----
    A step is one group, so it costs a launch; steps are barriers there between ranks that exchange something.
    """
    kind = schedule.collective.kind
    if kind == "custom":
        raise ArgumentError(f"{_WHAT}: expected a collective with a known result, found custom")
    if op not in _OPERATIONS:
        raise ArgumentError(f"{_WHAT}: expected the operation {', '.join(_OPERATIONS)}, found '{op}'")
    if schedule.transfer_count > _MOST_ROWS:
        raise ArgumentError(
            f"{_WHAT}: expected at most 2^20 transfers, found {schedule.transfer_count:,}, too long a table to compile"
        )
    refuse_wrong(schedule, _WHAT)
    return _filled(_template(), schedule, steps_of(schedule), _OPERATIONS[op], name)


def _template() -> str:
    return (resources.files("hemiola.export") / "nccl_program.cu.in").read_text()


def _filled(template: str, schedule: Schedule, steps: Steps, expression: str, name: str) -> str:
    start, size, _ = units_of(schedule, _WHAT)
    collective = schedule.collective
    rows = [row for step in steps.rows for row in step]
    ends = np.cumsum([len(step) for step in steps.rows]).tolist()
    values = {
        "name": "".join(c if c.isalnum() or c in "._- " else "_" for c in name),
        "kind": collective.kind,
        "rank_count": schedule.rank_count,
        "chunk_count": schedule.chunk_count,
        "unit_count": steps.unit_count,
        "memory_units": steps.memory_units,
        "is_reducing": "true" if collective.is_reducing else "false",
        "expression": expression,
        "rows": _table([f"{{{', '.join(str(int(value)) for value in row)}}}" for row in rows]),
        "step_ends": _table(ends, 16),
        "step_count": len(ends),
        "starts": _table(start, 16),
        "sizes": _table(size, 16),
        "owners": _table(np.asarray(collective.owner).tolist(), 16),
        "root": collective.root or 0,
        "wanted": _WANTED[collective.kind],
    }
    for key, value in values.items():
        template = template.replace(f"@{key}@", str(value))
    return template


#: Whether `rank` wants chunk c in the end, in C++.
_WANTED = {
    "all_gather": "true",
    "all_reduce": "true",
    "broadcast": "true",
    "reduce_scatter": "rank == kOwners[c]",
    "reduce": "rank == kRoot",
    "gather": "rank == kRoot",
    "scatter": "rank == kOwners[c]",
    "all_to_all": "rank == static_cast<int>(c * kRankCount * kRankCount / kChunkCount % kRankCount)",
}


def _table(values: Sequence[object], per_line: int = _ROWS_PER_LINE) -> str:
    """Return the values as lines of an initializer; a zero where there are none, for C++ has no empty arrays."""
    listed = [str(value) for value in values] or ["{}"]
    lines = (", ".join(listed[first : first + per_line]) for first in range(0, len(listed), per_line))
    return ",\n    ".join(lines)
