# SPDX-License-Identifier: Apache-2.0
"""A training of three ranks goes on while one is killed, a newcomer takes its place, and another one leaves. Nobody
restarts, and the parameters are those of a training that nobody has disturbed.

    python examples/elastic.py

Ranks are plain processes here; docs/how-to/elastic-training.md says how torchrun and Slurm start them."""

import multiprocessing
import os
import signal
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

import hemiola as hm
from hemiola.torch.elastic import Training

STEPS, BATCH, KILLED_AT, LEAVES_AT = 300, 120, 60, 200
PROTOTYPES = torch.randn(10, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


def network() -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a network that reads digits of 8 x 8 pixels, and its optimizer."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10)).double()
    return module, torch.optim.AdamW(module.parameters(), lr=0.003)


def loss_of(model: nn.Module, step: int, rank: int, rank_count: int) -> torch.Tensor:
    """Return a rank's share of a step's loss: the average over the ranks is that of the whole batch."""
    draw = torch.Generator().manual_seed(step)
    labels = torch.randint(10, (BATCH,), generator=draw)
    pictures = PROTOTYPES[labels] + torch.randn(BATCH, 64, dtype=torch.float64, generator=draw)
    mine = slice(rank, BATCH, rank_count)
    losses = nn.functional.cross_entropy(model(pictures[mine]), labels[mine], reduction="sum")
    return losses * rank_count / BATCH


def distance_from_undisturbed(module: nn.Module) -> float:
    """Train alone, and return how far the parameters are from that."""
    alone, optimizer = network()
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(alone, step, 0, 1).backward()
        optimizer.step()
    pairs = zip(module.parameters(), alone.parameters(), strict=True)
    return max(float((one - other).detach().abs().max()) for one, other in pairs)


def work(process: str, name: str, spare_may_come: Any) -> None:
    """Train as A, B or C, which begin, or as D, a spare."""
    torch.set_num_threads(1)
    module, optimizer = network()
    if process == "D":
        spare_may_come.wait()  # all imports are done by now, so nobody waits for them
        comm = hm.join(name)
    else:
        comm = hm.Communicator.join("ABC".index(process), 3, name)
    training = Training(comm, module, optimizer)
    first = training.step

    def gradients(model: nn.Module, step: int) -> float:
        loss = loss_of(model, step, dist.get_rank(), dist.get_world_size())
        if process == "B" and step == KILLED_AT:
            print(f"step {step}: B is killed between forward and backward", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
        dist.all_reduce(loss := loss.detach(), op=dist.ReduceOp.AVG)
        return float(loss)

    for step, loss in training.steps(gradients, until=STEPS):
        if step == first or step == STEPS - 1 or (step % 50 == 0 and dist.get_rank() == 0):
            print(
                f"step {step}: {process} is rank {dist.get_rank()} of {dist.get_world_size()}, loss {loss:.3f}",
                flush=True,
            )
        if process == "A" and step + 1 == LEAVES_AT:
            training.leave()
        time.sleep(0.01)  # as if there were more to compute
    if training.has_left:
        print(f"step {training.step - 1}: A has left", flush=True)
    else:
        print(f"{process}: {distance_from_undisturbed(module):.0e} from a training that nobody has disturbed")
    dist.destroy_process_group()


def main() -> None:
    """Start the ranks, and let the spare in when B is dead."""
    context = multiprocessing.get_context("spawn")
    spare_may_come = context.Event()
    name = f"elastic-{os.getpid()}"
    processes = [context.Process(target=work, args=(process, name, spare_may_come)) for process in "ABCD"]
    for process in processes:
        process.start()
    processes[1].join()
    spare_may_come.set()
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
