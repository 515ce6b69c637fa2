# SPDX-License-Identifier: Apache-2.0
"""Figure 15, Table V and Figure 16: regular networks of several dimensions, beside TACCL, BlueConnect and Themis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hemiola import algorithms, topologies
from hemiola._core import Schedule, Topology
from hemiola.errors import TimeoutError
from hemiola.synthesis import synthesize
from hemiola.synthesis.optimal import taccl
from papers.report import Report
from papers.tacos import pictures
from papers.tacos.measure import (
    CHUNKS_PER_RANK,
    GB,
    KIND,
    MB,
    bound_s,
    ideal_s,
    link_bytes,
    one_trial,
    seconds,
    synthesized,
    utilization,
)

_RFS_BANDWIDTH = [200e9, 100e9, 50e9]
_LATENCY_S = 0.5e-6


def rfs(nodes: int) -> Topology:
    """Return the paper's 3D ring-FC-switch with some nodes of eight ranks."""
    return topologies.rfs_3d([2, 4, nodes], latency_s=_LATENCY_S, bandwidth=_RFS_BANDWIDTH)


def explored() -> dict[str, Topology]:
    """Return the three networks of Figure 15."""
    return {
        "DragonFly 4x5": topologies.dragonfly([4, 5], latency_s=_LATENCY_S, bandwidth=[400e9, 200e9]),
        "2D switch 8x4": topologies.switch_2d([8, 4], latency_s=_LATENCY_S, bandwidth=[300e9, 25e9]),
        "3D-RFS 2x4x8": rfs(8),
    }


@dataclass(frozen=True)
class Rival:
    """A schedule by the TACCL-like optimizer; None where its time was up."""

    schedule: Schedule | None
    solve_s: float


def taccl_like(topology: Topology, nbytes: int, time_limit_s: float) -> Rival:
    """Solve on the unwound network, as the paper's TACCL-like baseline does."""
    graph = topology.unwind_switches(1) if topology.switch_count else topology
    try:
        outcome = taccl(graph, KIND, nbytes=nbytes, time_limit_s=time_limit_s)
    except TimeoutError:
        return Rival(None, time_limit_s)
    return Rival(outcome.schedule, outcome.seconds_to_solve)


def figure_15(report: Report, command: str, *, taccl_limit_s: float = 30.0) -> None:
    """Three networks: bandwidth, and how evenly links are used."""
    report.section(
        "Figure 15: topology exploration",
        "All-reduce of 1 GB: buffer over time, GB/s. The paper prints no figures for the bars, only "
        "that TACOS is above 0.90 of its ideal on each, 0.9084 on average, and 2.56 times the basic "
        "algorithms on average. Switches are unwound with d = 1 for the matching synthesizers and "
        "simulated as switches. `ideal` counts the slowest rank's ports only; between the islands that fast links "
        "join, every all-reduce must send 2(p-1) buffers in all for p islands, and `bound` knows that.",
        command,
    )
    rows, heat, faster = [], {}, []
    for name, network in explored().items():
        n = network.rank_count
        schedules = {
            "Ring": algorithms.all_reduce_ring_two_way(n),
            "Direct": algorithms.all_reduce_direct(n),
        }
        rival = taccl_like(network, GB, taccl_limit_s)
        if rival.schedule:
            schedules["TACCL-like"] = rival.schedule
        found = synthesized(network, GB)
        schedules["Hemiola"] = found.schedule
        heat[name] = {
            label: pictures.link_matrix(network, link_bytes(s, network, GB) / network.links["bandwidth"])
            for label, s in schedules.items()
            if label != "TACCL-like"
        }
        times = {label: seconds(s, network, GB) for label, s in schedules.items()}
        ideal, bound = ideal_s(network, GB), bound_s(network, GB)
        faster += [times[label] / found.seconds for label in ("Ring", "Direct")]
        speeds = [
            GB / times[label] / 1e9 if label in times else None
            for label in ("Ring", "Direct", "TACCL-like", "Hemiola")
        ]
        shares = (ideal / found.seconds, bound / found.seconds)
        rows.append((name, *speeds, GB / ideal / 1e9, GB / bound / 1e9, "> 0.90", *shares))
    columns = ("network", "Ring", "Direct", "TACCL-like", "Hemiola", "ideal", "bound")
    shares_of = ("paper / ideal (printed)", "Hemiola / ideal", "Hemiola / bound")
    report.table("figure_15", (*columns, *shares_of), rows)
    report.table(
        "figure_15_speedup",
        ("speed-up over Ring and Direct, mean", "paper (printed)", "Hemiola"),
        [("1 GB", 2.56, float(np.mean(faster)))],
    )
    for name, matrices in heat.items():
        key = f"figure_15_{name.split()[0]}"
        report.picture(
            key,
            f"Time that each link of {name} is used",
            lambda path, n=name, m=matrices: pictures.draw_heat_maps(path, n, {n: m}, "time used / longest"),  # type: ignore[misc]
        )


