# SPDX-License-Identifier: Apache-2.0
"""SpCCL's Figures 6 to 8 at the paper's own link rates, and what bounds them: the wire, or who encodes and decodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from papers.report import Report
from papers.spccl import model
from papers.spccl.arrays import limit_bytes, union
from papers.spccl.figures import Measured, our_formats
from papers.spccl.model import RankPorts
from papers.spccl.speeds import Rates, Speeds, measure

#: [SpCCL, §4.3]: a NIC of 200 Gbit/s for each GPU, four in a node, all of which a ring through the nodes uses.
NIC, RING = 25e9, 100e9
#: Assumed: memory of an A100 of 40 GB, and of a host, of which four ranks have a quarter each.
_GPU_MEMORY, _HOST_MEMORY = 1555e9, 204.8e9 / 4
#: Assumed: cores of a host for each of its four ranks.
_CORES = 16
DENSITY = 0.01
#: The printed gains of all-gather, reduce-scatter and all-reduce, the best of these ranks and MiB.
PRINTED = (5.25, 2.5, 2.66)
_RANKS, _SIZES = (4, 8, 16, 32, 64), (256, 512, 1024, 2048)
_GRID = tuple(float(one) for one in np.geomspace(1e-4, 1, 41))

#: The times of the three collectives.
Times = Callable[[RankPorts], tuple[float, float, float]]


def pici_size(density: float) -> float:
    """Return the bytes of a Pici message over dense bytes of 4 an element: a bit each, and 4 bytes a tile of 4,096."""
    return density + (1 + 1 / 128) / 32


def steady(rate: float) -> Speeds:
    """Return a codec that does everything at one rate, in dense bytes a second; plain sums take no time."""
    rates = [Rates(pici_size(d), rate, rate, rate) for d in _GRID]
    return Speeds(_GRID, rates, float("inf"), rate)


def in_memory(rate: float) -> Speeds:
    """Return a codec, and plain sums, that read and write memory once at this rate, and nothing holds up beside."""
    sizes = [pici_size(d) for d in _GRID]
    rates = [Rates(size, rate / (1 + size), rate / (1 + size), rate / (2 + size)) for size in sizes]
    return Speeds(_GRID, rates, rate / 3, rate / 2)


def paper_s(codec: Speeds) -> Times:
    """Return the times of the paper's rings and thresholds."""

    def times(setting: RankPorts) -> tuple[float, float, float]:
        gather, scatter = (
            model.sparse_gather(setting, codec, DENSITY),
            model.ring_scatter(setting, codec, DENSITY, 0.5),
        )
        reduce_s = model.spccl_reduce_s(setting, codec, DENSITY)
        return gather.seconds(setting), scatter.seconds(setting), reduce_s

    return times


def our_s(formats: model.Formats) -> Times:
    """Return the times of Hemiola's direct rounds and rings, dense where its rule says so."""

    def times(setting: RankPorts) -> tuple[float, float, float]:
        return (
            model.gather_s(setting, formats, DENSITY),
            model.scatter_s(setting, formats, DENSITY),
            model.reduce_s(setting, formats, DENSITY),
        )

    return times


def best_gains(times: Times, codec: Speeds, bandwidth: float) -> tuple[float, float, float]:
    """Return how many times as fast as dense the collectives are at best, as the paper prints them.

    Parameters
    ----------
    times : callable, the sparse times on a setting.
    codec : Speeds, whose plain sums the dense collectives make.
    bandwidth : float, bytes per second.

    Returns
    -------
    tuple of float: all-gather, reduce-scatter, all-reduce.
    """
    gains = []
    for setting in _settings(bandwidth):
        dense = (
            model.dense_gather(setting).seconds(setting),
            model.dense_scatter(setting, codec).seconds(setting),
            model.dense_reduce_s(setting, codec),
        )
        gains.append([plain / sparse for plain, sparse in zip(dense, times(setting), strict=True)])
    gather, scatter, reduce = np.max(gains, axis=0)
    return float(gather), float(scatter), float(reduce)


def _settings(bandwidth: float) -> Iterator[RankPorts]:
    for ranks in _RANKS:
        for mib in _SIZES:
            yield RankPorts(ranks, mib << 20, bandwidth)


@lru_cache(maxsize=1)
def fitted_rate() -> float:
    """Return the rate of a steady codec with which the paper's all-gather gains what is printed."""
    low, high = RING, 100 * RING
    for _ in range(30):
        middle = (low + high) / 2
        is_slow = _gather_gain(steady(middle)) < PRINTED[0]
        low, high = (middle, high) if is_slow else (low, middle)
    return high


