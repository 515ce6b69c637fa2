# SPDX-License-Identifier: Apache-2.0
"""Limits of a search for a schedule: a time after which the best so far has to do, and memory that must suffice."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from hemiola._core import Collective
from hemiola.errors import ArgumentError
from hemiola.machine.capacity import memory_bytes
from hemiola.units import format_bytes

#: The bytes of a search and its schedule per transfer, measured on meshes of 4,096 ranks: 25 to 32.
_BYTES_PER_TRANSFER = 32

#: Below this nobody's memory is short, and nothing is asked.
_NEGLIGIBLE_BYTES = 64 << 20

Report = Callable[[int, int], None]


class TimeUp(KeyboardInterrupt):
    """The time limit has come; a search ends as at Ctrl-C."""


def within(time_limit_s: float | None, report: Report | None) -> Report | None:
    """Return a progress function that also ends the search once `time_limit_s` has passed from now on."""
    if time_limit_s is None:
        return report
    if not (time_limit_s > 0 and math.isfinite(time_limit_s)):
        raise ArgumentError(f"synthesize: expected a time_limit_s above 0 and finite, found {time_limit_s}")
    deadline = time.monotonic() + time_limit_s

    def timed(done: int, total: int) -> None:
        if report is not None:
            report(done, total)
        if time.monotonic() > deadline:
            raise TimeUp

    return timed


def check_memory(collective: Collective, memory_limit: int | None) -> None:
    """Raise ArgumentError if a schedule of this collective takes more memory than there is, or than the limit."""
    transfers = fewest_transfers(collective)
    needed = _BYTES_PER_TRANSFER * transfers
    if memory_limit is None and needed < _NEGLIGIBLE_BYTES:
        return
    allowed = memory_bytes()[1] if memory_limit is None else memory_limit
    if needed > allowed:
        raise ArgumentError(
            f"synthesize: expected a schedule that fits in {format_bytes(allowed)} of memory, found one of at least "
            f"{transfers:,} transfers, about {format_bytes(needed)}; take fewer chunks per rank, or "
            "hemiola.synthesize_to_file for an all_gather"
        )


def fewest_transfers(collective: Collective) -> int:
    """Return how many transfers any schedule has: one for each rank that wants a chunk that it has not."""
    others = collective.rank_count - 1
    if collective.kind in ("all_gather", "reduce_scatter", "broadcast", "reduce"):
        return collective.chunk_count * others
    if collective.kind == "all_reduce":
        return 2 * collective.chunk_count * others
    return collective.chunk_count
