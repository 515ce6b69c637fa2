# SPDX-License-Identifier: Apache-2.0
"""What ranks of benchmarks/torch_cluster.py do on one host of a cluster, forked from one process: each of ROWS measures
contenders in turn, and returns what it found by what was measured, contender and round, in seconds where nothing else
is said."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard

from hemiola.torch import Options, PrunedGradients
from hemiola.torch.lookup import group_of
from hemiola.whole_file import write_whole
from torch_ddp_step import ALONE, Contender, Gpt, all_reduced, buckets, text

PORT = 29560
LIMIT = timedelta(seconds=300)
#: So many operations, or steps, are enough to notice a slow port or a late rank.
WARM_UP = 12
DENSITY = 0.01
#: How late the last rank is to steps, in reduce-scatters of the gradient; a round has all of them, in another order.
LATENESS = (0.0, 0.4, 0.8, 1.2, 1.6, 2.0)
#: Parameters of the model to whose gradients a rank comes late: 4 MiB.
LATE_PARAMETERS = 1 << 20

Found = dict[str, dict[str, list[float]]]


def _spent_s(work: Callable[[], Any]) -> float:
    """Return how long some work takes that all ranks begin together."""
    dist.barrier()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _in_turn(rounds: int, calls: Mapping[str, Callable[[], Any]], warm_up: int) -> dict[str, list[float]]:
    """Return each contender's seconds by round, after some calls of each of which nobody takes the time."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(warm_up):
            call()
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append(_spent_s(call))
    return found


def _group(adapt: str | None = None) -> Any:
    """Return a new group on this backend that sums right what differs from rank to rank and place to place."""
    group = dist.new_group(backend="hemiola", timeout=LIMIT, pg_options=Options(adapt=adapt))
    rank, n = dist.get_rank(), dist.get_world_size()
    places = torch.arange(1 << 18).remainder(1000).float()
    x = places + rank
    dist.all_reduce(x, group=group)
    assert torch.equal(x, n * places + n * (n - 1) / 2)
    return group


def _groups() -> dict[str, Any]:
    return {"gloo": dist.group.WORLD, "hemiola": _group()}


def slow_nic(rounds: int, size: int) -> Found:
    """All-reduces of a gradient of `size` float32 in DDP's buckets."""
    made, groups = buckets(size), _groups()
    return {
        "all-reduces": _in_turn(
            rounds, {name: partial(all_reduced, made, group) for name, group in groups.items()}, WARM_UP // 4
        )
    }


def pruned(rounds: int, batch: int) -> Found:
    """Steps of DDP with dense gradients, with one in a hundred elements of each rank's, and without collectives."""
    pages, groups = text(), _groups() | {"hemiola, pruned": _group()}
    made = {name: Contender(group, batch) for name, group in groups.items()}
    last = groups["hemiola, pruned"]
    made["hemiola, pruned"].model.register_comm_hook(
        PrunedGradients(DENSITY, group=last), PrunedGradients.reduce
    )
    made[ALONE] = Contender(None, batch)
    calls = {name: partial(contender.step, pages) for name, contender in made.items()}
    _in_turn(0, calls, 3)
    before = _bytes_received(last)
    found = {"step": _in_turn(rounds, calls, 0)}
    return found | {
        "bytes received in a step": {"hemiola, pruned": [(_bytes_received(last) - before) / rounds]}
    }


def _bytes_received(group: Any) -> int:
    return sum(group_of(group)._comm.traffic().received_bytes)


