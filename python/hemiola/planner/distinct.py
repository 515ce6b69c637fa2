# SPDX-License-Identifier: Apache-2.0
"""The different numbers of an array, and the messages of a schedule."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule


def distinct(numbers: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return them in ascending order, as `numpy.unique` does, which hashes them first, in ten times as long, and loads
    NumPy's masked arrays: 15 ms of somebody's first call."""
    ordered = np.sort(numbers)
    found: NDArray[np.integer] = ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]
    return found


def distinct_messages(schedule: Schedule) -> NDArray[np.integer]:
    """Return a number for each message, (step * n + src) * n + dst among n ranks, in ascending order.

    Transfers between two ranks in a step are one message, as the engine joins them while they are small.
    """
    transfers, n = np.asarray(schedule.transfers), schedule.rank_count
    steps, srcs, dsts = (transfers[name].astype(np.int64) for name in ("step", "src", "dst"))
    return distinct((steps * n + srcs) * n + dsts)
