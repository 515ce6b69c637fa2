# SPDX-License-Identifier: Apache-2.0
"""A step of DistributedDataParallel: a GPT of some 10 million parameters on the text of this repository, byte by byte.

Goals: through Python at least 1.05 times as fast as gloo with 2 and 4 ranks; with the accelerator ("compiled", where
`hemiola accelerate` has been run) 1.25 and 1.10 times; the all-reduces of its gradients in DDP's buckets alone 3 and 2
times. All contenders train the same model on the same text in the same forked processes, some steps each in turn, on
a thread a rank; printed are medians over the rounds and, in brackets, the least and most of a round's ratio. Losses are
compared: at the last step all contenders' are equal to six digits. Most of a step is PyTorch computing on as many cores
as there are: what its collectives can save is the time of gloo's beyond that, printed as "step alone", without
collectives."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from rich.console import Console
from torch import nn

import history
from hemiola import environment
from hemiola.cli.output import table
from hemiola.machine.capacity import describe_machine
from hemiola.torch.accelerator import compiled_file
from hemiola.whole_file import write_whole

ROOT = Path(__file__).resolve().parents[1]
LAYERS, HEADS, WIDTH, CONTEXT, BYTES = 6, 6, 384, 64, 256
LIMIT = timedelta(seconds=120)
#: As DDP cuts gradients: a first one of 1 MiB, then of 25.
BUCKETS_MIB = (1, 25)
ALONE = "step alone"
Rounds = dict[str, dict[str, list[float]]]


class Gpt(nn.Module):
    """What follows each byte of a text."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.embedding, self.places = nn.Embedding(BYTES, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.told = nn.Linear(WIDTH, BYTES)
        self.mask = nn.Transformer.generate_square_subsequent_mask(CONTEXT)

    def forward(self, text: Any) -> Any:
        """Return the scores of the next byte."""
        x = self.embedding(text) + self.places.weight[: text.shape[1]]
        return self.told(self.layers(x, mask=self.mask, is_causal=True))


def text() -> Any:
    """Return the repository's pages as bytes."""
    pages = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    return torch.frombuffer(
        bytearray(b"".join(page.read_bytes() for page in pages)), dtype=torch.uint8
    ).long()


class Contender:
    """A model, its optimizer and the backend of its gradients."""

    def __init__(self, group: Any | None, batch: int) -> None:
        torch.manual_seed(0)
        whole = Gpt()
        self.model: Any = (
            whole if group is None else nn.parallel.DistributedDataParallel(whole, process_group=group)
        )
        self.optimizer = torch.optim.AdamW(whole.parameters(), lr=1e-3)
        self.draw = torch.Generator().manual_seed(dist.get_rank())
        self.batch = batch
        self.losses: list[float] = []

    def step(self, pages: Any) -> None:
        """Learn from some places of the text."""
        begins = torch.randint(len(pages) - CONTEXT - 1, (self.batch,), generator=self.draw).tolist()
        given = torch.stack([pages[begin : begin + CONTEXT] for begin in begins])
        meant = torch.stack([pages[begin + 1 : begin + CONTEXT + 1] for begin in begins])
        loss = nn.functional.cross_entropy(self.model(given).flatten(0, 1), meant.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())


def buckets(parameter_count: int) -> list[Any]:
    """Return gradients as DDP sends them, each written."""
    left = parameter_count
    made: list[Any] = []
    while left:
        size = min(BUCKETS_MIB[min(len(made), 1)] << 18, left)
        made.append(torch.empty(size).fill_(1.0))
        left -= size
    return made


def all_reduced(made: list[Any], group: Any) -> None:
    """Sum all of them, as DDP does: in the background, and waited for together."""
    for work in [dist.all_reduce(one, group=group, async_op=True) for one in made]:
        work.wait()


