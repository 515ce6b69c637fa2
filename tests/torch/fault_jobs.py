# SPDX-License-Identifier: Apache-2.0
"""Trainings in which rank 1 of three fails, one job after the other in ranks forked from a process that has imported
PyTorch: fault_jobs.py JOB... prints a line of JSON a job: how each rank ended, what it raised, and how long after."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn

import hemiola.torch.making  # once, for all ranks

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from older_torch import fully_shard

RANKS, STEPS, FATAL_STEP, JOB_LIMIT_S = 3, 8, 3, 60
LIMIT = timedelta(seconds=20)
SHORT = timedelta(seconds=2)


def network() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 2))


def data_parallel(group: Any = None) -> Any:
    return nn.parallel.DistributedDataParallel(network(), bucket_cap_mb=0.01, process_group=group)


def sharded() -> Any:
    model = network()
    for layer in (model[0], model[2], model[4]):
        fully_shard(layer)
    return fully_shard(model)


def trained(model: Any, fail: Callable[[], Any], impatient: Any = None) -> None:
    """Train; rank 1 fails between the forward and the backward pass of a step, and from there on the operations of the
    impatient group take two seconds at most: before, a busy machine may keep anybody for so long."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        loss = model(torch.ones(4, 8)).square().sum()
        if step == FATAL_STEP:
            if impatient is not None:
                impatient.set_timeout(SHORT)
            if dist.get_rank() == 1:
                fail()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stopped() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def raising() -> None:
    raise ValueError("a mistake in the program of rank 1")


def ddp_killed() -> None:
    trained(data_parallel(), killed)


def quantized_killed() -> None:
    """Rank 1 is killed before a pass's first bucket, of eight bits an element."""
    with (
        mock.patch("hemiola.quantization.choice._pays", return_value=True),
        mock.patch("hemiola.quantization.race.Race.next", return_value=True),
    ):
        _killed_while_owing(hemiola.torch.QuantizedGradients())


def pruned_killed() -> None:
    """The same with gradients of which most wait."""
    _killed_while_owing(hemiola.torch.PrunedGradients(0.2))


def _killed_while_owing(state: Any) -> None:
    """Train by a hook until rank 1 is killed; the failed pass leaves all residuals as they were."""
    model = data_parallel()
    model.register_comm_hook(state, type(state).reduce)
    rows = torch.randn(4, 8, generator=torch.Generator().manual_seed(dist.get_rank()))

    def owed() -> list[Any]:
        return list(state.state_dict(model.module)["residuals"].values())

    for _ in range(FATAL_STEP):
        model(rows).square().sum().backward()
    before = owed()
    assert len(before) == 6
    assert any(one.any() for one in before)
    if dist.get_rank() == 1:
        killed()
    try:
        model(rows).square().sum().backward()
    finally:
        deadline = time.monotonic() + 10  # a future's callback may be late
        while not all(map(torch.equal, owed(), before)):
            assert time.monotonic() < deadline, "a residual differs from that before the failed pass"
            time.sleep(0.01)


def fsdp2_killed() -> None:
    trained(sharded(), killed)


def ddp_raising() -> None:
    trained(data_parallel(), raising)


def fsdp2_raising() -> None:
    trained(sharded(), raising)


def ddp_stopped() -> None:
    group = dist.new_group(timeout=LIMIT)
    trained(data_parallel(group), stopped, group)


def fsdp2_stopped() -> None:
    trained(sharded(), stopped, dist.group.WORLD)


def late() -> None:
    """Rank 1 does something else for longer than an operation may take."""
    group = dist.new_group(timeout=LIMIT)
    trained(data_parallel(group), lambda: time.sleep(4), group)


def loading() -> None:
    """Data come from processes that are forked beside the live group, and end beside it."""

    class Rows(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return 64

        def __getitem__(self, index: int) -> Any:
            return torch.full((8,), float(index))

    model = data_parallel()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for epoch in range(2):
        seen = 0.0
        sampler = torch.utils.data.DistributedSampler(Rows(), shuffle=False)
        loader = torch.utils.data.DataLoader(
            Rows(), batch_size=8, sampler=sampler, num_workers=2, multiprocessing_context="fork"
        )
        for rows in loader:
            optimizer.zero_grad()
            model(rows).sum().backward()
            optimizer.step()
            seen += rows[:, 0].sum().item()
        total = torch.tensor(seen)
        dist.all_reduce(total)
        expected = sum(range(64)) + sum(range(-64 % RANKS))  # the sampler fills up from the beginning
        assert total.item() == expected, (epoch, total, expected)


def exiting() -> None:
    """The interpreter ends, with its usual steps, while operations wait for a rank that never comes."""
    store, begun = dist.distributed_c10d._get_default_store(), ["begun by 0", "begun by 2"]
    if dist.get_rank() != 1:
        work = dist.all_reduce(torch.ones(100_000), async_op=True)
        work.get_future()
        dist.isend(torch.ones(100_000), 1)
        store.set(f"begun by {dist.get_rank()}", "")
    store.wait(begun)  # whoever has ended fails what others begin
    sys.exit(0)


def be_rank(job: str, rank: int, at: str) -> dict[str, Any]:
    """Run a job as one rank, and say how it ended."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "hemiola", init_method=f"file://{at}/store", rank=rank, world_size=RANKS, timeout=LIMIT
    )
    began = time.monotonic()
    try:
        globals()[job]()
    except Exception as error:
        took_s = time.monotonic() - began
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return {"raised": kinds, "message": str(error), "took_s": took_s}
    dist.destroy_process_group()
    return {"raised": [], "message": "", "took_s": time.monotonic() - began}


def run(job: str) -> list[dict[str, Any]]:
    """Fork the ranks of a job, and return how each has ended."""
    at = tempfile.mkdtemp(prefix="fault")
    children: dict[int, int] = {}
    for rank in range(RANKS):
        child = os.fork()
        if child == 0:
            try:
                told = be_rank(job, rank, at)
            except SystemExit:
                raise  # as programs end
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            (Path(at) / str(rank)).write_text(json.dumps(told))
            os._exit(0)
        children[child] = rank
    ends: dict[int, int] = {}
    deadline = time.monotonic() + JOB_LIMIT_S
    while children:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child:
            ends[children.pop(child)] = os.waitstatus_to_exitcode(status)
        elif set(children.values()) == {1}:  # perhaps one that was stopped
            os.kill(next(iter(children)), signal.SIGCONT)
            time.sleep(0.02)
        elif time.monotonic() > deadline:
            for one in children:
                os.kill(one, signal.SIGKILL)
        else:
            time.sleep(0.02)
    found = []
    for rank in range(RANKS):
        path = Path(at) / str(rank)
        found.append({"exit": ends[rank]} | (json.loads(path.read_text()) if path.exists() else {}))
    shutil.rmtree(at)  # not by whoever ends first, a rank
    return found


if __name__ == "__main__":
    for name in sys.argv[1:]:
        told = run(name)
        print(json.dumps({name: told}), flush=True)
