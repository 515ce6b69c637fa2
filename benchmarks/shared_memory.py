# SPDX-License-Identifier: Apache-2.0
"""Collectives between processes of one machine, beside PyTorch's Gloo, Open MPI, MPICH, Intel MPI and UCC in one run.

Goals: no cell whose interval of the ratio to the fastest peer lies below 1, and 1.3 in the median cell. The interval is
that of the median over the rounds, by their order, at 95 % or more. `again` is hemiola a second time, against itself.
Contenders take turns (each round measures every one of them). All arrays are ordinary NumPy arrays.

Ranks write the arrays that they send anew before each call; the time of writing is taken off. The barrier moves no
bytes, and has one row.

The all-reduce is measured three times. Out of place, inputs survive a failure whatever the library (Gloo, which works
in place only, is given a copy, as its users must). In place, hemiola keeps the inputs aside to put them back after a
failure, so it writes twice as much as the peers, who do not; `unkept` is hemiola with keep_inputs=False, which promises
as little as they do."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

import history
from busy_processes import busy_processes
from contenders import PEERS, ROOT, Contender, contender, present, repeats_for
from hemiola.cli.output import table
from hemiola.machine.capacity import core_count, describe_machine
from hemiola.units import format_bytes
from hemiola.view import style
from hemiola.whole_file import write_whole
from spread import spread

RANK_SCRIPT = ROOT / "benchmarks" / "shared_memory_rank.py"
#: What is measured, and who stands for hemiola in it.
COLLECTIVES = {
    "all_reduce": "hemiola",
    "all_reduce_in_place": "hemiola",
    "all_reduce_in_place_unkept": "hemiola_unkept",
    "all_gather": "hemiola",
    "reduce_scatter": "hemiola",
    "all_to_all": "hemiola",
    "broadcast": "hemiola_unkept",
    "barrier": "hemiola",
}
#: Hemiola once more, as a control.
AGAIN = "hemiola_again"
LEAST_MEDIAN = 1.3
MOST_REPEATS = 5000


def memory_limit_s(nbytes: int) -> float:
    """Measure the least time in which two threads read two buffers and write two, as a two-rank all-reduce must."""
    a, b = (np.ones(nbytes // 4, dtype=np.float32) for _ in range(2))
    c, d = np.zeros_like(a), np.zeros_like(b)
    block = 16 << 10

    def half(begin: int, end: int) -> None:
        for i in range(begin, end, block):
            part = slice(i, min(i + block, end))
            np.add(a[part], b[part], out=c[part])
            np.copyto(d[part], c[part])

    best = float("inf")
    middle = len(a) // 2
    for _ in range(10):
        threads = [threading.Thread(target=half, args=bounds) for bounds in ((0, middle), (middle, len(a)))]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        best = min(best, time.perf_counter() - begin)
    return best


def measured(of: Contender, collective: str, nbytes: int, repeats: int) -> tuple[float, int]:
    """Order one measurement; return seconds per operation and wrong elements."""
    seconds, wrong = of.ask(collective, nbytes, repeats)
    return float(seconds), int(wrong)


def run(
    ranks: int, names: list[str], collectives: list[str], sizes: list[int], rounds: int, progress: Progress
) -> list[dict[str, Any]]:
    """Measure all contenders for one rank count, in turns."""
    rows: list[dict[str, Any]] = []
    task = progress.add_task(f"{ranks} ranks", total=len(collectives) * len(sizes) * rounds)
    with contextlib.ExitStack() as stack:
        started = {name: stack.enter_context(contender(name, ranks, RANK_SCRIPT)) for name in names}
        for collective in collectives:
            ours = COLLECTIVES[collective]
            again = AGAIN if ours == "hemiola" else ""
            contenders = [c for name, c in started.items() if name in (ours, again, *PEERS)]
            for nbytes in sizes if collective != "barrier" else [0]:
                wrong = {c.name: measured(c, collective, nbytes, 0)[1] for c in contenders}
                repeats = {
                    c.name: repeats_for(measured(c, collective, nbytes, 3)[0], MOST_REPEATS)
                    for c in contenders
                }
                times: dict[str, list[float]] = {c.name: [] for c in contenders}
                for turn in range(rounds):
                    for c in contenders[turn % len(contenders) :] + contenders[: turn % len(contenders)]:
                        times[c.name].append(measured(c, collective, nbytes, repeats[c.name])[0])
                    progress.advance(task)
                rows.append(
                    {
                        "collective": collective,
                        "ranks": ranks,
                        "bytes": nbytes,
                        "rounds": rounds,
                        "seconds": {name: spread(values) for name, values in times.items()},
                        "wrong": wrong,
                        "over_hemiola": {
                            name: spread([b / a for a, b in zip(times[ours], values, strict=True)])
                            for name, values in times.items()
                            if name != ours
                        },
                    }
                )
    return rows


def fastest_peer(row: dict[str, Any]) -> str:
    """Return the peer with the least median time."""
    peers = [str(name) for name in row["seconds"] if name in PEERS]
    return min(peers, key=lambda name: float(row["seconds"][name]["median"]))


def judge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Say in which cells the fastest peer is certainly faster, and by how much hemiola is ahead in the median cell."""
    beside = [row for row in rows if not PEERS.keys().isdisjoint(row["seconds"])]
    cells = [(row, row["over_hemiola"][fastest_peer(row)]) for row in beside]
    behind = [
        f"{row['collective']}, {row['ranks']} ranks, {format_bytes(row['bytes'])}: {fastest_peer(row)} "
        f"{ratio['median']:.2f} ({ratio['low']:.2f}-{ratio['high']:.2f})"
        for row, ratio in cells
        if ratio["high"] < 1
    ]
    median = statistics.median(ratio["median"] for _, ratio in cells) if cells else LEAST_MEDIAN
    return {
        "cells": len(cells),
        "behind": behind,
        "median": median,
        "met": not behind and median >= LEAST_MEDIAN,
    }


