# SPDX-License-Identifier: Apache-2.0
"""All-reduces and trees by the butterflies of papers, as rivals of plans: Swing [desensi2024], whose peers on one
ring are also those of Bine trees (SC '25, arXiv 2508.17311, section 3), and Trivance (arXiv 2602.17254, section 4).

A step is a function from a rank to its peers; a *part* of the buffer goes through a list of steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import hemiola as hm

Step = Callable[[int], tuple[int, ...]]
_Row = tuple[int, int, int, int, bool]


def swing_parts(dims: Sequence[int], *, is_nearest_last: bool = False) -> list[list[Step]]:
    """List the steps of each part: distances 1, -1, 3, -5, … in each dimension by turns, for sides of powers of two."""
    levels = [size.bit_length() - 1 for size in dims]
    parts = [
        _in_turns(dims, levels, first, partial(_swing_distance, sign), is_mirrored=True)
        for sign in (+1, -1)
        for first in range(len(dims))
    ]
    return [part[::-1] for part in parts] if is_nearest_last else parts


def _swing_distance(sign: int, level: int) -> tuple[int, ...]:
    return (sign * (1 - (-2) ** (level + 1)) // 3,)


def trivance_parts(dims: Sequence[int]) -> list[list[Step]]:
    """List the steps of each part: distances 3^k both ways at once, for sides of powers of three."""
    levels = [round(math.log(size, 3)) for size in dims]
    return [
        _in_turns(dims, levels, first, lambda level: (3**level, -(3**level)), is_mirrored=False)
        for first in range(len(dims))
    ]


def is_power(size: int, base: int) -> bool:
    """Whether a side is a power of the base."""
    while size % base == 0:
        size //= base
    return size == 1


def _in_turns(
    dims: Sequence[int],
    levels: Sequence[int],
    first: int,
    distances: Callable[[int], tuple[int, ...]],
    *,
    is_mirrored: bool,
) -> list[Step]:
    """Go round the dimensions from the first one on, a level of each at a time, until all are taken."""
    taken, d = [0] * len(dims), first
    steps: list[Step] = []
    while len(steps) < sum(levels):
        if taken[d] < levels[d]:
            steps.append(_step(dims, d, distances(taken[d]), is_mirrored))
            taken[d] += 1
        d = (d + 1) % len(dims)
    return steps


def _step(dims: Sequence[int], d: int, distances: tuple[int, ...], is_mirrored: bool) -> Step:
    stride = math.prod(dims[:d])

    def peers(rank: int) -> tuple[int, ...]:
        x = rank // stride % dims[d]
        sign = -1 if is_mirrored and x % 2 else 1
        return tuple(rank + ((x + sign * far) % dims[d] - x) * stride for far in distances)

    return peers


def in_whole(rank_count: int, parts: Sequence[Sequence[Step]]) -> hm.Schedule:
    """Exchange and add whole parts in every step: few steps, many bytes."""
    rows = [
        (at, rank, peer, part, True)
        for part, steps in enumerate(parts)
        for at, peers in enumerate(steps)
        for rank in range(rank_count)
        for peer in peers(rank)
    ]
    collective = hm.Collective.with_owners("all_reduce", rank_count, [0] * len(parts))
    return hm.Schedule.from_transfers(collective, rows)


def in_blocks(rank_count: int, parts: Sequence[Sequence[Step]]) -> hm.Schedule:
    """Reduce-scatter each part by its steps, then all-gather it by the same ones backwards: the fewest bytes."""
    rows = [
        row for part, steps in enumerate(parts) for row in _block_rows(rank_count, steps, part, len(parts))
    ]
    collective = hm.Collective.make("all_reduce", rank_count, rank_count * len(parts))
    return hm.Schedule.from_transfers(collective, rows)


def _block_rows(rank_count: int, steps: Sequence[Step], part: int, part_count: int) -> Iterator[_Row]:
    held = [
        [{rank} for rank in range(rank_count)]
    ]  # the blocks that a rank adds up from a step on, last step first
    for peers in reversed(steps):
        after = held[-1]
        held.append([after[rank].union(*(after[peer] for peer in peers(rank))) for rank in range(rank_count)])
    held.reverse()
    for at, peers in enumerate(steps):
        for rank in range(rank_count):
            for peer in peers(rank):
                for block in held[at + 1][peer]:
                    yield at, rank, peer, block * part_count + part, True
                for block in held[at + 1][rank]:
                    yield 2 * len(steps) - 1 - at, rank, peer, block * part_count + part, False


def tree(kind: str, rank_count: int, steps: Sequence[Step], root: int) -> hm.Schedule:
    """Broadcast from a root, or reduce to it, by the peers of a butterfly: holders send to theirs."""
    has, rows = {root}, []
    for at, peers in enumerate(steps):
        for rank in sorted(has):
            for peer in peers(rank):
                rows.append((at, rank, peer, 0, False))
        has |= {row[2] for row in rows}
    if kind == "reduce":
        rows = [(len(steps) - 1 - at, dst, src, chunk, True) for at, src, dst, chunk, _ in rows]
    return hm.Schedule.from_transfers(hm.Collective.make(kind, rank_count, 1, root), rows)
