# SPDX-License-Identifier: Apache-2.0
"""Baselines that the other sections lack: TACOS's own random matcher, double binary trees, and the share of the network
in two baselines that are stronger here than printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hemiola import algorithms, topologies
from hemiola._core import Topology
from papers.report import Report
from papers.tacos.measure import GB, LINK, bound_s, ideal_s, seconds, synthesized
from papers.tacos.random_matching import all_reduce_by_random_matching
from papers.tacos.symmetric import FIGURE_16, Grid, explored, rfs

_SEEDS = range(5)
_CHUNKS = (1, 4, 16)
_MOST_MATCHED = 300_000
_TREE_CHUNKS = (4, 16, 64, 256)
#: Printed shares of the ideal; of the torus and the hypercube in Figure 16, which names no grid.
_PRINTED = {"3D torus 4x4x4": 0.959, "3D hypercube 4x4x4": 0.981, "3D-RFS, 16 ranks": 1.0, "3D-RFS, 32 ranks": 0.72,
            "3D-RFS, 64 ranks": 0.68, "3D-RFS, 128 ranks": 0.68}  # fmt: skip


def networks() -> dict[str, Topology]:
    """Return the printed networks of TACOS that we can make as they were."""
    named = {"2D mesh 10x10": topologies.mesh([10, 10], **LINK)}
    named |= {grid.name: grid.network for grid in FIGURE_16}
    named |= {name: network for name, network in explored().items() if not name.startswith("3D-RFS")}
    return named | {f"3D-RFS, {8 * nodes} ranks": rfs(nodes) for nodes in (2, 4, 8, 16)}


def baselines(report: Report, command: str, *, on: Mapping[str, Topology] | None = None) -> None:
    """The paper's search and double binary trees beside ours."""
    report.section(
        "The paper's random matcher, and double binary trees",
        "All-reduce of 1 GB: times over Hemiola's. `random` is the paper's Algorithms 1 and 2 written again: an "
        "unsatisfied postcondition by lot, the cheapest link that can serve it, ties by lot. It is the best of "
        f"{len(_SEEDS)} seeds each with 1, 4 and 16 chunks per rank, where a half has at most {_MOST_MATCHED:,} "
        "transfers. A chunk is only sent by a rank that holds it. The paper's public code breaks this on links "
        "that differ. Switches are unwound with d = 1 for the search and simulated as switches. `tree` is "
        "`all_reduce_double_binary_tree` with the best of 4, 16, 64 and 256 chunks, two-way ring beside it; the paper "
        "names both for Table V and prints no figure for the tree. The shares of the ideal are for comparing with "
        "TACOS's printed ones.",
        command,
    )
    rows = []
    for name, network in (networks() if on is None else on).items():
        hemiola, ideal = synthesized(network, GB).seconds, ideal_s(network, GB)
        drawn, n = _random_s(network), network.rank_count
        tree = min(
            seconds(algorithms.all_reduce_double_binary_tree(n, chunk_count=chunks), network, GB)
            for chunks in _TREE_CHUNKS
        )
        ring = seconds(algorithms.all_reduce_ring_two_way(n), network, GB)
        shares = (_PRINTED.get(name), ideal / drawn, ideal / hemiola)
        over = (drawn / hemiola, tree / hemiola, ring / hemiola)
        rows.append((name, hemiola * 1e3, *over, *shares, bound_s(network, GB) / drawn))
    shares_of = ("TACOS / ideal (printed)", "random / ideal", "Hemiola / ideal", "random / bound")
    report.table("baselines", ("network", "Hemiola, ms", "random", "tree", "ring", *shares_of), rows)


def _random_s(network: Topology) -> float:
    graph = network.unwind_switches(1) if network.switch_count else network
    n = network.rank_count
    return min(
        seconds(all_reduce_by_random_matching(graph, GB, chunks_per_rank=chunks, seed=seed), network, GB)
        for chunks in _CHUNKS
        if chunks == 1 or n * (n - 1) * chunks <= _MOST_MATCHED
        for seed in _SEEDS
    )


#: Direct and the ideal over TACOS's time, as printed in Table V.
_PRINTED_DIRECT = {16: (4.04, 1.00), 32: (7.86, 0.72), 64: (16.84, 0.68), 128: (36.02, 0.68)}


def stronger(
    report: Report,
    command: str,
    *,
    node_counts: Sequence[int] = (2, 4, 8, 16),
    sides: Sequence[int] = (3, 4, 5, 6),
) -> None:
    """Why Direct in Table V and Themis in Figure 16 do better here than printed."""
    report.section(
        "Two baselines that are stronger here than printed",
        "Table V's Direct, 1 GB, over the ideal. Through a switch a rank's own port holds it up, with 2(1 - 8/n) of "
        "the buffer at 50 GB/s: less than twice as long on 128 ranks as on 16. Where switches are unwound with d = 1, "
        "a message to another node passes all nodes between, which makes nodes - 1 buffers at 50 GB/s: 15 times as "
        "long. The printed times grow so, too; from 32 ranks on the last column hardly changes. Where its factor comes "
        "from we do not know. We compare with Direct through switches, the faster one.",
        command,
    )
    rows = []
    for nodes in node_counts:
        network = rfs(nodes)
        ideal, direct = ideal_s(network, GB), algorithms.all_reduce_direct(8 * nodes)
        over = [seconds(direct, each, GB) / ideal for each in (network, network.unwind_switches(1))]
        over_tacos, share = _PRINTED_DIRECT[8 * nodes]
        printed = over_tacos / share
        rows.append((8 * nodes, *over, printed, printed / over[0], printed / over[1]))
    columns = ("ranks", "switch", "unwound", "printed", "printed / switch", "printed / unwound")
    report.table("direct", columns, rows)
    report.text(
        "Themis with 64 chunks on a 3D hypercube, 1 GB: its share of the ideal, printed as 0.4943 for a grid that the "
        "paper does not name. Its rings have no wire from end to end here, the last hop crosses the whole line back, "
        "and the longer the line the longer the others wait for it: the share falls with the side. Figure 16 above has "
        "4x4x4; at the sides below ours does not fall as far as the printed one."
    )
    shares = []
    for side in sides:
        grid = Grid("", (side,) * 3, "line", FIGURE_16[1].cost)
        shares.append((side, ideal_s(grid.network, GB) / seconds(grid.themis(GB, 64), grid.network, GB)))
    report.table("themis_by_side", ("side", "Themis 64 / ideal"), shares)
