# SPDX-License-Identifier: Apache-2.0
"""Checks against closed forms: OptCC's Table 1, bandwidth-only targets, noise, and one rank's part."""

from __future__ import annotations

import statistics
import time

from hemiola import algorithms, topologies
from hemiola._core import Schedule, Topology
from hemiola.bounds import lower_bound
from hemiola.conditions import Conditions
from hemiola.simulate import simulate
from papers.report import Report

NIC = 25e9
LATENCY_S = 5e-6
MIB, GIB = 1 << 20, 1 << 30
_NOISE = 0.1
#: Schedules larger than this are not simulated; the number of segments is cut to fit.
_MOST_TRANSFERS = 6_000_000
#: The same beyond so many ranks, where fewer would leave only one or two segments: a minute and 2 GB each.
MOST_SMALL_RANKS, _MOST_LARGE_TRANSFERS = 256, 28_000_000


def most_transfers(rank_count: int) -> int:
    """Return how large a schedule is simulated."""
    return _MOST_TRANSFERS if rank_count <= MOST_SMALL_RANKS else _MOST_LARGE_TRANSFERS


def ideal_cluster(rank_count: int) -> Topology:
    """Return a switch without latency, so that only bandwidth counts."""
    return topologies.switch(rank_count, latency_s=0.0, bandwidth=NIC)


def bound_seconds(topology: Topology, nbytes: int, slow: dict[int, float], ports: str) -> float:
    """Return the lower bound of an all-reduce."""
    return lower_bound(topology, "all_reduce", nbytes, Conditions(slow=slow), ports=ports).seconds


