# SPDX-License-Identifier: Apache-2.0
"""A rank of a training that loses its last rank: sight_ranks.py NAME RANK RANKS FOLDER. Survivors write their records,
and print what Prometheus reads of them."""

from __future__ import annotations

import os
import signal
import sys

import torch
from prometheus_client import CollectorRegistry, generate_latest

import hemiola as hm
from hemiola.torch import save_records
from hemiola.torch.elastic import Training
from hemiola.torch.prometheus import Groups

STEPS, DEATH = 10, 5


def main(name: str, rank: int, ranks: int, folder: str) -> None:
    """Train beyond the death of the last rank."""
    comm = hm.Communicator.join(rank, ranks, name, timeout_s=60)
    module = torch.nn.Linear(4, 1)
    training = Training(comm, module, torch.optim.SGD(module.parameters(), lr=0.1))

    def gradients(model: torch.nn.Module, step: int) -> None:
        if step == DEATH and rank == ranks - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        model(torch.ones(2, 4)).sum().backward()

    for _ in training.steps(gradients, until=STEPS):
        pass
    save_records(folder)
    registry = CollectorRegistry()
    registry.register(Groups())
    print(generate_latest(registry).decode())


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
