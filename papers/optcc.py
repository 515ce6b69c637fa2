# SPDX-License-Identifier: Apache-2.0
"""OptCC's Table 1 and Figures 8, 9, 20 and 21 from simulations, as ratios to the fault-free ring in the same one.

The network is the paper's: a host's NIC of 200 Gbit/s to one switch, one rank a host (several: optcc_rails.py)
[OptCC, §5]. The fixed cost per message is stated here, not fitted: 5 µs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from hemiola import algorithms, topologies
from hemiola._core import Schedule, Topology
from hemiola.conditions import Conditions
from hemiola.simulate import simulate
from papers.optcc_rails import (
    eight_a_host,
    figures_10_and_22,
    sweeps_of_rails,
    two_slow_hosts_of_four,
)
from papers.optcc_tables import (
    GIB,
    LATENCY_S,
    MIB,
    MOST_SMALL_RANKS,
    NIC,
    bandwidth_only,
    bound_seconds,
    most_transfers,
    noise,
    one_ranks_program,
    r2ccl_ratio,
    table_1,
)
from papers.paper import EARLIER_FLUID_NETWORK, Paper
from papers.report import Report
from papers.slow_measured import measured

RANK_COUNTS = (8, 16, 32, 64, 128, 256, 512, 1024)
#: Larger schedules are not simulated where all messages of a segment share ports, which takes the simulator longer.
_MOST_SMALL_TRANSFERS = 1_500_000
#: Beyond, cutting a body into slots takes seconds; a dash stands in the table.
_MOST_OPEN_SHOP_RANKS = 64
#: Beyond, the paced exchange has too many units for enough segments.
_MOST_PACED_RANKS = 32

Slow = Mapping[int, float]
Exchange = Callable[[int, dict[int, float], int], Schedule]


@lru_cache(maxsize=32)
def _ring(rank_count: int) -> Schedule:
    return algorithms.all_reduce_ring(rank_count)


def _cluster(rank_count: int) -> Topology:
    return topologies.switch(rank_count, latency_s=LATENCY_S, bandwidth=NIC)


def exchange_seconds(rank_count: int, nbytes: int, slow: Slow) -> float:
    """Simulate the weighted exchange with the best of a few segment counts.

    The formula charges a latency for every message; in the simulation most latencies pass while the port is busy, so
    larger counts are tried, too.
    """
    k = algorithms.best_segment_count(rank_count, dict(slow), LATENCY_S * NIC / nbytes)
    most = max(1, min(256, most_transfers(rank_count) // (2 * rank_count * (rank_count - 1))))
    multiples = (1, 2, 4) if rank_count <= MOST_SMALL_RANKS else (1, 2)
    counts = sorted({min(most, max(1, k * times)) for times in multiples})
    return min(_seconds(algorithms.all_reduce_weighted_exchange, rank_count, nbytes, slow, k) for k in counts)


def _seconds(exchange: Exchange, rank_count: int, nbytes: int, slow: Slow, segments: int) -> float:
    schedule = exchange(rank_count, dict(slow), segments)
    return simulate(schedule, _cluster(rank_count), nbytes, conditions=Conditions(slow=slow)).seconds


def several_seconds(exchange: Exchange, rank_count: int, nbytes: int, slow: Slow) -> float:
    """Simulate one of the exchanges for several slow ranks with as many segments as are affordable, at most 256."""
    per_segment = exchange(rank_count, dict(slow), 1).transfer_count
    segments = max(1, min(256, _MOST_SMALL_TRANSFERS // per_segment))
    return _seconds(exchange, rank_count, nbytes, slow, segments)


def optcc_seconds(rank_count: int, nbytes: int, factor: float) -> float:
    """Simulate OptCC's ring of healthy ranks in its best number of segments, or as many as are affordable."""
    k = algorithms.best_optcc_segment_count(rank_count, {0: factor}, LATENCY_S * NIC / nbytes)
    most = max(1, most_transfers(rank_count) // (2 * rank_count * (rank_count - 1)))
    return _seconds(algorithms.all_reduce_optcc, rank_count, nbytes, {0: factor}, min(k, most))


def ring_seconds(rank_count: int, nbytes: int, slow: Slow | None = None) -> float:
    """Simulate the ring: without slow ranks NCCL_NoFailure, with them ICCL."""
    return simulate(
        _ring(rank_count), _cluster(rank_count), nbytes, conditions=Conditions(slow=slow or {})
    ).seconds


def _ratios(rank_count: int, nbytes: int, slow: Slow) -> tuple[object, ...]:
    """Return ring ms, then over it: ICCL, R²CCL (one slow rank), OptCC's ring, weighted exchange, bound."""
    base = ring_seconds(rank_count, nbytes)
    one = max(slow.values()) if len(slow) == 1 else None
    return (
        base * 1e3,
        ring_seconds(rank_count, nbytes, slow) / base,
        None if one is None else r2ccl_ratio(rank_count, one),
        None if one is None else optcc_seconds(rank_count, nbytes, one) / base,
        exchange_seconds(rank_count, nbytes, slow) / base,
        bound_seconds(_cluster(rank_count), nbytes, dict(slow), "one") / base,
    )


COLUMNS = ("ring ms", "ICCL", "R²CCL", "OptCC ring", "weighted exchange", "bound")


SEVERAL_COLUMNS = (
    "ring ms",
    "ICCL",
    "weighted exchange",
    "open shop",
    "relayed",
    "paced",
    "bound, shared",
    "bound, one message",
)


def _several_ratios(rank_count: int, nbytes: int, slow: Slow) -> tuple[object, ...]:
    """Return ring ms, then over it: ICCL, the exchanges for several slow ranks, and both bounds."""
    base, cluster = ring_seconds(rank_count, nbytes), _cluster(rank_count)
    open_shop, relayed, paced = (
        several_seconds(exchange, rank_count, nbytes, slow) / base if rank_count <= most else None
        for exchange, most in (
            (algorithms.all_reduce_open_shop_exchange, _MOST_OPEN_SHOP_RANKS),
            (algorithms.all_reduce_relayed_exchange, _MOST_OPEN_SHOP_RANKS),
            (algorithms.all_reduce_paced_exchange, _MOST_PACED_RANKS),
        )
    )
    return (
        base * 1e3,
        ring_seconds(rank_count, nbytes, slow) / base,
        exchange_seconds(rank_count, nbytes, slow) / base,
        open_shop,
        relayed,
        paced,
        bound_seconds(cluster, nbytes, dict(slow), "shared") / base,
        bound_seconds(cluster, nbytes, dict(slow), "one") / base,
    )


def _sweep(
    report: Report,
    key: str,
    title: str,
    label: str,
    rows: Iterable[tuple[object, ...]],
    columns: tuple[str, ...] = COLUMNS,
) -> None:
    kept = list(rows)
    report.text(f"**{title}**")
    report.table(key, (label, *columns), kept)
    series: dict[str, list[float | None]] = {}
    for index, name in enumerate(columns[1:], start=2):
        values = [row[index] for row in kept]
        if any(value is not None for value in values):
            series[name] = [value if isinstance(value, float) else None for value in values]
    x = [float(str(row[0])) for row in kept]
    report.curves(key, title, x, series, x_label=label, y_label="time over the fault-free ring", log="x")


def figures_8_and_20(report: Report, command: str, *, rank_counts: Iterable[int] = RANK_COUNTS) -> None:
    """One slow host with one rank."""
    report.section(
        "Figures 8 and 20: one slow host",
        "Time over the fault-free ring of the same simulation. ICCL is the ring on the degraded network, R²CCL its "
        "closed form; `OptCC ring` is the paper's four stages as a rotating ring, `weighted exchange` is ours.",
        command,
    )
    counts = list(rank_counts)
    for factor, name in ((8 / 7, "1 of 8 NICs lost, l = 8/7"), (2.0, "4 of 8 NICs lost, l = 2")):
        for nbytes, size in ((GIB, "1 GiB"), (8 * GIB, "8 GiB")):
            rows = [(p, *_ratios(p, nbytes, {0: factor})) for p in counts]
            _sweep(report, f"ranks_{factor:.2f}_{size.replace(' ', '')}", f"{name}, {size}", "ranks", rows)
        rows = [(s // MIB, *_ratios(64, s, {0: factor})) for s in (64 * MIB << k for k in range(8))]
        _sweep(report, f"sizes_{factor:.2f}", f"{name}, 64 ranks", "MiB", rows)
    rows = [(f, *_ratios(64, 8 * GIB, {0: f})) for f in (1.0, 8 / 7, 4 / 3, 1.5, 2.0, 3.0, 4.0)]
    _sweep(report, "factors", "64 ranks, 8 GiB, growing slowdown", "l", rows)


def figures_9_and_21(report: Report, command: str, *, rank_counts: Iterable[int] = RANK_COUNTS) -> None:
    """Two slow hosts with one rank each."""
    report.section(
        "Figures 9 and 21: two slow hosts",
        "`weighted exchange` keeps the rounds of one slow host, `open shop` cuts messages so that no port waits,  "
        "in `relayed` the slow hosts pass on the other's data, and `paced` has all messages of a segment in flight at "
        "once. Theorem 2 is the bound for shared ports.",
        command,
    )
    counts = list(rank_counts)
    for slow in ({0: 4 / 3, 1: 8 / 7}, {0: 2.0, 1: 4 / 3}, {0: 1.5, 1: 1.5}):
        name = "l = " + ", ".join(f"{f:.3g}" for f in slow.values())
        key = "two_" + "_".join(f"{f:.2f}" for f in slow.values())
        rows = [(p, *_several_ratios(p, 8 * GIB, slow)) for p in counts]
        _sweep(report, key, f"{name}, 8 GiB", "ranks", rows, SEVERAL_COLUMNS)


def sweeps_of_two(report: Report, command: str, *, rank_count: int = 64) -> None:
    """Two slow hosts with one rank each: by size, and by factor."""
    report.section(
        "Figures 9 and 21, sweeps: two slow hosts by size and by factor",
        f"As above, {rank_count} ranks: (b, d, and 21 (b)) a growing buffer, (e, and 21 (c)) a growing slowdown of "
        "both. Segments are as many as are affordable, at most 256.",
        command,
    )
    sizes = [64 * MIB, 512 * MIB, 4 * GIB, 8 * GIB]
    for slow in ({0: 4 / 3, 1: 8 / 7}, {0: 2.0, 1: 4 / 3}, {0: 2.0, 1: 1.5}):
        name = "l = " + ", ".join(f"{f:.3g}" for f in slow.values())
        key = "two_sizes_" + "_".join(f"{f:.2f}" for f in slow.values())
        rows = [(size // MIB, *_several_ratios(rank_count, size, slow)) for size in sizes]
        _sweep(report, key, f"{name}, {rank_count} ranks", "MiB", rows, SEVERAL_COLUMNS)
    rows = [
        (f"{f:.4g}", *_several_ratios(rank_count, 8 * GIB, {0: f, 1: f}))
        for f in (8 / 7, 4 / 3, 1.5, 2.0, 3.0)
    ]
    title = f"{rank_count} ranks, 8 GiB, both slower"
    _sweep(report, "two_factors", title, "l of both", rows, SEVERAL_COLUMNS)


PAPER = Paper(
    "optcc",
    "OptCC: an all-reduce that a degraded NIC cannot drag down",
    {
        "table_1": table_1,
        "bandwidth_only": bandwidth_only,
        "noise": noise,
        "program": one_ranks_program,
        "measured": measured,
        "figure_8": figures_8_and_20,
        "figure_9": figures_9_and_21,
        "figure_9_sweeps": sweeps_of_two,
        "figure_10": figures_10_and_22,
        "eight_a_host": eight_a_host,
        "figure_10_sweeps": sweeps_of_rails,
        "two_slow_hosts_of_four": two_slow_hosts_of_four,
    },
    takes="50 minutes on one core",
    introduction=(
        EARLIER_FLUID_NETWORK,
        "Pipelines are cut into as many segments as is best, but into no more than is affordable to simulate: 6 "
        "million transfers, 28 million beyond 256 ranks, 1.5 million for several slow hosts. So the last rows of "
        "tables by rank count may be above the time of more segments.",
    ),
)