def rails(
    host_count: int,
    ranks_per_host: int,
    factor: float,
    *,
    latency_s: float = 0.0,
    inside: float | None = None,
) -> Topology:
    """Return hosts whose ranks have a NIC each, host 0's slower by `factor`, and links inside the hosts.

    Those carry `inside` times a NIC, by default ranks_per_host - 1 times as the paper's analysis has it.
    """
    ranks, links = host_count * ranks_per_host, []
    wide = NIC * (ranks_per_host - 1 if inside is None else inside)
    for rank in range(ranks):
        host, rail = divmod(rank, ranks_per_host)
        nic = NIC / (factor if host == 0 else 1)
        for vertex, speed in ((ranks + host, wide), (ranks + host_count + rail, nic)):
            links += [(rank, vertex, latency_s / 2, speed), (vertex, rank, latency_s / 2, speed)]
    nodes = [rank // ranks_per_host for rank in range(ranks)]
    return Topology(ranks, links, switch_count=host_count + ranks_per_host, nodes=nodes)


def r2ccl_ratio(rank_count: int, factor: float) -> float:
    """Return R²CCL's closed form over the fault-free ring, 1 + p(l-1)/(2(p-1)) [OptCC, Figure 20]."""
    return 1 + rank_count * (factor - 1) / (2 * (rank_count - 1))


def table_1(report: Report, command: str) -> None:
    """The paper's bounds as this project proves them, shared ports and one message a port."""
    report.section(
        "Table 1: lower bounds",
        "Over the fault-free T0 = 2(p-1)N/p, with g ranks a host 2(p-1)N/(gp). `shared` holds for every schedule "
        "(Theorems 1, 2 and 3). `one message` holds where a port carries one at a time, at the pace of its slower end. "
        "It is Theorem 6, which we extend to several slow ranks; for hosts Theorem 13, corrected by all traffic.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for p, slow in (
        (8, {0: 8 / 7}),
        (8, {0: 2.0}),
        (64, {0: 8 / 7}),
        (64, {0: 2.0}),
        (8, {0: 1.5, 1: 1.5}),
        (64, {0: 2.0, 1: 4 / 3}),
    ):
        cluster, base = ideal_cluster(p), 2 * (p - 1) / p * GIB / NIC
        names = ", ".join(f"{factor:.4g}" for factor in slow.values())
        bounds = [bound_seconds(cluster, GIB, slow, ports) / base for ports in ("shared", "one")]
        rows.append((f"{p} hosts", names, *bounds))
    for hosts, per_host, factor, inside in ((4, 4, 4 / 3, 3), (4, 4, 4 / 3, 6), (8, 4, 2.0, 3)):
        p = hosts * per_host
        cluster, base = rails(hosts, per_host, factor, inside=inside), 2 * (p - 1) / p * GIB / NIC / per_host
        bounds = [bound_seconds(cluster, GIB, {}, ports) / base for ports in ("shared", "one")]
        name = f"{hosts} hosts of {per_host} ranks, links inside {inside} times a NIC"
        rows.append((name, f"{factor:.4g}", *bounds))
    report.table("table_1", ("cluster", "l", "shared ports", "one message a port"), rows)


def bandwidth_only(report: Report, command: str) -> None:
    """The issue's headline numbers, without fixed costs, from the same simulator."""
    report.section(
        "Bandwidth only",
        "No fixed cost, so that closed forms can be checked: the weighted exchange takes exactly l(k+1)/k resp. "
        "2(p-1)l/((p-2)l+2)·(k+l-1)/k (tests/models/test_slow_rank_closed_forms.py). The open shop sends one message "
        "at a time per port, the paced exchange all of a segment at once (tests/models/test_several_slow_ranks.py); in "
        "the relayed exchange slow ranks pass on what others of them send (tests/models/test_relayed_exchange.py).",
        command,
    )
    several = {0: 1.5, 1: 1.5}
    cases = (
        (64, {0: 2.0}, 96, algorithms.all_reduce_weighted_exchange, "one"),
        (256, {0: 8 / 7}, 40, algorithms.all_reduce_weighted_exchange, "one"),
        (8, several, 256, algorithms.all_reduce_weighted_exchange, "one"),
        (8, several, 256, algorithms.all_reduce_open_shop_exchange, "one"),
        (8, several, 256, algorithms.all_reduce_relayed_exchange, "one"),
        (8, several, 1024, algorithms.all_reduce_paced_exchange, "shared"),
        (8, {0: 4.0, 1: 2.0, 2: 1.5}, 64, algorithms.all_reduce_weighted_exchange, "one"),
        (8, {0: 4.0, 1: 2.0, 2: 1.5}, 64, algorithms.all_reduce_open_shop_exchange, "one"),
    )
    rows = []
    for p, slow, k, exchange, ports in cases:
        cluster, now = ideal_cluster(p), Conditions(slow=slow)
        ring = algorithms.all_reduce_ring(p)
        base = simulate(ring, cluster, GIB).seconds
        schedule: Schedule = exchange(p, slow, k)
        rows.append(
            (
                p,
                ", ".join(f"{factor:.4g}" for factor in slow.values()),
                exchange.__name__,
                k,
                simulate(ring, cluster, GIB, conditions=now).seconds / base,
                r2ccl_ratio(p, slow[0]) if len(slow) == 1 else None,
                simulate(schedule, cluster, GIB, conditions=now).seconds / base,
                bound_seconds(cluster, GIB, slow, ports) / base,
            )
        )
    columns = ("ranks", "l", "schedule", "k", "ICCL", "R²CCL", "time", "bound")
    report.table("bandwidth_only", columns, rows)


def noise(report: Report, command: str, seeds: range = range(5)) -> None:
    """Ten percent on every transfer."""
    report.section(
        "Noise",
        f"Every transfer takes {_NOISE:.0%} more or less (standard deviation), p = 16, k = 32, no fixed costs: "
        f"the weighted exchange over the bound, {len(seeds)} seeds. The first column is without noise.",
        command,
    )
    rows = []
    for factor in (4 / 3, 2.0, 3.0):
        slow, cluster = {0: factor}, ideal_cluster(16)
        now, bound = Conditions(slow=slow), bound_seconds(cluster, GIB, slow, "one")
        exchange = algorithms.all_reduce_weighted_exchange(16, slow, 32)
        calm = simulate(exchange, cluster, GIB, now).seconds / bound
        noisy = [
            simulate(exchange, cluster, GIB, now, noise=_NOISE, seed=seed).seconds / bound for seed in seeds
        ]
        rows.append((factor, calm, statistics.mean(noisy), max(noisy)))
    report.table("noise", ("l", "calm / bound", "noisy / bound, mean", "noisy / bound, largest"), rows)


def one_ranks_program(report: Report, command: str, repeats: int = 100) -> None:
    """How long one rank needs until it has its own program."""
    report.section(
        "One rank's program of 1,024",
        "A rank's transfers come from `all_reduce_weighted_exchange_parts`, without the schedule of all. The "
        "engine's program is compiled from them, for a buffer of float32 in place. l = 2, one core, "
        f"of {repeats} times. k is what `segments=None` takes at 5 µs and 25 GB/s. A task is one message, sent or "
        "received.",
        command,
    )
    rows = []
    for size, nbytes in (("64 MiB", 64 << 20), ("1 GiB", GIB), ("8 GiB", 8 * GIB)):
        latency = 5e-6 * NIC / nbytes
        segments = algorithms.best_segment_count(1024, {0: 2.0}, latency)
        parts = algorithms.all_reduce_weighted_exchange_parts(1024, {0: 2.0}, segments)
        listing, compiling = [], []
        for _ in range(repeats):
            begin = time.perf_counter()
            algorithms.all_reduce_weighted_exchange_parts(1024, {0: 2.0}, segments).part(5)
            listed = time.perf_counter()
            tasks = parts.task_count(5, nbytes // 4)
            listing.append(listed - begin)
            compiling.append(time.perf_counter() - listed)
        medians = (statistics.median(times) * 1e3 for times in (listing, compiling))
        rows.append((size, segments, tasks, *medians, min(compiling) * 1e3))
    columns = ("buffer", "k", "tasks", "transfers, ms", "with the program, ms", "fastest, ms")
    report.table("program", columns, rows)
