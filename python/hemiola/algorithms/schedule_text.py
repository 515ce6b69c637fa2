# SPDX-License-Identifier: Apache-2.0
"""A schedule in words, as text of chunks by steps, and as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from hemiola._core import Schedule

#: A cell with more transfers than this is a count.
LETTERED_TRANSFERS = 6
#: The part of a schedule that a notebook shows.
_HTML_CHUNKS, _HTML_STEPS = 16, 12


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
    for step, src, dst, chunk, reduce, of_src, of_dst in _shown(schedule, len(rows), steps):
        sign = "+" if reduce else ">"
        rows[chunk][step].append(f"{slot_name(src, of_src)}{sign}{slot_name(dst, of_dst)}")
    return [[_cell(texts) for texts in row] for row in rows]


def _shown(schedule: Schedule, chunks: int, steps: int) -> Iterator[tuple[int, ...]]:
    """Yield the first chunks' transfers of the first steps; the whole table would be a copy of a large schedule."""
    offset, all_chunks = np.asarray(schedule.step_offset), np.asarray(schedule.chunk)
    picked = np.flatnonzero(all_chunks[: offset[min(steps, schedule.step_count)]] < chunks)
    link = np.asarray(schedule.link)[picked]
    columns = [
        np.searchsorted(offset, picked, side="right") - 1,
        *np.asarray(schedule.pairs)[link].T,
        all_chunks[picked],
        np.asarray(schedule.reduce_words)[picked // 64] >> (picked % 64).astype(np.uint64) & np.uint64(1),
        *np.asarray(schedule.pair_slots)[link].T,
    ]
    return zip(*(column.tolist() for column in columns), strict=True)


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


def html_of(schedule: Schedule) -> str:
    """Return the beginning of a schedule as a table of chunks by steps, for notebooks."""
    rows = step_cells(schedule, _HTML_CHUNKS, _HTML_STEPS)
    head = "".join(f"<th>step {step}</th>" for step in range(len(rows[0]) if rows else 0))
    body = "".join(
        f"<tr><th>{chunk}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        for chunk, cells in enumerate(rows)
    )
    left = {"chunk": schedule.chunk_count - _HTML_CHUNKS, "step": schedule.step_count - _HTML_STEPS}
    more = [f"{count:,} more {noun}{'' if count == 1 else 's'}" for noun, count in left.items() if count > 0]
    table = f"<table><thead><tr><th>chunk</th>{head}</tr></thead><tbody>{body}</tbody></table>"
    told = f"{schedule.collective.kind}: {describe(schedule)}; 0>1 copies, 0+1 adds"
    return f"<p>{told.replace('>', '&gt;')}</p>{table}" + (f"<p>and {' and '.join(more)}</p>" if more else "")
