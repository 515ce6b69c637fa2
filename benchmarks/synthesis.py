# SPDX-License-Identifier: Apache-2.0
"""How near synthesized schedules come to what nothing can beat, and what the search costs. One JSON line per case.

Goals (issue "asymmetry in space"): the slot bound on meshes and tori, within 0.5 % for four chunks per rank; 1.005 of
the in-rate bound on meshes with two speeds; 0.95 of the exact cut on a 3D-RFS, 0.97 on a two-dimensional switch; 0.1 s
of CPU for 1,024 ranks.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from math import prod
from typing import Any

import hemiola as hm
import history
from hemiola.machine.capacity import describe_machine
from hemiola.synthesis import Synthesis, search

GIB, GB = 2**30, 10**9
#: The paper's link: 0.5 us, 50 GiB/s.
LINK = {"latency_s": 0.5e-6, "bandwidth": 50 * GIB}
MESHES = [(10, 10), (16, 16), (20, 20), (32, 32), (5, 5, 5), (8, 8, 8), (10, 10, 10)]
TORI = [(8, 8), (16, 16), (32, 32), (4, 4, 4), (6, 6, 6), (8, 8, 8)]
TWO_SPEEDS = [((5, 5), (50, 75), 1), ((8, 8), (50, 37), 1), ((10, 7), (16, 73), 3), ((32, 32), (20, 100), 1)]


def main() -> None:
    """Run the cases and print a line for each, the machine first."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    history.add_option(parser)
    given = parser.parse_args()
    print(json.dumps({"machine": describe_machine()}))
    rows = []
    for cases in (uniform, two_speeds, behind_switches):
        for case in cases():
            print(json.dumps(case), flush=True)
            rows.append(case)
    history.record(given, rows)


def uniform() -> Iterator[dict[str, Any]]:
    """Slots over the in-degree bound, on one thread."""
    for builder, sides_of, degree in ((hm.topologies.mesh, MESHES, 1), (hm.topologies.torus, TORI, 2)):
        for sides in sides_of:
            for chunks in (1, 4):
                if prod(sides) * chunks > 2048:
                    continue
                found, cpu_s = timed(builder(list(sides), **LINK), chunks, latency="occupies")
                bound = -(-(prod(sides) - 1) * chunks // (degree * len(sides)))
                yield {
                    "case": f"{builder.__name__} {'x'.join(map(str, sides))}",
                    "chunks_per_rank": chunks,
                    "slots": found.schedule.step_count,
                    "bound": bound,
                    "goal": bound,
                    "trials": found.trials,
                    "cpu_s_per_trial": round(cpu_s / found.trials, 4),
                }


def two_speeds() -> Iterator[dict[str, Any]]:
    """Causal schedules over the in-rate bound, which `search` counts in whole chunks."""
    for sides, speeds, chunks in TWO_SPEEDS:
        bandwidths = [speed * GIB for speed in speeds]
        mesh = hm.topologies.mesh(list(sides), latency_s=LINK["latency_s"], bandwidth=bandwidths)
        found, cpu_s = timed(mesh, chunks, latency="occupies")
        yield {
            "case": f"mesh {sides[0]}x{sides[1]}, {speeds[0]}/{speeds[1]} GiB/s",
            "chunks_per_rank": chunks,
            "over_bound": found.seconds / found.bound_s,
            "goal": 1.005,
            "cpu_s_per_trial": round(cpu_s / found.trials, 4),
        }


def behind_switches() -> Iterator[dict[str, Any]]:
    """All-gathers that share links, simulated, as a share of the exact cut."""
    for nodes, chunks in ((2, 32), (4, 32), (8, 16), (16, 8)):
        rfs = hm.topologies.grid(
            [2, 4, nodes],
            ["ring", "fully_connected", "switch"],
            latency_s=LINK["latency_s"],
            bandwidth=[200 * GB, 100 * GB, 50 * GB],
        )
        yield share_of_cut(f"3D-RFS of {8 * nodes}", rfs, chunks, 0.95)
    switches = hm.topologies.grid(
        [8, 4], ["switch", "switch"], latency_s=LINK["latency_s"], bandwidth=[300 * GB, 25 * GB]
    )
    yield share_of_cut("2D switch 8x4", switches, 32, 0.97)


def share_of_cut(name: str, topology: hm.Topology, chunks: int, goal: float) -> dict[str, Any]:
    found, cpu_s = timed(topology, chunks, trials=1)
    simulated = hm.simulate(found.schedule, topology, GIB, network="fifo").seconds
    bound = hm.lower_bound(topology, "all_gather", GIB)
    cut = next(b.seconds for b in bound.bounds if b.name == "cut")
    return {
        "case": name,
        "chunks_per_rank": chunks,
        "share_of_cut": cut / simulated,
        "goal": goal,
        "cpu_s": round(cpu_s, 4),
    }


def timed(topology: hm.Topology, chunks: int, **options: Any) -> tuple[Synthesis, float]:
    """An all-gather of 1 GiB on one thread, and the CPU seconds it took."""
    before = time.process_time()
    found = search(topology, "all_gather", chunks, nbytes=GIB, threads=1, progress=False, **options)
    return found, time.process_time() - before


if __name__ == "__main__":
    main()
