# SPDX-License-Identifier: Apache-2.0
"""The last accesses of each place in memory, and which of them nothing orders with the next one, as in FastTrack.

Each line of work (a thread block) has a vector clock: for each line, how much of it is over for sure. An access races
with an earlier one that the clock does not cover. Only the last write and the reads since then count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from numpy.typing import NDArray

Clock = NDArray[Any]
Place = TypeVar("Place", bound=Hashable)


class Access(NamedTuple):
    """An access: the line of work, its time there, and the number of the step."""

    line: int
    time: int
    step: int = 0


class LastAccesses(Generic[Place]):
    """The accesses that a next one of the same place may race with.

    Parameters
    ----------
    before : the write of a place before the run, as far as it counts.
    """

    def __init__(self, before: Callable[[Place], Access | None] = lambda _: None) -> None:
        self._before = before
        self.wrote: dict[Place, Access] = {}
        self.read_since: defaultdict[Place, dict[int, Access]] = defaultdict(dict)

    def read(self, place: Place, access: Access, known: Clock) -> Iterator[Access]:
        """Note a read by one who knows so much; yield the write that nothing orders with it, if there is one."""
        self.read_since[place][access.line] = access
        return self._unordered([self._last_write(place)], known)

    def write(self, place: Place, access: Access, known: Clock) -> Iterator[Access]:
        """Note a write; yield the earlier write and the reads that nothing orders with it."""
        earlier = [self._last_write(place), *self.read_since.pop(place, {}).values()]
        self.wrote[place] = access
        return self._unordered(earlier, known)

    def _last_write(self, place: Place) -> Access | None:
        return self.wrote[place] if place in self.wrote else self._before(place)

    @staticmethod
    def _unordered(earlier: list[Access | None], known: Clock) -> Iterator[Access]:
        return (one for one in earlier if one is not None and known[one.line] < one.time)
