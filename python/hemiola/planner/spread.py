# SPDX-License-Identifier: Apache-2.0
"""Ownership in turn: a region of the buffer that is denser than the rest falls to all ranks alike."""

from __future__ import annotations

from hemiola._core import Schedule

#: A tenth of the buffer has 6.4 pieces of each owner, so that the most that one has is 7: 0.91 of an even share.
_MOST_SEGMENTS = 64
#: The cores show the cost of more pieces: 64 MiB at 99 % zeros between 8 hosts on 2 cores took 511 ms in one piece an
#: owner, 583 in 64. Of 4 MiB, longer ones would be so few that a dense tenth falls to half of 8 owners
#: (docs/results/sparse.md).
_LEAST_PIECE = 64 << 10


def segments_of(nbytes: int, rank_count: int) -> int:
    """Return into how many segments a buffer is cut, so that a rank's piece of each is of 64 KiB at least."""
    return max(1, min(_MOST_SEGMENTS, nbytes // (rank_count * _LEAST_PIECE)))


def spread(schedule: Schedule, segments: int) -> Schedule:
    """Cut a buffer into segments, each of which the schedule runs, all at once.

    Parameters
    ----------
    schedule : Schedule whose chunks are equally large, of a collective whose owners are free: an all_reduce.
    segments : int >= 1.

    Returns
    -------
    Schedule, of as many steps; piece i of chunk c of n is chunk i·n + c, so that the owners follow each other in turn.
    """
    if segments == 1:
        return schedule
    count = schedule.chunk_count
    places = [piece * count + chunk for chunk in range(count) for piece in range(segments)]
    return schedule.repeat_per_slice(segments).relabel(chunks=places)
