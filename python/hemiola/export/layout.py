# SPDX-License-Identifier: Apache-2.0
"""Where a schedule's chunks lie in the buffers of a library that divides these into equal pieces, rank after rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule
from hemiola.errors import ArgumentError
from hemiola.verify import first_violation, in_words

#: Pieces of a buffer that are still a division and no list of bytes.
_MOST_UNITS = 1 << 20
#: The collectives in which all ranks play the same part.
SYMMETRIC = ("all_gather", "all_reduce", "all_to_all", "reduce_scatter")


@dataclass(frozen=True)
class Layout:
    """A schedule's chunks as pieces of a buffer of `unit_count` equal units.

    start, size : int64, in units, one per chunk. In an all-to-all both count from the start of the chunk's block.
    block_units : units that each rank brings (all-gather), gets (reduce-scatter), or sends to each (all-to-all).
    """

    start: NDArray[np.int64]
    size: NDArray[np.int64]
    unit_count: int
    block_units: int


def refuse_wrong(schedule: Schedule, what: str) -> None:
    """Raise ArgumentError with the place of the first fault of a schedule that does not keep its promise."""
    wrong = first_violation(schedule)
    if wrong is not None:
        raise ArgumentError(f"{what}: the schedule is wrong: {in_words(wrong)}; correct it before its export")


def layout_of(schedule: Schedule, what: str) -> Layout:
    """Lay out a schedule's chunks.

    Parameters
    ----------
    schedule : of all_gather, all_reduce, all_to_all or reduce_scatter.
    what : the format's name in errors.

    Returns
    -------
    Layout. An all-gather's and a reduce-scatter's chunks are in the order of their owners.

    Raises
    ------
    ArgumentError
        If the collective has a root or is custom, ranks own or exchange shares of different sizes, or the chunks' sizes
        have so small a common part that a buffer would have more than 2^20 units.
    """
    collective, n = schedule.collective, schedule.rank_count
    if collective.kind not in SYMMETRIC:
        raise ArgumentError(
            f"{what}: expected one of {', '.join(SYMMETRIC)}, in which all ranks play the same part, found "
            f"{collective.kind}"
        )
    size, total = _sizes(schedule, what)
    if collective.kind == "all_reduce":
        return Layout(np.cumsum(size) - size, size, total, total)
    owner = np.asarray(collective.owner, np.int64)
    groups, group_count, name = owner, n, "rank"
    if collective.kind == "all_to_all":
        per_pair = schedule.chunk_count // (n * n)
        groups, group_count, name = np.arange(schedule.chunk_count) // per_pair, n * n, "pair of ranks"
    shares = np.bincount(groups, weights=size, minlength=group_count).astype(np.int64)
    odd = np.flatnonzero(shares != shares[0])
    if len(odd):
        raise ArgumentError(
            f"{what}: expected equal shares, found {shares[0]} parts of {total} for {name} 0 and {shares[odd[0]]} for "
            f"{name} {odd[0]}"
        )
    return Layout(*_in_groups(size, groups, int(shares[0]), collective.kind), total, int(shares[0]))


def units_of(schedule: Schedule, what: str) -> tuple[list[int], list[int], int]:
    """Return where each chunk starts, its size and the size of all, in the schedule's own order."""
    size, total = _sizes(schedule, what)
    return (np.cumsum(size) - size).tolist(), size.tolist(), total


def _sizes(schedule: Schedule, what: str) -> tuple[NDArray[np.int64], int]:
    """Return the chunks' sizes in their largest common part, and their sum."""
    weights = np.asarray(schedule.chunk_weights, np.int64)
    size = weights // (int(np.gcd.reduce(weights)) or 1)
    total = int(size.sum())
    if not 0 < total <= _MOST_UNITS:
        raise ArgumentError(
            f"{what}: expected chunks whose sizes have a common part, at most 2^20 of it in all, found {total:,}; use "
            "a schedule with fewer different chunk_weights"
        )
    return size, total


def _in_groups(
    size: NDArray[np.int64], groups: NDArray[np.int64], share: int, kind: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and sizes with the chunks of each group one after the other."""
    order = np.argsort(groups, kind="stable")
    start = np.empty_like(size)
    start[order] = np.cumsum(size[order]) - size[order]
    return (start - groups * share if kind == "all_to_all" else start), size
