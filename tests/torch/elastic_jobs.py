# SPDX-License-Identifier: Apache-2.0
"""Trainings whose ranks die, leave and come, one job after the other, in processes forked from one that has imported
PyTorch: elastic_jobs.py JOB... prints a line of JSON for each job, with what its ranks saw.

A job is JSON: "ranks" of them begin, and make "steps". "events" are lists:

- ["die", RANK, STEP, WHERE] has a rank killed "before", "in" or "after" a backward pass.
- ["leave", RANK, STEP] has it leave after that step.
- ["come", STEP] has a newcomer start once the others are there; newcomers' ranks follow those of the beginning.
- ["deaf", RANK, STEP] has a rank fail in the vote of a step that others complete.

"hook" is "pruned" or "quantized". With "shards" the model is in so many. With "slurm" ranks begin as under srun."""

from __future__ import annotations

import json
import mmap
import os
import signal
import struct
import sys
import tempfile
import time
import traceback
import uuid
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from of_pytorch import HAS_FSDP2
from torch import nn

import hemiola as hm
import hemiola.torch.making  # once, for all ranks
from hemiola.torch import PrunedGradients, QuantizedGradients
from hemiola.torch.elastic import Training

if HAS_FSDP2:
    from torch.distributed.fsdp import fully_shard

    from hemiola.torch.elastic_sharded import ShardedTraining

BATCH, FEATURES, CLASSES = 60, 64, 10  # like small pictures of digits
LIMIT_S = 60.0
_PROTOTYPES = 2 * torch.randn(
    CLASSES, FEATURES, dtype=torch.float64, generator=torch.Generator().manual_seed(5)
)
HOOKS = {"pruned": lambda: PrunedGradients(0.1), "quantized": QuantizedGradients}


class Digits:
    """A training whose gradients are those of the whole batch, whoever computes them."""

    def __init__(self) -> None:
        torch.manual_seed(1)
        self.module = nn.Sequential(
            nn.Linear(FEATURES, 32), nn.Tanh(), nn.Linear(32, CLASSES), nn.BatchNorm1d(CLASSES, affine=False)
        ).double()
        self.module[3].eval()  # normalizes nothing here; its numbers are counted in `loss`
        self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=0.01)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.99)

    def loss(self, model: Any, step: int, rank: int, rank_count: int) -> Any:
        """Return a rank's share of a step's loss: the average over the ranks is that of the whole batch."""
        draw = torch.Generator().manual_seed(step)
        labels = torch.randint(CLASSES, (BATCH,), generator=draw)
        pictures = _PROTOTYPES[labels] + torch.randn(BATCH, FEATURES, dtype=torch.float64, generator=draw)
        mine = slice(rank, BATCH, rank_count)
        self.module[3].num_batches_tracked += 1
        losses = nn.functional.cross_entropy(model(pictures[mine]), labels[mine], reduction="sum")
        return losses * rank_count / BATCH

    def apart(self, steps: int) -> float:
        """Return how far the parameters are from those that one process alone comes to."""
        alone = Digits()
        for step in range(steps):
            alone.optimizer.zero_grad()
            alone.loss(alone.module, step, 0, 1).backward()
            alone.optimizer.step()
            alone.scheduler.step()
        assert int(self.module[3].num_batches_tracked) == steps
        pairs = zip(self.module.parameters(), alone.module.parameters(), strict=True)
        return max(float((one - other).detach().abs().max()) for one, other in pairs)


class Progress:
    """How many steps each process has made, for all processes to read; -1 of one that has not come."""

    def __init__(self, count: int) -> None:
        self._memory = mmap.mmap(-1, 8 * count)
        for process in range(count):
            self[process] = -1

    def __getitem__(self, process: int) -> int:
        return int(struct.unpack_from("q", self._memory, 8 * process)[0])

    def __setitem__(self, process: int, step: int) -> None:
        struct.pack_into("q", self._memory, 8 * process, step)