class _LateTraining:
    """DDP on a wide layer, to whose backward pass the last rank comes late."""

    def __init__(self, group: Any, bucket_mb: float | None, reduce_scatter_s: float) -> None:
        torch.manual_seed(0)
        width = int((LATE_PARAMETERS // 4) ** 0.5)
        network = nn.Sequential(*(nn.Linear(width, width, bias=False) for _ in range(4)))
        self.model = nn.parallel.DistributedDataParallel(
            network, process_group=group, bucket_cap_mb=bucket_mb
        )
        self.x = torch.randn(4, width)
        self.unit_s = reduce_scatter_s
        self.is_late = dist.get_rank() == dist.get_world_size() - 1

    def round(self, lateness: list[float]) -> None:
        """Take a step for each delay."""
        for late in lateness:
            if self.is_late:
                time.sleep(late * self.unit_s)
            self.model(self.x).sum().backward()
            self.model.zero_grad()


def late(rounds: int, reduce_scatter_s: float, bucket_mb: float | None) -> Found:
    """Steps of DDP to which one rank comes late, with and without looking for it."""
    asked = {"hemiola, late ranks switched off": "slow", "hemiola": "late,slow"}
    trainings = {
        name: _LateTraining(_group(adapt), bucket_mb, reduce_scatter_s) for name, adapt in asked.items()
    }
    draw = np.random.default_rng(0)
    found: dict[str, list[float]] = {name: [] for name in trainings}
    for number in range(-2, rounds):  # two rounds, of twelve steps, to notice
        lateness = draw.permutation(LATENESS).tolist()
        for name, training in trainings.items():
            round_s = _spent_s(partial(training.round, lateness))
            if number >= 0:
                found[name].append(round_s / len(LATENESS))
    return {"step": found}


def fsdp2(rounds: int, batch: int) -> Found:
    """All-gathers of a layer's parameters and reduce-scatters of its gradients, and steps of FSDP2."""
    n, groups, pages = dist.get_world_size(), _groups(), text()
    layer = sum(each.numel() for each in Gpt().layers.layers[0].parameters())
    part, whole = (torch.empty(each).fill_(1.0) for each in (-(-layer // n), -(-layer // n) * n))
    gathers, scatters, steps = {}, {}, {}
    for name, group in groups.items():
        gathers[name] = partial(dist.all_gather_into_tensor, whole, part, group=group)
        scatters[name] = partial(dist.reduce_scatter_tensor, part, whole, group=group)
        contender = Contender(None, batch)
        mesh = DeviceMesh.from_group(group, "cpu")
        for each in contender.model.layers.layers:
            fully_shard(each, mesh=mesh)
        fully_shard(contender.model, mesh=mesh)
        contender.optimizer = torch.optim.AdamW(contender.model.parameters(), lr=1e-3)
        steps[name] = partial(contender.step, pages)
    return {
        "all-gather": _in_turn(rounds, gathers, 2),
        "reduce-scatter": _in_turn(rounds, scatters, 2),
        "step of FSDP2": _in_turn(rounds, steps, 1),
    }


ROWS: dict[str, Callable[..., Found]] = {"slow_nic": slow_nic, "pruned": pruned, "late": late, "fsdp2": fsdp2}


def be_rank(row: str, rank: int, rank_count: int, options: Mapping[str, Any], into: Path) -> None:
    """Measure as one rank, and write what was found."""
    torch.set_num_threads(1)
    at = f"tcp://host0:{PORT}"
    dist.init_process_group("gloo", init_method=at, rank=rank, world_size=rank_count, timeout=LIMIT)
    found = ROWS[row](**options)
    write_whole(into / f"{rank}.json", json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def main() -> int:
    """Fork the ranks of a host; return how many have failed. What they say goes to a file each."""
    row, first, end, rank_count, options, folder = sys.argv[1:]
    into = Path(folder)
    importlib.import_module("hemiola.torch.making")  # once, for all ranks
    children = []
    for rank in range(int(first), int(end)):
        child = os.fork()
        if child == 0:
            status = 1
            log = os.open(into / f"{rank}.log", os.O_WRONLY | os.O_CREAT)
            os.dup2(log, 1)
            os.dup2(log, 2)
            try:
                be_rank(row, rank, int(rank_count), json.loads(options), into)
                status = 0
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        children.append(child)
    return sum(os.waitpid(child, 0)[1] != 0 for child in children)


if __name__ == "__main__":
    sys.exit(main())
