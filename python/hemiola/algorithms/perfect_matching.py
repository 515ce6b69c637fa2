# SPDX-License-Identifier: Apache-2.0
"""Perfect matchings of ranks with ranks, for ports that carry one message at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hemiola._core.algorithms import assignment


def perfect_matching(allowed: NDArray[np.bool_]) -> NDArray[np.intp] | None:
    """Return the partner of each rank where every rank has one of its own among those it is allowed, or None."""
    partner = assignment(np.where(allowed, 0.0, np.inf))
    return None if partner is None else np.array(partner, np.intp)


def rounds_of(message_count: NDArray[np.int64]) -> Iterator[list[tuple[int, int]]]:
    """Split messages, so many from each rank to each, into rounds in which a port carries one each way.

    As many rounds as the busiest port has messages (König). Less busy ports are filled up with messages that are not
    sent, so all rows and columns have one sum. A perfect matching of the remaining messages then always exists.
    """
    sent = message_count.copy()
    idle = _filling(sent)
    ranks = np.arange(len(sent))
    while (sent + idle).any():
        partner = perfect_matching(sent + idle > 0)
        assert partner is not None, "equal row and column sums have a perfect matching"
        is_sent = sent[ranks, partner] > 0
        sent[ranks, partner] -= is_sent
        idle[ranks, partner] -= ~is_sent
        yield [(int(src), int(partner[src])) for src in ranks[is_sent]]


def _filling(message_count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return messages that raise every row and column to the largest sum of any."""
    out, into = message_count.sum(axis=1), message_count.sum(axis=0)
    most = max(out.max(), into.max())
    out_ends, into_ends = np.cumsum(most - out), np.cumsum(most - into)
    filling = np.zeros_like(message_count)
    missing = np.arange(out_ends[-1])
    # The i-th message that is missing leaves one port and reaches another, both counted from the first rank on.
    pairs = (np.searchsorted(out_ends, missing, "right"), np.searchsorted(into_ends, missing, "right"))
    np.add.at(filling, pairs, 1)
    return filling
