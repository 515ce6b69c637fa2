# SPDX-License-Identifier: Apache-2.0
"""Tensor-parallel inference on CPUs, on "hemiola" beside gloo and DeepSpeed's shared memory in the same run.

- calls: the all-reduces of a token, 96 of 10 KiB (a token of a large model) and 96 of 640 KiB (64 tokens at once).
- model: tokens per second of a small Llama of random weights, which transformers splits by its own plan.

Places are 2 and 4 ranks of one host, and two hosts of two ranks each, which are namespaces of the network. Goals: 5
times as fast as gloo between hosts, and no slower than DeepSpeed's operation inside a host. Contenders are jobs of
their own that take turns. In each round each of them does some tokens, and the slowest rank's time counts. States are
written before each all-reduce, and the time of writing is part of it. `compiled` is "hemiola" with the accelerator.

DeepSpeed's operation takes bfloat16 on processors with AVX-512 only, and no other host. Where it cannot run, its cell
is empty: DeepSpeed would call gloo."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

import history
from hemiola.cli.output import table
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from hemiola.torch.accelerator.compiling import compiled_file
from hemiola.units import format_bytes
from hemiola.whole_file import write_whole
from inference_rank import save_model
from ordered_ranks import OrderedRanks, ordered_ranks

RANK_SCRIPT = Path(__file__).with_name("inference_rank.py")
ROOT = RANK_SCRIPT.parent.parent
CALLS, SIZES, TYPES = 96, (10 << 10, 640 << 10), ("bfloat16", "float32")
LEAST_OVER_GLOO_BETWEEN_HOSTS, LEAST_OVER_DEEPSPEED = 5.0, 1.0
#: Of the Llama that is split.
LAYERS = 16


@dataclass(frozen=True)
class Place:
    """Where ranks are: so many on each of some hosts; one host is this machine itself."""

    hosts: int
    per_host: int

    def __str__(self) -> str:
        return f"{self.per_host} ranks" if self.hosts == 1 else f"{self.hosts} hosts × {self.per_host} ranks"

    @property
    def ranks(self) -> int:
        return self.hosts * self.per_host


PLACES = {"2": Place(1, 2), "4": Place(1, 4), "2x2": Place(2, 2)}


def names(place: Place, model: bool) -> list[str]:
    """Return who takes part: those that are installed, and for whom the place is one."""
    chosen = ["gloo", "hemiola"]
    if compiled_file() is not None:
        chosen.append("compiled")
    if not model and place.hosts == 1 and importlib.util.find_spec("deepspeed") is not None:
        chosen.append("deepspeed")
    return chosen


def environment_of(name: str, place: Place) -> dict[str, str]:
    """Return the variables that all ranks of a contender share."""
    return {
        "LOCAL_SIZE": str(place.per_host),
        "DS_ACCELERATOR": "cpu",
        "HF_HUB_OFFLINE": "1",
        "TORCH_EXTENSIONS_DIR": str(ROOT / "build" / "benchmarks" / "torch_extensions"),
        "HEMIOLA_TORCH_ACCELERATOR": "on" if name == "compiled" else "off",
    }


def contender(name: str, place: Place, cluster: Cluster | None) -> AbstractContextManager[OrderedRanks]:
    """Start a contender's ranks; end them with the block."""
    command, own = [str(RANK_SCRIPT), name], environment_of(name, place)
    return ordered_ranks(name, command, cluster, place.ranks, place.per_host, own)


def in_turns(rounds: int, started: Sequence[OrderedRanks], order: Mapping[str, Any]) -> dict[str, Any]:
    """Return by contender the slowest rank's seconds in each round, and the last answers of rank 0."""
    seconds: dict[str, list[float]] = {one.name: [] for one in started}
    last: dict[str, Any] = {}
    for turn in range(rounds):
        first = turn % len(started)
        for one in [*started[first:], *started[:first]]:
            answers = one.ask(**order)
            seconds[one.name].append(max(answer["seconds"] for answer in answers))
            last[one.name] = answers[0] | {"wrong": sum(answer.get("wrong", 0) for answer in answers)}
    return {"seconds": seconds, "last": last}


