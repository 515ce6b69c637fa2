# SPDX-License-Identifier: Apache-2.0
"""Collectives on nodes with several ranks, predicted and simulated. One JSON line per case.

Goals: hierarchical all-gather and reduce-scatter with the best slice count at most 1.05 times max(X, Y) + ⌈log2 N⌉·α
+ α inside, X = (N-1)/N·m/(KB) through a node's NICs and Y = (M-1)/M·m/b inside it, from 2 nodes to 2,048 ranks and
1 MB to 1 GB, messages free; with 1 us a message at most 1.01 times the best schedule found. The planner's choice never
behind a flat ring, several rings, PCCL's two or any candidate, each simulated. 64 nodes in groups of 8 behind tapered
uplinks, 32 MB and more, 16 slices: at most 1.03 times the bound. A plan takes less than a second of a core.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hemiola as hm
import history
from hemiola.algorithms import Task
from hemiola.machine.capacity import describe_machine
from hemiola.topology.port_speed import port_speed
from hemiola.whole_file import write_whole

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "results" / "levels.md"

KINDS: tuple[hm.Kind, ...] = ("all_gather", "reduce_scatter")
MB = 1_000_000
MESSAGE_S = 1e-6


@dataclass(frozen=True)
class Machine:
    """Nodes of M ranks and K NICs: latency and bandwidth inside, and of a NIC."""

    name: str
    ranks: int
    nics: int
    inside_s: float
    inside: float
    nic_s: float
    nic: float

    def network(self, nodes: int, message_s: float = 0.0) -> hm.Topology:
        return hm.topologies.hosts(
            nodes, self.ranks, self.nics,
            latency_s=self.inside_s, bandwidth=self.inside, nic_latency_s=self.nic_s, nic_bandwidth=self.nic,
            nic_message_s=message_s,
        )  # fmt: skip

    def least_s(self, nodes: int, nbytes: int) -> float:
        """Return max(X, Y) and the latency of as many rounds as it takes."""
        nics_s = (nodes - 1) / nodes * nbytes / (self.nics * self.nic)
        inside_s = (self.ranks - 1) / self.ranks * nbytes / self.inside
        return max(nics_s, inside_s) + (nodes - 1).bit_length() * self.nic_s + self.inside_s


MACHINES = (
    Machine("like Frontier", 8, 4, 2e-6, 100e9, 5e-6, 25e9),
    Machine("like Perlmutter", 4, 4, 2e-6, 200e9, 5e-6, 25e9),
)


def task_of(network: hm.Topology, kind: hm.Kind, nbytes: int) -> Task:
    return Task(kind, network.rank_count, nbytes, port_speed(network), hm.Conditions(), 0, network)


def over_least(most_ranks: int) -> Iterator[dict[str, object]]:
    """Compare the best slice count with what NICs, ports and latencies take."""
    for machine in MACHINES:
        for nodes in (2**k for k in range(1, 12) if 2**k * machine.ranks <= most_ranks):
            network = machine.network(nodes)
            for kind in KINDS:
                row = hm.algorithms.get(f"{kind}_hierarchical")
                for megabytes in (1, 4, 16, 64, 256, 1024):
                    found = row.candidates(task_of(network, kind, megabytes * MB))
                    best = min(found, key=lambda candidate: candidate.formula_s)
                    yield {
                        "case": "over the least",
                        "machine": machine.name,
                        "ranks": network.rank_count,
                        "kind": kind,
                        "megabytes": megabytes,
                        "variant": best.variant,
                        "ratio": best.formula_s / machine.least_s(nodes, megabytes * MB),
                        "goal": 1.05,
                    }


def peers(machine: Machine, nodes: int, kind: str, network: hm.Topology) -> Iterator[hm.Schedule]:
    """Yield what the planner's choice is compared with beside its own candidates."""
    for between in ("ring", "recursive"):
        yield getattr(hm.algorithms, f"{kind}_pccl")(nodes, machine.ranks, between)
    yield getattr(hm.algorithms, f"{kind}_multi_ring")(nodes, machine.ranks, machine.nics)
    yield getattr(hm.algorithms, f"{kind}_ring")(network.rank_count)


