# SPDX-License-Identifier: Apache-2.0
"""The history of benchmarks in docs/results/history: a line of JSON for each recorded run, newest last."""

from __future__ import annotations

import argparse
import datetime
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from hemiola.machine.capacity import describe_machine
from hemiola.whole_file import write_whole

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/results/history"


def add_option(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark be asked to record its figures."""
    parser.add_argument(
        "--record", action="store_true", help="append the figures to docs/results/history as a line"
    )


def record(asked: argparse.Namespace, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append this run's rows to the benchmark's file, if the command line asks for it."""
    if not asked.record:
        return
    script = Path(sys.argv[0])
    line = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit(),
        "machine": str(describe_machine()),
        "command": shlex.join(["python", f"benchmarks/{script.name}", *sys.argv[1:]]),
        "rows": list(rows),
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / f"{script.stem}.jsonl"
    earlier = file.read_text(encoding="utf-8") if file.exists() else ""
    write_whole(file, f"{earlier}{json.dumps(line)}\n")


def conclude(
    asked: argparse.Namespace,
    rows: Sequence[dict[str, Any]],
    show: Callable[[Sequence[dict[str, Any]], Console], None],
    is_met: Callable[[dict[str, Any]], bool],
) -> int:
    """Record the rows, print them as lines of JSON or by `show`, and return the exit status: 1 if a goal is missed."""
    record(asked, rows)
    if asked.json:
        for row in rows:
            print(json.dumps(row | {"machine": str(describe_machine())}))
    else:
        show(rows, Console(width=140))
    return 0 if all(map(is_met, rows)) else 1


def commit() -> str:
    """Return the commit that was measured, marked where files differ from it."""
    described = ["git", "-C", str(ROOT), "describe", "--always", "--exclude=*", "--dirty"]
    return subprocess.run(described, capture_output=True, text=True, check=True).stdout.strip()
