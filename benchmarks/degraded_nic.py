# SPDX-License-Identifier: Apache-2.0
"""A NIC degrades in the middle of a run of all-reduces, and recovers: after how many operations is it planned for?

Goals (issue "asymmetry in bandwidth"): a new schedule in force within 10 operations, every result exact, back again
within 10 operations after recovery. Beside it, in the same emulated network with the same events, a ring that is
never replaced.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import dataclass

import numpy as np
from rich.console import Console

import hemiola as hm
from hemiola.cli.output import table
from hemiola.machine.capacity import describe_machine
from hemiola.units import format_bytes, format_seconds, parse_bytes


@dataclass(frozen=True)
class Run:
    """`operations` all-reduces; rank `slow` gets slower by `factor` before `degrade` and is well before `recover`."""

    nbytes: int
    operations: int
    degrade: int
    recover: int
    slow: int
    factor: float
    schedule: str | None


@dataclass(frozen=True)
class Outcome:
    """What one rank saw: seconds and schedule of each operation, wrong elements, and what came into force when."""

    seconds: list[float]
    names: list[str]
    wrong: int
    degraded_at: int
    recovered_at: int
    changes: list[tuple[int, dict[int, float]]]


def work(run: Run) -> Outcome:
    """Be one of the ranks."""
    comm = hm.init()
    seconds, names, wrong, at = [], [], 0, {}
    own = np.arange(run.nbytes // 8, dtype=np.int64)
    total = comm.rank_count * (comm.rank_count - 1) // 2
    x = np.empty_like(own)
    for number in range(run.operations):
        if number in (run.degrade, run.recover):
            at[number] = comm.health().operation_count
            if comm.rank == 0:
                comm.degrade({run.slow: run.factor} if number == run.degrade else {})
        np.add(own, comm.rank + number, out=x)
        names.append(run.schedule or comm.plan("all_reduce", run.nbytes).alternatives[0].label)
        begin = time.perf_counter()
        comm.all_reduce(x, schedule=run.schedule)
        seconds.append(time.perf_counter() - begin)
        wrong += int(np.count_nonzero(x != comm.rank_count * (own + number) + total))
    changes = [(change.operation, dict(change.slow)) for change in comm.health().changes]
    return Outcome(seconds, names, wrong, at[run.degrade], at[run.recover], changes)


def phases(run: Run, settled: int = 10) -> dict[str, range]:
    """Name the stretches of a run; the first `settled` operations after an event stand alone."""
    return {
        "healthy": range(settled, run.degrade),
        "just degraded": range(run.degrade, run.degrade + 5),
        "degraded": range(run.degrade + settled, run.recover),
        "recovered": range(run.recover + settled, run.operations),
    }


def lag(outcome: Outcome, event: int, end: int | None = None) -> int | None:
    """Return the operations from an event to the first change of the plan after it."""
    return next((n - event for n, _ in outcome.changes if n >= event and (end is None or n < end)), None)


def main() -> int:
    """Measure both, print a table and a JSON line; exit status 1 if an element was wrong or a goal was missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--size", type=parse_bytes, default=4 << 20)
    parser.add_argument("--factor", type=float, default=2.0)
    parser.add_argument("--bandwidth", type=float, default=200e6, help="of a port, bytes per second")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    options = parser.parse_args()
    network = hm.topologies.switch(options.ranks, latency_s=20e-6, bandwidth=options.bandwidth)
    outcomes = {}
    for name, schedule in (("planned", None), ("ring", "all_reduce_ring")):
        run = Run(options.size, 200, 60, 140, options.ranks // 2, options.factor, schedule)
        outcomes[name] = hm.launch(work, options.ranks, run, emulate=network)
    planned = outcomes["planned"][0]
    lags = (lag(planned, planned.degraded_at, planned.recovered_at), lag(planned, planned.recovered_at))
    wrong = sum(outcome.wrong for ranks in outcomes.values() for outcome in ranks)
    medians = {
        name: {
            phase: statistics.median(ranks[0].seconds[i] for i in span) for phase, span in phases(run).items()
        }
        for name, ranks in outcomes.items()
    }
    result = {
        "machine": describe_machine(),
        "ranks": options.ranks,
        "nbytes": options.size,
        "factor": options.factor,
        "operations_until_planned": lags[0],
        "operations_until_planned_back": lags[1],
        "changes": planned.changes,
        "wrong": wrong,
        "median_s": medians,
    }
    if options.json:
        print(json.dumps(result))
    else:
        show(result, run, planned, medians)
    return 0 if wrong == 0 and all(one is not None and one <= 10 for one in lags) else 1


def show(result: dict[str, object], run: Run, planned: Outcome, medians: dict[str, dict[str, float]]) -> None:
    """Print a row per stretch."""
    shown = table(
        "stretch", "schedule", "planned", "ring", "÷ healthy", "ring ÷ healthy", left=("stretch", "schedule")
    )
    for phase, span in phases(run).items():
        mine, ring = medians["planned"], medians["ring"]
        shown.add_row(
            phase,
            planned.names[span[-1]],
            format_seconds(mine[phase]),
            format_seconds(ring[phase]),
            f"{mine[phase] / mine['healthy']:.2f}",
            f"{ring[phase] / ring['healthy']:.2f}",
        )
    console = Console(width=120)
    console.print(f"{result['machine']}; {format_bytes(run.nbytes)}, {result['ranks']} ranks; medians")
    console.print(shown)
    console.print(
        f"rank {run.slow} slower by {run.factor:g}: planned for after {result['operations_until_planned']} operations, "
        f"back after {result['operations_until_planned_back']}; {result['wrong']} wrong elements in 200 all-reduces"
    )


if __name__ == "__main__":
    raise SystemExit(main())
