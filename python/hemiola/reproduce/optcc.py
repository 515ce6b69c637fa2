"""OptCC's Figures 8, 9, 10 and 20-22 from simulations, each as a ratio to the fault-free ring in the same simulation.

The network is the paper's: a host's NIC of 200 Gbit/s to one switch, one rank a host (Figure 10: four, with links
inside that carry three times a NIC) [OptCC, §5]. The fixed cost per message is stated here, not fitted: 5 µs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import sqrt
from pathlib import Path

from hemiola import algorithms, topologies
from hemiola._core import Schedule, Topology
from hemiola.bounds import lower_bound
from hemiola.conditions import Conditions
from hemiola.reproduce.report import Report
from hemiola.simulate import simulate

LATENCY_S = 5e-6
NIC = 25e9
MIB, GIB = 1 << 20, 1 << 30
COMMAND = "hemiola reproduce optcc"
#: Schedules larger than this are not simulated; the number of segments is cut to fit.
_MOST_TRANSFERS = 6_000_000

Slow = Mapping[int, float]


@lru_cache(maxsize=32)
def _ring(rank_count: int) -> Schedule:
    return algorithms.all_reduce_ring(rank_count)


def _cluster(rank_count: int) -> Topology:
    return topologies.switch(rank_count, latency_s=LATENCY_S, bandwidth=NIC)


def one_slow_bound(rank_count: int, factor: float) -> float:
    """Return the bound for one slow rank over N·β, one message at a time per port [OptCC, Theorems 1 and 6]."""
    if factor >= 2:
        return factor
    return 2 * (rank_count - 1) * factor / ((rank_count - 2) * factor + 2)


def segment_count(rank_count: int, nbytes: int, factor: float) -> int:
    """Return k = sqrt(bound·c / ((p-1)·α')), c = 1 or l - 1."""
    c = min(1.0, factor - 1)
    return round(sqrt(one_slow_bound(rank_count, factor) * c * nbytes / NIC / ((rank_count - 1) * LATENCY_S)))


def exchange_seconds(rank_count: int, nbytes: int, slow: Slow) -> float:
    """Simulate the weighted exchange with the best of a few segment counts.

    The formula charges a latency for every message; in the simulation most latencies pass while the port is busy, so
    larger counts are tried, too.
    """
    k = segment_count(rank_count, nbytes, max(slow.values()))
    most = max(1, min(256, _MOST_TRANSFERS // (2 * rank_count * (rank_count - 1)) - 1))
    schedules = (
        algorithms.all_reduce_weighted_exchange(rank_count, dict(slow), segments)
        for segments in sorted({min(most, max(1, k * times)) for times in (1, 2, 4)})
    )
    now = Conditions(slow=slow)
    return min(simulate(s, _cluster(rank_count), nbytes, conditions=now).seconds for s in schedules)


def optcc_seconds(rank_count: int, nbytes: int, factor: float) -> float:
    """Simulate OptCC's ring of healthy ranks."""
    k = max(1, min(64, _MOST_TRANSFERS // (4 * rank_count * rank_count)))
    schedule = algorithms.all_reduce_optcc(rank_count, 0, k)
    return simulate(schedule, _cluster(rank_count), nbytes, conditions=Conditions(slow={0: factor})).seconds


def ring_seconds(rank_count: int, nbytes: int, slow: Slow | None = None) -> float:
    """Simulate the ring: without slow ranks NCCL_NoFailure, with them ICCL."""
    return simulate(
        _ring(rank_count), _cluster(rank_count), nbytes, conditions=Conditions(slow=slow or {})
    ).seconds


def r2ccl_ratio(rank_count: int, factor: float) -> float:
    """Return R²CCL's closed form over the fault-free ring, 1 + p(l-1)/(2(p-1)) [OptCC, Figure 20]."""
    return 1 + rank_count * (factor - 1) / (2 * (rank_count - 1))


def bound_seconds(rank_count: int, nbytes: int, slow: Slow) -> float:
    """Return the larger of the fluid bound (`hm.lower_bound`) and, for one slow rank, Theorem 6."""
    fluid = lower_bound(_cluster(rank_count), "all_reduce", nbytes, conditions=Conditions(slow=slow)).seconds
    if len(slow) == 1:
        return max(fluid, one_slow_bound(rank_count, max(slow.values())) * nbytes / NIC)
    return fluid


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
        bound_seconds(rank_count, nbytes, slow) / base,
    )


COLUMNS = ("ring ms", "ICCL", "R²CCL", "OptCC ring", "weighted exchange", "bound")


def _sweep(report: Report, key: str, title: str, label: str, rows: Iterable[tuple[object, ...]]) -> None:
    kept = list(rows)
    report.text(f"**{title}**")
    report.table(key, (label, *COLUMNS), kept)
    series: dict[str, list[float | None]] = {}
    for index, name in enumerate(COLUMNS[1:], start=2):
        values = [row[index] for row in kept]
        if any(value is not None for value in values):
            series[name] = [value if isinstance(value, float) else None for value in values]
    x = [float(str(row[0])) for row in kept]
    report.curves(key, title, x, series, x_label=label, y_label="time over the fault-free ring", log="x")


def figures_8_and_20(report: Report, rank_counts: Iterable[int]) -> None:
    """One slow host with one rank."""
    report.section(
        "Figures 8 and 20: one slow host",
        "Time over the fault-free ring of the same simulation. ICCL is the ring on the degraded network, R²CCL its "
        "closed form; `OptCC ring` is the paper's four stages as a rotating ring, `weighted exchange` is ours.",
        COMMAND,
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


def figures_9_and_21(report: Report, rank_counts: Iterable[int]) -> None:
    """Two slow hosts with one rank each."""
    report.section(
        "Figures 9 and 21: two slow hosts",
        "Shares follow what each port has to spare. The bound is Theorem 2, which holds for shared ports too; one "
        "message at a time per port cannot reach it.",
        COMMAND,
    )
    counts = list(rank_counts)
    for slow in ({0: 4 / 3, 1: 8 / 7}, {0: 2.0, 1: 4 / 3}, {0: 1.5, 1: 1.5}):
        name = "l = " + ", ".join(f"{f:.3g}" for f in slow.values())
        key = "two_" + "_".join(f"{f:.2f}" for f in slow.values())
        _sweep(report, key, f"{name}, 8 GiB", "ranks", [(p, *_ratios(p, 8 * GIB, slow)) for p in counts])


def figures_10_and_22(report: Report, host_counts: Iterable[int]) -> None:
    """Several ranks a host."""
    report.section(
        "Figures 10 and 22: four ranks a host, one slow host",
        "The weighted exchange on each rail, phases inside the hosts one segment ahead and one behind. The base is the "
        "same schedule without a slow host; the paper's column is its own l(k + 5.5)·N/(gk) over 2(p-1)N/(gp).",
        COMMAND,
    )
    per_host, nbytes, rows = 4, 8 * GIB, []
    for hosts in host_counts:
        k = max(1, min(32, _MOST_TRANSFERS // (4 * per_host * hosts * hosts)))
        even = algorithms.all_reduce_rail_exchange(hosts, per_host, {}, k)
        base = simulate(even, _rails(hosts, per_host, 1.0), nbytes).seconds
        row: list[object] = [hosts, base * 1e3]
        for factor in (8 / 7, 2.0):
            schedule = algorithms.all_reduce_rail_exchange(hosts, per_host, {0: factor}, k)
            seconds = simulate(schedule, _rails(hosts, per_host, factor), nbytes).seconds
            row.append(seconds / base)
        ranks = hosts * per_host
        row.append(2.0 * (k + 5.5) / k / (2 * (ranks - 1) / ranks))
        rows.append(row)
    columns = ("hosts", "no failure, ms", "l = 8/7", "l = 2", "paper's form, l = 2")
    report.table("rails", columns, rows)


def _rails(hosts: int, per_host: int, factor: float) -> Topology:
    """Each rank a NIC to its rail's switch, and per_host - 1 times that inside; host 0's NICs slower by `factor`."""
    ranks, links = hosts * per_host, []
    for host in range(hosts):
        for rail in range(per_host):
            nic = NIC / (factor if host == 0 else 1)
            for vertex, speed in ((ranks + host, NIC * (per_host - 1)), (ranks + hosts + rail, nic)):
                rank = host * per_host + rail
                links += [(rank, vertex, LATENCY_S / 2, speed), (vertex, rank, LATENCY_S / 2, speed)]
    return Topology(ranks, links, switch_count=hosts + per_host)


def bandwidth_only(report: Report) -> None:
    """The issue's headline numbers, without fixed costs, from the same simulator."""
    report.section(
        "Bandwidth only",
        "No fixed cost, so that closed forms can be checked: the weighted exchange takes exactly l(k+1)/k resp. "
        "2(p-1)l/((p-2)l+2)·(k+l-1)/k (tests/models/test_slow_rank_closed_forms.py).",
        COMMAND,
    )
    rows = []
    for p, slow, k in ((64, {0: 2.0}, 96), (256, {0: 8 / 7}, 40), (8, {0: 1.5, 1: 1.5}, 256)):
        cluster = topologies.switch(p, latency_s=0.0, bandwidth=NIC)
        now = Conditions(slow=slow)
        base = simulate(_ring(p), cluster, GIB).seconds
        schedule = algorithms.all_reduce_weighted_exchange(p, slow, k)
        seconds = simulate(schedule, cluster, GIB, conditions=now).seconds
        fluid = lower_bound(cluster, "all_reduce", GIB, conditions=now).seconds
        one = max(slow.values()) if len(slow) == 1 else None
        bound = fluid if one is None else max(fluid, one_slow_bound(p, one) * GIB / NIC)
        ring = simulate(_ring(p), cluster, GIB, conditions=now).seconds
        names = ", ".join(f"{f:.4g}" for f in slow.values())
        rows.append(
            (
                p,
                names,
                k,
                ring / base,
                None if one is None else r2ccl_ratio(p, one),
                seconds / base,
                bound / base,
            )
        )
    report.table("bandwidth_only", ("ranks", "l", "k", "ICCL", "R²CCL", "weighted exchange", "bound"), rows)


def reproduce(folder: str | Path) -> Report:
    """Run everything; a few minutes on one core."""
    report = Report("optcc", "OptCC: an all-reduce that a degraded NIC cannot drag down", folder)
    bandwidth_only(report)
    report.write()
    figures_8_and_20(report, (8, 16, 32, 64, 128, 256))
    report.write()
    figures_9_and_21(report, (8, 16, 32, 64, 128))
    figures_10_and_22(report, (4, 8, 16, 32))
    report.write()
    return report
