# SPDX-License-Identifier: Apache-2.0
"""What commands that measure have in common: data of each size, and the name of the place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hemiola.arguments.names import Kind, Op
from hemiola.cli.output import counted, printable
from hemiola.communicator.launch_environment import Job
from hemiola.errors import ArgumentError
from hemiola.measure.pattern import Pattern, dtype_named
from hemiola.units import format_bytes


def patterns_of(
    kind: Kind, rank_count: int, sizes: Sequence[int], dtype: str, op: Op, root: int
) -> tuple[tuple[Pattern, ...], list[str]]:
    """Return a pattern per size that holds anything, each once, and what of them is not as it was asked for."""
    element = dtype_named(dtype)
    made = [Pattern.of_bytes(kind, rank_count, size, element, op=op, root=root) for size in sizes]
    smallest = made[0].smallest
    patterns = tuple({pattern.count: pattern for pattern in made if pattern.count}.values())
    if not patterns:
        raise ArgumentError(f"{max(sizes):,} B hold not even {smallest}; take more, or another --dtype")
    if [pattern.nbytes for pattern in patterns] == list(sizes):
        return patterns, []
    if len(sizes) == 1:
        return patterns, [f"{patterns[0].nbytes:,} B of the {sizes[0]:,} asked for: a multiple of {smallest}"]
    return patterns, [f"sizes are multiples of {smallest}"]


def where_measured(emulate: Path | None, job: Job | None) -> str:
    """Name the place of a measurement: an emulated cluster, this machine, or a job's ranks."""
    there = "this machine" if job is None else f"ranks of {job.launcher}"
    return f"emulated {printable(emulate.name)}" if emulate else there


def title_of(patterns: Sequence[Pattern]) -> str:
    """Name what is measured, with the size where there is one."""
    first = patterns[0]
    size = f"{format_bytes(first.nbytes)} " if len(patterns) == 1 else ""
    return f"{first.kind} of {size}{first.dtype.name} over {counted(first.rank_count, 'rank')}"
