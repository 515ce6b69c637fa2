# SPDX-License-Identifier: Apache-2.0
"""Every test that runs ranks, over every wire and over mixtures of them.

`make test` has a contract for each wire and samples; this is the full product. Tests are those of tests/communicator
and tests/faults, unchanged: wires_ranks.py starts their ranks where the wire is. A mixture is two hosts, as far as
ranks can tell: shared memory inside, the other wire between them. What a test promises of one machine alone stands
in APART, with the reason. UCX is the one that `hemiola doctor` shows (Debian's comes before PyPI's where both are
installed); MPI is that of --mpirun.

    python benchmarks/wires.py [--only WIRE …] [--tests FILE …] [--mpirun "mpirun"] [--json]

Exit code 1 where a test failed that is not in APART."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from hemiola.cli.output import table
from hemiola.machine.capacity import describe_machine
from mpi_seats import MPIRUN
from wires_ranks import PLAN

TESTS = Path(__file__).resolve().parents[1] / "tests"
FILES = {
    "communicator": (
        "agreement",
        "arrivals",
        "blame",
        "block_collectives",
        "brought_schedules",
        "calls",
        "collectives",
        "communicator",
        "send_and_recv",
        "sparse",
        "traffic",
    ),
    "faults": ("faults", "closing"),
}


@dataclass(frozen=True)
class Way:
    """What the ranks of tests are told, on how many hosts they are, and by what they then reach each other."""

    variables: dict[str, str]
    carriers: tuple[str, ...]
    hosts: int = 1
    by_mpi: bool = False


_LOOPBACK = {"HEMIOLA_INTERFACE": "127.0.0.0/8"}
WIRES: dict[str, Way] = {
    "shm": Way({"HEMIOLA_WIRE": "shm"} | _LOOPBACK, ("shm",)),
    "tcp": Way({"HEMIOLA_WIRE": "tcp"} | _LOOPBACK, ("tcp",)),
    "ucx, its TCP": Way({"HEMIOLA_WIRE": "ucx", "UCX_TLS": "tcp"} | _LOOPBACK, ("ucx",)),
    "ucx, its memory": Way({"HEMIOLA_WIRE": "ucx", "UCX_TLS": "shm"} | _LOOPBACK, ("ucx",)),
    "mpi": Way({"HEMIOLA_WIRE": "mpi"}, ("mpi",), by_mpi=True),
    "shm and tcp": Way({"HEMIOLA_WIRE": "shm,tcp"}, ("shm", "tcp"), hosts=2),
    "shm and ucx": Way({"HEMIOLA_WIRE": "shm,ucx", "UCX_TLS": "tcp"}, ("shm", "ucx"), hosts=2),
    "shm and mpi": Way({"HEMIOLA_WIRE": "shm,mpi"}, ("shm", "mpi"), hosts=2, by_mpi=True),
}

_SILENCE = "a rank of another host that stands still is lost after the silence, before its time is up"
_UNTOLD = "when ranks came is told in shared memory only"
_EMULATED = "its network is emulated, in shared memory only"
_COPIED = (
    "send returns when a short message has been copied; what has not left goes with a rank that is killed"
)
_OWN_PLACE = "its ranks meet at an address of their own"
#: What tests promise of ranks that share memory and meet there alone, by a part of their names.
APART = {
    "test_a_stopped_rank_is_named_after_the_timeout": _SILENCE,
    "test_a_rank_that_does_not_come_is_named_and_learns_that_it_was_missed": _SILENCE,
    "test_a_rank_that_dies_is_named_and_the_others_can_talk_on": _COPIED,
    "test_the_log_of_arrivals_is_bounded": _UNTOLD,
    "test_arrivals_show_who_was_late": _UNTOLD,
    "test_time_in_another_communicators_operation_is_nobodys_own": _UNTOLD,
    "test_a_late_rank_is_named_in_all_ranks_and_in_a_group": _UNTOLD,
    "test_ranks_that_differ_in_an_option_of_init_learn_it_there[emulate]": _EMULATED,
    "test_ranks_that_differ_in_the_network_they_emulate_learn_it_in_init": _EMULATED,
    "test_when_the_rank_that_keeps_the_choices_leaves_others_know_those_they_have_heard": _OWN_PLACE,
}

_FINALIZED = "MPI_Finalize waits for all ranks; the launcher, which would end a job that has lost one, is not told here"
#: And what they promise of ranks that are not MPI's.
APART_OVER_MPI = {
    "test_closing_aborts_what_runs_in_the_background_and_the_others_are_told": _FINALIZED,
    "test_closing_during_a_call_ends_it_and_the_others_are_told_who_has_closed": _FINALIZED,
    "test_a_rank_that_has_closed_is_noticed_at_once_though_it_lives": _FINALIZED,
    "test_a_rank_that_waits_for_others_to_join_hears_control_c": "how many ranks there are is MPI's to say",
    "test_a_rank_lost_while_a_group_is_made_has_its_number_in_the_communicator_that_makes_it": _FINALIZED,
    "test_nothing_is_left_in_shared_memory_after_a_kill": "MPICH leaves memory of its own behind a rank that is killed",
}


@dataclass
class Found:
    """What came of the tests over one wire."""

    wire: str
    seconds: float = 0
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    apart: dict[str, str] = field(default_factory=dict)
    complaint: str = ""


def files(only: Iterable[str]) -> list[str]:
    """Return the paths of the tests, of all or of the named files."""
    wanted = set(only)
    paths = [TESTS / folder / f"test_{name}.py" for folder, names in FILES.items() for name in names]
    return [str(path) for path in paths if not wanted or path.stem.removeprefix("test_") in wanted]


def run(wire: str, paths: list[str], mpirun: list[str], expression: str) -> Found:
    """Run the tests over one wire."""
    way, found, begin = WIRES[wire], Found(wire), time.monotonic()
    apart = APART | APART_OVER_MPI if way.by_mpi else APART
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "told")
        plan: dict[str, Any] = {"hosts": way.hosts, "carriers": way.carriers, "told": str(told)}
        if way.by_mpi:
            plan["mpirun"] = mpirun
        search = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "wires_ranks", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*pytest, "-m", "not long", "-k", expression, *paths],
            env=os.environ | way.variables | {PLAN: json.dumps(plan), "PYTHONPATH": search},
            cwd=TESTS.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        for line in told.read_text().splitlines() if told.exists() else ():
            _take(json.loads(line), apart, found)
    found.seconds = time.monotonic() - begin
    if done.returncode not in (0, 1):
        found.complaint = f"pytest ended with exit code {done.returncode}: {done.stdout[-2000:]}"
    return found


def _take(told: dict[str, str], apart: dict[str, str], found: Found) -> None:
    """Count one test."""
    name, outcome = told["test"], told["outcome"]
    reason = next((reason for part, reason in apart.items() if part in name), None)
    if outcome == "failed" and reason is not None:
        found.apart[name], outcome = reason, "apart"
    elif outcome == "failed":
        found.failed.append(f"{name}: {told['words'][-400:]}")
    found.counts[outcome] += 1


def show(all_found: list[Found], console: Console) -> None:
    """Print a line for each wire, what failed, and what was left out."""
    shown = table("wire", "passed", "apart", "not asked", "failed", "took, s", left=("wire",))
    for found in all_found:
        counts = [str(found.counts[outcome]) for outcome in ("passed", "apart", "skipped", "failed")]
        shown.add_row(found.wire, *counts, f"{found.seconds:.0f}")
    console.print(shown)
    for found in all_found:
        for line in (*found.failed, *filter(None, [found.complaint])):
            console.print(f"{found.wire}: {line}", markup=False)
    reasons = Counter(reason for found in all_found for reason in found.apart.values())
    for reason, count in reasons.items():
        console.print(f"apart, {count}: {reason}", markup=False)
    console.print(f"{describe_machine()}; load {os.getloadavg()[0]:.1f}")


def main() -> int:
    """Run the tests over each wire; exit status 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(WIRES), default=list(WIRES), metavar="WIRE")
    parser.add_argument("--tests", nargs="+", default=[], metavar="FILE", help="such as faults, collectives")
    parser.add_argument("-k", default="", help="as pytest has it")
    parser.add_argument("--mpirun", default=MPIRUN)
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each wire")
    options = parser.parse_args()
    all_found = []
    for wire in options.only:
        found = run(wire, files(options.tests), shlex.split(options.mpirun), options.k)
        all_found.append(found)
        if options.json:
            print(json.dumps(found.__dict__), flush=True)
    show(all_found, Console(stderr=options.json))
    return 1 if any(found.failed or found.complaint for found in all_found) else 0


if __name__ == "__main__":
    sys.exit(main())
