"""How fast this machine's codecs are: dense bytes a second of one core, and what of them reaches the wire."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from hemiola import codecs
from hemiola.reproduce.report import Report
from hemiola.reproduce.spccl import arrays

T = TypeVar("T")

_GRID = (1.0, 0.5, 0.2, 0.1, 0.05, 0.01, 0.001, 0.0001)
#: Arrays that one measurement passes over, each with other data, and elements of each: 64 MiB in all, beyond any cache
#: here, and 4 MiB at a time, so that Python's part in a call is small.
_ARRAYS, _ELEMENTS = 16, 1 << 20


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


def measure(
    format: str | None = None,
    *,
    grid: Sequence[float] = _GRID,
    count: int = _ARRAYS,
    elements: int = _ELEMENTS,
) -> Speeds:
    """Measure a format, None for the smallest, through `hm.codecs` with one thread.

    What Python and memory for results cost is in it; "add" decodes to an array that stays, and adds that.
    Each
    call is compared with a memcpy of as much just before it, so that what else the machine does slows both; rates are
    the
    medians of these ratios, times the memcpy's rate.
    """
    copies = _Copies(count, elements)
    pairs = [
        (x, np.zeros(elements, np.float32)) for x in (arrays.random(1.0, elements, r) for r in range(count))
    ]
    plain_add = copies.ratio(lambda pair: np.add(pair[1], pair[0], out=pair[1]), pairs)
    ratios = [_ratios(copies, format, density, count, elements) for density in grid]
    memcpy = copies.rate()
    measured = [Rates(size, *(ratio * memcpy for ratio in of_core)) for size, *of_core in ratios]
    return Speeds(tuple(grid), measured, plain_add * memcpy, memcpy)


def _ratios(
    copies: _Copies, format: str | None, density: float, count: int, elements: int
) -> tuple[float, float, float, float]:
    """Return coded over dense bytes, and the rates of compressing, decompressing and adding over a memcpy's."""
    xs = [arrays.random(density, elements, rank) for rank in range(count)]
    encoded = [codecs.encode(x, format) for x in xs]
    into = [(message, np.zeros(elements, np.float32)) for message in encoded]
    cached = np.empty(elements, np.float32)
    return (
        sum(arrays.message_bytes(x, format) for x in xs) / sum(x.nbytes for x in xs),
        copies.ratio(lambda x: codecs.encode(x, format), xs),
        copies.ratio(lambda pair: codecs.decode(*pair), into),
        copies.ratio(lambda pair: np.add(pair[1], codecs.decode(pair[0], cached), out=pair[1]), into),
    )


class _Copies:
    """Arrays to copy beside what is measured: as many as that has, so that none is in a cache."""

    def __init__(self, count: int, elements: int) -> None:
        self._pairs = [(np.ones(elements, np.float32), np.zeros(elements, np.float32)) for _ in range(count)]
        self._times: list[float] = []

    def ratio(self, function: Callable[[T], object], items: Sequence[T]) -> float:
        """Return the median of a memcpy's time over a call's, item by item; the first pass warms memory up."""
        ratios: list[float] = []
        for _ in range(2):
            ratios.clear()
            for item, (source, target) in zip(items, self._pairs, strict=True):
                begin = time.perf_counter()
                np.copyto(target, source)
                middle = time.perf_counter()
                function(item)
                ratios.append((middle - begin) / (time.perf_counter() - middle))
                self._times.append(middle - begin)
        return statistics.median(ratios)

    def rate(self) -> float:
        """Return bytes per second of a memcpy that little disturbs: by the lower quartile of all times."""
        return self._pairs[0][0].nbytes / float(np.quantile(self._times, 0.25))


def load() -> str:
    """Say how busy the machine is."""
    return f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def speeds(
    report: Report,
    command: str,
    *,
    grid: Sequence[float] = _GRID,
    count: int = _ARRAYS,
    elements: int = _ELEMENTS,
) -> None:
    """The codecs' speeds that the simulated sections use."""
    report.section(
        "Codec speeds of this machine",
        "One thread, float32 at random places, arrays of 4 MiB with other data each, through `hm.codecs`: Python "
        "and the "
        "result's memory are in it, so that these are lower than the engine's own (sparse.md has those). Dense bytes a "
        "second over those of a memcpy just before, medians over all; the memcpy by the lower quartile of its "
        f"times. {load()} before.",
        command,
    )
    rows = []
    for format in ("pici", "coo", None):
        found = measure(format, grid=grid, count=count, elements=elements)
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
