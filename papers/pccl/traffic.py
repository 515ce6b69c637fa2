# SPDX-License-Identifier: Apache-2.0
"""Figures 3 and 4: the flat rings on few ranks, simulated: the NICs that they use, and the cost of adding on
processors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hemiola import algorithms
from hemiola._core import Schedule, Topology
from hemiola.simulate import simulate
from papers.pccl.closed_forms import reduction_s
from papers.pccl.machine import ALL_GATHER, FRONTIER, MIB, REDUCE_SCATTER
from papers.report import Report

#: Bytes per second that Frontier's node reads and writes together in the memory of its processor.
_NODE_DRAM = 205e9
#: Bytes per second between a GCD and the processor, each way.
_TO_PROCESSOR = 36e9


def rings(kind: str, rank_count: int) -> dict[str, Schedule]:
    """Return the rings of MPICH and RCCL: one ring through ranks in order, and one per NIC."""
    nodes = FRONTIER.nodes(rank_count)
    multi = getattr(algorithms, f"{kind}_multi_ring")
    flat = getattr(algorithms, f"{kind}_ring")
    return {"MPICH": flat(rank_count), "RCCL": multi(nodes, FRONTIER.ranks_per_node, FRONTIER.nics)}


def nic_bytes(schedule: Schedule, network: Topology, nbytes: int) -> tuple[list[float], list[float]]:
    """Return the bytes that each NIC of the first node sends and receives; messages must be free."""
    links = network.links
    carried = simulate(schedule, network, nbytes, unchecked=True).link_busy_s * links["bandwidth"]
    core = int(links["dst"].max())
    first = [places for _, host, places in network.nics if host == 0]
    sent = [sum(float(carried[link]) for link in nic if links["dst"][link] == core) for nic in first]
    received = [sum(float(carried[link]) for link in nic if links["src"][link] == core) for nic in first]
    return sent, received


def figure_3(
    report: Report, command: str, *, rank_counts: Sequence[int] = (16, 32, 64, 128), nics_of: int = 64
) -> None:
    """Times, and traffic by NIC."""
    report.section(
        "Figure 3: Cray MPICH and RCCL where bandwidth decides",
        "Printed: RCCL about 4 times faster; MPICH reads on NIC 3 only and writes on NIC 0 only, which the paper "
        "takes for a fault of its routing. All-gather, simulated, physical constants. **One ring through ranks "
        "in order does exactly this**: only a node's last rank sends out, and its card is NIC 3; only the first "
        "receives, and its card is NIC 0.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for size in (256, 512):
        for ranks in rank_counts:
            network = FRONTIER.network(ranks)
            times = [
                simulate(schedule, network, size * MIB, unchecked=True).seconds
                for schedule in rings(ALL_GATHER, ranks).values()
            ]
            rows.append((size, ranks, *(1e3 * s for s in times), times[0] / times[1], "about 4"))
    columns = ("MiB", "ranks", "MPICH, ms", "RCCL, ms", "MPICH / RCCL", "printed")
    report.table("figure_3", columns, rows)

    free = replace(FRONTIER, message_s=0.0).network(nics_of)
    traffic = []
    for name, schedule in rings(ALL_GATHER, nics_of).items():
        for way, nics in zip(("sent", "received"), nic_bytes(schedule, free, 512 * MIB), strict=True):
            traffic.append((name, way, *(nbytes / MIB for nbytes in nics)))
    report.text(f"What the NICs of a node carry in 512 MiB on {nics_of} ranks, MiB:")
    report.table("figure_3_nics", ("library", "", *(f"NIC {nic}" for nic in range(FRONTIER.nics))), traffic)


def figure_4(report: Report, command: str, *, rank_counts: Sequence[int] = (16, 32, 64, 128)) -> None:
    """The reduce-scatter, and adding priced apart."""
    dram = _NODE_DRAM / FRONTIER.ranks_per_node
    report.section(
        "Figure 4: reduce-scatter, with adding priced apart",
        "Printed: MPICH 10 to 15 times slower than RCCL, and several times slower than the paper's own ring "
        "whose sums a GPU makes. Moving is simulated under physical constants; adding is 3(p-1)/p·m of memory "
        f"traffic, on the processor at {dram / 1e9:.3g} GB/s a rank (a node's DRAM among its ranks), on a GCD at "
        f"{FRONTIER.memory / 1e12:g} TB/s. `staged` adds the way to the processor and back, (p-1)/p·m each way "
        f"at {_TO_PROCESSOR / 1e9:g} GB/s, both ways at once. Nothing overlaps. Milliseconds.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for size in (256, 512):
        for ranks in rank_counts:
            network, nbytes = FRONTIER.network(ranks), size * MIB
            one, several = (
                simulate(schedule, network, nbytes, unchecked=True).seconds
                for schedule in rings(REDUCE_SCATTER, ranks).values()
            )
            on_processor, on_gpu = (reduction_s(ranks, nbytes, at) for at in (dram, FRONTIER.memory))
            staged = (ranks - 1) / ranks * nbytes / _TO_PROCESSOR
            rccl = several + on_gpu
            added = (one + on_processor, one + on_processor + staged, one + on_gpu, rccl)
            ratios = (added[0] / rccl, added[1] / rccl, "10 to 15", added[1] / added[2])
            rows.append((size, ranks, *(1e3 * s for s in (one, *added)), *ratios))
    columns = ("MPICH moves", "MPICH", "MPICH, staged", "its ring, GPU adds", "RCCL")
    ratios_of = ("MPICH / RCCL", "staged / RCCL", "printed", "staged / GPU adds")
    report.table("figure_4", ("MiB", "ranks", *columns, *ratios_of), rows)