#: Printed: over TACOS's time; TACOS's and TACCL's time to synthesize in ms.
_TABLE_V: dict[int, tuple[float, float | None, float | None, float, float, float, float]] = {
    16: (0.63, 2.89, 790, 7.14, 5.27, 4.04, 1.00),
    32: (8.90, 4.10, 2001, 5.10, 4.42, 7.86, 0.72),
    64: (97.92, 4.27, 7016, 4.80, 5.83, 16.84, 0.68),
    128: (1080, None, None, 4.82, 9.85, 36.02, 0.68),
}


def table_v(
    report: Report, command: str, *, node_counts: Sequence[int] = (2, 4, 8, 16), taccl_limit_s: float = 60.0
) -> None:
    """3D-RFS with more and more nodes."""
    report.section(
        "Table V: 3D-RFS with 2 to 16 nodes",
        "All-reduce of 1 GB (the paper names no size). Times over the synthesized schedule's; the "
        "paper's printed figure after each. Ideal over TACOS is TACOS's share of the ideal. Searches: "
        "wall time of one trial on one thread, the best of three; the fastest schedule comes from up to 32 chunks "
        "per rank or a forest, and 4 chunks take a fraction of the time. Of Direct, "
        'see "Two baselines that are stronger here than printed".',
        command,
    )
    times, searches = [], []
    for nodes in node_counts:
        network = rfs(nodes)
        n = network.rank_count
        paper = _TABLE_V[n]
        found = synthesized(network, GB, (*CHUNKS_PER_RANK, 64) if n <= 16 else CHUNKS_PER_RANK)
        quick, quick_s = one_trial(partial(_four_chunks, network.unwind_switches(1)))
        rival = taccl_like(network, GB, taccl_limit_s) if n <= 64 else Rival(None, 0.0)
        over = [
            seconds(s, network, GB) / found.seconds if s else None
            for s in (
                rival.schedule,
                algorithms.all_reduce_ring_two_way(n),
                algorithms.all_reduce_recursive_halving_doubling(n),
                algorithms.all_reduce_direct(n),
            )
        ]
        printed = (paper[1], *paper[3:6])
        cells = [f"{_two(here)} ({_two(there)})" for here, there in zip(over, printed, strict=True)]
        share = ideal_s(network, GB) / found.seconds
        times.append((n, found.seconds * 1e3, *cells, paper[6], share, bound_s(network, GB) / found.seconds))
        taccl_s = rival.solve_s if n <= 64 else None
        quick_share = bound_s(network, GB) / seconds(quick, network, GB)
        hemiola = (found.search_s, quick_s, quick_share)
        searches.append((n, paper[0] / 1e3, *hemiola, paper[2] and paper[2] / 1e3, taccl_s))
    report.table(
        "table_v",
        (
            "ranks",
            "Hemiola, ms",
            "TACCL-like",
            "Ring",
            "RHD",
            "Direct",
            "TACOS / ideal (printed)",
            "Hemiola / ideal",
            "Hemiola / bound",
        ),
        times,
    )
    report.table(
        "table_v_searches",
        (
            "ranks",
            "TACOS, s (printed)",
            "Hemiola, s",
            "Hemiola with 4 chunks, s",
            "Hemiola with 4 chunks / bound",
            "TACCL, s (printed)",
            "TACCL-like, s",
        ),
        searches,
    )


def _four_chunks(network: Topology) -> Schedule:
    return synthesize(network, KIND, 4, nbytes=GB, trials=1, threads=1, progress=False)


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


