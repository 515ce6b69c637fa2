# SPDX-License-Identifier: Apache-2.0
"""A schedule in words, and as text of chunks by steps."""

from __future__ import annotations

import numpy as np

from hemiola._core import Schedule

#: A cell with more transfers than this is a count.
LETTERED_TRANSFERS = 6


def step_cells(schedule: Schedule, chunks: int, steps: int) -> list[list[str]]:
    """Write chunks and steps of a schedule as cells: '0+1' adds rank 0's slot into rank 1's, '0>1' copies it;
    '0.2' is rank 0's second scratch slot of the chunk.

    Parameters
    ----------
    schedule : Schedule.
    chunks, steps : int >= 0, how many of each to write at most.

    Returns
    -------
    list of rows, one per chunk, each a list with one text per step; a cell without transfers is empty,
    and one with more than six is a count.
    """
    rows: list[list[list[str]]] = [
        [[] for _ in range(min(steps, schedule.step_count))] for _ in range(min(chunks, schedule.chunk_count))
    ]
    transfers = np.asarray(schedule.transfers)
    shown = transfers[(transfers["chunk"] < len(rows)) & (transfers["step"] < steps)]
    for step, src, dst, chunk, reduce, *slots in shown.tolist():
        of_src, of_dst = slots or (0, 0)
        sign = "+" if reduce else ">"
        rows[chunk][step].append(f"{slot_name(src, of_src)}{sign}{slot_name(dst, of_dst)}")
    return [[_cell(texts) for texts in row] for row in rows]


def slot_name(rank: int, slot: int) -> str:
    """Name a slot as the text form does: by its rank, and after a point the number of a scratch slot."""
    return f"{rank}.{slot}" if slot else str(rank)


def _cell(texts: list[str]) -> str:
    return " ".join(texts) if len(texts) <= LETTERED_TRANSFERS else f"{len(texts)} transfers"


def describe(schedule: Schedule) -> str:
    """Return the size of a schedule in words."""
    sizes = {
        "rank": schedule.rank_count,
        "chunk": schedule.chunk_count,
        "step": schedule.step_count,
        "transfer": schedule.transfer_count,
    }
    if schedule.scratch_count:
        sizes["scratch slot"] = schedule.scratch_count
    return ", ".join(f"{count:,} {noun}{'' if count == 1 else 's'}" for noun, count in sizes.items())