def over_best(most_ranks: int, most_transfers: int) -> Iterator[dict[str, object]]:
    """Compare the plan, simulated, with the best of all that is known, simulated."""
    for machine in MACHINES:
        for nodes in (nodes for nodes in (2, 4, 8, 16) if nodes * machine.ranks <= most_ranks):
            for message_s in (0.0, MESSAGE_S):
                network = machine.network(nodes, message_s)
                for kind in (*KINDS, "all_reduce"):
                    for megabytes in (1, 16, 256):
                        nbytes = megabytes * MB
                        plan = hm.plan(network, kind, nbytes)
                        seconds = hm.simulate(plan.schedule, network, nbytes, unchecked=True).seconds
                        others = list(peers(machine, nodes, kind, network))
                        for candidate in hm.algorithms.candidates(task_of(network, kind, nbytes)):
                            if candidate.transfer_count <= most_transfers:
                                others.append(candidate.generate())
                        times = [hm.simulate(s, network, nbytes, unchecked=True).seconds for s in others]
                        yield {
                            "case": "over the best found",
                            "machine": machine.name,
                            "ranks": network.rank_count,
                            "kind": kind,
                            "megabytes": megabytes,
                            "message_s": message_s,
                            "plan": plan.alternatives[0].label,
                            "ratio": seconds / min(*times, seconds),
                            "over_bound": seconds / plan.bound_s,
                            "flat_ring_ratio": times[3] / seconds,
                            "multi_ring_ratio": times[2] / seconds,
                            "pccl_ratio": min(times[:2]) / seconds,
                            "goal": 1.01,
                        }


def tapered() -> Iterator[dict[str, object]]:
    """Compare three levels with the lower bound."""
    for taper in (2.0, 4.0):
        network = hm.topologies.hosts(
            64, 1, 1, latency_s=2e-6, bandwidth=100e9, nic_latency_s=5e-6, nic_bandwidth=25e9,
            nodes_per_group=8, taper=taper,
        )  # fmt: skip
        for kind in KINDS:
            schedule = getattr(hm.algorithms, f"{kind}_hierarchical")(64, 1, 16, 8)
            for megabytes in (32, 128, 1024):
                seconds = hm.simulate(schedule, network, megabytes * MB, unchecked=True).seconds
                yield {
                    "case": "three levels over the bound",
                    "taper": taper,
                    "kind": kind,
                    "megabytes": megabytes,
                    "ratio": seconds / hm.lower_bound(network, kind, megabytes * MB).seconds,
                    "goal": 1.03,
                }


def at_scale() -> Iterator[dict[str, object]]:
    """Time plans for thousands of ranks."""
    for nodes in (2048, 16384):
        network = MACHINES[0].network(nodes)
        for kind in (*KINDS, "all_reduce"):
            for megabytes in (1, 64, 1024):
                start = time.process_time()
                plan = hm.plan(network, kind, megabytes * MB)
                yield {
                    "case": "plan at scale",
                    "ranks": network.rank_count,
                    "kind": kind,
                    "megabytes": megabytes,
                    "plan": plan.alternatives[0].label,
                    "over_bound": plan.seconds / plan.bound_s,
                    "cpu_s": time.process_time() - start,
                    "goal": 1.0,
                }


def unequal() -> Iterator[dict[str, object]]:
    """Print the plan over the bound where nodes differ: 8, 8, 8 and 7 ranks; one of 32 NICs at half its speed."""
    sizes = (8, 8, 8, 7)
    hosts = [
        hm.topologies.Host(n, n, latency_s=2e-6, bandwidth=100e9, nic_latency_s=5e-6, nic_bandwidth=25e9)
        for n in sizes
    ]
    slow = [
        hm.topologies.Host(
            8, 8, latency_s=2e-6, bandwidth=100e9, nic_latency_s=5e-6,
            nic_bandwidth=[12.5e9, *[25e9] * 7] if node == 0 else 25e9,
        )
        for node in range(4)
    ]  # fmt: skip
    for name, network in (
        ("8, 8, 8 and 7 ranks", hm.topologies.cluster(hosts)),
        ("a slow NIC", hm.topologies.cluster(slow)),
    ):
        for kind in (*KINDS, "all_reduce"):
            for megabytes in (16, 256):
                plan = hm.plan(network, kind, megabytes * MB)
                ring = getattr(hm.algorithms, f"{kind}_ring")(network.rank_count)
                yield {
                    "case": f"unequal nodes: {name}",
                    "kind": kind,
                    "megabytes": megabytes,
                    "plan": plan.alternatives[0].label,
                    "over_bound": plan.seconds / plan.bound_s,
                    "flat_ring_ratio": hm.simulate(ring, network, megabytes * MB).seconds / plan.seconds,
                }


