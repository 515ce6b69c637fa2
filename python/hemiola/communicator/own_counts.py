# SPDX-License-Identifier: Apache-2.0
"""The numbers of a store that cannot add."""

from collections import Counter


class OwnCounts:
    """A part of a `Store`: each number has one writer, and nobody else asks for it, so that a rank counts alone."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, key: str, amount: int, /) -> int:
        """Add to a number that is 0 at first; return the sum."""
        self._counts[key] += amount
        return self._counts[key]
