# SPDX-License-Identifier: Apache-2.0
"""How fast this machine's codecs are: dense bytes a second of one core, and the share of them that reaches the wire."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from hemiola import codecs
from hemiola._core import codecs as core
from papers.report import Report
from papers.spccl import arrays

_GRID = (1.0, 0.5, 0.2, 0.1, 0.05, 0.01, 0.001, 0.0001)
_TURNS = 7
#: Of an array whose messages are counted, and of a slice that is copied.
_ELEMENTS, _SLICE = 1 << 20, 1 << 17


@dataclass(frozen=True)
class Rates:
    """One format at one density: encoded over dense bytes, and dense bytes per second."""

    size: float
    compress: float
    decompress: float
    add: float


@dataclass(frozen=True)
class Speeds:
    """Measured rates by density, interpolated over its logarithm; `plain_add` is adding dense bytes."""

    grid: Sequence[float]
    rates: Sequence[Rates]
    plain_add: float
    memcpy: float
    threads: float = 1.0
    _logs: list[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_logs", [float(np.log(d)) for d in self.grid])

    def at(self, density: float) -> Rates:
        """Return the rates at a density; below the grid those of its end."""
        place = float(np.log(max(density, min(self.grid))))
        order = np.argsort(self._logs)

        def between(name: str) -> float:
            values = [getattr(rates, name) for rates in self.rates]
            return float(np.interp(place, np.array(self._logs)[order], np.array(values)[order]))

        return Rates(
            between("size"),
            self.threads * between("compress"),
            self.threads * between("decompress"),
            self.threads * between("add"),
        )


def measure(format: str | None = None, *, grid: Sequence[float] = _GRID, turns: int = _TURNS) -> Speeds:
    """Measure the engine's own codec in a format, None for the smallest, with one thread.

    Turns alternate with a memcpy, so that other work on the machine slows both; rates are medians of the ratios, times
    the memcpy's rate.
    """
    copies: list[float] = []
    measured = []
    for density in grid:
        x = arrays.random(density, _ELEMENTS, 0)
        ratios = []
        for _ in range(turns):
            copies.append(_rate(np.copyto))
            ratios.append([rate / copies[-1] for rate in core.speeds(density, format)])
        measured.append((arrays.message_bytes(x, format) / x.nbytes, *np.median(ratios, axis=0)))
    plain_add = float(np.median([_rate(_add) / _rate(np.copyto) for _ in range(turns)]))
    memcpy = float(np.quantile(copies, 0.75))
    rates = [Rates(size, *(float(ratio) * memcpy for ratio in of_core)) for size, *of_core in measured]
    return Speeds(tuple(grid), rates, plain_add * memcpy, memcpy)


def _rate(work: Callable[[arrays.Floats, arrays.Floats], object]) -> float:
    """Return bytes per second of something done to slices as the core measures its codecs: 16 of 512 KiB."""
    slices = [(np.full(_SLICE, 2, np.float32), np.ones(_SLICE, np.float32)) for _ in range(16)]
    times = []
    for pair in slices:
        begin = time.perf_counter()
        work(*pair)
        times.append(time.perf_counter() - begin)
    return 4 * _SLICE / statistics.median(times)


def _add(target: arrays.Floats, source: arrays.Floats) -> object:
    return np.add(target, source, out=target)


def speeds(report: Report, command: str, *, grid: Sequence[float] = _GRID, turns: int = _TURNS) -> None:
    """The codecs' speeds that the simulated sections use."""
    report.section(
        "Codec speeds of this machine",
        "The engine's own codec, one thread, float32 at random places, 16 slices of 512 KiB with other data "
        "each, checks of messages included. Dense bytes a second over those of a memcpy just before, medians "
        f"of {turns} turns; the memcpy by the upper quartile of its rates.",
        command,
    )
    rows = []
    for format in ("pici", "coo", None):
        found = measure(format, grid=grid, turns=turns)
        for density, rates in zip(found.grid, found.rates, strict=True):
            ratios = (value / found.memcpy for value in (rates.compress, rates.decompress, rates.add))
            name = format or "smallest"
            rows.append((name, f"{100 * (1 - density):.6g} %", 1 / rates.size, *ratios, found.memcpy / 1e9))
    columns = ("format", "zeros", "dense over it", "compress", "decompress", "add", "memcpy, GB/s")
    report.table("speeds", columns, rows)


def threads_at(
    slice_elements: Sequence[int],
    thread_counts: Sequence[int],
    *,
    density: float = 0.01,
    nbytes: int = 64 << 20,
) -> list[tuple[int, int, float, float, float]]:
    """Measure encoding and decoding of so many bytes by slices and threads.

    Returns KiB of a slice, threads, dense over coded bytes, and dense bytes a second of encoding and decoding.
    """
    rows = []
    for elements in slice_elements:
        xs = [arrays.random(density, elements, rank) for rank in range(max(1, nbytes // (4 * elements)))]
        encoded = [codecs.encode(x) for x in xs]
        outs = [np.zeros(elements, np.float32) for _ in xs]
        total = sum(x.nbytes for x in xs)
        for count in thread_counts:
            with ThreadPoolExecutor(count) as pool:
                compress = _all_s(pool, codecs.encode, xs)
                decompress = _all_s(pool, codecs.decode, encoded, outs)
            size = total / sum(map(len, encoded))
            rows.append((4 * elements >> 10, count, size, total / compress, total / decompress))
    return rows


def _all_s(pool: ThreadPoolExecutor, function: Callable[..., object], *items: Sequence[object]) -> float:
    """Return the median time of calling a function on all items, after a first pass."""
    times = []
    for _ in range(6):
        begin = time.perf_counter()
        list(pool.map(function, *items))
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])
