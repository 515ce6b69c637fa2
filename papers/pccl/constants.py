# SPDX-License-Identifier: Apache-2.0
"""The constants of both columns, where they come from, and how far closed forms are from simulations."""

from __future__ import annotations

from collections.abc import Sequence

from hemiola import algorithms
from hemiola._core import Schedule
from hemiola.simulate import simulate
from papers.pccl.closed_forms import pccl_s, rings_s
from papers.pccl.fitted import all_fitted
from papers.pccl.machine import FRONTIER, KINDS, MIB, PERLMUTTER, SOURCES, Machine
from papers.report import Report


def constants(report: Report, command: str) -> None:
    """Both kinds, each with its sources."""
    report.section(
        "Constants",
        "Two columns stand in this report. **Physical**: the network's costs, below with their sources. "
        "**Fitted**: constants for the paper's printed ratios, found by least squares of their logarithms. Only "
        "ratios are printed, so Frontier's rings are given 4 NICs of 25 GB/s. RCCL and NCCL: (p-1)·hop + "
        "(p-1)/p·m/ring. PCCL: log2 N·round + X/between + Y/inside. MPICH: (p-1)·hop + (p-1)/p·m/(25 GB/s), the "
        "hop from its printed ratios over PCCL.",
        command,
    )
    physical = [
        (
            machine.name,
            machine.ranks_per_node,
            machine.nics,
            machine.nic_s * 1e6,
            machine.nic / 1e9,
            machine.message_s * 1e6,
            machine.inside_s * 1e6,
            machine.inside / 1e9,
            machine.memory / 1e9,
        )
        for machine in (FRONTIER, PERLMUTTER)
    ]
    columns = ("NIC, µs", "NIC, GB/s", "a message, µs", "inside, µs", "inside, GB/s", "memory, GB/s")
    report.table("physical", ("physical", "ranks a node", "NICs", *columns), physical)
    report.text(*SOURCES)
    rows = [
        (
            name,
            one.hop_s * 1e6,
            one.ring / 1e9,
            one.round_s * 1e6,
            one.between / 1e9,
            one.inside / 1e9,
            one.mpich_hop_s * 1e6,
            f"{one.error:.1%}",
            ", ".join(one.at_limits) or None,
        )
        for name, one in all_fitted().items()
    ]
    columns = (
        "hop, µs",
        "ring, GB/s",
        "PCCL's round, µs",
        "between, GB/s",
        "inside, GB/s",
        "MPICH's hop, µs",
    )
    report.table("fitted", ("fitted", *columns, "rms of log ratio", "at its limit"), rows)
    report.text(
        "Sources: the figures that §6.1 of the paper prints of its Figures 7, 9, 10 and 11, each beside the "
        "model under those figures. Six or seven ratios determine five constants: this interpolates, it explains "
        "nothing. A network's latency is a few µs. Hops of 10 to 300 µs and rounds of some 100 µs are software: "
        "launches of kernels, registration of memory, two libraries that wait for each other, no eager messages."
    )


def closed_forms(report: Report, command: str, *, node_counts: Sequence[int] = (2, 4, 8, 16)) -> None:
    """The times of rings and PCCL by `physical`, over the simulator's."""
    report.section(
        "Closed forms beside the simulator",
        "The physical column prices rings and PCCL by formula, so that it reaches 131,072 ranks; here the "
        f"formula over the simulation of the schedule itself, without the shuffle, on {min(node_counts)} to "
        f"{max(node_counts)} nodes, all-gather and reduce-scatter. Several rings are flattered where a hop's "
        "latency takes as long as its bytes: the formula gives a chunk its ports for itself. PCCL's "
        "reduce-scatter is exact. Of its all-gather the formula adds two phases. In the simulation a node hands "
        "on the first parts while the rest still comes.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for machine in (FRONTIER, PERLMUTTER):
        for name in ("ring", "multi_ring", "pccl, ring", "pccl, recursive"):
            for size in (1, 16, 256):
                ratios = [
                    _over_simulation(machine, kind, name, nodes, size * MIB)
                    for nodes in node_counts
                    for kind in KINDS
                ]
                rows.append((machine.name, name, size, min(ratios), max(ratios)))
    report.table("closed_forms", ("machine", "schedule", "MiB", "least", "most"), rows)


def _over_simulation(machine: Machine, kind: str, name: str, nodes: int, nbytes: int) -> float:
    ranks = nodes * machine.ranks_per_node
    simulated = simulate(
        _schedule(machine, kind, name, nodes), machine.network(ranks), nbytes, unchecked=True
    )
    if name.startswith("pccl"):
        formula = pccl_s(machine, nodes, name.removeprefix("pccl, "), nbytes)
    else:
        formula = rings_s(machine, nodes, 1 if name == "ring" else machine.nics, nbytes)
    return formula / float(simulated.seconds)


def _schedule(machine: Machine, kind: str, name: str, nodes: int) -> Schedule:
    local = machine.ranks_per_node
    schedule: Schedule
    if name == "ring":
        schedule = getattr(algorithms, f"{kind}_ring")(nodes * local)
    elif name == "multi_ring":
        schedule = getattr(algorithms, f"{kind}_multi_ring")(nodes, local, machine.nics)
    else:
        schedule = getattr(algorithms, f"{kind}_pccl")(nodes, local, name.removeprefix("pccl, "))
    return schedule
