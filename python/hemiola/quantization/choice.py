"""Whether an all-reduce goes as eight bits: where the network's plain time is longer than codec and short messages."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np

from hemiola._core import codecs as core
from hemiola.communicator import Communicator
from hemiola.planner.sparse_rule import MARGIN
from hemiola.quantization.blocks import BLOCK, BLOCK_BYTES

_known: WeakKeyDictionary[Communicator, dict[int, bool]] = WeakKeyDictionary()


class Spread(Protocol):
    """Gives the first rank's byte to all ranks, in place."""

    def __call__(self, byte: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> object: ...


def pays(comm: Communicator, size: int, spread: Spread) -> bool:
    """Return whether `size` float32 elements take less time as eight bits; the same on every rank.

    The first rank compares the plans once for each size, and tells the others.
    """
    known = _known.setdefault(comm, {})
    if size not in known:
        word = np.zeros(1, np.uint8)
        if comm.rank == 0:
            word[0] = _seconds(comm, size) * MARGIN < comm.plan("all_reduce", 4 * size).seconds
        if comm.rank_count > 1:
            spread(word)
        known[size] = bool(word[0])
    return known[size]


def _seconds(comm: Communicator, size: int) -> float:
    """Return the predicted time of both halves, and of one core that encodes and decodes while no link is busy."""
    quantize_s, add_s, restore_s = _speeds()
    n = comm.rank_count
    coded_bytes = n * -(-size // (n * BLOCK)) * BLOCK_BYTES
    core_s = size * (quantize_s + (n - 1) / n * add_s + restore_s)
    halves = (comm.plan(kind, coded_bytes).seconds for kind in ("all_to_all", "all_gather"))
    return float(core_s + sum(halves))


@functools.cache
def _speeds() -> tuple[float, float, float]:
    """Measure the seconds for which a core quantizes, adds and restores an element: medians of slices in memory."""
    elements, slices = 1 << 18, 9
    values = np.random.default_rng(0).standard_normal((slices, elements), np.float32)
    rest = np.zeros_like(values)
    messages = np.empty((slices, elements // BLOCK * BLOCK_BYTES), np.uint8)

    def median_s(work: Callable[[int], None]) -> float:
        taken = []
        for one in range(slices):
            begin = time.perf_counter()
            work(one)
            taken.append(time.perf_counter() - begin)
        return float(np.median(taken)) / elements

    return (
        median_s(lambda one: core.quantize(values[one], rest[one], messages[one])),
        median_s(lambda one: core.restore(messages[one], rest[one], 1.0, True)),
        median_s(lambda one: core.restore(messages[one], rest[one], 1.0, False)),
    )
