# SPDX-License-Identifier: Apache-2.0
"""What-if questions about 4,096 ranks: how long the first one takes; and how much memory a large trace takes.

Goals: a question takes at most a second, imports included, and a trace of 1 GB is read in at most 2 GB of memory. Each
question has a process of its own, so that nothing is remembered. Times of questions are processor times, which
neighbours on the machine hardly change. The start of the interpreter does not count."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

import hemiola as hm
import history
from hemiola.cli.output import table
from hemiola.progress import ProgressBar
from large_traces import WRITERS

MOST_S, MOST_BYTES = 1.0, 2 << 30
#: By name: the subject, and the options of the command.
QUESTIONS: dict[str, tuple[str, list[str]]] = {
    "DDP": ("gpt-7b", []),
    "tensor groups of 8": ("gpt-7b", ["--parallel", "tp=8"]),
    "FSDP": ("gpt-7b", ["--parallel", "fsdp"]),
    "pipeline": ("gpt-7b", ["--parallel", "tp=8,pp=4,micro=8"]),
    "a slow rank": ("gpt-7b", ["--slow", "7=2"]),
    "a late rank": ("gpt-7b", ["--late", "7=50ms"]),
    "a trace": ("trace.json", []),
}
#: Asks the command's question with its own arguments; says the seconds of all of it, and of `hemiola.whatif` alone.
_CHILD = """
import time; begun = time.process_time()
import sys
from hemiola.cli import main
import hemiola.workload as workload
asked, spent = workload.whatif, []
def timed(*given, **named):
    begun = time.process_time()
    found = asked(*given, **named)
    spent.append(time.process_time() - begun)
    return found
workload.whatif = timed
assert main(sys.argv[1:]) == 0
print(time.process_time() - begun, spent[0], file=sys.stderr)
"""
#: Reads a trace; says the seconds, its tasks, and the most memory that the process has had, in bytes.
_READER = """
import resource, sys, time
from hemiola.workload.reading import model_or_step
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begun = time.perf_counter()
step = model_or_step(sys.argv[1])
print(time.perf_counter() - begun, len(step.tasks), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)
"""


def questions(folder: Path, rounds: int) -> list[dict[str, Any]]:
    """Return a row for each question, with the times of each round."""
    network = hm.topologies.hosts(
        512, 8, 8, latency_s=1e-6, bandwidth=150e9, nic_latency_s=3e-6, nic_bandwidth=25e9
    )
    network.save(folder / "network.yaml")
    WRITERS["PyTorch"](folder / "trace.json", 1 << 20)
    found: dict[str, list[list[float]]] = {name: [] for name in QUESTIONS}
    with ProgressBar("asking") as bar:
        for turn in range(rounds):
            bar(turn, rounds)
            for name, (subject, options) in QUESTIONS.items():
                words = ["whatif", subject, "--topology", "network.yaml", "--json", *options]
                found[name].append(_numbers([sys.executable, "-c", _CHILD, *words], folder)[1])
    return [
        {"question": name, "command_s": [one[0] for one in seen], "whatif_s": [one[1] for one in seen]}
        for name, seen in found.items()
    ]


def traces(folder: Path, nbytes: int) -> list[dict[str, Any]]:
    """Return a row for each kind of trace of so many bytes; the files are deleted."""
    rows = []
    for name, write in WRITERS.items():
        path = folder / "large.json"  # a name that no reader minds
        write(path, nbytes)
        (seconds, tasks, peak), _ = _numbers([sys.executable, "-c", _READER, str(path)], folder)
        rows.append(
            {
                "trace": name,
                "bytes": path.stat().st_size,
                "s": seconds,
                "tasks": int(tasks),
                "peak": int(peak),
            }
        )
        path.unlink()
    return rows


def _numbers(command: Sequence[str], folder: Path) -> tuple[list[float], list[float]]:
    """Return the numbers that a process says on its output, and on its errors."""
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    said = ran.stdout if "{" not in ran.stdout else ""
    return [float(word) for word in said.split()], [float(word) for word in ran.stderr.split()]


def _show(rows: Sequence[dict[str, Any]], console: Console) -> None:
    asked = table("question", "hemiola.whatif, CPU s", "command, CPU s", left=("question",))
    read = table("trace", "GB", "seconds", "tasks", "peak, GB", left=("trace",))
    for row in rows:
        if "question" in row:
            asked.add_row(row["question"], _spread(row["whatif_s"]), _spread(row["command_s"]))
        else:
            size, peak = (f"{row[key] / 1e9:.2f}" for key in ("bytes", "peak"))
            read.add_row(row["trace"], size, f"{row['s']:.0f}", f"{row['tasks']:,}", peak)
    for shown in (asked, read):
        if shown.row_count:
            console.print(shown)


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def _is_met(row: dict[str, Any]) -> bool:
    if "question" in row:
        return float(statistics.median(row["command_s"])) <= MOST_S
    return int(row["peak"]) <= MOST_BYTES


def main() -> int:
    """Ask, or read large traces; print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--traces", type=int, metavar="BYTES", help="read traces of so many bytes instead")
    parser.add_argument("--json", action="store_true", help="print lines of JSON instead of tables")
    history.add_option(parser)
    asked = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = traces(folder, asked.traces) if asked.traces else questions(folder, asked.rounds)
    return history.conclude(asked, rows, _show, _is_met)


if __name__ == "__main__":
    sys.exit(main())
