# SPDX-License-Identifier: Apache-2.0
"""StragglAR's iterations: Figure 2b, Figures 13 and 14, and why its Table 2 cannot follow from its own figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hemiola import algorithms, topologies
from hemiola._core import Schedule
from hemiola.bounds import lower_bound
from hemiola.conditions import Conditions
from hemiola.simulate import simulate
from papers.report import Report

_LATENCY_S, _H100 = 3e-6, 450e9
_GB, _MIB = 10**9, 1 << 20


@lru_cache(maxsize=256)
def _after_s(
    name: str, n: int, nbytes: int, bandwidth: float, delay_s: float, latency_s: float = _LATENCY_S
) -> float:
    """Return the seconds of an all-reduce after the last rank has come, so much later than the others."""
    network = topologies.switch(n, latency_s=latency_s, bandwidth=bandwidth)
    late = Conditions(late={n - 1: delay_s} if delay_s else {})
    schedule = _schedule(name, n, nbytes, bandwidth, latency_s)
    return float(simulate(schedule, network, nbytes, late, unchecked=True).seconds) - delay_s


@lru_cache(maxsize=64)
def _bound_s(n: int, nbytes: int, bandwidth: float, delay_s: float, latency_s: float = _LATENCY_S) -> float:
    """Return the seconds after the late rank's arrival that no schedule can beat."""
    network = topologies.switch(n, latency_s=latency_s, bandwidth=bandwidth)
    late = Conditions(late={n - 1: delay_s})
    return float(lower_bound(network, "all_reduce", nbytes, late).seconds) - delay_s


def _schedule(name: str, n: int, nbytes: int, bandwidth: float, latency_s: float) -> Schedule:
    made: Schedule
    if name == "stragglar":
        made = algorithms.all_reduce_stragglar(n, n - 1)
    elif name == "late":
        made = algorithms.all_reduce_late(n, n - 1, nbytes=nbytes, latency_s=latency_s, bandwidth=bandwidth)
    else:
        made = getattr(algorithms, f"all_reduce_{name}")(n)
    return made


