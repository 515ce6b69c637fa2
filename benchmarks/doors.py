# SPDX-License-Identifier: Apache-2.0
"""What other frameworks gain by Hemiola: one table of all doors, beside each package's own transport in the same run.

    pip install 'hemiola[doors]' && python benchmarks/doors.py

Goals: every program right; no door slower than the package's own transport; psum of JAX at least ten times as fast as
gloo at 1 KiB and 1 MiB on one host; a killed rank is named by all survivors."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
from collections.abc import Sequence
from pathlib import Path

from doors_row import Row, Timing
from hemiola.machine.capacity import describe_machine
from hemiola.whole_file import write_whole

PAGE = Path(__file__).resolve().parent.parent / "docs/results/doors.md"
#: A module of this folder for each: doors_<name>.py.
DOORS = ("jax", "ray", "dask", "lightgbm", "mpi4py")


def _line_of(timing: Timing) -> str:
    ours, theirs = f"{timing.ours_us:.0f} µs", f"{timing.theirs_us:.0f} µs"
    return f"  {timing.case}: {ours}, its own {theirs}, ratio {timing.ratio:.3f}"


def lines_of(row: Row) -> list[str]:
    """Return a door's part of the table."""
    return [
        f"{row.door} {row.version}: {row.right} of {len(row.tried)} programs right"
        + (f"; wrong: {', '.join(row.wrong)}" if row.wrong else ""),
        *map(_line_of, row.timings),
        f"  a killed rank, Hemiola: {row.killed_ours}",
        f"  a killed rank, its own: {row.killed_theirs}",
    ]


def page(rows: Sequence[Row], machine: str) -> str:
    """Return the table as a page of the documentation."""
    tried = "\n".join(
        f"| {row.door} | {row.version} | {row.right} of {len(row.tried)} | {row.killed_ours} | {row.killed_theirs} |"
        for row in rows
    )
    timed = "\n".join(
        f"| {row.door} | {timing.case} | {timing.ours_us:,.0f} | {timing.theirs_us:,.0f} | {timing.ratio:.3f} |"
        for row in rows
        for timing in row.timings
    )
    return f"""# Doors of other frameworks

<!-- written by benchmarks/doors.py --report -->
Programs that run through each door, beside the package's own transport in the same run. For Dask that is a sum by its
tasks. Times are medians, and both transports take turns.

Reproduce: `python benchmarks/doors.py --report`

Machine: {machine}.

| door | its version | programs right | a killed rank, Hemiola | a killed rank, its own |
|---|---|---|---|---|
{tried}

| door | case | Hemiola, µs | its own, µs | Hemiola over its own |
|---|---|--:|--:|--:|
{timed}
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Try the doors that the command line names, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "doors", nargs="*", metavar="DOOR", help=f"of {', '.join(DOORS)}; all, if none is named"
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each door")
    parser.add_argument("--report", action="store_true", help=f"write {PAGE.name}")
    given = parser.parse_args(arguments)
    unknown = [door for door in given.doors if door not in DOORS]
    if unknown:
        parser.error(f"no door {unknown[0]}; there are {', '.join(DOORS)}")
    print(json.dumps({"machine": describe_machine()}) if given.json else f"machine: {describe_machine()}")
    found: list[Row] = []
    for door in given.doors or DOORS:
        rows: list[Row] = importlib.import_module(f"doors_{door}").rows()
        for row in rows:
            print(json.dumps(dataclasses.asdict(row)) if given.json else "\n".join(lines_of(row)), flush=True)
        found += rows
    if given.report:
        write_whole(PAGE, page(found, describe_machine()))


if __name__ == "__main__":
    main()
