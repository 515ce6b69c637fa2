# SPDX-License-Identifier: Apache-2.0
"""Small trainings by what people train with on PyTorch, for torch_frameworks.py.

Each takes the name of a backend, whose process group is open, trains for 20 steps and returns this rank's losses. What
PyTorch does not bring is imported where it is used."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed import _functional_collectives as functional_collectives
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from older_torch import fully_shard

STEPS, BATCH, WIDTH, CLASSES = 20, 16, 24, 4


def batches(seed: int, steps: int = STEPS) -> list[tuple[Any, Any]]:
    """Return points and the classes that a fixed rule gives them."""
    draw = torch.Generator().manual_seed(seed)
    points = torch.randn(steps, BATCH, WIDTH, generator=draw)
    return [(x, x.view(BATCH, CLASSES, -1).sum(-1).argmax(-1)) for x in points]


def network() -> Any:
    """Return the same network on every rank."""
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(WIDTH, 32),
        nn.GELU(),
        nn.Linear(32, 32),
        nn.GELU(),
        nn.Linear(32, 32),
        nn.GELU(),
        nn.Linear(32, CLASSES),
    )


def optimizer_of(model: Any) -> Any:
    """Return what all train with."""
    return torch.optim.AdamW(model.parameters(), lr=5e-3)


def trained(model: Any, optimizer: Any = None, data: Any = None) -> list[float]:
    """Train, and return the losses."""
    optimizer = optimizer or optimizer_of(model)
    losses = []
    for x, y in data or batches(100 + dist.get_rank()):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def ddp(backend: str) -> list[float]:
    """DistributedDataParallel, in several buckets"""
    return trained(nn.parallel.DistributedDataParallel(network(), bucket_cap_mb=0.002))


def _sharded(model: Any, **mesh: Any) -> Any:
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, **mesh)
    return fully_shard(model, **mesh)


def fsdp2(backend: str) -> list[float]:
    """FSDP2: fully_shard"""
    return trained(_sharded(network()))


def hsdp(backend: str) -> list[float]:
    """HSDP: fully_shard on a mesh of 2 × 2"""
    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("replicate", "shard"))
    return trained(_sharded(network(), mesh=mesh))


def fsdp1(backend: str) -> list[float]:
    """FSDP1: FullyShardedDataParallel, with clipping"""
    model = FullyShardedDataParallel(
        network(), auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), device_id=torch.device("cpu")
    )
    optimizer = optimizer_of(model)
    losses = []
    for x, y in batches(100 + dist.get_rank()):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def tensor_parallel(backend: str) -> list[float]:
    """DTensor tensor parallelism: columns, then rows"""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel(), "4": ColwiseParallel(), "6": RowwiseParallel()}
    return trained(parallelize_module(network(), mesh, plan), data=batches(7))


def pipeline(backend: str) -> list[float]:
    """Pipelining, 1F1B, a stage a rank"""
    rank, n = dist.get_rank(), dist.get_world_size()
    layers = list(network())
    cuts = [len(layers) * stage // n for stage in range(n + 1)]
    part = nn.Sequential(*layers[cuts[rank] : cuts[rank + 1]])
    stage = PipelineStage(part, rank, n, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=8, loss_fn=nn.functional.cross_entropy)
    parameters = list(part.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=5e-3) if parameters else None
    losses = []
    for x, y in batches(7):
        of_parts: list[Any] = []
        if optimizer is not None:
            optimizer.zero_grad()
        given = (x,) if rank == 0 else ()
        schedule.step(*given, **({"target": y, "losses": of_parts} if rank == n - 1 else {}))
        if optimizer is not None:
            optimizer.step()
        loss = torch.stack(of_parts).mean().detach() if of_parts else torch.zeros(())
        dist.broadcast(loss, n - 1)
        losses.append(loss.item())
    return losses


def checkpoint(backend: str) -> list[float]:
    """Distributed checkpoint: FSDP2, saved after 10 steps and loaded into a new model"""
    told = [tempfile.mkdtemp(prefix="checkpoint") if dist.get_rank() == 0 else ""]
    dist.broadcast_object_list(told, 0)
    data = batches(100 + dist.get_rank())
    first = _sharded(network())
    optimizer = optimizer_of(first)
    losses = trained(first, optimizer, data[: STEPS // 2])
    model_state, optimizer_state = get_state_dict(first, optimizer)
    dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=told[0])
    torch.manual_seed(2)
    second = _sharded(
        nn.Sequential(
            *(type(m)(m.in_features, m.out_features) if isinstance(m, nn.Linear) else m for m in network())
        )
    )
    optimizer = optimizer_of(second)
    model_state, optimizer_state = get_state_dict(second, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state}
    dcp.load(state, checkpoint_id=told[0])
    set_state_dict(second, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    losses += trained(second, optimizer, data[STEPS // 2 :])
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(told[0])
    return losses


def functional(backend: str) -> list[float]:
    """Functional collectives: gradients averaged by hand"""
    model = network()
    optimizer = optimizer_of(model)
    losses = []
    for x, y in batches(100 + dist.get_rank()):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            whole = functional_collectives.reduce_scatter_tensor(
                nn.functional.pad(parameter.grad.flatten(), (0, -parameter.numel() % dist.get_world_size())),
                "avg",
                0,
                dist.group.WORLD,
            )
            every = functional_collectives.all_gather_tensor(whole, 0, dist.group.WORLD)
            parameter.grad.copy_(every[: parameter.numel()].view_as(parameter))
        optimizer.step()
        losses.append(loss.item())
    return losses


def compiled(backend: str) -> list[float]:
    """torch.compile: a step with collectives inside, by inductor, in DDP"""
    model = nn.parallel.DistributedDataParallel(network())

    @torch.compile
    def normalized(x: Any) -> Any:
        total = functional_collectives.all_reduce(x.sum(0), "sum", dist.group.WORLD)
        every = functional_collectives.all_gather_tensor(x[:1], 0, dist.group.WORLD)
        return x - total / (BATCH * dist.get_world_size()) + 0.01 * every.mean(0)

    forward = torch.compile(model)
    data = [(normalized(x), y) for x, y in batches(100 + dist.get_rank())]
    return trained(forward, optimizer_of(model), data)


def join(backend: str) -> list[float]:
    """Join: ranks with fewer batches than others, in DDP"""
    model = nn.parallel.DistributedDataParallel(network())
    steps = STEPS - 3 * dist.get_rank()
    with model.join():
        return trained(model, data=batches(100 + dist.get_rank(), steps))


def zero_redundancy(backend: str) -> list[float]:
    """ZeroRedundancyOptimizer, in DDP"""
    model = nn.parallel.DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=5e-3)
    return trained(model, optimizer)


def _deepspeed(stage: int) -> list[float]:
    import deepspeed

    model = network()
    engine, *_ = deepspeed.initialize(
        model=model,
        optimizer=optimizer_of(model),
        dist_init_required=False,
        config={
            "train_micro_batch_size_per_gpu": BATCH,
            "zero_optimization": {"stage": stage, "reduce_bucket_size": 4000, "allgather_bucket_size": 4000},
            "zero_allow_untested_optimizer": True,
            "zero_force_ds_cpu_optimizer": False,
        },
    )
    losses = []
    for x, y in batches(100 + dist.get_rank()):
        loss = nn.functional.cross_entropy(engine(x), y)
        engine.backward(loss)
        engine.step()
        losses.append(loss.item())
    return losses


def deepspeed_zero1(backend: str) -> list[float]:
    """DeepSpeed ZeRO-1"""
    return _deepspeed(1)


def deepspeed_zero3(backend: str) -> list[float]:
    """DeepSpeed ZeRO-3"""
    return _deepspeed(3)


def fabric(backend: str) -> list[float]:
    """Lightning Fabric, its DDP strategy"""
    from lightning_fabric import Fabric
    from lightning_fabric.strategies import DDPStrategy

    hosts = dist.get_world_size() // int(os.environ["LOCAL_WORLD_SIZE"])
    made = Fabric(
        accelerator="cpu",
        devices=int(os.environ["LOCAL_WORLD_SIZE"]),
        num_nodes=hosts,
        strategy=DDPStrategy(process_group_backend=backend),
    )
    made.launch()
    model = network()
    model, optimizer = made.setup(model, optimizer_of(model))
    losses = []
    for x, y in batches(100 + dist.get_rank()):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        made.backward(loss)
        optimizer.step()
        losses.append(made.all_reduce(loss.detach()).item())
    return losses


def accelerate(backend: str) -> list[float]:
    """Hugging Face Accelerate"""
    from accelerate import Accelerator

    made = Accelerator(cpu=True)
    model = network()
    model, optimizer = made.prepare(model, optimizer_of(model))
    losses = []
    for x, y in batches(100 + dist.get_rank()):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        made.backward(loss)
        optimizer.step()
        losses.append(made.gather(loss.detach()).mean().item())
    return losses


#: By name; the packages that PyTorch does not bring.
TRAININGS: dict[str, tuple[Callable[[str], list[float]], str]] = {
    "ddp": (ddp, ""),
    "fsdp2": (fsdp2, ""),
    "hsdp": (hsdp, ""),
    "fsdp1": (fsdp1, ""),
    "tensor_parallel": (tensor_parallel, ""),
    "pipeline": (pipeline, ""),
    "checkpoint": (checkpoint, ""),
    "functional": (functional, ""),
    "compiled": (compiled, ""),
    "join": (join, ""),
    "zero_redundancy": (zero_redundancy, ""),
    "deepspeed_zero1": (deepspeed_zero1, "deepspeed"),
    "deepspeed_zero3": (deepspeed_zero3, "deepspeed"),
    "fabric": (fabric, "lightning_fabric"),
    "accelerate": (accelerate, "accelerate"),
}
