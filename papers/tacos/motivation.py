# SPDX-License-Identifier: Apache-2.0
"""Figures 1, 2 and 14: the load of basic algorithms on networks that are not theirs, and of a synthesized one on its
own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hemiola import algorithms, topologies
from hemiola._core import Schedule, Topology
from hemiola.planner import plan
from hemiola.synthesis import synthesize
from papers.report import Report
from papers.tacos import pictures
from papers.tacos.measure import (
    GB,
    KIND,
    LINK,
    bound_s,
    ideal_s,
    link_bytes,
    seconds,
    synthesized,
)

Generator = Callable[[int], Schedule]

BASIC: dict[str, Generator] = {
    "Direct": algorithms.all_reduce_direct,
    "RHD": algorithms.all_reduce_recursive_halving_doubling,
    "Ring": algorithms.all_reduce_ring_two_way,
}
_OF_64 = {
    "FullyConnected": partial(topologies.fully_connected, 64),
    "Ring": partial(topologies.ring, 64),
    "2D mesh": partial(topologies.mesh, [8, 8]),
    "3D hypercube": partial(topologies.hypercube, [4, 4, 4]),
}


def figures_1_and_2a(report: Report, command: str) -> None:
    """Load of every link, and bandwidth, of a 1 GB all-reduce of 64 ranks."""
    networks = {name: make(**LINK) for name, make in _OF_64.items()}
    heat: dict[str, dict[str, NDArray[np.float64]]] = {}
    loads: list[tuple[object, ...]] = []
    speeds: dict[str, list[float]] = {}
    for name, network in networks.items():
        schedules = {label: make(64) for label, make in BASIC.items()}
        schedules["Hemiola"] = synthesized(network, GB).schedule
        carried = {label: link_bytes(s, network, GB) for label, s in schedules.items()}
        heat[name] = {label: pictures.link_matrix(network, each) for label, each in carried.items()}
        loads.append((name, *(float(each.max()) / 1e6 for each in carried.values())))
        times = [seconds(s, network, GB) for s in schedules.values()]
        times += [ideal_s(network, GB), bound_s(network, GB)]
        speeds[name] = [GB / t / 1e9 for t in times]
    labels = (*BASIC, "Hemiola")
    report.section(
        "Figure 1: load of the links",
        "All-reduce of 1 GB on 64 ranks. The largest load of any link, MB: the smaller, the better "
        "spread. The ring is the bidirectional one, as in the paper.",
        command,
    )
    report.table("figure_1", ("network", *labels), loads)
    report.picture(
        "figure_1",
        "Load of every link, by algorithm and network",
        lambda path: pictures.draw_heat_maps(
            path, "1 GB all-reduce, 64 ranks: load of every link", heat, "load / largest"
        ),
    )
    report.section(
        "Figure 2(a): bandwidth by network",
        "The same all-reduces: buffer over time, GB/s. `ideal` is the paper's, `bound` the exact one: "
        "an ideal above the bound's figure cannot be reached, and one below it can be beaten. The "
        "paper prints Ring / Direct = 16.71 on the ring, and Direct / Ring = 62.63 on the fully "
        "connected network, where it counts one direction of its ring.",
        command,
    )
    columns = ("network", *labels, "ideal", "bound")
    report.table("figure_2a", columns, [(name, *row) for name, row in speeds.items()])
    of_ring, of_full = speeds["Ring"], speeds["FullyConnected"]
    report.table(
        "figure_2a_ratios",
        ("ratio", "paper (printed)", "here"),
        [
            ("Ring / Direct on Ring", 16.71, of_ring[2] / of_ring[0]),
            ("Direct / Ring on FullyConnected", 62.63, of_full[0] / of_full[2]),
        ],
    )


def figure_2b(report: Report, command: str, *, rank_count: int = 128) -> None:
    """Bandwidth on a ring by size."""
    report.section(
        "Figure 2(b): bandwidth by size",
        f"A physical ring of {rank_count} ranks, α 30 ns, 150 GB/s: buffer over time, GB/s. The "
        "paper's point: the direct algorithm is ahead for 1 KB, the ring for 1 GB. `Hemiola` is the faster of what is "
        "synthesized here and what `hemiola.plan` chooses, which for small buffers is an all-reduce in one shot: every "
        "rank's buffer goes to all others, who add.",
        command,
    )
    ring = topologies.ring(rank_count, latency_s=30e-9, bandwidth=150e9)
    schedules = {label: make(rank_count) for label, make in BASIC.items()}
    sizes = [10**3, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9]
    rows = []
    for nbytes in sizes:
        times = [seconds(s, ring, nbytes) for s in schedules.values()]
        planned_s = seconds(plan(ring, KIND, nbytes).schedule, ring, nbytes)
        times += [min(planned_s, synthesized(ring, nbytes, (1, 2)).seconds), bound_s(ring, nbytes)]
        rows.append((nbytes, *(nbytes / t / 1e9 for t in times)))
    columns = ("bytes", *schedules, "Hemiola", "bound")
    report.table("figure_2b", columns, rows)
    report.curves(
        "figure_2b",
        f"All-reduce on a ring of {rank_count}",
        sizes,
        {label: [row[1 + i] for row in rows] for i, label in enumerate(columns[1:])},
        x_label="buffer, bytes",
        y_label="GB/s",
        log="xy",
    )


def figure_14(report: Report, command: str) -> None:
    """An all-gather on a 3x3 mesh, step by step."""
    mesh: Topology = topologies.mesh([3, 3], **LINK)
    schedule = synthesize(mesh, "all_gather", progress=False)
    report.section(
        "Figure 14: an all-gather on a 3x3 mesh",
        f"{schedule.step_count} steps; a corner receives 8 chunks over 2 links, so 4 is the least. "
        "Numbers beside arrows are chunks (chunk c is rank c's). The paper's example takes 4 steps, too.",
        command,
    )
    used = np.bincount(np.asarray(schedule.transfers)["step"])
    report.table("figure_14", ("step", "links used of 24"), list(enumerate(used.tolist())))
    report.picture(
        "figure_14",
        "All-gather on a 3x3 mesh",
        lambda path: pictures.draw_on_grid(path, "All-gather on a 3x3 mesh", schedule, 3),
    )
