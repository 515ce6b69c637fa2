# SPDX-License-Identifier: Apache-2.0
"""A piece of work that is the same on every rank: its duration tells slow hosts from ranks that have more to do."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

_ELEMENTS, _ROUNDS, _TRIES = 4096, 60, 9
#: Tries are apart by naps of random length, so that some find the core's other thread, and its caches, idle.
_LONGEST_NAP_S = 6e-3

_factor: ContextVar[float] = ContextVar("slow_host", default=1.0)


@contextmanager
def slow_host(factor: float) -> Iterator[None]:
    """Have this rank work as on a host that takes so many times longer; to see how that is noticed."""
    before = _factor.set(factor)
    try:
        yield
    finally:
        _factor.reset(before)


def do_work(times: float = 1.0) -> None:
    """Do that piece of work, about a fifth of a millisecond of a processor, so many times."""
    x = np.linspace(0.0, 1.0, _ELEMENTS)
    for _ in range(round(times * _factor.get() * _ROUNDS)):
        np.multiply(x, 0.5, out=x)
        np.add(x, 0.5, out=x)


def fixed_work_s() -> float:
    """Return the processor seconds that it takes at best, so that others on the same core do not count."""
    tries = []
    for _ in range(_TRIES):
        begin = time.thread_time()
        do_work()
        tries.append(time.thread_time() - begin)
        time.sleep(random.uniform(0.0, _LONGEST_NAP_S))
    return min(tries)
