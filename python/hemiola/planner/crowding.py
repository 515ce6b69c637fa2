# SPDX-License-Identifier: Apache-2.0
"""The cost of sending to a rank from several others at once. Simulated networks, whose flows share ports without loss,
do not know it."""

from __future__ import annotations

import numpy as np

from hemiola._core import Schedule
from hemiola.planner.distinct import distinct

#: Between hosts that talk by TCP. With 3 and 7 ranks that sent 16 MiB to one at once, limited NICs took 5.5 and 13 %
#: longer. One after the other they took 1.5 and 2 to 3.5 % longer (docs/results/network.md).
BETWEEN_HOSTS = 0.02
#: How much less it is where they take turns.
_IN_TURN = 0.2


def crowding_s(schedule: Schedule, nbytes: int, bandwidth: float, crowding: float) -> float:
    """Return how much longer the most crowded port is busy.

    Parameters
    ----------
    schedule : Schedule.
    nbytes : int, bytes of the buffer.
    bandwidth : float, bytes per second of a port.
    crowding : float >= 0, the share of their time by which bytes take longer for each further rank that sends to the
        same one in the same step; a fifth of it for each that does so in any step.

    Returns
    -------
    float, seconds; 0 where every rank is sent to by one other, as in a ring. Linear in the transfers.
    """
    transfers, weights = np.asarray(schedule.transfers), np.asarray(schedule.chunk_weights, np.float64)
    if not crowding or not len(transfers):
        return 0.0
    count = schedule.rank_count
    step, src, dst = (transfers[name].astype(np.int64) for name in ("step", "src", "dst"))
    in_step = step * count + dst
    at_once = _distinct_by_group(in_step * count + src, count, int(in_step.max()) + 1)[in_step]
    in_all = _distinct_by_group(dst * count + src, count, count)[dst]
    further = (at_once - 1) + _IN_TURN * (in_all - 1)
    crowded = np.bincount(dst, weights[transfers["chunk"]] * further, minlength=count).max()
    return float(crowding * crowded / weights.sum() * nbytes / bandwidth)


def _distinct_by_group(pairs: np.ndarray, count: int, groups: int) -> np.ndarray:
    """Return how many different numbers below `count` there are by group; pairs are group * count + number."""
    return np.bincount(distinct(pairs) // count, minlength=groups)