def communicator(number: int, job: dict[str, Any], name: str) -> hm.Communicator:
    """Come together with the others, as one that begins or as a newcomer."""
    if "slurm" not in job:
        is_new = number >= job["ranks"]
        return (
            hm.join(name, timeout_s=LIMIT_S)
            if is_new
            else hm.Communicator.join(number, job["ranks"], name, timeout_s=LIMIT_S)
        )
    step = {"SLURM_JOB_ID": name, "SLURM_STEP_ID": "0", "SLURM_NNODES": "1"}
    if number >= job["ranks"]:  # of another step of the same job
        os.environ.update(step | {"SLURM_STEP_ID": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"})
        return hm.join(f"train-{os.environ['SLURM_JOB_ID']}", timeout_s=LIMIT_S)
    os.environ.update(step | {"SLURM_PROCID": str(number), "SLURM_NTASKS": str(job["ranks"])})
    rank, rank_count = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    return hm.Communicator.join(rank, rank_count, f"train-{os.environ['SLURM_JOB_ID']}", timeout_s=LIMIT_S)


def be_rank(number: int, job: dict[str, Any], name: str, progress: Progress) -> dict[str, Any]:
    """Train, and return what this rank saw."""
    torch.set_num_threads(1)
    mine = [event for event in job["events"] if event[0] != "come" and event[1] == number]
    deaths = {(step, where) for kind, _, step, *rest in mine for where in rest if kind == "die"}
    leaves = {step for kind, _, step, *_ in mine if kind == "leave"}
    final = job["ranks"] + sum(
        {"die": -1, "leave": -1, "come": 1, "deaf": 0}[event[0]] for event in job["events"]
    )
    if "shards" in job:
        return be_sharded(number, job, name, progress, die_at=deaths, leaves=leaves, final=final)
    work: Any = Owing() if "hook" in job else Digits()
    hook = HOOKS[job["hook"]]() if "hook" in job else None
    comm = communicator(number, job, name)
    sizes: list[int] = []
    training = Training(comm, work.module, work.optimizer, work.scheduler, hook=hook, on_change=sizes.append)
    deafen(training, {step for kind, _, step, *_ in mine if kind == "deaf"}, progress, job["ranks"])
    first, tries, made = training.step, 0, []

    def die(step: int, where: str) -> None:
        if (step, where) in deaths:
            os.kill(os.getpid(), signal.SIGKILL)

    def gradients(model: Any, step: int) -> int:
        nonlocal tries
        tries += 1
        die(step, "before")
        loss = work.loss(model, step, dist.get_rank(), dist.get_world_size())
        die(step, "in")
        loss.backward()
        die(step, "after")
        return dist.get_world_size()

    while training.step < job["steps"] or dist.get_world_size() != final:
        until = max(job["steps"], (training.step // 20 + 1) * 20)  # newcomers find the same
        for step, size in training.steps(gradients, until=until):
            made.append(step)
            progress[number] = step
            if hook is not None:
                work.count(step, size)
            if step + 1 in leaves:
                training.leave()
            time.sleep(0.001)
        if training.has_left:
            break
    found = {
        "first": first,
        "sizes": sizes,
        "steps": training.step,
        "is_each_step_made_once": made == list(range(first, training.step)),
        "repeated": tries - len(made),
        "lr": work.optimizer.param_groups[0]["lr"],
        "has_left": training.has_left,
        **({"apart": work.apart(training.step)} if hook is None else work.books(hook, sizes[-1])),
    }
    dist.destroy_process_group()
    return found


def deafen(training: Any, steps: set[int], progress: Progress, rank_count: int) -> None:
    """Have a rank fail in the votes of some steps once all others have made them."""
    vote, own = training._vote, training._comm.rank

    def failing() -> None:
        vote()
        if training.step in steps:
            steps.remove(training.step)
            deadline = time.monotonic() + LIMIT_S
            while any(progress[other] < training.step for other in range(rank_count) if other != own):
                assert time.monotonic() < deadline, f"not all others have made step {training.step}"
                time.sleep(0.001)
            training._comm.abort("deaf")
            raise hm.LostRankError("deaf")

    training._vote = failing


def sharded(mesh: Any = None) -> tuple[Any, Any]:
    """Return a network, in shards where there is a mesh for them, and its optimizer."""
    torch.manual_seed(1)
    layers = [
        nn.Linear(FEATURES, 31),
        nn.Tanh(),
        nn.Linear(31, CLASSES),
    ]  # 31 rows are not alike for all ranks
    model = nn.Sequential(*layers).double()
    if mesh is not None:
        for layer in (model[0], model[2]):
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=0.01)


def loss_of(model: Any, step: int, rank: int, rank_count: int) -> Any:
    """Return a rank's share of a step's loss."""
    draw = torch.Generator().manual_seed(step)
    labels = torch.randint(CLASSES, (BATCH,), generator=draw)
    pictures = _PROTOTYPES[labels] + torch.randn(BATCH, FEATURES, dtype=torch.float64, generator=draw)
    mine = slice(rank, BATCH, rank_count)
    losses = nn.functional.cross_entropy(model(pictures[mine]), labels[mine], reduction="sum")
    return losses * rank_count / BATCH


def be_sharded(
    number: int,
    job: dict[str, Any],
    name: str,
    progress: Progress,
    *,
    die_at: set[tuple[int, str]],
    leaves: set[int],
    final: int,
) -> dict[str, Any]:
    """Train in shards, and return what this rank saw."""
    comm = communicator(number, job, name)
    sizes: list[int] = []
    training = ShardedTraining(comm, sharded, job["shards"], on_change=sizes.append)
    tries, made = 0, []

    def die(step: int, where: str) -> None:
        if (step, where) in die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def gradients(model: Any, step: int) -> None:
        nonlocal tries
        tries += 1
        die(step, "before")
        loss = loss_of(model, step, dist.get_rank(), dist.get_world_size())
        die(step, "in")
        loss.backward()
        die(step, "after")

    try:
        while (training.step < job["steps"] or training.rank_count != final) and not training.has_left:
            until = max(job["steps"], (training.step // 20 + 1) * 20)
            for step, _ in training.steps(gradients, until=until):
                made.append(step)
                progress[number] = step
                if step + 1 in leaves:
                    training.leave()
                time.sleep(0.001)
    except hm.LostRankError as error:
        return {"error": str(error)}
    apart = None
    if training.seat is not None and not training.has_left:
        whole, optimizer = sharded()
        for step in range(training.step):
            optimizer.zero_grad()
            loss_of(whole, step, 0, 1).backward()
            optimizer.step()
        pairs = zip(training.model.parameters(), whole.parameters(), strict=True)
        apart = max(float((one.full_tensor() - other).detach().abs().max()) for one, other in pairs)
    found = {
        "sizes": sizes,
        "steps": training.step,
        "is_each_step_made_once": made == sorted(set(made)),
        "repeated": tries - len(made),
        "has_left": training.has_left,
        "seat": training.seat,
        "apart": apart,
    }
    if training.seat is not None:
        dist.destroy_process_group()
    return found


class Owing:
    """A training whose gradients do not depend on its parameters, so that what was sent and what is owed add up."""

    COUNT = 500

    def __init__(self) -> None:
        self.module = nn.Linear(self.COUNT, 1, bias=False)
        nn.init.zeros_(self.module.weight)
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=1.0)
        self.scheduler = None
        self.earned = torch.zeros(self.COUNT, dtype=torch.float64)
        self._latest = torch.zeros(self.COUNT)

    def loss(self, model: Any, step: int, rank: int, rank_count: int) -> Any:
        """Return a loss whose gradient is of small whole numbers; none on rank 1, so that it never owes anything."""
        draw = torch.Generator().manual_seed(1000 * step + rank)
        self._latest = torch.randint(-8, 9, (self.COUNT,), generator=draw) * float(rank != 1)
        return model(self._latest.reshape(1, -1)).sum()

    def count(self, step: int, rank_count: int) -> None:
        """Count this rank's share of a step that was made."""
        self.earned += self._latest.double() / rank_count

    def books(self, hook: Any, rank_count: int) -> dict[str, Any]:
        """Return this rank's sums: what it has earned, and what it owes of it; and what all have got."""
        owed = sum(hook.state_dict(self.module)["residuals"].values()).double().reshape(-1) / rank_count
        return {
            "earned": self.earned.tolist(),
            "owed": owed.tolist(),
            "got": (-self.module.weight.detach().double().reshape(-1)).tolist(),
        }


def run(job: dict[str, Any]) -> list[dict[str, Any] | int]:
    """Run a job, and return what each process saw, or the signal that ended it."""
    comings = [event[1] for event in job["events"] if event[0] == "come"]
    count, name = job["ranks"] + len(comings), f"elastic-{uuid.uuid4().hex[:8]}"
    progress, children = Progress(count), []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            late = number - job["ranks"]
            deadline = time.monotonic() + LIMIT_S
            while late >= 0 and max(progress[other] for other in range(number)) < comings[late]:
                assert time.monotonic() < deadline, f"nobody has come to step {comings[late]}"
                time.sleep(0.002)
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    found = be_rank(number, job, name, progress)
                    (Path(folder) / str(number)).write_text(json.dumps(found))
                    status = 0
                except BaseException:
                    print(f"rank {number} of {job}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
                os._exit(status)
            children.append(child)
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        return [
            json.loads((Path(folder) / str(number)).read_text()) if code == 0 else code
            for number, code in enumerate(ended)
        ]


if __name__ == "__main__":
    for text in sys.argv[1:]:
        print(json.dumps(run(json.loads(text))), flush=True)
