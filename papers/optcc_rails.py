# SPDX-License-Identifier: Apache-2.0
"""OptCC's Figures 10 and 22, several ranks a host and a NIC each. Also the case that the paper leaves open in Appendix
E.5: several slow hosts of several ranks. From simulations, over the fault-free ring's closed form."""

from __future__ import annotations

from collections.abc import Iterable

from hemiola import algorithms
from hemiola.simulate import simulate
from papers.optcc_tables import (
    GIB,
    LATENCY_S,
    MIB,
    NIC,
    bound_seconds,
    most_transfers,
    rails,
)
from papers.report import Report

HOST_COUNTS = (4, 8, 16, 32, 64, 128, 256)
_RAIL_COLUMNS = (
    "hosts",
    "k",
    "ring, ms",
    "no failure",
    "l = 8/7",
    "l = 2",
    "bound, 8/7",
    "bound, 2",
    "paper, l = 2",
)
_FACTORS = (1.0, 8 / 7, 4 / 3, 1.5, 2.0, 3.0, 4.0)
_SIZES = (64 * MIB, 512 * MIB, 4 * GIB, 8 * GIB)


def figures_10_and_22(report: Report, command: str, *, host_counts: Iterable[int] = HOST_COUNTS) -> None:
    """Four ranks a host."""
    report.section(
        "Figures 10 and 22: four ranks a host, one slow host",
        "The weighted exchange on each rail, phases inside the hosts one segment ahead and one behind, 8 GiB. `ring` "
        "is the closed form 2(p-1)N/(gp) of one fault-free ring per NIC; everything else is over it: the exchange "
        "without a slow host, with one, and the bounds. The last column is the paper's own form l(k + 5.5)·N/(gk).",
        command,
    )
    report.table("rails", _RAIL_COLUMNS, [_rail_row(hosts, 4) for hosts in host_counts])


def eight_a_host(report: Report, command: str, *, host_counts: Iterable[int] = HOST_COUNTS[:4]) -> None:
    """Eight ranks a host."""
    report.section(
        "Eight ranks a host, one slow host",
        "As under Figures 10 and 22, with eight ranks and NICs a host.",
        command,
    )
    rows = [(8, *_rail_row(hosts, 8)) for hosts in host_counts]
    report.table("rails_of_8", ("g", *_RAIL_COLUMNS), rows)


def sweeps_of_rails(report: Report, command: str, *, rank_count: int = 64) -> None:
    """Four and eight ranks a host: by size, and by factor."""
    report.section(
        "Figures 10 and 22, sweeps: one slow host by size and by factor",
        f"{rank_count} ranks, (10) four and (22) eight a host; the better of 8 and 32 segments. `ring` is one "
        "fault-free ring per NIC by its closed form, ICCL l times that; everything else is over it.",
        command,
    )
    columns = ("k", "ring, ms", "ICCL", "time", "bound")
    for per_host in (4, 8):
        hosts = rank_count // per_host
        rows: list[tuple[object, ...]] = [
            (per_host, size // MIB, f"{factor:.4g}", *_one_slow(hosts, per_host, size, factor))
            for factor in (8 / 7, 2.0)
            for size in _SIZES
        ]
        report.table(f"rails_sizes_{per_host}", ("g", "MiB", "l", *columns), rows)
        rows = [
            (per_host, f"{factor:.4g}", *_one_slow(hosts, per_host, 8 * GIB, factor)) for factor in _FACTORS
        ]
        report.text("8 GiB:")
        report.table(f"rails_factors_{per_host}", ("g", "l", *columns), rows)


def two_slow_hosts_of_four(report: Report, command: str, *, host_counts: Iterable[int] = (4, 8, 16)) -> None:
    """Several slow hosts of several ranks, which the paper leaves open [OptCC, E.5]."""
    report.section(
        "Appendix E.5: two slow hosts of four ranks",
        "8 GiB, 32 segments: the weighted and the open-shop exchange on each rail, over one fault-free ring per NIC by "
        "its closed form. The paper omits its construction.",
        command,
    )
    rows = []
    for hosts in host_counts:
        for slow in ({0: 4 / 3, 1: 8 / 7}, {0: 2.0, 1: 4 / 3}, {0: 1.5, 1: 1.5}):
            cluster = rails(hosts, 4, 1.0, latency_s=LATENCY_S).with_slow_hosts(slow)
            ring = _ring_seconds(hosts * 4, 4, 8 * GIB)
            weighted, open_shop = (
                simulate(exchange(hosts, 4, slow, 32), cluster, 8 * GIB).seconds / ring
                for exchange in (
                    algorithms.all_reduce_rail_exchange,
                    algorithms.all_reduce_rail_open_shop_exchange,
                )
            )
            bound = bound_seconds(cluster, 8 * GIB, {}, "one") / ring
            names = ", ".join(f"{factor:.4g}" for factor in slow.values())
            rows.append((hosts, names, ring * 1e3, max(slow.values()), weighted, open_shop, bound))
    columns = ("hosts", "l", "ring, ms", "ICCL", "weighted exchange", "open shop", "bound")
    report.table("two_slow_hosts", columns, rows)


def _ring_seconds(rank_count: int, per_host: int, nbytes: int) -> float:
    """Return what one fault-free ring per NIC takes, bandwidth only."""
    return 2 * (rank_count - 1) / rank_count * nbytes / NIC / per_host


def _one_slow(hosts: int, per_host: int, nbytes: int, factor: float) -> tuple[object, ...]:
    """Return k, ring ms, then over it: ICCL, the exchange on each rail, the bound."""
    ring = _ring_seconds(hosts * per_host, per_host, nbytes)
    cluster = rails(hosts, per_host, factor, latency_s=LATENCY_S)
    seconds, k = min(
        (
            simulate(
                algorithms.all_reduce_rail_exchange(hosts, per_host, {0: factor}, k), cluster, nbytes
            ).seconds,
            k,
        )
        for k in (8, 32)
    )
    return k, ring * 1e3, factor, seconds / ring, bound_seconds(cluster, nbytes, {}, "one") / ring


def _rail_row(hosts: int, per_host: int) -> tuple[object, ...]:
    nbytes, ranks = 8 * GIB, hosts * per_host
    k = max(1, min(32, most_transfers(ranks) // (2 * ranks * (ranks - 1))))
    ring = _ring_seconds(ranks, per_host, nbytes)
    times, bounds = [], []
    for factor in (1.0, 8 / 7, 2.0):
        cluster = rails(hosts, per_host, factor, latency_s=LATENCY_S)
        schedule = algorithms.all_reduce_rail_exchange(hosts, per_host, {0: factor}, k)
        times.append(simulate(schedule, cluster, nbytes).seconds / ring)
        bounds.append(bound_seconds(cluster, nbytes, {}, "one") / ring)
    paper = 2.0 * (k + 5.5) / k / (2 * (ranks - 1) / ranks)
    return (hosts, k, ring * 1e3, *times, *bounds[1:], paper)
