# SPDX-License-Identifier: Apache-2.0
"""Does a diagnosis name the right cause and the right rank, and nothing where nothing is wrong?

Goals: each cause put in 20 times, seeded, on 8 emulated ranks: right cause and place in 19 or more; in 50 runs with
nothing wrong, none. What counts as right is one finding, of the cause that was put in, at its place. Where others use
the machine so much that it is oversubscribed, that is a finding of its own, true or not, and counted beside.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass

import numpy as np
from rich.console import Console
from rich.progress import Progress

import hemiola as hm
from busy_processes import busy_processes
from hemiola.cli.output import table
from hemiola.diagnosis import Cause, Diagnosis
from hemiola.machine.capacity import core_count, describe_machine
from hemiola.measure.checkup import Checkup, Faults, check_up

RANKS = 8
NOTHING = "nothing"
CAUSES = (*map(str, Cause), NOTHING)


@dataclass(frozen=True)
class Case:
    """A run: what is put in, by its seed; `place` is what a finding must name."""

    cause: str
    seed: int
    network: hm.Topology
    faults: Faults
    place: str
    busy: int = 0


@dataclass(frozen=True)
class Outcome:
    """What was found, and whether that is right, whatever is said about the machine."""

    cause: str
    seed: int
    place: str
    found: list[str]
    right: bool
    oversubscribed: bool
    load: float
    step_s: float


def networks() -> dict[str, hm.Topology]:
    """Return a switch of 8 hosts, a cube of 8, and 4 hosts of 2 ranks behind a switch."""
    latency_s, bandwidth = 50e-6, 20e6
    switch = hm.topologies.switch(RANKS, latency_s=latency_s, bandwidth=bandwidth)
    pairs = hm.Topology(
        RANKS, switch.links, switch_count=1, nodes=[rank // 2 for rank in range(RANKS)], name="4 hosts of 2"
    )
    cube = hm.topologies.mesh([2, 2, 2], latency_s=latency_s, bandwidth=bandwidth)
    return {"switch": switch, "cube": cube, "pairs": pairs}


def case_of(cause: str, seed: int) -> Case:
    """Draw a run: where, and how much; all of it from the seed."""
    rng = np.random.default_rng([CAUSES.index(cause), seed])
    known = networks()
    rank = int(rng.integers(RANKS))
    if cause == Cause.COMPUTE_LATE:
        network = known[("switch", "cube", "pairs")[seed % 3]]
        return Case(cause, seed, network, Faults(late={rank: rng.uniform(6e-3, 25e-3)}), f"rank {rank}")
    if cause == Cause.NIC_SLOW:
        network = known[("switch", "cube")[seed % 2]]
        return Case(cause, seed, network, Faults(slow={rank: rng.uniform(1.6, 5)}), f"rank {rank}")
    if cause == Cause.HOST_SLOW:
        network = known[("switch", "pairs")[seed % 2]]
        host = int(rng.integers(network.node_count))
        return Case(cause, seed, network, Faults(slow_hosts={host: rng.uniform(4, 8)}), f"host {host} ")
    if cause == Cause.LINK_SLOW:
        links = known["cube"].links
        link = links[int(rng.integers(len(links)))]
        ends = int(min(link["src"], link["dst"])), int(max(link["src"], link["dst"]))
        faults = Faults(slow_links={ends: rng.uniform(1.8, 6)})
        return Case(cause, seed, known["cube"], faults, f"link {ends[0]} to {ends[1]}")
    network = known[("switch", "cube", "pairs")[seed % 3]]
    if cause == Cause.OVERSUBSCRIBED:
        return Case(
            cause, seed, network, Faults(), "this machine", busy=int(rng.integers(4, 9)) * core_count()
        )
    return Case(cause, seed, network, Faults(), "")


def run(case: Case) -> Outcome:
    """Put the fault in, look, and compare."""
    load = os.getloadavg()[0]
    with busy_processes(case.busy):
        found = check_up(Checkup(RANKS, case.network, case.faults), timeout_s=300)
    return Outcome(
        case.cause,
        case.seed,
        case.place,
        [f"{one.cause}: {one.where}" for one in found.findings],
        is_right(case, found),
        any(one.cause is Cause.OVERSUBSCRIBED for one in found.findings),
        load,
        found.step_s,
    )


def is_right(case: Case, found: Diagnosis) -> bool:
    """Say whether the finding is the one, and the only one."""
    if case.cause == Cause.OVERSUBSCRIBED:
        return [one.cause for one in found.findings] == [Cause.OVERSUBSCRIBED]
    named = [one for one in found.findings if one.cause is not Cause.OVERSUBSCRIBED]
    if case.cause == NOTHING:
        return not named
    return len(named) == 1 and named[0].cause == case.cause and f"{named[0].where} ".startswith(case.place)


def summary(outcomes: list[Outcome]) -> dict[str, dict[str, int]]:
    """Count by cause: rounds, right ones, and those in which the machine was called oversubscribed."""
    counted = {}
    for cause in CAUSES:
        of_cause = [one for one in outcomes if one.cause == cause]
        counted[cause] = {
            "rounds": len(of_cause),
            "right": sum(one.right for one in of_cause),
            "oversubscribed": sum(one.oversubscribed for one in of_cause),
        }
    return counted


def main() -> int:
    """Run all causes in turn, print a table and a JSON line; exit status 1 where a goal was missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=20, help="of each cause; with nothing wrong 5 for 2 of these"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--cause", choices=CAUSES, help="only this one")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no round after so many")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    options = parser.parse_args()
    clean = options.rounds * 5 // 2
    cases = [
        case_of(cause, seed)
        for seed in range(options.seed, options.seed + clean)
        for cause in CAUSES
        if options.cause in (None, cause) and (cause == NOTHING or seed < options.seed + options.rounds)
    ]
    outcomes, end = [], time.monotonic() + 60 * options.minutes
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("diagnosing", total=len(cases))
        for case in cases:
            if time.monotonic() > end:
                break
            outcomes.append(run(case))
            if not outcomes[-1].right:
                progress.console.print(f"wrong: {outcomes[-1]}")
            progress.advance(task)
    counted = summary(outcomes)
    missed = any(
        one["right"] < one["rounds"] if cause == NOTHING else 20 * one["right"] < 19 * one["rounds"]
        for cause, one in counted.items()
    )
    result = {"machine": describe_machine(), "ranks": RANKS, "seed": options.seed, "causes": counted}
    if options.json:
        print(json.dumps({**result, "outcomes": [asdict(one) for one in outcomes]}))
    else:
        loads = [one.load for one in outcomes]
        shown = table(
            "cause", "rounds", "right", "machine oversubscribed", left=("cause",), title=describe_machine()
        )
        for cause, one in counted.items():
            shown.add_row(cause, *map(str, one.values()))
        Console().print(shown)
        print(f"load of the machine when rounds began: {min(loads):.1f} to {max(loads):.1f}")
        print(json.dumps(result))
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
