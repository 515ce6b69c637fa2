# SPDX-License-Identifier: Apache-2.0
"""Damaged schedules on real ranks: 400 random edits of rings and binomial trees, each run on 4 ranks.

Goal: not one returns a wrong result without an error.

    python benchmarks/damaged_schedules.py [--count 400] [--ranks 4] [--seed 1] [--unchecked] [--json]

Every schedule is edited in one to three places: a transfer dropped, repeated, redirected, moved to another step or
chunk, made a copy instead of a reduce or the other way round, or the steps of two swapped. With --unchecked they run as
they are, which shows what verifying is worth. Exit code 1 where a result is wrong and nobody raised."""

from __future__ import annotations

import argparse
import collections
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import hemiola as hm
from hemiola.arguments.names import as_kind
from hemiola.errors import ArgumentError, HemiolaError
from hemiola.machine.capacity import describe_machine
from hemiola.measure.pattern import REDUCING, ROOTED, Pattern
from hemiola.progress import ProgressBar

ALGORITHMS = [name for name in hm.algorithms.names() if "_ring" in name or "_binomial" in name]
EDITS = ("drop", "repeat", "to", "from", "when", "what", "how", "swap")
#: What may become of a damaged schedule. `failed`: another error than a refusal, such as a timeout.
OUTCOMES = ("refused", "right", "wrong", "failed")
#: Elements a rank and chunk, so that every chunk holds several.
_ELEMENTS = 3
_LIMIT_S = 20.0

Row = tuple[int, int, int, int, bool]


@dataclass(frozen=True)
class Outcome:
    """What became of one schedule on one rank, and what was raised."""

    what: str
    said: str = ""


def edit(collective: hm.Collective, step_count: int, rows: list[Row], below: Callable[[int], int]) -> None:
    """Drop, repeat, redirect, retime, rename or convert a transfer, or swap two steps; below(n) draws 0 … n-1."""
    at = below(len(rows))
    step, src, dst, chunk, reduce = rows[at]
    rank, any_step = below(collective.rank_count), below(step_count + 1)
    match EDITS[below(len(EDITS))]:
        case "drop":
            del rows[at]
        case "repeat":
            rows.append((any_step, src, dst, chunk, reduce))
        case "to":
            rows[at] = (step, src, rank if rank != src else dst, chunk, reduce)
        case "from":
            rows[at] = (step, rank if rank != dst else src, dst, chunk, reduce)
        case "when":
            rows[at] = (any_step, src, dst, chunk, reduce)
        case "what":
            rows[at] = (step, src, dst, below(collective.chunk_count), reduce)
        case "how":
            rows[at] = (step, src, dst, chunk, not reduce)
        case "swap":
            other = below(len(rows))
            rows[at], rows[other] = (rows[other][0], *rows[at][1:]), (step, *rows[other][1:])


def damaged(count: int, ranks: int, seed: int) -> Iterator[hm.Schedule]:
    """Yield damaged schedules, the same ones for the same arguments."""
    for index in range(count):
        rng = random.Random(f"{seed}/{index}")
        schedule = hm.algorithms.get(rng.choice(ALGORITHMS)).generate(ranks)
        rows: list[Row] = np.asarray(schedule.transfers).tolist()
        for _ in range(rng.randint(1, 3)):
            if rows:
                edit(schedule.collective, schedule.step_count, rows, rng.randrange)
        yield hm.Schedule.from_transfers(
            schedule.collective, rows, list(map(int, np.asarray(schedule.chunk_weights)))
        )


def outcome(comm: hm.Communicator, schedule: hm.Schedule, unchecked: bool) -> Outcome:
    """Run one schedule on known data, as one of the ranks."""
    kind, chunks = as_kind(schedule.collective.kind), schedule.chunk_count
    pattern = Pattern(kind, comm.rank_count, _ELEMENTS * chunks * comm.rank_count, np.dtype(np.int64))
    options: dict[str, Any] = {"op": "sum"} if kind in REDUCING else {}
    options |= {"root": pattern.root} if kind in ROOTED else {}
    result = np.full(pattern.output_of(comm.rank).size, -1, np.int64)
    try:
        getattr(comm, kind)(
            pattern.input_of(comm.rank),
            schedule=schedule,
            out=result,
            unchecked=unchecked,
            **options,
        )
    except ArgumentError as error:
        return Outcome("refused", str(error))
    except HemiolaError as error:
        return Outcome("failed", f"{type(error).__name__}: {error}")
    return Outcome("wrong" if pattern.wrong(comm.rank, result) else "right")


def run_damaged(count: int, seed: int, unchecked: bool) -> list[Outcome]:
    """Run all of them, as one of the ranks."""
    comm = hm.init(timeout_s=_LIMIT_S)
    found = []
    with ProgressBar("running damaged schedules") as bar:
        for index, schedule in enumerate(damaged(count, comm.rank_count, seed)):
            found.append(outcome(comm, schedule, unchecked))
            if comm.rank == 0:
                bar(index + 1, count)
    return found


def experiment(count: int, ranks: int, seed: int, *, unchecked: bool = False) -> dict[str, int]:
    """Return how many schedules came to which outcome; the worst that any rank saw counts."""
    seen = hm.launch(run_damaged, ranks, count, seed, unchecked)
    worst = [max((one.what for one in by_rank), key=_badness) for by_rank in zip(*seen, strict=True)]
    counted = collections.Counter(worst)
    return {what: counted[what] for what in OUTCOMES}


def _badness(what: str) -> int:
    return ("right", "refused", "failed", "wrong").index(what)


def main() -> int:
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--unchecked", action="store_true", help="run them without verifying")
    parser.add_argument("--json", action="store_true", help="print one JSON line")
    asked = parser.parse_args()
    begin_s = time.monotonic()
    found = experiment(asked.count, asked.ranks, asked.seed, unchecked=asked.unchecked)
    seconds = round(time.monotonic() - begin_s, 1)
    if asked.json:
        print(json.dumps({**vars(asked), **found, "seconds": seconds, "machine": describe_machine()}))
    else:
        told = ", ".join(f"{number} {what}" for what, number in found.items())
        print(
            f"{asked.count} damaged schedules on {asked.ranks} ranks, seed {asked.seed}: {told} ({seconds} s)"
        )
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
