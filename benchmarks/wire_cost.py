# SPDX-License-Identifier: Apache-2.0
"""What a GiB by our TCP wire costs a processor, beside UCX over TCP and a raw loop of send, recv and poll.

Messages of 1 MiB both ways between two processes: over loopback, and between two hosts of a cluster on this machine
whose NICs carry 1 Gbit/s. Over loopback the processor's time is that of the two processes, between hosts that of the
whole machine, so nothing else may run. Each pair takes turns in one run of tcp_wire_benchmark or ucx_wire_benchmark,
which are built where they are missing (`make test` has set that folder up). UCX is PyPI's wheel and, where it is
installed, the system's.

    python benchmarks/wire_cost.py [--rounds 11] [--build FOLDER] [--json]

Exit code 1 where a goal is missed."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

import history
from hemiola.cli.output import table
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine

ROOT = Path(__file__).resolve().parent.parent
ROW = "1 MiB both ways, CPU s/GiB"
_CELLS = re.compile(re.escape(ROW) + r" +(\S+) +(\S+) +(\S+) \((\S+) to (\S+)\)")
_SYSTEM_UCX = Path("/usr/lib/x86_64-linux-gnu/libucp.so.0")


@dataclass(frozen=True)
class Cost:
    """CPU seconds per GiB, medians; the ratio with its quartiles, round by round, and what it may be at most."""

    where: str
    beside: str
    ours: float
    theirs: float
    ratio: float
    low: float
    high: float
    goal: float

    @property
    def is_met(self) -> bool:
        return self.ratio <= self.goal


def build(folder: Path) -> None:
    """Build the two programs in a folder in which the core has been built."""
    targets = ["--target", "tcp_wire_benchmark", "ucx_wire_benchmark"]
    for words in (
        ["-S", str(ROOT), "-B", str(folder), "-DHEMIOLA_TESTS=ON"],
        ["--build", str(folder), *targets],
    ):
        subprocess.run(["cmake", *words], check=True, stdout=subprocess.DEVNULL)


def cells(command: list[str]) -> tuple[float, ...]:
    """Return what a program says in the row that counts."""
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout
    found = _CELLS.search(said)
    if found is None:
        raise SystemExit(f"{command[0]}: expected a row {ROW!r}, found:\n{said}")
    return tuple(float(cell) for cell in found.groups())


def measure(options: argparse.Namespace, where: str, between: list[str]) -> Iterator[Cost]:
    """Measure beside the raw loop and beside each UCX that there is."""
    rounds, goals = str(options.rounds), {"raw loop": 1.3, "UCX": 0.75 if between else 0.5}
    ours, theirs, ratio, low, high = cells([str(options.build / "tcp_wire_benchmark"), rounds, *between])
    yield Cost(where, "raw loop", ours, theirs, ratio, low, high, goals["raw loop"])
    for name, library in ucx_libraries().items():
        program = str(options.build / "ucx_wire_benchmark")
        theirs, ours, ratio, low, high = cells([program, rounds, "tcp", str(library), *between])
        yield Cost(where, name, ours, theirs, 1 / ratio, 1 / high, 1 / low, goals["UCX"])


def ucx_libraries() -> dict[str, Path]:
    """Return the libraries of UCX here, by name."""
    packaged = find_spec("libucx")
    folders = packaged.submodule_search_locations if packaged else None
    found = {"UCX, PyPI's": Path(folders[0], "lib/libucp.so.0")} if folders else {}
    return found | ({"UCX, the system's": _SYSTEM_UCX} if _SYSTEM_UCX.exists() else {})


def show(costs: list[Cost], console: Console) -> None:
    """Print a line for each comparison."""
    shown = table(
        "where",
        "beside",
        "ours, s/GiB",
        "theirs",
        "ratio (quartiles)",
        "at most",
        "",
        left=("where", "beside", ""),
    )
    for cost in costs:
        ratio = f"{cost.ratio:.2f} ({cost.low:.2f}-{cost.high:.2f})"
        verdict = "met" if cost.is_met else "MISSED"
        shown.add_row(
            cost.where, cost.beside, f"{cost.ours:.3f}", f"{cost.theirs:.3f}", ratio, f"{cost.goal}", verdict
        )
    console.print(shown)


def main() -> int:
    """Measure, print, and say by the exit code whether the goals are met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument(
        "--build", type=Path, default=next(filter(Path.is_dir, ROOT.glob("build/cp3*")), None)
    )
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    history.add_option(parser)
    options = parser.parse_args()
    if options.build is None:
        parser.error("nothing is built here: run 'make test' first, or name a folder with --build")
    build(options.build)
    costs = list(measure(options, "loopback", []))
    with Cluster(2, rate="1gbit") as cluster:
        places = [word for host in cluster.hosts for word in (f"/proc/{host.process}/ns/net", host.ipv4)]
        costs += measure(options, "two hosts, 1 Gbit/s", ["--between", *places])
    rows = [asdict(cost) | {"met": cost.is_met} for cost in costs]
    history.record(options, rows)
    if options.json:
        print("\n".join(map(json.dumps, rows)))
    else:
        console = Console()
        show(costs, console)
        console.print(f"{describe_machine()}; {options.rounds} rounds", highlight=False)
    return 0 if all(cost.is_met for cost in costs) else 1


if __name__ == "__main__":
    sys.exit(main())
