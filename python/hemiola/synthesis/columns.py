# SPDX-License-Identifier: Apache-2.0
"""Transfers as columns, of which a schedule's table is made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
#: Step, src, dst, chunk, reduce; a value that is the same for all transfers may be one number.
Columns = tuple[Integers | int, Integers, Integers, Integers, NDArray[np.bool_] | bool]


def table_of(parts: Sequence[Columns]) -> Integers:
    """Return all transfers, one part behind the other, as rows that `Schedule.from_transfers` takes."""
    table = np.empty((sum(len(src) for _, src, *_ in parts), 5), np.int64)
    end = 0
    for part in parts:
        begin, end = end, end + len(part[1])
        for column, values in enumerate(part):
            table[begin:end, column] = values
    return table
