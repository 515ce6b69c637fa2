# SPDX-License-Identifier: Apache-2.0
"""How many transfers the simulator handles per CPU second. One JSON line per case.

Goals (issue "the corridor", 5): 6 million fifo transfers per CPU second on a ring all-reduce of 1,024 ranks, in
which all events come in lock-step, and no less than half of that where event times diverge.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import hemiola as hm
from hemiola.machine.capacity import describe_machine

MILLION = 1_000_000


@dataclass(frozen=True)
class Case:
    name: str
    network: str
    goal: float | None
    make: Callable[[], tuple[hm.Schedule, hm.Topology, int, hm.Conditions]]


def lock_step_ring(ranks: int = 1024) -> tuple[hm.Schedule, hm.Topology, int, hm.Conditions]:
    """Equal chunks over equal links: all events of a round at one instant."""
    ring = hm.topologies.ring(ranks, latency_s=1e-6, bandwidth=50e9, bidirectional=False)
    return hm.algorithms.all_reduce_ring(ranks), ring, ranks << 20, hm.Conditions()


def uneven_ring(ranks: int = 1024) -> tuple[hm.Schedule, hm.Topology, int, hm.Conditions]:
    """Random chunk sizes, latencies and bandwidths: hardly two events at one instant."""
    rng = random.Random(1)
    equal = hm.algorithms.all_reduce_ring(ranks)
    weights = [rng.randint(500, 1500) for _ in range(equal.chunk_count)]
    schedule = hm.Schedule.from_transfers(equal.collective, equal.transfers, weights)
    links = [(r, (r + 1) % ranks, rng.uniform(1e-6, 1.5e-6), rng.uniform(25e9, 50e9)) for r in range(ranks)]
    return schedule, hm.Topology(ranks, links), ranks << 20, hm.Conditions()


def direct_exchange(ranks: int = 256) -> tuple[hm.Schedule, hm.Topology, int, hm.Conditions]:
    """Every rank sends to every other in one step through a switch: 255 flows share each port."""
    switch = hm.topologies.switch(ranks, latency_s=1e-6, bandwidth=50e9)
    return hm.algorithms.all_to_all_direct(ranks), switch, ranks << 20, hm.Conditions()


def weighted_exchange(
    ranks: int = 64, segments: int = 32
) -> tuple[hm.Schedule, hm.Topology, int, hm.Conditions]:
    """OptCC's setting: one slow rank, every port busy in every round."""
    slow = {0: 1.5}
    schedule = hm.algorithms.all_reduce_weighted_exchange(ranks, slow, segments)
    switch = hm.topologies.switch(ranks, latency_s=3e-6, bandwidth=50e9)
    return schedule, switch, 1 << 30, hm.Conditions(slow=slow)


CASES = [
    Case("ring all-reduce, 1024 ranks, lock-step", "fifo", 6 * MILLION, lock_step_ring),
    Case("ring all-reduce, 1024 ranks, uneven", "fifo", 3 * MILLION, uneven_ring),
    Case("ring all-reduce, 1024 ranks, lock-step", "fluid", None, lock_step_ring),
    Case("ring all-reduce, 1024 ranks, uneven", "fluid", None, uneven_ring),
    Case("direct all-to-all, 256 ranks, one step", "fluid", None, direct_exchange),
    Case("weighted exchange, 64 ranks, 32 segments", "fluid", None, weighted_exchange),
]


def measure(case: Case, runs: int) -> dict[str, object]:
    """CPU seconds of whole calls of hm.simulate, the schedule and the topology given."""
    schedule, topology, nbytes, conditions = case.make()
    cpu_s = []
    for _ in range(runs):
        start = time.process_time()
        timeline = hm.simulate(schedule, topology, nbytes, conditions, case.network)
        cpu_s.append(time.process_time() - start)
    median = statistics.median(cpu_s)
    return {
        "benchmark": "simulator",
        "case": case.name,
        "network": case.network,
        "transfers": schedule.transfer_count,
        "simulated_s": timeline.seconds,
        "runs": runs,
        "cpu_s": {"median": median, "min": min(cpu_s), "max": max(cpu_s)},
        "transfers_per_cpu_s": schedule.transfer_count / median,
        "goal": case.goal,
        "machine": describe_machine(),
    }


def main() -> None:
    """Print one JSON line per case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11, help="measured calls per case")
    runs = parser.parse_args().runs
    for case in CASES:
        print(json.dumps(measure(case, runs)), flush=True)


if __name__ == "__main__":
    main()
