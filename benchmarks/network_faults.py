# SPDX-License-Identifier: Apache-2.0
"""Faults between hosts at random instants: ranks killed or stopped, cables pulled, rates changed, strangers,
impostors.

Each trial is a job of its own on the hosts of a cluster on this machine, whose NICs are limited and full of the
job's all-reduces, every element of which is checked. Goals: no hang, no crash and no wrong result; who is dead is
named by every survivor, within 0.5 s where a process was killed, within 1.2 s (and what the job needs to end) where
a host was cut off or stood still; survivors shrink, agree on who is left, and their next all-reduces are exact;
whoever comes back learns that it was given up; a pause shorter than the silence limit, a changing rate, a stranger,
a full table of descriptors, a rank that comes late by 10 s and another job do no harm, nor is anybody given up to
whom nothing happens; an impostor is told why it is refused, and the rank in whose
place it came joins; nothing is left on any host. The kinds of fault are in network_faults_strikes.py.

Over MPI ranks have places that mpirun has given, and what cannot happen to those is left out; their messages go by this
machine's memory, and only beats by the NICs.

    python benchmarks/network_faults.py [--runs 50] [--seed 1] [--first 0] [--only KIND …] [--hosts 3]
        [--ranks-per-host 2] [--wire auto] [--undisturbed 1] [--json]

Exit code 1 where something was not as it should be; it is printed with the command that repeats the trial."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import Progress

from hemiola.cli.output import table
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from network_faults_job import HangError, Outcome, new_job
from network_faults_strikes import IMPOSTORS, LATEST_STRIKE_S, OVER_MPI, RATE, STRIKES, impostor
from network_report import Spread

KINDS = [*STRIKES, *IMPOSTORS]


def trial(cluster: Cluster, kind: str, seed: str, options: argparse.Namespace) -> Outcome:
    """Run one job and its fault; see that its ranks end and leave nothing."""
    chance, outcome = random.Random(seed), Outcome(kind)
    job = new_job(cluster, options.ranks_per_host, options.wire, undisturbed_s=options.undisturbed)
    try:
        if kind in IMPOSTORS:
            impostor(job, kind, chance, outcome)
        else:
            job.start(range(job.rank_count))
            job.wait_until_working()
            time.sleep(chance.uniform(0, LATEST_STRIKE_S))
            STRIKES[kind](job, chance, outcome)
    except (HangError, RuntimeError) as error:
        outcome.complaints.append(str(error))
    finally:
        job.close(outcome)
    outcome.complaints += _left(cluster)
    return outcome


def _left(cluster: Cluster) -> list[str]:
    """Say what runs or listens on hosts where nothing should."""
    found = []
    for host in range(len(cluster.hosts)):
        listening = cluster.run(host, ["ss", "-Htln"]).split()
        running = cluster.run(host, ["sh", "-c", "cd /proc && echo [0-9]*"]).split()
        if listening or len(running) > 2:  # the first process and the one that looks
            found.append(f"left on host {host}: processes {running}, sockets {listening}")
    return found


def show(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print a line for each kind of fault."""
    shown = table(
        "fault", "runs", "not as expected", "named after, s (quartiles)", "at most", left=("fault",)
    )
    for kind in KINDS:
        own = [one for one in outcomes if one.kind == kind]
        times = [each for one in own for each in one.detections_s]
        if own:
            shown.add_row(
                kind,
                str(len(own)),
                str(sum(bool(one.complaints) for one in own)),
                str(Spread.of(times)) if times else "",
                f"{max(times):.2f}" if times else "",
            )
    console.print(shown)
    console.print(f"{describe_machine()}; load {os.getloadavg()[0]:.1f}")


def main() -> int:
    """Run the trials; exit status 1 if one was not as it should be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS, metavar="KIND")
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--ranks-per-host", type=int, default=2)
    parser.add_argument("--wire", default="auto", help="as HEMIOLA_WIRE has it")
    parser.add_argument(
        "--undisturbed", type=float, default=1.0, metavar="S", help="how long its kind lets ranks work"
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each trial")
    options = parser.parse_args()
    if "mpi" in options.wire.split(","):
        options.only = [kind for kind in options.only if kind in OVER_MPI]
    if not options.only:
        parser.error(f"over MPI there are {', '.join(OVER_MPI)}")
    outcomes = []
    with (
        Cluster(options.hosts, rate=RATE) as cluster,
        Progress(console=Console(stderr=True)) as progress,
    ):
        task = progress.add_task(f"faults, {options.hosts} hosts", total=options.runs)
        for number in range(options.first, options.first + options.runs):
            kind = options.only[number % len(options.only)]
            outcome = trial(cluster, kind, f"{options.seed}-{number}", options)
            outcomes.append(outcome)
            if options.json:
                print(json.dumps({"trial": number} | outcome.__dict__), flush=True)
            for complaint in outcome.complaints:
                again = f"--seed {options.seed} --first {number} --runs 1 --hosts {options.hosts}"
                again += f" --ranks-per-host {options.ranks_per_host} --wire {options.wire}"
                progress.console.print(
                    f"{kind}: {complaint}\n  again: {again} --only {' '.join(options.only)}"
                )
            progress.advance(task)
    show(outcomes, Console(stderr=options.json))
    return 1 if any(outcome.complaints for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