@dataclass(frozen=True)
class Grid:
    """A 3D grid for the algorithms that go through its dimensions."""

    name: str
    dims: tuple[int, ...]
    wires: str
    cost: dict[str, float]

    @property
    def network(self) -> Topology:
        return topologies.grid(list(self.dims), [self.wires] * len(self.dims), **self.cost)

    def blueconnect(self, nbytes: int, parts: int) -> Schedule:
        wires = [self.wires] * len(self.dims)
        return algorithms.all_reduce_blueconnect(
            list(self.dims), wires, nbytes=nbytes, chunk_count=parts, **self.cost
        )

    def themis(self, nbytes: int, parts: int) -> Schedule:
        wires = [self.wires] * len(self.dims)
        return algorithms.all_reduce_themis(
            list(self.dims), wires, nbytes=nbytes, chunk_count=parts, **self.cost
        )


_FIGURE_16_COST = {"latency_s": 0.7e-6, "bandwidth": 25e9}
FIGURE_16 = (
    Grid("3D torus 4x4x4", (4, 4, 4), "ring", _FIGURE_16_COST),
    Grid("3D hypercube 4x4x4", (4, 4, 4), "line", _FIGURE_16_COST),
)


def figure_16(
    report: Report,
    command: str,
    *,
    grids: Sequence[Grid] = FIGURE_16,
    sizes: Sequence[int] = (MB, 4 * MB, 16 * MB, 64 * MB, 256 * MB, GB),
) -> None:
    """BlueConnect and Themis by size, and links in use over time."""
    report.section(
        "Figure 16: BlueConnect and Themis",
        "α 0.7 µs, 25 GB/s; all-reduce bandwidth, GB/s. The paper names no grid; 4x4x4 here. Printed "
        "shares of the ideal: TACOS 0.9590 on the torus and 0.9810 on the hypercube, Themis with 64 "
        "chunks 0.6437 for small buffers on the torus and 0.4943 on the hypercube; TACOS over Themis "
        "2.01 on average. Of Themis on the hypercube, "
        'see "Two baselines that are stronger here than printed".',
        command,
    )
    for grid in grids:
        _figure_16_sizes(report, grid, sizes)
    for grid in grids:
        _figure_16_utilization(report, grid, sizes[-1])


def _figure_16_sizes(report: Report, grid: Grid, sizes: Sequence[int]) -> None:
    network, rows = grid.network, []
    for nbytes in sizes:
        times = [
            seconds(grid.blueconnect(nbytes, 4), network, nbytes),
            *(seconds(grid.themis(nbytes, parts), network, nbytes) for parts in (4, 64)),
            synthesized(network, nbytes).seconds,
            ideal_s(network, nbytes),
            bound_s(network, nbytes),
        ]
        best_themis, hemiola, ideal, bound = min(times[1:3]), *times[3:]
        speeds = (nbytes / t / 1e9 for t in times)
        shares = (ideal / times[2], ideal / hemiola, bound / hemiola, best_themis / hemiola)
        rows.append((nbytes / MB, *speeds, *shares))
    columns = ("MB", "BlueConnect 4", "Themis 4", "Themis 64", "Hemiola", "ideal", "bound")
    shares_of = ("Themis 64 / ideal", "Hemiola / ideal", "Hemiola / bound", "Hemiola / best Themis")
    report.text(f"**{grid.name}**")
    report.table(f"figure_16_{grid.wires}", (*columns, *shares_of), rows)


def _figure_16_utilization(report: Report, grid: Grid, nbytes: int) -> None:
    network = grid.network
    schedules = {
        "Themis 64": grid.themis(nbytes, 64),
        "Hemiola": synthesized(network, nbytes).schedule,
    }
    utilization_curves(
        report, f"figure_16b_{grid.wires}", f"{grid.name}: links in use", network, schedules, nbytes
    )


#: A slower schedule's curve is cut off here, in units of the last one's time.
_LONGEST_SHOWN = 1.5


def utilization_curves(
    report: Report, name: str, title: str, network: Topology, schedules: dict[str, Schedule], nbytes: int
) -> None:
    """Draw the share of links in use over time, in units of the last schedule's time."""
    times = {label: seconds(s, network, nbytes) for label, s in schedules.items()}
    unit = list(times.values())[-1]
    edges = np.linspace(0, min(max(times.values()), _LONGEST_SHOWN * unit), 121)
    shares = {
        label: [float(u) for u in utilization(schedule, network, nbytes, edges)]
        for label, schedule in schedules.items()
    }
    report.curves(
        name,
        title,
        [float(t) for t in (edges[1:] + edges[:-1]) / 2 / unit],
        dict(shares),
        x_label=f"time / {list(times)[-1]}'s time",
        y_label="share of links in use",
    )
