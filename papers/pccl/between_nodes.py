# SPDX-License-Identifier: Apache-2.0
"""Figure 6, left: recursive halving over a ring between nodes, and on which networks the ring wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from hemiola import algorithms, topologies
from hemiola._core import Schedule
from hemiola.simulate import simulate
from papers.pccl.closed_forms import equation_1, equation_2, inside_s
from papers.pccl.machine import FRONTIER, MIB, RANK_COUNTS, REDUCE_SCATTER, SIZES_MIB, Machine
from papers.report import Report


@dataclass(frozen=True)
class Groups:
    """Groups of nodes whose uplink carries 1/taper of their NICs' bandwidth together."""

    name: str
    nodes_per_group: int | None
    taper: float = 1.0


#: A cabinet of Frontier is a group of 128 nodes that carries 1/1.75 of its NICs' bytes to all others together.
NETWORKS = (
    Groups("one switch", None),
    Groups("groups of 128 nodes, taper 1.75 (Frontier's cabinets, filled one by one)", 128, 1.75),
    Groups("groups of 8 nodes, taper 4 (a job that is spread over many cabinets)", 8, 4.0),
)


@lru_cache(maxsize=32)
def _schedule(nodes: int, between: str) -> Schedule:
    schedule: Schedule = getattr(algorithms, f"{REDUCE_SCATTER}_pccl")(nodes, 1, between)
    return schedule


def reduce_scatter_s(machine: Machine, groups: Groups, nodes: int, between: str, nbytes: int) -> float:
    """Simulate the phase between nodes, and add the one inside.

    All ranks of a node do the same at the same time, so that one stands for them, with all NICs of the node.
    """
    grouped = groups.nodes_per_group is not None and groups.nodes_per_group < nodes
    network = topologies.hosts(
        nodes,
        1,
        1,
        latency_s=machine.inside_s,
        bandwidth=machine.inside,
        nic_latency_s=machine.nic_s,
        nic_bandwidth=machine.nics * machine.nic,
        nic_message_s=machine.message_s * max(1, machine.ranks_per_node // machine.nics),
        nodes_per_group=groups.nodes_per_group if grouped else None,
        taper=groups.taper if grouped else 1.0,
    )
    between_s = simulate(_schedule(nodes, between), network, nbytes, unchecked=True).seconds
    return between_s + (machine.ranks_per_node - 1) * machine.inside_s + inside_s(machine, nbytes)


def figure_6_left(
    report: Report,
    command: str,
    *,
    sizes: Sequence[int] = SIZES_MIB,
    rank_counts: Sequence[int] = RANK_COUNTS,
    networks: Sequence[Groups] = NETWORKS,
) -> None:
    """A grid per network."""
    report.section(
        "Figure 6, left: recursive halving over a ring between nodes",
        "Reduce-scatter on Frontier: the ring's time over recursive halving's, with the ring inside nodes after "
        "either; below 1 the ring wins. Printed, without numbers: the ring wins at few ranks or large sizes. "
        "**By the paper's equations it never does**: (1) and (2) have the same bandwidth term, and log2 p ≤ p - "
        "1. It can win on a network that is tapered above the nodes. A ring crosses a group's border once. "
        "Halving with the nearest first crosses it as often as a group has nodes, with as many times the bytes. Which "
        "placement the paper's jobs had, it does not say, so this is an explanation that fits, not one that is "
        "proved. Simulated, physical constants.",
        command,
    )
    rows = [
        (size, *(f"{_by_equations(ranks, size * MIB):.4g}" for ranks in rank_counts)) for size in sizes[::-1]
    ]
    report.text("**equations (1) and (2) as printed, α 5 µs, 1/β 25 GB/s**")
    report.table("figure_6_equations", ("MiB", *map(str, rank_counts)), rows)
    for index, groups in enumerate(networks):
        report.text(f"**{groups.name}**")
        rows = [
            (size, *(f"{_ratio(groups, ranks, size * MIB):.4g}" for ranks in rank_counts))
            for size in sizes[::-1]
        ]
        report.table(f"figure_6_network_{index}", ("MiB", *map(str, rank_counts)), rows)


def _by_equations(rank_count: int, nbytes: int) -> float:
    alpha_s, bandwidth = FRONTIER.nic_s, FRONTIER.nic
    return equation_1(rank_count, nbytes, alpha_s, bandwidth) / equation_2(
        rank_count, nbytes, alpha_s, bandwidth
    )


def _ratio(groups: Groups, rank_count: int, nbytes: int) -> float:
    nodes = FRONTIER.nodes(rank_count)
    ring, halving = (
        reduce_scatter_s(FRONTIER, groups, nodes, between, nbytes) for between in ("ring", "recursive")
    )
    return ring / halving
