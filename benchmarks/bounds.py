# SPDX-License-Identifier: Apache-2.0
"""Two million lower bounds on random networks, each against a random schedule that is right, in both networks.

    python benchmarks/bounds.py [--count 2000000] [--seed 0] [--jobs 2] [--json]

Goal: no bound above a simulation. Prints every problem that breaks it, with the command that replays it, and at the end
how near the schedules came; exit code 1 where a bound was broken. Ctrl-C ends the run with what there is."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass, field

from hemiola.machine.capacity import describe_machine
from hemiola.progress import ProgressBar
from random_problems import NETWORKS, random_problem

_SPAN = 500
#: A schedule that takes no more than this many times its bound has met it.
_MET = 1.01


@dataclass(frozen=True)
class Broken:
    """A schedule that was faster than its bound."""

    seed: int
    network: str
    kind: str
    seconds: float
    bound_s: float
    witness: str

    def __str__(self) -> str:
        return (
            f"{self.kind} takes {self.seconds * 1e6:.6f} µs ({self.network}), bound {self.bound_s * 1e6:.6f} µs: "
            f"{self.witness}\n  python benchmarks/bounds.py --seed {self.seed} --count 1"
        )


@dataclass
class Tally:
    """What was found so far; `met`: bounds that the faster network came within 1 % of."""

    bounds: int = 0
    met: int = 0
    broken: list[Broken] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count another tally in."""
        self.bounds += other.bounds
        self.met += other.met
        self.broken += other.broken


def judge(seeds: range) -> Tally:
    """Judge the problems of these seeds."""
    tally = Tally()
    for seed in seeds:
        problem = random_problem(seed)
        bound = problem.bound()
        seconds = {network: problem.seconds(network) for network in NETWORKS}
        tally.bounds += 1
        tally.met += min(seconds.values()) <= bound.seconds * _MET
        tally.broken += [
            Broken(seed, network, problem.kind, taken_s, bound.seconds, bound.witness)
            for network, taken_s in seconds.items()
            if taken_s < bound.seconds - problem.rounding_s
        ]
    return tally


def judge_all(seed: int, count: int, jobs: int) -> Tally:
    """Judge `count` problems from `seed` on, in `jobs` processes."""
    spans = [range(at, min(at + _SPAN, seed + count)) for at in range(seed, seed + count, _SPAN)]
    tally = Tally()
    with (
        multiprocessing.Pool(jobs, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool,
        ProgressBar("bounds") as progress,
    ):
        try:
            for found in pool.imap_unordered(judge, spans):
                tally.add(found)
                progress(tally.bounds, count)
                for broken in found.broken:
                    print(broken, file=sys.stderr)
        except KeyboardInterrupt:
            print(f"interrupted after {tally.bounds} of {count} bounds", file=sys.stderr)
    return tally


def main() -> int:
    """Parse the command line, judge, and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2_000_000, help="problems, one bound each")
    parser.add_argument("--seed", type=int, default=0, help="of the first; the others follow")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--json", action="store_true", help="print one JSON line")
    asked = parser.parse_args()
    begin_s = time.monotonic()
    tally = judge_all(asked.seed, asked.count, asked.jobs)
    seconds = time.monotonic() - begin_s
    if asked.json:
        line = {"benchmark": "bounds", "seed": asked.seed, "seconds": round(seconds, 1), **asdict(tally)}
        print(json.dumps({**line, "machine": describe_machine()}))
    else:
        print(
            f"{tally.bounds} bounds in {seconds:.0f} s: {len(tally.broken)} above a simulation, "
            f"{tally.met} met within {_MET - 1:.0%}"
        )
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