def _gather_gain(codec: Speeds) -> float:
    return max(
        model.dense_gather(one).seconds(one) / model.sparse_gather(one, codec, DENSITY).seconds(one)
        for one in _settings(RING)
    )


def bounds() -> tuple[float, float, float]:
    """Return the most that bytes alone allow: entropies of what a rank must send, or learn of four ranks' sum."""
    alone = 4 / limit_bytes(1, DENSITY)
    learned = union(DENSITY, _RANKS[0] - 1)
    return alone, alone, 2 * (_RANKS[0] - 1) / _RANKS[0] * 4 / limit_bytes(1, learned)


def small_codec(format: str | None) -> Speeds:
    """Measure this machine's codec at the densities that sums of these ranks have."""
    return measure(format, grid=(1.0, 0.3, 0.05, 0.01), turns=3)


def figures_6_to_8(report: Report, command: str, *, codec_of: Measured = small_codec) -> None:
    """Gains by link and codec."""
    here = our_formats(codec_of)
    rate = fitted_rate()
    report.section(
        "SpCCL, Figures 6 to 8: gains at the paper's own link rates",
        "Times as fast as dense at 99 % zeros, the best of 4 to 64 ranks and 256 to 2,048 MiB, by the model of "
        "[spccl.md](spccl.md): the longer of port and codec, and one slice. Both sides pay 10 µs a message. A "
        "GPU has a NIC of 25 GB/s; a ring through the nodes of four has 100 GB/s a rank. **Fitted**: the rate of "
        f"the paper's codec on a GPU, {rate / 1e9:.0f} GB/s of dense bytes for encoding, decoding and adding "
        "alike, so that its all-gather gains 5.25. The other two gains follow from it. Assumed: 16 cores and "
        f"{_HOST_MEMORY / 1e9:.1f} GB/s of host memory a rank, {_GPU_MEMORY / 1e9:,.0f} GB/s of a GPU's memory, "
        "read and written once. The bound is that of bytes, the entropy of places and values.",
        command,
    )
    host, gpu, paper = in_memory(_HOST_MEMORY), in_memory(_GPU_MEMORY), steady(rate)
    cores = [replace(one, threads=float(_CORES)) for one in here]
    of_memory = "its memory alone"
    cases: Sequence[tuple[float, str, str, Times, Speeds]] = (
        (NIC / 2, "a core, measured here", "Hemiola", our_s(here), here[0]),
        (NIC, "a core, measured here", "Hemiola", our_s(here), here[0]),
        (NIC, f"{_CORES} such cores", "Hemiola", our_s(cores), cores[0]),
        (NIC, f"a host, {of_memory}", "Hemiola", our_s([host]), host),
        (NIC, f"a GPU, {of_memory}", "Hemiola", our_s([gpu]), gpu),
        (RING, "a GPU, fitted", "the paper's ring", paper_s(paper), paper),
        (RING, "a GPU, fitted", "Hemiola", our_s([paper]), paper),
        (RING, f"a GPU, {of_memory}", "Hemiola", our_s([gpu]), gpu),
    )
    rows: list[tuple[object, ...]] = [("–", "printed", "the paper's ring", *PRINTED)]
    for bandwidth, whose, schedule, times, codec in cases:
        rows.append((bandwidth / 1e9, whose, schedule, *best_gains(times, codec, bandwidth)))
    rows.append(("any", "bound", "any", *bounds()))
    columns = ("link, GB/s", "codec", "schedule", "all-gather", "reduce-scatter", "all-reduce")
    report.table("spccl_6", columns, rows)
    report.text(*_findings(rate))


def _findings(rate: float) -> tuple[str, ...]:
    need = PRINTED[0] * NIC
    return (
        "The reason is the codec, and so threads; it is not the schedule or overlap. A Pici message is 1/24 of the "
        "dense one. So on rows that gain much less than 24 the port is idle most of the time. Port and codec overlap "
        "in all rows. Cores help as far as memory goes. Dense sums take a core's time, too, which is longer than the "
        "port's where links are fast. [spccl.md](spccl.md) has 12.5 GB/s and one core for 8 ranks and 64 MiB alone.",
        f"The limit: a gain of 5.25 on a NIC of 25 GB/s asks for {need / 1e9:.0f} GB/s of decoded bytes a rank. That "
        f"is more than a host's memory takes, {_HOST_MEMORY / 1e9:.1f} GB/s a rank, whatever the number of threads. "
        f"A GPU's memory takes it: the fitted rate is {rate / _GPU_MEMORY:.0%} of it. With that rate both "
        "schedules reach the three printed gains, equally, since the codec bounds both. "
        "The paper's all-reduce gains less than its own two phases would. Its best is on the four GPUs "
        "of one node, whose link rate is not given.",
    )
