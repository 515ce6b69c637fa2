# SPDX-License-Identifier: Apache-2.0
"""Files of other programs in a folder, judged: how many are right, wrong or refused, by format and collective.

Goal: every file of msccl-tools, RCCL, TE-CCL and TACOS is judged right, or refused with the reason.
Of broken MSCCL programs none is found right that a machine runs wrong.

    python benchmarks/artefacts.py FOLDER [--mutants 0] [--seed 1] [--orders 3] [--json]

Each file is judged by its own run, and its schedule by `hemiola.verify`. --mutants breaks steps of the folder's MSCCL
programs of at most 60 kB at random. It compares the verdict with runs on a machine of its own (msccl_machine.py), whose
thread blocks take random orders. Exit code 1 where the verdicts differ."""

from __future__ import annotations

import argparse
import collections
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import hemiola as hm
from hemiola import interchange
from hemiola.interchange import msccl_xml
from hemiola.machine.capacity import describe_machine
from hemiola.progress import ProgressBar
from msccl_machine import verdict

STEP = re.compile(r"<step [^>]*/>")
_MOST_MUTATED_BYTES = 60_000
_SUFFIXES = (".xml", ".json", ".csv")
#: How a step is broken.
CHANGES = ("drop", "read elsewhere", "write elsewhere", "depend on nothing", "copy, not add", "add, not copy")


def judged(path: Path) -> tuple[str, str]:
    """Return a file's format with its collective, and its verdict."""
    try:
        artefact = interchange.read(path)
    except hm.FormatError as error:
        return "-", f"refused: {_reason(str(error))}"
    form = f"{artefact.form}, {artefact.schedule.collective.kind}"
    second = "right" if not hm.verify(artefact.schedule, max_violations=1) else "wrong"
    if not artefact.faults:
        return form, "right" if second == "right" else "right, but its schedule is wrong"
    return form, f"wrong: {artefact.faults[0].rule}; its schedule is {second}"


def _reason(message: str) -> str:
    """Return what a refusal says first, without the file's name and numbers."""
    return re.sub(r"\d+", "N", message.split(": ", 1)[-1]).partition("; ")[0][:60]


def broken(step: str, change: str) -> str:
    """Return a step with one change; the same step where the change does not apply."""
    match change:
        case "drop":
            return re.sub(r'type="\w+"', 'type="nop"', step)
        case "read elsewhere" | "write elsewhere":
            end = "src" if change == "read elsewhere" else "dst"
            return re.sub(rf'{end}off="(\d+)"', lambda found: f'{end}off="{int(found[1]) + 1}"', step)
        case "depend on nothing":
            return re.sub(r'depid="\d+" deps="\d+"', 'depid="-1" deps="-1"', step)
    pairs = [("re", "cpy"), ("rrcs", "rcs"), ("rrc", "r")]
    for one, other in pairs if change == "copy, not add" else [(other, one) for one, other in pairs]:
        if f'type="{one}"' in step:
            return step.replace(f'type="{one}"', f'type="{other}"')
    return step


def mutants(texts: list[str], count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield that many broken programs, each with its change."""
    rng = random.Random(seed)
    steps = [list(STEP.finditer(text)) for text in texts]
    while count:
        at = rng.randrange(len(texts))
        step, change = rng.choice(steps[at]), rng.choice(CHANGES)
        new = broken(step.group(), change)
        if new != step.group():
            count -= 1
            yield change, texts[at][: step.start()] + new + texts[at][step.end() :]


def compared(text: str, orders: int) -> str:
    """Return how the verdict of a program compares with the machine's."""
    try:
        rules = [fault.rule for fault in msccl_xml.read(text, "the program").faults]
    except hm.FormatError:
        rules = ["refused"]
    right = verdict(text, orders)
    if not rules:
        return "right, and so on the machine" if right else "RIGHT, BUT WRONG ON THE MACHINE"
    if not right:
        return "wrong, and so on the machine"
    return (
        "a race that the machine's orders do not show"
        if rules == ["race"]
        else "WRONG, BUT RIGHT ON THE MACHINE"
    )


def try_mutants(
    paths: list[Path], count: int, seed: int, orders: int
) -> collections.Counter[tuple[str, str]]:
    """Return how many broken programs came to which comparison, by change."""
    texts = []
    for path in paths:
        if path.suffix == ".xml" and path.stat().st_size <= _MOST_MUTATED_BYTES:
            form, verdict = judged(path)
            if form.startswith(msccl_xml.FORM) and verdict == "right":
                texts.append(path.read_text())
    found: collections.Counter[tuple[str, str]] = collections.Counter()
    with ProgressBar("running broken programs") as bar:
        for done, (change, text) in enumerate(mutants(texts, count, seed) if texts else ()):
            found[compared(text, orders), change] += 1
            bar(done + 1, count)
    return found


def main() -> int:
    """Judge a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--orders", type=int, default=3, help="runs of a broken program on the machine")
    parser.add_argument("--json", action="store_true", help="print one JSON line")
    asked = parser.parse_args()
    begin_s = time.monotonic()
    paths = sorted(path for path in asked.folder.rglob("*") if path.suffix in _SUFFIXES)
    counts = collections.Counter(judged(path) for path in paths)
    broken_counts = try_mutants(paths, asked.mutants, asked.seed, asked.orders)
    seconds = round(time.monotonic() - begin_s, 1)
    rows = [[number, *what] for what, number in sorted(counts.items())]
    broken_rows = [[number, *what] for what, number in sorted(broken_counts.items())]
    if asked.json:
        print(
            json.dumps(
                {"files": rows, "mutants": broken_rows, "seconds": seconds, "machine": describe_machine()}
            )
        )
    else:
        for number, *what in [*rows, *broken_rows]:
            print(f"{number:6d}  {'; '.join(map(str, what))}")
        print(f"{len(paths)} files ({seconds} s)")
    return 1 if any(what.isupper() for what, _ in broken_counts) else 0


if __name__ == "__main__":
    sys.exit(main())
