# SPDX-License-Identifier: Apache-2.0
"""A core's speed on buffers, measured."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_BYTES, _REPETITIONS = 256 << 10, 8

Work = Callable[[NDArray[np.float32], NDArray[np.float32]], None]


def add(total: NDArray[np.float32], addend: NDArray[np.float32]) -> None:
    """Add to an array in place, as combining does; `numpy.copyto` copies."""
    np.add(total, addend, out=total)


def best_rate(work: Work, total: NDArray[np.float32], addend: NDArray[np.float32], repetitions: int) -> float:
    """Time an action on one array with another; return its bytes per second, at best."""
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        work(total, addend)
        times.append(time.perf_counter() - begin)
    return total.nbytes / max(min(times), 1e-9)


def core_rates() -> tuple[float, float]:
    """Return the bytes per second of one array that this core adds to another in its cache, and that it copies."""
    total, addend = (np.ones(_BYTES // 4, np.float32) for _ in range(2))
    combined, copied = (best_rate(work, total, addend, _REPETITIONS) for work in (add, np.copyto))
    return combined, copied