def groups() -> dict[str, Any]:
    """Return the contenders' groups: gloo, and this backend with and without the accelerator."""
    made = {"gloo": dist.group.WORLD}
    for name, asked in (("hemiola", "off"), ("compiled", "on")):
        if asked == "on" and compiled_file() is None:
            continue
        os.environ[environment.TORCH_ACCELERATOR.name] = asked
        made[name] = dist.new_group(backend="hemiola", timeout=LIMIT)
    return made


def measure(batch: int, steps: int, rounds: int) -> Rounds:
    """Return seconds of a step, and of the gradients' all-reduces, by contender and round."""
    pages, made = text(), groups()
    contenders = {name: Contender(group, batch) for name, group in made.items()}
    contenders[ALONE] = Contender(None, batch)
    sums = buckets(sum(one.numel() for one in contenders[ALONE].model.parameters()))
    found: Rounds = {"step": {name: [] for name in contenders}, "buckets": {name: [] for name in made}}

    def median_s(call: Callable[[], None]) -> float:
        times = []
        for _ in range(steps):
            began = time.perf_counter()
            call()
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    for number in range(rounds + 1):  # the first warms up
        for name, contender in contenders.items():
            dist.barrier()
            step_s = median_s(partial(contender.step, pages))
            if number:
                found["step"][name].append(step_s)
        for name, group in made.items():
            dist.barrier()
            sum_s = median_s(partial(all_reduced, sums, group))
            if number:
                found["buckets"][name].append(sum_s)
    last = {name: contender.losses[-1] for name, contender in contenders.items() if name != ALONE}
    if not all(abs(loss - last["gloo"]) <= 1e-6 * abs(last["gloo"]) for loss in last.values()):
        sys.exit(f"losses of the last step differ: {last}")
    return found


def run(rank_count: int, batch: int, steps: int, rounds: int) -> Rounds:
    """Fork the ranks and return what rank 0 has measured."""
    folder = Path(tempfile.mkdtemp())
    children = []
    for rank in range(rank_count):
        child = os.fork()
        if child == 0:
            torch.set_num_threads(1)
            at = f"file://{folder}/store"
            dist.init_process_group("gloo", init_method=at, rank=rank, world_size=rank_count, timeout=LIMIT)
            mine = measure(batch, steps, rounds)
            if rank == 0:
                write_whole(folder / "found", json.dumps(mine).encode())
            dist.destroy_process_group()
            os._exit(0)
        children.append(child)
    if any([os.waitpid(child, 0)[1] for child in children]):
        sys.exit("a rank has failed")
    found: Rounds = json.loads((folder / "found").read_bytes())
    return found


def lines(found: Rounds) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of the table: median times in ms, and how many times as long gloo takes, with least and most."""
    for what, times in found.items():
        for name, own in times.items():
            ratios = [gloo / each for gloo, each in zip(times["gloo"], own, strict=True)]
            ratio = f"{statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f})"
            yield what, name, f"{statistics.median(own) * 1e3:,.1f}", "" if name == "gloo" else ratio


def main() -> None:
    """Measure with each number of ranks, and print a table of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--batch", type=int, default=4, help=f"texts of {CONTEXT} bytes a rank and step")
    parser.add_argument("--steps", type=int, default=5, help="of each contender in a round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--json", type=Path, help="write the times there, a line of JSON for each number of ranks"
    )
    history.add_option(parser)
    given = parser.parse_args()
    console, records = Console(), []
    for rank_count in given.ranks:
        load = os.getloadavg()[0]
        found = run(rank_count, given.batch, given.steps, given.rounds)
        title = f"{rank_count} ranks, torch {torch.__version__}, load {load:.1f}; {describe_machine()}"
        shown = table("time of", "contender", "ms", "gloo / it", title=title, left=["time of", "contender"])
        for line in lines(found):
            shown.add_row(*line)
        console.print(shown)
        records.append({"ranks": rank_count, "load": load, "machine": describe_machine(), "seconds": found})
    history.record(given, records)
    if given.json:
        write_whole(given.json, "".join(f"{json.dumps(record)}\n" for record in records).encode())


if __name__ == "__main__":
    main()
