# SPDX-License-Identifier: Apache-2.0
"""How strong a small network of two-way links is, by trying every partition."""

from __future__ import annotations

from collections.abc import Iterator


def partitions(n: int) -> Iterator[list[int]]:
    """Yield the part of each vertex, for every way to make parts of n."""

    def place(parts: list[int]) -> Iterator[list[int]]:
        if len(parts) == n:
            yield parts
            return
        for part in range(max(parts, default=-1) + 2):
            yield from place([*parts, part])

    return place([])


def strength(n: int, edges: dict[tuple[int, int], float]) -> float:
    """Return the least bandwidth between parts, per part beyond the first."""
    return min(
        sum(Bps for (a, b), Bps in edges.items() if parts[a] != parts[b]) / max(parts)
        for parts in partitions(n)
        if max(parts) > 0
    )
