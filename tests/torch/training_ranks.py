# SPDX-License-Identifier: Apache-2.0
"""Small trainings on ranks of torch.distributed; each returns its losses and a digest of its parameters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import _functional_collectives as functional_collectives
from torch.distributed.device_mesh import init_device_mesh

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from older_torch import Shard, averages, distribute_tensor, fully_shard

STEPS = 6


def batches() -> Any:
    """Return this rank's data: points and the class that a fixed rule gives them."""
    generator = torch.Generator().manual_seed(100 + dist.get_rank())
    x = torch.randn(STEPS, 16, 12, generator=generator)
    return x, (x.sum(-1) > 0).long()


def network() -> Any:
    """Return the same small network on every rank."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 2))


def trained(model: Any) -> list[float]:
    """Train, and return the losses."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for x, y in zip(*batches(), strict=True):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 7))
    return losses


def ddp() -> list[float]:
    """DistributedDataParallel, in buckets of a few hundred bytes, so that there are several."""
    return trained(nn.parallel.DistributedDataParallel(network(), bucket_cap_mb=0.001))


def fsdp2() -> list[float]:
    """Parameters and gradients in shards."""
    model = network()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(model)
    with averages():
        return trained(model)


def functional() -> list[float]:
    """Functional collectives, as compiled programs call them, and a tensor that is spread over ranks."""
    rank, n = dist.get_rank(), dist.get_world_size()
    x = torch.arange(4.0 * n) + rank
    total = functional_collectives.all_reduce(x, "sum", dist.group.WORLD)
    whole = functional_collectives.all_gather_tensor(x, 0, dist.group.WORLD)
    part = functional_collectives.reduce_scatter_tensor(x, "sum", 0, dist.group.WORLD)
    swapped = functional_collectives.all_to_all_single(x, None, None, dist.group.WORLD)
    mesh = init_device_mesh("cpu", (n,))
    torch.manual_seed(2)
    a, b = torch.randn(4 * n, 8), torch.randn(8, 4 * n)
    product = distribute_tensor(a, mesh, [Shard(0)]) @ distribute_tensor(b, mesh, [Shard(1)])
    return [float(one.double().sum()) for one in (total, whole, part, swapped, product.full_tensor())]


def inner_collectives() -> int:
    """Return how many collectives the gloo has had that a group has inside, or is."""
    inner = dist.group.WORLD._get_backend(torch.device("cpu"))
    return int(inner._get_sequence_number_for_group())
