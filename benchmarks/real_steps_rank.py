# SPDX-License-Identifier: Apache-2.0
"""One rank of benchmarks/real_steps.py: takes orders on its standard input, and answers on its standard output with a
line of JSON each. It sleeps between orders."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.profiler import ProfilerActivity, profile, schedule

from ordered_ranks import answers_output
from torch_ddp_step import Contender, text

LIMIT = timedelta(seconds=300)
#: Steps before the profiler records; DDP makes its buckets anew after the first.
BEFORE = 3

Order = dict[str, Any]


class Training:
    """The GPT on this repository's text, split one way, with a library's collectives. It has seen the same text."""

    def __init__(self, split: str, group: Any, batch: int) -> None:
        self._made = Contender(None, batch)
        if split == "DDP":
            # All ranks draw the same parameters, which need not be sent.
            self._made.model = nn.parallel.DistributedDataParallel(
                self._made.model, process_group=group, init_sync=False
            )
        else:
            mesh = DeviceMesh.from_group(group, "cpu")
            for layer in self._made.model.layers.layers:
                fully_shard(layer, mesh=mesh)
            fully_shard(self._made.model, mesh=mesh)
        # One operator, not thousands: the profiler takes time for each.
        self._made.optimizer = torch.optim.AdamW(self._made.model.parameters(), lr=1e-3, fused=True)

    def step(self, pages: Any, late_s: float = 0.0) -> None:
        """Take a step, to which this rank comes late."""
        if late_s:
            time.sleep(late_s)
        self._made.step(pages)

    @property
    def loss(self) -> float:
        """The last step's loss on this rank."""
        return self._made.losses[-1]


def ends_of(step: Callable[[], None], warm: int, count: int) -> list[float]:
    """Return when the first of so many steps began and when each ended, by the clock that all ranks share."""
    for _ in range(warm):
        step()
    dist.barrier()
    ends = [time.monotonic()]
    for _ in range(count):
        step()
        ends.append(time.monotonic())
    return ends


def timed(training: Training, pages: Any, order: Order) -> Order:
    """Take steps, to which the last rank may come late."""
    last = dist.get_rank() == dist.get_world_size() - 1
    step = partial(training.step, pages, order["late_s"] if last else 0.0)
    return {"ends": ends_of(step, order["warm"], order["steps"]), "loss": training.loss}


def recorded(training: Training, pages: Any, order: Order) -> Order:
    """Take steps, and then steps under PyTorch's profiler, as docs/how-to/whatif.md does."""
    answer = timed(training, pages, order | {"warm": BEFORE, "late_s": 0.0})
    folder, rank = Path(order["record"]), dist.get_rank()
    steps = schedule(wait=BEFORE, warmup=1, active=order["steps"], repeat=1)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=steps,
        record_shapes=True,
        on_trace_ready=lambda made: made.export_chrome_trace(str(folder / f"profile-{rank}.json")),
    ) as profiled:
        for _ in range(BEFORE + 1 + order["steps"]):
            training.step(pages)
            profiled.step()
    return answer


def called(group: Any, order: Order) -> Order:
    """Reduce a few bytes again and again, in a buffer written before.

    A byte is an element, so that each rank has a part to send. The greatest byte stays, where a sum would overflow.
    """
    buffer = torch.ones(order["nbytes"], dtype=torch.uint8)
    call = partial(dist.all_reduce, buffer, dist.ReduceOp.MAX, group)
    return {"ends": ends_of(call, order["warm"], order["calls"])}


def serve(answers: TextIO) -> None:
    """Follow orders until there are no more."""
    dist.init_process_group("gloo", timeout=LIMIT)
    pages = text()
    groups: dict[str, Any] = {"gloo": dist.group.WORLD}
    print(json.dumps({}), file=answers, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        answer: Order = {}
        if order.get("measure_links"):
            if "hemiola" in groups:
                dist.destroy_process_group(groups.pop("hemiola"))
            groups["hemiola"] = dist.new_group(backend="hemiola", timeout=LIMIT)
        elif "calls" in order:
            answer = called(groups[order["library"]], order)
        else:
            training = Training(order["split"], groups[order["library"]], order["batch"])
            answer = (recorded if "record" in order else timed)(training, pages, order)
        print(json.dumps(answer), file=answers, flush=True)
    dist.destroy_process_group()


def main() -> None:
    """Serve. What libraries print goes to the error output."""
    answers = answers_output()
    torch.set_num_threads(1)
    serve(answers)


if __name__ == "__main__":
    main()
