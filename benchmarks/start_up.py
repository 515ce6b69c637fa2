# SPDX-License-Identifier: Apache-2.0
"""How long it takes until a job has done its first call, beside MPI's launchers, and what importing costs.

Goals: ahead of Open MPI and MPICH from the launcher's start to the end of a first all-reduce of 8 bytes on all ranks,
with NumPy loaded, whose first call takes 10 ms at most; `import hemiola` takes 1.2 times `import numpy` at most, and
`hemiola --help` 0.4 s of processor time. Contenders take turns. `hm.launch` is called in a Python that runs already,
from where its time counts; `hemiola launch` and mpirun are commands, from whose start theirs does. The first call's
time counts from the last rank's coming to it."""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import hemiola as hm
import history
from start_up_rank import first_call

RANK_SCRIPT = Path(__file__).with_name("start_up_rank.py")
CONTENDERS = ("hm.launch", "hemiola launch", "openmpi", "mpich")
IMPORTS = {
    "import numpy": ["-c", "import numpy"],
    "import hemiola": ["-c", "import hemiola"],
    "hemiola --help": ["-m", "hemiola", "--help"],
}
LIMIT_S = 120


def launched(contender: str, ranks: int) -> tuple[float, float]:
    """Start a job; return the seconds until all ranks had done their first call, and what that call took."""
    begun_s = time.monotonic()
    if contender == "hm.launch":
        seen = [times for _, *times in hm.launch(first_call, ranks, "hemiola", timeout_s=LIMIT_S)]
    else:
        said = subprocess.run(
            command_of(contender, ranks),
            check=True,
            timeout=LIMIT_S,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        ).stdout
        seen = [[float(word) for word in pair] for pair in re.findall(r"<\d+ ([\d.]+) ([\d.]+)>", said)]
    if len(seen) != ranks:
        raise RuntimeError(f"{contender}: {len(seen)} of {ranks} ranks have said their times")
    end_s = max(end for _, end in seen)
    return end_s - begun_s, end_s - max(begin for begin, _ in seen)


def command_of(contender: str, ranks: int) -> list[str]:
    """Return the command that starts a job's ranks."""
    # Not at the top: ranks of hm.launch import this script, MPI's do not.
    from contenders import peer_python

    if contender == "hemiola launch":
        launcher = [sys.executable, "-m", "hemiola", "launch", "-n", str(ranks), sys.executable]
        return [*launcher, str(RANK_SCRIPT), "hemiola"]
    python = peer_python(contender)
    flags = ["--map-by", ":OVERSUBSCRIBE"] if contender == "openmpi" else []
    launcher = [str(python.parent / "mpirun"), "-n", str(ranks), *flags, str(python)]
    return [*launcher, str(RANK_SCRIPT), contender]


def processor_s(words: list[str]) -> float:
    """Return the processor time that a Python takes, from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def spread(values: list[float], unit: float) -> str:
    """Write a median, and the least and the most in brackets."""
    middle, low, high = (unit * each for each in (statistics.median(values), min(values), max(values)))
    return f"{middle:.3g} ({low:.3g}-{high:.3g})"


def main() -> None:
    """Measure, and print a table of launches and one of imports."""
    from rich.console import Console

    from hemiola.cli.output import table
    from hemiola.machine.capacity import describe_machine
    from hemiola.progress import ProgressBar

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json", action="store_true", help="print a line of JSON instead of tables")
    history.add_option(parser)
    given = parser.parse_args()
    # An installed package is compiled to bytecode, as the peers' are; a checkout is when it is first imported.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    load = os.getloadavg()[0]
    jobs = [(ranks, contender) for ranks in given.ranks for contender in CONTENDERS]
    found: dict[tuple[int, str], list[tuple[float, float]]] = {job: [] for job in jobs}
    cost: dict[str, list[float]] = {what: [] for what in IMPORTS}
    for ranks, contender in jobs:
        launched(contender, ranks)  # files that are read come from memory from here on
    with ProgressBar("starting") as bar:
        for turn in range(given.rounds):
            bar(turn, given.rounds)
            for ranks, contender in jobs:
                found[ranks, contender].append(launched(contender, ranks))
            for what, words in IMPORTS.items():
                cost[what].append(processor_s(words))
    machine = f"{describe_machine()}; load {load:.1f} at the beginning; {given.rounds} rounds in turn"
    launches: list[dict[str, Any]] = [
        {"ranks": ranks, "contender": contender, "seconds": [list(pair) for pair in seen]}
        for (ranks, contender), seen in found.items()
    ]
    history.record(given, launches)
    if given.json:
        print(json.dumps({"machine": machine, "launches": launches, "processor_s": cost}))
        return
    console = Console()
    shown = table(
        "", "ranks", "until the first call is over, s", "the first call, ms", title=machine, left=[""]
    )
    for (ranks, contender), seen in found.items():
        whole_s, call_s = zip(*seen, strict=True)
        shown.add_row(contender, str(ranks), spread(list(whole_s), 1), spread(list(call_s), 1e3))
    console.print(shown)
    shown = table("", "processor time, s", "÷ import numpy", left=[""])
    for what, seconds in cost.items():
        ratios = [own / numpy for own, numpy in zip(seconds, cost["import numpy"], strict=True)]
        shown.add_row(what, spread(seconds, 1), spread(ratios, 1))
    console.print(shown)


if __name__ == "__main__":
    main()
