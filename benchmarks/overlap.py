# SPDX-License-Identifier: Apache-2.0
"""How much of an operation hides behind work, on as many cores as ranks, beside PyTorch's Gloo in the same run.

Goal: the share hidden, (alone + work - together) / alone, is at least Gloo's, in each cell; one is missed where the
interval of the difference, at 95 %, lies below zero. `alone` blocks in the operation, as whoever has nothing else to do
would; `work` is as long as that, by each contender's own measure; `together` starts the operation, works, and waits.
Contenders take turns; `hemiola_again` is hemiola against itself. `left` is together - work: what the operation costs
whoever works beside it, in time, which is what a user pays. `done` is when the operation is over beside a caller who
works in Python for 60 ms without a pause, at most these.

The limit: every core has a rank that works, so what hides is waiting alone. A copy takes the core from the work,
whoever makes it, and so does a core's wait for memory (its other thread, where it has one, is another rank's core).
What the ranks of a contender do not use of their cores while the operation runs alone, 1 - processor time / alone, is
printed as `idle`: it bounds the share from above, but for waiting that spins, which counts as used and may be hidden,
too, and for what the processor does otherwise when two things run on it in turn."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

import history
from contenders import ROOT, Contender, contender, repeats_for
from hemiola.cli.output import table
from hemiola.machine.capacity import describe_machine
from hemiola.units import format_bytes
from hemiola.whole_file import write_whole
from spread import spread

RANK_SCRIPT = ROOT / "benchmarks" / "overlap_rank.py"
OURS, AGAIN, PEER = "hemiola", "hemiola_again", "gloo"
CONTENDERS = (OURS, AGAIN, "hemiola_torch", PEER)
COLLECTIVES = ("all_reduce", "all_gather")
WORKS = ("python", "elements", "product")
MOST_REPEATS = 2000
DONE_REPEATS = 3


@dataclass(frozen=True)
class Cell:
    """What is measured: so many operations at once, and the work beside them."""

    collective: str
    nbytes: int
    operations: int
    work: str

    @property
    def moved(self) -> tuple[str, int, int]:
        return self.collective, self.nbytes, self.operations


@dataclass
class Seen:
    """One contender's rounds of one cell, in seconds, and its ranks' processor time alone."""

    units: int
    alone: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    together: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    done: list[float] = field(default_factory=list)

    @property
    def hidden(self) -> list[float]:
        """The share of the operation that hides."""
        return [(a + w - t) / a for a, w, t in zip(self.alone, self.work, self.together, strict=True)]

    @property
    def left(self) -> list[float]:
        """What the operation costs beside work."""
        return [t - w for w, t in zip(self.work, self.together, strict=True)]

    @property
    def idle(self) -> list[float]:
        """The share of the cores that the operation alone leaves."""
        return [1 - c / a for a, c in zip(self.alone, self.cpu, strict=True)]

    def as_row(self) -> dict[str, Any]:
        names = ("alone", "work", "together", "cpu", "hidden", "left", "idle", *["done"] * bool(self.done))
        return {"units": self.units, **{name: spread(getattr(self, name)) for name in names}}


def asked(of: Contender, *order: object) -> tuple[float, float]:
    """Order a measurement; return seconds, and processor seconds a rank."""
    seconds, cpu_s = of.ask(*order)
    return float(seconds), float(cpu_s)


def units_for(of: Contender, work: str, seconds: float) -> int:
    """Return how much work takes as long as that."""
    units = 1
    while (taken_s := asked(of, "work", work, units, 3)[0]) < 2e-3:
        units *= 4
    return max(1, round(units * seconds / taken_s))


def measure(cell: Cell, contenders: list[Contender], rounds: int, tick: Any) -> dict[str, Any]:
    """Measure one cell, contenders in turn in every round."""
    wrong = {c.name: int(c.ask("check", *cell.moved)[0]) for c in contenders}
    seen, repeats = {}, {}
    for c in contenders:
        alone_s = asked(
            c, "alone", *cell.moved, repeats_for(asked(c, "alone", *cell.moved, 3)[0], MOST_REPEATS)
        )[0]
        seen[c.name] = Seen(units_for(c, cell.work, alone_s))
        repeats[c.name] = repeats_for(alone_s, MOST_REPEATS)
    for turn in range(rounds):
        for c in contenders[turn % len(contenders) :] + contenders[: turn % len(contenders)]:
            of, count = seen[c.name], repeats[c.name]
            alone_s, cpu_s = asked(c, "alone", *cell.moved, count)
            of.alone.append(alone_s)
            of.cpu.append(cpu_s)
            of.work.append(asked(c, "work", cell.work, of.units, count)[0])
            of.together.append(asked(c, "together", *cell.moved, cell.work, of.units, count)[0])
            if cell.work == "python":
                of.done.append(asked(c, "done", *cell.moved, DONE_REPEATS)[0])
        tick()
    ours = seen[OURS].hidden
    return {
        "collective": cell.collective,
        "bytes": cell.nbytes,
        "operations": cell.operations,
        "work": cell.work,
        "wrong": wrong,
        "seen": {name: of.as_row() for name, of in seen.items()},
        "less_hidden": {
            name: spread([o - t for o, t in zip(ours, of.hidden, strict=True)])
            for name, of in seen.items()
            if name != OURS
        },
    }


def behind(rows: list[dict[str, Any]]) -> list[str]:
    """Say in which cells Gloo certainly hides a larger share."""
    return [
        f"{row['collective']}, {format_bytes(row['bytes'])}, {row['work']}: {with_interval(row['less_hidden'][PEER])}"
        for row in rows
        if PEER in row["less_hidden"] and row["less_hidden"][PEER]["high"] < 0
    ]


def with_interval(value: dict[str, float], unit: float = 100, digits: int = 0) -> str:
    """Write a median and its interval, shares in per cent."""
    middle, low, high = (f"{unit * value[name]:,.{digits}f}" for name in ("median", "low", "high"))
    return f"{middle} ({low} to {high})"


def show(rows: list[dict[str, Any]], names: list[str], console: Console) -> None:
    """Print a table: a line per cell and contender."""
    shown = table(
        "operation",
        "work",
        "contender",
        "alone µs",
        "idle %",
        "work µs",
        "together µs",
        "left µs",
        "done µs",
        "hidden %",
        "hemiola's more",
        left=("operation", "work", "contender"),
    )
    for row in rows:
        many = f"{row['operations']} × " if row["operations"] > 1 else ""
        for name in names:
            of = row["seen"][name]
            medians = (f"{of[what]['median'] * 1e6:,.0f}" for what in ("work", "together", "left"))
            shown.add_row(
                f"{many}{row['collective']} {format_bytes(row['bytes'])}",
                row["work"],
                name,
                f"{of['alone']['median'] * 1e6:,.0f}",
                f"{100 * of['idle']['median']:.0f}",
                *medians,
                with_interval(of["done"], 1e6) if "done" in of else "",
                with_interval(of["hidden"]),
                with_interval(row["less_hidden"][name]) if name != OURS else "",
            )
    console.print(shown)


def main() -> int:
    """Measure, print, write JSON lines; exit status 1 if the goal was missed or an element was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1 << 20, 16 << 20, 64 << 20])
    parser.add_argument("--operations", type=int, default=1, help="started at once, before the work")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--collectives", nargs="+", choices=COLLECTIVES, default=list(COLLECTIVES))
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--json", action="store_true", help="print lines of JSON instead of a table")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "benchmarks" / "overlap.jsonl")
    history.add_option(parser)
    given = parser.parse_args()
    if OURS not in given.contenders:
        parser.error(f"expected {OURS} among --contenders, found {', '.join(given.contenders)}")
    cells = [
        Cell(collective, nbytes, given.operations, work)
        for collective in given.collectives
        for nbytes in given.sizes
        for work in given.works
    ]
    load = [os.getloadavg()[0]]
    with Progress(console=Console(stderr=True)) as progress, contextlib.ExitStack() as stack:
        task = progress.add_task("rounds", total=len(cells) * given.rounds)
        started = [
            stack.enter_context(contender(name, given.ranks, RANK_SCRIPT)) for name in given.contenders
        ]
        rows = [measure(cell, started, given.rounds, lambda: progress.advance(task)) for cell in cells]
    load.append(os.getloadavg()[0])
    history.record(given, rows)
    missed = behind(rows)
    wrong = sum(sum(row["wrong"].values()) for row in rows)
    head = {
        "machine": describe_machine(),
        "load": load,
        "rounds": given.rounds,
        "behind": missed,
        "wrong": wrong,
    }
    lines = [json.dumps(line) for line in (head, *rows)]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(given.out, "".join(line + "\n" for line in lines))
    if given.json:
        print("\n".join(lines))
        return 1 if missed or wrong else 0
    console = Console(width=200)
    console.print(
        f"{describe_machine()}; load {load[0]:.1f} to {load[1]:.1f}; {given.ranks} ranks; "
        f"{given.rounds} rounds in turn; median (its interval at 95 %); {wrong} wrong elements"
    )
    show(rows, given.contenders, console)
    for line in missed:
        console.print(f"behind: {line}")
    if PEER in given.contenders:
        verdict = "MISSED" if missed else "met"
        console.print(f"{len(missed)} of {len(rows)} cells certainly behind Gloo: {verdict}")
    console.print("what can hide is waiting (idle, and spinning), no copy")
    return 1 if missed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