def show(rows: list[dict[str, Any]], names: list[str], console: Console) -> None:
    """Print medians in µs and, per peer, how many times as long as hemiola it took (with the median's interval)."""
    peers = [name for name in names if name in PEERS]
    columns = (
        "collective",
        "ranks",
        "size",
        "hemiola µs",
        *(f"{p} µs" for p in peers),
        *(f"{p} ÷ hemiola" for p in peers),
        "again ÷ hemiola",
    )
    shown = table(*columns, left=("collective",))
    for row in rows:
        seconds, ratios = row["seconds"], row["over_hemiola"]
        shown.add_row(
            row["collective"],
            str(row["ranks"]),
            format_bytes(row["bytes"]),
            *(f"{seconds[name]['median'] * 1e6:,.2f}" for name in (COLLECTIVES[row["collective"]], *peers)),
            *(
                f"{r['median']:.2f} ({r['low']:.2f}-{r['high']:.2f})" if r else ""
                for r in (ratios.get(name) for name in (*peers, AGAIN))
            ),
        )
    console.print(shown)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw bandwidth (buffer over median time) against size, a panel per collective and rank count."""
    from matplotlib.figure import Figure

    cases = sorted(
        {(r["collective"], r["ranks"]) for r in rows if r["bytes"] > 0}, key=lambda c: (c[1], c[0])
    )
    figure = Figure(figsize=(18, 3.6 * ((len(cases) + 4) // 5)), layout="constrained")
    looks = style.looks_of(("hemiola", *PEERS))
    for index, (collective, ranks) in enumerate(cases):
        axes = figure.add_subplot((len(cases) + 4) // 5, 5, index + 1)
        axes.set_title(f"{collective}, {ranks} ranks", loc="left", fontsize=10, fontweight="bold")
        mine = [r for r in rows if (r["collective"], r["ranks"]) == (collective, ranks)]
        for name in mine[0]["seconds"]:
            if name == AGAIN:
                continue
            x = [r["bytes"] for r in mine]
            y = [r["bytes"] / r["seconds"][name]["median"] / 1e9 for r in mine]
            look = looks[name.split("_")[0]]
            axes.plot(x, y, marker=look.marker, ms=3, label=name.split("_")[0], color=look.color)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("buffer, bytes")
        axes.set_ylabel("GB/s")
        axes.grid(alpha=0.25)
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=4, frameon=False
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    style.save(figure, path)


def main() -> int:
    """Measure, print, write JSON lines and a picture; exit status 1 if the goal was missed or an element was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[1 << 10, 4 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20],
    )
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--collectives", nargs="+", choices=list(COLLECTIVES), default=list(COLLECTIVES))
    parser.add_argument("--busy", action="store_true", help="with a process that never rests on each core")
    parser.add_argument("--json", action="store_true", help="print lines of JSON instead of tables")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "benchmarks" / "shared_memory.jsonl")
    parser.add_argument("--chart", type=Path, default=ROOT / "build" / "benchmarks" / "shared_memory.png")
    history.add_option(parser)
    options = parser.parse_args()
    names = ["hemiola", AGAIN, "hemiola_unkept", *present(options.peers)]
    limits = {nbytes: memory_limit_s(nbytes) for nbytes in options.sizes if nbytes >= 1 << 20}
    rows: list[dict[str, Any]] = []
    load = [os.getloadavg()[0]]
    with (
        Progress(console=Console(stderr=True)) as progress,
        busy_processes(core_count() if options.busy else 0),
    ):
        for ranks in options.ranks:
            rows += run(ranks, names, options.collectives, options.sizes, options.rounds, progress)
    load.append(os.getloadavg()[0])
    history.record(options, rows)
    verdict = judge(rows)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    head = {
        "machine": describe_machine(),
        "load": load,
        "busy": options.busy,
        "memory_limit_s": limits,
        **verdict,
    }
    lines = [head, *rows]
    write_whole(options.out, "".join(json.dumps(line) + "\n" for line in lines))
    wrong = sum(sum(row["wrong"].values()) for row in rows)
    console = Console(width=200)
    if options.json:
        for line in lines:
            print(json.dumps(line))
        return 0 if verdict["met"] and not wrong else 1
    console.print(
        f"{describe_machine()}; load {load[0]:.1f} to {load[1]:.1f}{', a busy neighbour on each core' * options.busy}; "
        f"{options.rounds} rounds in turn; median (its interval at 95 %)"
    )
    show(rows, names, console)
    for nbytes, seconds in limits.items():
        console.print(
            f"memory limit, {format_bytes(nbytes)}: {seconds * 1e6:,.0f} µs for a two-rank all-reduce"
        )
    for line in verdict["behind"]:
        console.print(f"behind: {line}")
    console.print(
        f"{len(verdict['behind'])} of {verdict['cells']} cells certainly behind the fastest peer, "
        f"{verdict['median']:.2f} in the median cell: {'met' if verdict['met'] else 'MISSED'}"
    )
    draw(rows, options.chart)
    return 0 if verdict["met"] and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
