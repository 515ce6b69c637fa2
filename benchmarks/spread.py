# SPDX-License-Identifier: Apache-2.0
"""A median and how certain it is, whatever the distribution."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from math import comb


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median, and between which of the values it lies with 95 % or more, whatever their distribution."""
    count, ordered = len(values), sorted(values)
    beyond = [sum(comb(count, i) for i in range(k + 1)) / 2**count for k in range(count)]
    left_out = max((k for k in range(count // 2) if 2 * beyond[k] <= 0.05), default=-1)
    return {
        "median": statistics.median(ordered),
        "low": ordered[max(left_out, 0)],
        "high": ordered[-1 - max(left_out, 0)],
    }