def page(lines: Sequence[dict[str, Any]]) -> str:
    """Return the report: what was to be reached, then the cases that have no goal of their own."""
    cases = [line for line in lines if "case" in line]
    machine = next(line["machine"] for line in lines if "case" not in line)
    judged: dict[str, list[dict[str, Any]]] = {}
    for line in cases:
        if not line["case"].startswith("unequal"):
            judged.setdefault(line["case"], []).append(line)
    rows = [_judgement(case, own) for case, own in judged.items()]
    unequal = [line for line in cases if line["case"].startswith("unequal")]
    return "\n".join(
        [
            "# Collectives on nodes with several ranks",
            "",
            "<!-- written by benchmarks/levels.py --report -->",
            f"Machine: {machine}. Times are predicted or simulated: the machine matters for planning times alone.",
            "Reproduce: `python benchmarks/levels.py --report`, which says what each case is.",
            "",
            "| case | cases | what | median | worst | at | goal | | over the bound: median, worst |",
            "|---|--:|---|--:|--:|---|--:|---|---|",
            *rows,
            "",
            'Where nodes differ there is no goal but that nothing is faster; "flat ring" is its time over the plan\'s.',
            "",
            "| nodes | collective | MB | plan | over the bound | flat ring |",
            "|---|---|--:|---|--:|--:|",
            *(
                f"| {line['case'].removeprefix('unequal nodes: ')} | {line['kind']} | {line['megabytes']} | "
                f"{line['plan']} | {line['over_bound']:.3f} | {line['flat_ring_ratio']:.2f} |"
                for line in unequal
            ),
            "",
        ]
    )


def _judgement(case: str, own: Sequence[dict[str, Any]]) -> str:
    """Return a row: the least and the most of what a case's goal is about."""
    what = "cpu_s" if "cpu_s" in own[0] else "ratio"
    worst, goal = max(own, key=lambda line: line[what]), own[0]["goal"]
    median = sorted(line[what] for line in own)[len(own) // 2]
    shown = ("machine", "taper", "ranks", "kind", "megabytes", "variant", "plan")
    place = ", ".join(f"{key} {worst[key]}" for key in shown if key in worst)
    bounds = sorted(line["over_bound"] for line in own if "over_bound" in line)
    of_bound = f"{bounds[len(bounds) // 2]:.3f}, {bounds[-1]:.3f}" if bounds else ""
    verdict = "met" if worst[what] <= goal else "**missed**"
    words = {"cpu_s": "CPU s of a plan", "ratio": "ratio"}[what]
    cells = (case, len(own), words, f"{median:.3f}", f"{worst[what]:.4f}", place, goal, verdict, of_bound)
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Print one JSON line per case, then the machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", action="store_true", help=f"write {REPORT.relative_to(ROOT)} besides")
    parser.add_argument("--most-ranks", type=int, default=2048, help="of what is looked at by size")
    parser.add_argument(
        "--most-transfers", type=int, default=300_000, help="of a candidate that is simulated"
    )
    history.add_option(parser)
    arguments = parser.parse_args()
    lines: list[dict[str, Any]] = []
    for part in (
        over_least(arguments.most_ranks),
        tapered(),
        at_scale(),
        unequal(),
        over_best(arguments.most_ranks, arguments.most_transfers),
    ):
        for line in part:
            print(json.dumps(line), flush=True)
            lines.append(line)
    history.record(arguments, lines)
    lines.append({"machine": describe_machine()})
    print(json.dumps(lines[-1]))
    if arguments.report:
        write_whole(REPORT, page(lines))


if __name__ == "__main__":
    main()