def figure_2b(
    report: Report,
    command: str,
    *,
    rank_counts: Sequence[int] = (8, 32, 128),
    shares: Sequence[float] = (0.1, 0.3, 0.5),
) -> None:
    """Faster iterations by the share of exposed communication."""
    report.section(
        "StragglAR, Figure 2b: iterations by the share of exposed communication",
        "4 GB, 450 GB/s, 3 µs, simulated. Percent by which an iteration is faster than with the ring: "
        "1/(1-e+e·T/T_ring) - 1 for the share e of exposed communication. best: the delay hides all of the "
        "early ranks' part; worst: no rank is late. Printed: +30 % and -3 %, for no given rank count or "
        "share. ours: `all_reduce_late`, best, and the ring where nobody is late.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for n in rank_counts:
        ring = _after_s("ring", n, 4 * _GB, _H100, 0.0)
        best, worst = (_after_s("stragglar", n, 4 * _GB, _H100, delay) / ring for delay in (1.0, 0.0))
        ours = _after_s("late", n, 4 * _GB, _H100, 1.0) / ring
        bound = _bound_s(n, 4 * _GB, _H100, 1.0) / ring
        for share in shares:
            gains = (100 * (1 / (1 - share + share * one) - 1) for one in (best, worst, ours, bound))
            rows.append((n, share, *gains))
    report.table(
        "stragglar_2b", ("n", "share", "StragglAR, best, %", "worst, %", "ours, best, %", "bound, %"), rows
    )
    report.text("The printed +30 % are 128 ranks or more at half a step of exposed communication.")


#: [StragglAR, Table 2 and §5.2]: printed percent, seconds saved in 100 iterations, and the late rank's persistence.
_TABLE_2 = (
    ("Llama-3.2-3B", 4.75, 7.0, 0.90, 6.43e9),
    ("Phi-3-mini", 4.43, None, 0.95, 7.64e9),
    ("Qwen-2.5-3B", 2.39, None, 0.77, 6.17e9),
)
_MEAN_DELAY_S = 9.46e-3


def table_2(
    report: Report, command: str, *, draws: int = 2000, bandwidths: Sequence[float] = (235e9, 100e9)
) -> None:
    """Show what one all-reduce can save, and what Table 2 would need."""
    saved_s = 7.0 / 100
    most_s = (1 - 0.393 * 7 / 6) * _MEAN_DELAY_S
    report.section(
        "StragglAR, Table 2 and Figure 12: it cannot follow from the paper's own figures",
        "Llama-3.2-3B saves 7 s in 100 iterations, 4.75 %: an iteration takes 1.47 s, and saves "
        f"{1e3 * saved_s:.0f} ms. One all-reduce of 8 ranks saves at most min(d, 6/7·x) - 0.393·x for a "
        "delay d and x = bytes over bandwidth. Only the time before the late rank's arrival can be used. "
        "StragglAR's finish is 0.393·x longer than the ring's rest. That is largest for 6/7·x = d: with "
        f"the printed mean delay of 9.46 ms it is {1e3 * most_s:.1f} ms. So at least "
        f"{math.ceil(saved_s / most_s)} all-reduces of an iteration must each find the whole delay again. A "
        "blocking all-reduce forbids that: after it all ranks are level. The table has exponential "
        "delays of that mean, once an iteration, in percent of 1.47 s. Not printed, and assumed: "
        "gradients of 2 bytes, one buffer or buckets, the bandwidth. ours: a late rank that is the expected "
        "one, else the ring.",
        command,
    )
    report.text(
        "All-reduces beside computation do not save more. A bucket finds the delay again only where the one before "
        "is done. Then the late rank still computes, and hides what was saved. By the times of arrival, over sizes, "
        f"gaps and numbers of buckets, an iteration saves {1e3 * most_saved_by_buckets_s(_MEAN_DELAY_S):.1f} ms at "
        "most. Savings are concave in the delay, so that delays of that mean save no more than the mean itself does."
    )
    delays = np.random.default_rng(1).exponential(_MEAN_DELAY_S, draws)
    rows: list[tuple[object, ...]] = []
    for model, printed, _, persistence, nbytes in _TABLE_2:
        for bucket in (25 * _MIB, int(nbytes)):
            for bandwidth in bandwidths:
                saved = [
                    _saved_s(name, bucket, bandwidth, delays, persistence) for name in ("stragglar", "late")
                ]
                rows.append(
                    (model, printed, bucket / _MIB, bandwidth / 1e9, *(100 * one / 1.47 for one in saved))
                )
    columns = ("model", "printed, %", "first buffer, MiB", "GB/s", "StragglAR, %", "ours, %")
    report.table("stragglar_table_2", columns, rows)


def most_saved_by_buckets_s(delay_s: float) -> float:
    """Return the most that an iteration of 8 ranks saves whose last rank is behind by so much in each of its buckets.

    Buckets become ready one after the other, and run in order. Of x = bytes over bandwidth the ring takes 7/4·x behind
    the last arrival. StragglAR takes 15/7·x, less what the others have done by then, 6/7·x at most.
    """
    return max(
        _saved_by_buckets_s(delay_s, x * delay_s, gap * x * delay_s, count)
        for x in np.geomspace(0.1, 5, 40)
        for gap in np.linspace(0.0, 3.0, 61)
        for count in (1, 2, 3, 4, 8, 32)
    )


def _saved_by_buckets_s(delay_s: float, x: float, gap_s: float, count: int) -> float:
    ring_s = done_s = 0.0  # of the ring and of StragglAR, when the bucket before is done
    for bucket in range(count):
        early_s = bucket * gap_s
        late_s = early_s + delay_s
        ring_s = max(late_s, ring_s) + 7 / 4 * x
        begin_s = max(late_s, done_s)
        waited_s = begin_s - max(early_s, done_s)
        done_s = begin_s + 15 / 7 * x - min(waited_s, 6 / 7 * x)
    return ring_s - done_s


def _saved_s(name: str, nbytes: int, bandwidth: float, delays: np.ndarray, persistence: float) -> float:
    """Return the mean saving over the ring of the one all-reduce that finds the delay; another rank may be late."""
    ring = _after_s("ring", 8, nbytes, bandwidth, 0.0)
    unit = nbytes / bandwidth * 6 / 7
    grid = np.array([0.0, 0.25, 0.5, 1.0, 2.0]) * unit
    after = np.array([_after_s(name, 8, nbytes, bandwidth, float(delay)) for delay in grid])
    hit = np.interp(delays, grid, after)
    if name == "late":  # a rank that comes as expected, or the ring
        return float(ring - (persistence * np.minimum(hit, ring) + (1 - persistence) * ring).mean())
    return float(ring - (persistence * hit + (1 - persistence) * after[0]).mean())


#: Gradients of BERT-large, of 2 bytes in one buffer, and of 4 bytes in one buffer for each of 24 layers.
_WHOLE, _LAYER = 2 * 335_000_000, 4 * 12_596_224


def figures_13_and_14(
    report: Report,
    command: str,
    *,
    rank_counts: Sequence[int] = (8, 16, 32, 64),
    delays: Sequence[float] = (0.5e-3, 2e-3),
    latencies: Sequence[float] = (3e-6, 0.7e-6),
    sizes: Sequence[int] = (_LAYER, _WHOLE),
) -> None:
    """All-reduces of BERT-large after a late rank's arrival."""
    even = [even_with_halving_bytes(64, one) / 1e6 for one in (3e-6, 0.7e-6)]
    report.section(
        "StragglAR, Figures 13 and 14: BERT-large behind a late rank",
        "Printed, in words alone: StragglAR is ahead from 0.5 ms of delay on; at n = 64 with 3 µs it is even with "
        "recursive halving and doubling (RHD), or behind. FlexNet's plan and sizes are not published. So the row "
        "is one all-reduce, in milliseconds after the late rank's arrival, at 450 GB/s. Assumed sizes: the 12.6 "
        "million gradients of a layer in 4 bytes, and all 335 million in 2 bytes. Batches change the "
        "computation, which is the same for all and is left out. ours: the faster of `all_reduce_late` and RHD.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    names = ("ring", "recursive_halving_doubling", "stragglar", "late")
    for nbytes in sizes:
        for latency_s in latencies:
            for n in rank_counts:
                for delay_s in delays:
                    ring, halving, stragglar, late = (
                        1e3 * _after_s(name, n, nbytes, _H100, delay_s, latency_s) for name in names
                    )
                    found = ring, halving, stragglar, min(late, halving)
                    bound = 1e3 * _bound_s(n, nbytes, _H100, delay_s, latency_s)
                    ahead = "yes" if stragglar < min(ring, halving) else "no"
                    is_behind = n == 64 and latency_s == 3e-6
                    setting = nbytes / 1e6, latency_s * 1e6, n, delay_s * 1e3
                    rows.append((*setting, *found, bound, ahead, "no" if is_behind else "yes"))
    columns = (
        "MB",
        "α, µs",
        "n",
        "delay, ms",
        "ring",
        "RHD",
        "StragglAR",
        "ours",
        "bound",
        "ahead",
        "printed",
    )
    report.table("stragglar_13", columns, rows)
    report.text(
        "By the forms, StragglAR with its delay in full takes (n + log n - 2)·α + (n + log n - 2)/(n - 1)·x, and RHD "
        "2·log n·α + 2·(n - 1)/n·x for x = bytes over bandwidth. At n = 64 they are even at "
        f"{even[0]:.0f} MB with 3 µs, and at {even[1]:.0f} MB with 0.7 µs. So the words tell that buffers lie between "
        "the two, as a layer's does, and every row of a layer agrees with them. One buffer of all gradients "
        "is too large: there StragglAR is ahead at n = 64 with 2 ms, and behind at n = 8 with 0.5 ms, where the "
        "reduce-scatter takes longer than the delay. With 0.5 ms at n = 64 the forms are even within 0.2 %; the "
        "simulation has no barrier between the phases and puts StragglAR 1.5 % ahead."
    )


def even_with_halving_bytes(n: int, latency_s: float) -> float:
    """Return the buffer at which StragglAR, its reduce-scatter hidden, takes as long as recursive halving and doubling.

    (r - 2·log n)·α = (2(n-1)/n - r/(n-1))·x for r = n + log n - 2 rounds and x = bytes over bandwidth.
    """
    rounds = n + math.log2(n) - 2
    saved = 2 * (n - 1) / n - rounds / (n - 1)
    return (rounds - 2 * math.log2(n)) * latency_s / saved * _H100