def calls_rows(
    place: Place, started: Sequence[OrderedRanks], given: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a token's all-reduces."""
    for dtype in TYPES:
        for nbytes in given.sizes:
            able = [one for one in started if dtype in one.ready[0]["types"]]
            order = {"bytes": nbytes, "type": dtype, "calls": CALLS, "tokens": given.tokens}
            found = in_turns(given.rounds, able, order)
            wrong = {name: answer["wrong"] for name, answer in found["last"].items()}
            yield {
                "row": f"{CALLS} all-reduces of {format_bytes(nbytes)}, {dtype}",
                "place": str(place),
                "seconds": found["seconds"],
                "wrong": wrong,
            }


def model_row(
    place: Place, started: Sequence[OrderedRanks], given: argparse.Namespace, folder: str
) -> dict[str, Any]:
    """Return the row of the split Llama: seconds per token, and how far the logits are from gloo's."""
    order = {"model": folder, "tokens": given.model_tokens}
    in_turns(1, started, order)  # loads it
    found = in_turns(given.rounds, started, order)
    answers, theirs = found["last"], found["last"]["gloo"]
    return {
        "row": f"a token of a Llama of {LAYERS} layers, float32",
        "place": str(place),
        "seconds": {
            name: [spent / given.model_tokens for spent in each] for name, each in found["seconds"].items()
        },
        "wrong": {name: int(one["tokens"] != theirs["tokens"]) for name, one in answers.items()},
        "logits_differ_by": {
            name: max(abs(a - b) for a, b in zip(one["logits"], theirs["logits"], strict=True))
            for name, one in answers.items()
        },
    }


def run(place: Place, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure what was asked for at one place."""
    rows: list[dict[str, Any]] = []
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(place.hosts)) if place.hosts > 1 else None
        for what in given.only:
            with ExitStack() as jobs:
                chosen = names(place, model=what == "model")
                started = [jobs.enter_context(contender(name, place, cluster)) for name in chosen]
                if what == "calls":
                    rows += calls_rows(place, started, given)
                    continue
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                save_model(folder, LAYERS)
                rows.append(model_row(place, started, given, folder))
    return rows


def goals(row: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Yield what is to be reached: its name, the ratio found, and the least."""
    ours = "compiled" if "compiled" in row["seconds"] else "hemiola"
    if "hosts" in row["place"] and "all-reduces" in row["row"]:
        yield "gloo", over(row, "gloo", ours)[0], LEAST_OVER_GLOO_BETWEEN_HOSTS
    if "deepspeed" in row["seconds"]:
        yield "deepspeed", over(row, "deepspeed", ours)[0], LEAST_OVER_DEEPSPEED


def over(row: Mapping[str, Any], theirs: str, ours: str) -> tuple[float, float, float]:
    """Return how many times as long another contender takes: the median of the rounds, the least and the most."""
    seconds = row["seconds"]
    ratios = [other / own for other, own in zip(seconds[theirs], seconds[ours], strict=True)]
    return statistics.median(ratios), min(ratios), max(ratios)


def show(rows: Sequence[Mapping[str, Any]], console: Console) -> bool:
    """Print the table and the goals; return whether all were met and all was right."""
    contenders = ("gloo", "deepspeed", "hemiola", "compiled")
    columns = [f"{name}, ms" for name in contenders]
    shown = table("what", "place", *columns, "gloo ÷ hemiola", "gloo ÷ compiled", left=("what", "place"))
    for row in rows:
        times = [
            f"{statistics.median(row['seconds'][name]) * 1e3:,.2f}" if name in row["seconds"] else ""
            for name in contenders
        ]
        ratios = [
            "{:.2f} ({:.2f}-{:.2f})".format(*over(row, "gloo", ours)) if ours in row["seconds"] else ""
            for ours in ("hemiola", "compiled")
        ]
        shown.add_row(row["row"], row["place"], *times, *ratios)
    console.print(shown)
    are_right = True
    for row in rows:
        what = f"{row['row']}, {row['place']}"
        for name, found, least in goals(row):
            are_right &= found >= least
            word = "met" if found >= least else "MISSED"
            console.print(f"  {word}: {what}: {name} takes {found:.2f} times as long, at least {least:g}")
        if "logits_differ_by" in row:
            furthest = max(row["logits_differ_by"].values())
            console.print(f"  {what}: logits differ from gloo's by {furthest:.1e} at most")
        if any(row["wrong"].values()):
            are_right = False
            console.print(f"  WRONG: {what}: {row['wrong']}")
    return are_right


def main() -> int:
    """Measure, and print a table; exit status 1 if a goal was missed or something was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=("calls", "model"), default=("calls", "model"))
    parser.add_argument("--places", nargs="+", choices=list(PLACES), default=list(PLACES))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=5, help="of calls, in a round")
    parser.add_argument("--model-tokens", type=int, default=32, help="of the model, in a round")
    parser.add_argument("--json", type=Path, help="write the rows there, as lines of JSON")
    history.add_option(parser)
    given = parser.parse_args()
    if "model" in given.only and importlib.util.find_spec("transformers") is None:
        print("model is absent: no package transformers", file=sys.stderr)
        given.only = [what for what in given.only if what != "model"]
    load, rows = os.getloadavg()[0], []
    for name in given.places:
        rows += run(PLACES[name], given)
    console = Console(width=170)
    is_well = show(rows, console)
    console.print(f"{describe_machine()}; {given.rounds} rounds; load {load:.1f} to {os.getloadavg()[0]:.1f}")
    history.record(given, rows)
    if given.json:
        write_whole(given.json, "".join(json.dumps(row) + "\n" for row in rows))
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
