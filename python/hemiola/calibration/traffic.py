# SPDX-License-Identifier: Apache-2.0
"""Schedules to be timed: messages in a chain, of which each waits for the one before, and streams that wait for
nothing.

They are no useful collectives; their data does not count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Collective, Schedule
from hemiola.calibration.rounds import Pair

#: Slots that a stream needs: one to send from, one to receive into, and one more where pairs close an odd circle.
STREAM_CHUNKS = 3


def chain(rank_count: int, rounds: Sequence[Sequence[Pair]], steps: int) -> Schedule:
    """Let every rank send its chunk to its partner in each of the rounds, all at once, and so again in every step.

        step 0          step 1                    one round, four ranks
        0 → 1           0 → 1
        1 → 2           1 → 2    …                what a rank sends in step 1 has what came to it in
        2 → 3           2 → 3                     step 0 added to it, so that no step
        3 → 0           3 → 0                     begins before the one before has ended

    A step takes the latency, and the cost of a message for every round.
    """
    pairs = [pair for pairs in rounds for pair in pairs]
    ranks = sorted(
        {rank for pair in pairs for rank in pair}
    )  # where nodes differ, some receive and do not send
    everything = Collective.custom(rank_count, 1, [(rank, 0) for rank in ranks], [], reducing=True)
    return Schedule.from_transfers(everything, _repeated(pairs, steps, [0] * len(pairs), reduce=True))


def stream(rank_count: int, pairs: Sequence[Pair], steps: int) -> Schedule:
    """Let every pair's source send a chunk of its own in every step, into the same slot again and again.

    Arriving chunks are never sent on, so no message waits for them: messages follow each other as fast as ports take
    them.
    """
    slots = _apart(pairs)
    chunks = [slots[src] for src, _ in pairs]
    before = [(src, chunk) for (src, _), chunk in zip(pairs, chunks, strict=True)]
    after = [(dst, chunk) for (_, dst), chunk in zip(pairs, chunks, strict=True)]
    everything = Collective.custom(rank_count, STREAM_CHUNKS, before, after)
    return Schedule.from_transfers(everything, _repeated(pairs, steps, chunks, reduce=False))


def _apart(pairs: Sequence[Pair]) -> dict[int, int]:
    """Return a slot for every source, another than its destination's: each has at most two neighbours, so three do."""
    neighbours: dict[int, list[int]] = {}
    for src, dst in pairs:
        neighbours.setdefault(src, []).append(dst)
        neighbours.setdefault(dst, []).append(src)
    slots: dict[int, int] = {}
    for rank, beside in neighbours.items():
        taken = {slots.get(other) for other in beside}
        slots[rank] = next(slot for slot in range(STREAM_CHUNKS) if slot not in taken)
    return slots


def _repeated(pairs: Sequence[Pair], steps: int, chunks: Sequence[int], *, reduce: bool) -> NDArray[np.int64]:
    """Return transfers, as rows (step, src, dst, chunk, reduce): the same ones in every step."""
    once = np.array(
        [(0, src, dst, chunk, reduce) for (src, dst), chunk in zip(pairs, chunks, strict=True)], np.int64
    )
    rows = np.tile(once, (steps, 1))
    rows[:, 0] = np.repeat(np.arange(steps), len(pairs))
    return rows
