# SPDX-License-Identifier: Apache-2.0
"""A buffer in segments, one behind the other: while one is in its last stage, others are in earlier ones."""

from __future__ import annotations

import numpy as np

from hemiola.algorithms.number_arrays import Integers
from hemiola.errors import ArgumentError

#: Pieces that a buffer is pipelined in at most.
MOST_SEGMENTS = 1 << 20
#: Where fewer can be simulated, putting the messages of one in order takes too long for the remaining gain.
LEAST_MADE = 8


def check_segments(where: str, segments: int) -> None:
    """Raise ArgumentError where a function is asked for no segments, or too many."""
    if not 1 <= segments <= MOST_SEGMENTS:
        raise ArgumentError(f"{where}: expected segments in 1 … {MOST_SEGMENTS}, found {segments}")


def pipelined(pattern: Integers, stage: Integers, *, segments: int, steps: int, chunks: int) -> Integers:
    """Write a segment's messages once for each segment; in body b stage s is that of segment b - s.

    Parameters
    ----------
    pattern : rows of step within a body, src, dst, chunk of the segment, reduce.
    stage : of each of these, int >= 0.
    segments, steps, chunks : int, how many there are; steps of a body, chunks of a segment.

    Returns
    -------
    rows of step, src, dst, chunk, reduce, body by body.
    """
    bodies = []
    for body in range(segments + int(stage.max(initial=0))):
        segment = body - stage
        rows = pattern.copy()
        rows[:, 0] += body * steps
        rows[:, 3] += segment * chunks
        bodies.append(rows[(segment >= 0) & (segment < segments)])
    written: Integers = np.concatenate(bodies)
    return written
