# SPDX-License-Identifier: Apache-2.0
"""Slots over the in-degree bound, and heterogeneous meshes over the in-rate bound, beside the paper's public code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from hemiola import topologies
from hemiola._core import Topology
from hemiola.synthesis import search, synthesize
from hemiola.verify import verify
from papers.report import Report
from papers.tacos.measure import GIB, LINK, one_trial

#: What the paper's code (v1.3.0) needs, measured: slots for one chunk per rank.
_CODE_SLOTS = {"mesh 10x10": 50, "mesh 16x16": 128, "mesh 20x20": 200, "mesh 32x32": 512, "mesh 8x8x8": 171,
               "mesh 10x10x10": 333, "torus 10x10": 26, "torus 16x16": 65, "torus 20x20": 102, "torus 32x32": 258,
               "torus 8x8x8": 86}  # fmt: skip

#: Bandwidths by dimension in GiB/s, and chunks per rank.
_UNEQUAL_MESHES = (
    ((5, 5), (50, 75), 1),
    ((8, 8), (50, 37), 1),
    ((10, 7), (16, 73), 3),
    ((32, 32), (20, 100), 1),
)


def slot_bound(topology: Topology, chunks_per_rank: int) -> int:
    """Return ⌈(n-1)·k / smallest in-degree⌉."""
    ports = int(np.bincount(topology.links["dst"]).min())
    return -(-(topology.rank_count - 1) * chunks_per_rank // ports)


def slots(report: Report, command: str, *, largest: int = 1024) -> None:
    """All-gathers on homogeneous grids."""
    report.section(
        "Slots over the in-degree bound",
        "All-gather, links of one speed. A slot is the time a chunk needs on a link; the bound is "
        "⌈(n-1)·k / smallest in-degree⌉ slots, k chunks per rank. `code` is the paper's public code, "
        "measured beforehand. The search is `hemiola.synthesize` with one trial on one thread, the best of three in "
        "wall time.",
        command,
    )
    rows = []
    grids = [topologies.mesh([x, x], **LINK) for x in (10, 16, 20, 32)]
    grids += [topologies.hypercube([x, x, x], **LINK) for x in (5, 8, 10)]
    grids += [topologies.torus([x, x], **LINK) for x in (8, 10, 16, 20, 32)]
    grids += [topologies.torus([x, x, x], **LINK) for x in (4, 5, 6, 8)]
    for grid in (grid for grid in grids if grid.rank_count <= largest):
        for chunks in (1, 4):
            kept = search(grid, "all_gather", chunks, progress=False).schedule
            one = partial(synthesize, grid, "all_gather", chunks, trials=1, threads=1, progress=False)
            _, search_s = one_trial(one)
            bound = slot_bound(grid, chunks)
            code = _CODE_SLOTS.get(grid.name) if chunks == 1 else None
            rows.append((grid.name, chunks, bound, code, kept.step_count, kept.step_count / bound, search_s))
    columns = ("grid", "k", "bound", "code", "Hemiola", "Hemiola / bound", "search, s")
    report.table("slots", columns, rows)


def unequal_meshes(report: Report, command: str, *, largest: int = 1024) -> None:
    """All-gathers on meshes whose dimensions differ in bandwidth, causal by the verifier."""
    report.section(
        "Heterogeneous meshes over the in-rate bound",
        "All-gather of 1 GiB, α 0.5 µs as link occupancy (the paper's model), bandwidths by "
        "dimension. The bound is the earliest moment by which the slowest rank's links can have "
        "delivered every chunk it lacks. The paper's code relabels what arrives and is not causal "
        "here; its search made causal needs 1.27 times the bound and more. `violations` are those that `hemiola "
        "verify` finds: none means that every rank holds each chunk that it sends.",
        command,
    )
    rows = []
    for dims, speeds, chunks in _UNEQUAL_MESHES:
        if dims[0] * dims[1] > largest:
            continue
        mesh = topologies.mesh(list(dims), latency_s=0.5e-6, bandwidth=[speed * GIB for speed in speeds])
        found = search(mesh, "all_gather", chunks, nbytes=GIB, latency="occupies", progress=False)
        times = (found.bound_s * 1e6, found.seconds * 1e6, found.seconds / found.bound_s)
        rows.append((_name(dims, speeds), chunks, *times, len(verify(found.schedule, topology=mesh))))
    columns = ("mesh, GiB/s", "k", "bound, µs", "Hemiola, µs", "Hemiola / bound", "violations")
    report.table("unequal_meshes", columns, rows)


def _name(dims: Sequence[int], speeds: Sequence[int]) -> str:
    return "x".join(map(str, dims)) + " " + "/".join(map(str, speeds))
