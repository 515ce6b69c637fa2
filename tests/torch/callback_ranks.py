# SPDX-License-Identifier: Apache-2.0
"""What ranks of the tests of callbacks do: callbacks that wait, that issue collectives, and PyTorch's DDP hooks."""

from __future__ import annotations

import contextlib
import math
import random
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from queue import SimpleQueue
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms import ddp_comm_hooks
from torch.distributed.algorithms.ddp_comm_hooks import (
    ddp_zero_hook,
    debugging_hooks,
    default_hooks,
    optimizer_overlap_hooks,
    post_localSGD_hook,
    powerSGD_hook,
    quantization_hooks,
)
from torch.distributed.optim import ZeroRedundancyOptimizer, _apply_optimizer_in_backward
from torch.nn.parallel.distributed import _MixedPrecision


def started(value: float, group: Any = None) -> Any:
    """Start an all-reduce of this value on every rank; return its future."""
    return dist.all_reduce(torch.full((4,), value), group=group, async_op=True).get_future()


def first_of(future: Any) -> float:
    return float(future.wait()[0][0])


def waits_for_a_later_one() -> float:
    """Have a callback wait for a future that the program gets afterwards; return what came out.

    Where the operation is over already, `then` runs the callback at once, before there is a later one. All ranks try
    again until it was so on none.
    """
    while True:
        held: SimpleQueue[Any] = SimpleQueue()

        def wait(_: Any, held: SimpleQueue[Any] = held) -> float:
            return (
                held.get().wait() if threading.current_thread() is not threading.main_thread() else math.nan
            )

        child = started(1).then(wait)
        held.put(started(2).then(first_of))
        came_out = float(child.wait())
        missed = torch.tensor([float(math.isnan(came_out))])
        dist.all_reduce(missed)
        if not missed:
            return came_out


def waiting() -> dict[str, float]:
    """Have callbacks wait in every way there is; return for each what came out, over the number of ranks."""
    n, found = dist.get_world_size(), {}

    def told(name: str, future: Any) -> None:
        found[name] = float(future.wait()) / n

    def synchronous(_: Any) -> float:
        tensor = torch.full((4,), 2.0)
        dist.all_reduce(tensor)
        return float(tensor[0])

    told("a blocking call", started(1).then(synchronous))
    told("a future", started(1).then(lambda _: first_of(started(2))))
    told(
        "a work",
        started(1).then(lambda _: dist.all_reduce(torch.full((4,), 2.0), async_op=True).wait() * 2.0 * n),
    )
    told("a future's callback", started(1).then(lambda _: started(2).then(first_of).wait()))
    told("three deep", started(1).then(lambda _: started(1).then(lambda _: first_of(started(2))).wait()))
    told("several at once", started(1).then(lambda _: sum(map(first_of, [started(1), started(1)]))))
    told(
        "several at once in C++",
        started(1).then(
            lambda _: float(
                sum(
                    x[0][0]
                    for x in torch.futures.wait_all([started(1).then(lambda f: f.value()), started(1)])
                )
            )
        ),
    )
    one, other = started(1), started(2)
    told("one that the program has begun", one.then(lambda _: first_of(other)))
    one, other = started(1), started(2).then(first_of)
    told("the callback of another", one.then(lambda _: other.wait()))
    found["the callback of a later one"] = waits_for_a_later_one() / n
    for number in range(20):  # attached before it is over, or after
        whole = torch.futures.collect_all([started(1), started(1)])
        time.sleep(0.001 * (number % 2) * dist.get_rank())
        told("the callback of several", whole.then(lambda _: first_of(started(2))))
    group = dist.new_group()
    told("a future of another group", started(1).then(lambda _: first_of(started(2, group))))
    told("a barrier", started(1).then(lambda _: 2.0 * n if dist.barrier() is None else 0.0))
    every = [started(1).then(lambda _: first_of(started(2))) for _ in range(20)]
    told("many at once", torch.futures.collect_all(every).then(lambda all_: all_.value()[-1].value()))
    dist.destroy_process_group(group)
    return found


def ordered() -> list[float]:
    """Issue collectives of one size in callbacks, whose order differs from rank to rank; return by how much the results
    are wrong."""
    n, rank = dist.get_world_size(), dist.get_rank()
    draw = random.Random(1000 * rank + 1)
    wrong = []

    def chained(number: int) -> Any:
        def issue(_: Any) -> Any:
            time.sleep(draw.random() * 0.003)
            async_one = started(1000 + number)
            time.sleep(draw.random() * 0.003)
            return first_of(async_one), first_of(started(2000 + number))

        def again(future: Any) -> Any:
            return *future.value(), first_of(started(3000 + number))

        if draw.random() < 0.5:  # once its operation is over, or before
            time.sleep(draw.random() * 0.002)
        future = started(number)
        if draw.random() < 0.5:
            time.sleep(draw.random() * 0.002)
        return future.then(issue).then(again)

    for number, future in [(number, chained(number)) for number in range(40)]:
        expected = [n * (base + number) for base in (1000, 2000, 3000)]
        wrong += [abs(got - want) for got, want in zip(future.wait(), expected, strict=True)]
    return wrong


def unmatched() -> str:
    """Issue a collective in a callback on rank 1 alone."""
    group = dist.new_group(timeout=timedelta(seconds=2))
    future = started(1, group)
    said = ""
    if dist.get_rank() == 1:
        try:
            future.then(lambda _: first_of(started(1, group))).wait()
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
    future.wait()
    dist.destroy_process_group(group)
    return said


def other_order() -> list[str]:
    """Issue different collectives in one callback."""
    group = dist.new_group(timeout=timedelta(seconds=3))
    said = []

    def issue(_: Any) -> None:
        try:
            count = 3 if dist.get_rank() == 0 else 4
            dist.all_reduce(torch.ones(count), group=group)
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")

    started(1, group).then(issue).wait()
    dist.destroy_process_group(group)
    return said


def resized() -> int:
    """A tensor that has been reduced can be resized; return how many elements it then has."""
    tensor = torch.ones(10)
    dist.all_reduce(tensor)
    dist.all_reduce(tensor, async_op=True).wait()
    return int(tensor.resize_(30).numel())


# ---- DDP's hooks ----

_SIDE = 16


def _model() -> Any:
    torch.manual_seed(0)
    layers = [nn.Linear(_SIDE, _SIDE, bias=False) for _ in range(4)]  # as many elements as a square has
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2], nn.ReLU(), layers[3])


def _power(hook: Any) -> Callable[[Any], None]:
    def register(model: Any) -> None:
        state = powerSGD_hook.PowerSGDState(
            None, matrix_approximation_rank=2, start_powerSGD_iter=3, min_compression_rate=1
        )
        model.register_comm_hook(state, hook)

    return register


def _plain(hook: Any) -> Callable[[Any], None]:
    return lambda model: model.register_comm_hook(None, hook)


def _with_group(hook: Any) -> Callable[[Any], None]:
    return lambda model: model.register_comm_hook(dist.group.WORLD, hook)


def _local(model: Any) -> None:
    state = post_localSGD_hook.PostLocalSGDState(
        None, dist.new_group([dist.get_rank()], use_local_synchronization=True), 50
    )
    model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)


def _optimizing(model: Any) -> None:
    state = optimizer_overlap_hooks._OptimizerHookState(
        dist.optim.functional_sgd._FunctionalSGD([], lr=0.05, _allow_empty_param_list=True)
    )
    hook = optimizer_overlap_hooks._hook_then_optimizer(default_hooks.allreduce_hook, state)
    model.register_comm_hook(None, hook)


def _built_in(kind: Any) -> Callable[[Any], None]:
    return lambda model: model._register_builtin_comm_hook(kind)


HOOKS: dict[str, Callable[[Any], None]] = {
    "none": lambda model: None,
    "allreduce": _plain(default_hooks.allreduce_hook),
    "fp16_compress": _plain(default_hooks.fp16_compress_hook),
    "bf16_compress": _plain(default_hooks.bf16_compress_hook),
    "fp16_wrapper": _plain(default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)),
    "bf16_wrapper": _plain(default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook)),
    "noop": _plain(debugging_hooks.noop_hook),
    "powerSGD": _power(powerSGD_hook.powerSGD_hook),
    "fp16 powerSGD": _power(default_hooks.fp16_compress_wrapper(powerSGD_hook.powerSGD_hook)),
    "batched_powerSGD": _power(powerSGD_hook.batched_powerSGD_hook),
    "post_localSGD": _local,
    "quantization_pertensor": _with_group(quantization_hooks.quantization_pertensor_hook),
    "quantization_perchannel": _with_group(quantization_hooks.quantization_perchannel_hook),
    "hook_then_optimizer": _optimizing,
    "optimizer in backward": lambda model: None,
    "mixed precision": lambda model: None,
    "built-in allreduce": _built_in(dist.BuiltinCommHookType.ALLREDUCE),
    "built-in fp16": _built_in(dist.BuiltinCommHookType.FP16_COMPRESS),
    "by its type": lambda model: ddp_comm_hooks.register_ddp_comm_hook(
        ddp_comm_hooks.DDPCommHookType.ALLREDUCE, model
    ),
}
STEPS = 100
#: In which the optimizer runs in the hook.
_OPTIMIZING = ("hook_then_optimizer", "optimizer in backward")
#: With many buckets what these issue in callbacks has no order with gloo, and its ranks wait for ever.
_ISSUING = ("powerSGD", "fp16 powerSGD")


class _NoStream(contextlib.nullcontext[None]):
    """What a stream is where there is no device.

    The hook for mixed precision frees memory by the order of real ones: on a CPU it raises, whatever the backend.
    """

    def wait_stream(self, other: Any) -> None:
        pass


def _trained(name: str, bucket_cap_mb: float) -> Any:
    """Train with a hook; return losses and weights, or the class of what it raised."""
    with contextlib.ExitStack() as patched:
        if name == "optimizer in backward" and hasattr(torch, "accelerator"):
            patched.enter_context(mock.patch.object(torch, "Stream", _NoStream))
            patched.enter_context(mock.patch.object(torch.accelerator, "current_stream", _NoStream))
        return _trained_by(name, bucket_cap_mb)


def _trained_by(name: str, bucket_cap_mb: float) -> Any:
    plain, more = _model(), {}
    try:
        if name == "optimizer in backward":  # DDP registers its hook itself
            _apply_optimizer_in_backward(torch.optim.SGD, plain.parameters(), {"lr": 0.05})
        if name == "mixed precision":
            more = {"mixed_precision": _MixedPrecision(torch.float16, torch.float16)}
        model = nn.parallel.DistributedDataParallel(plain, bucket_cap_mb=bucket_cap_mb, **more)
        HOOKS[name](model)
    except TypeError as error:  # as of bfloat16 on a CPU, in some versions
        return type(error).__name__
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0 if name in _OPTIMIZING else 0.05)
    torch.manual_seed(dist.get_rank())
    losses = []
    try:
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = (model(torch.randn(8, _SIDE)) - 0.5).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
    except Exception as error:
        return type(error).__name__
    return losses, [part.detach().numpy().tobytes() for part in model.parameters()]


def issuing_hooks_with_one_bucket() -> dict[str, Any]:
    """Train with the hooks that gloo can only run so; return losses and weights, or the class of what it raised."""
    return {name: _trained(name, 25) for name in _ISSUING}


def hooks_with_many_buckets() -> dict[str, Any]:
    """The same for every hook where each layer is a bucket."""
    skipped = _ISSUING if dist.get_backend() == "gloo" else ()
    return {name: _trained(name, 0.0001) for name in HOOKS if name not in skipped}


def zero_hooks() -> dict[str, Any]:
    """Train with ZeRO's optimizer in the hook, which issues broadcasts in callbacks; return weights by how."""
    makers = {
        "after": ddp_zero_hook.hook_with_zero_step,
        "interleaved": ddp_zero_hook.hook_with_zero_step_interleaved,
    }
    found: dict[str, Any] = {}
    for name, make in makers.items():
        model = nn.parallel.DistributedDataParallel(_model(), bucket_cap_mb=0.0001)
        optimizer = ZeroRedundancyOptimizer(
            model.parameters(), optimizer_class=torch.optim.SGD, overlap_with_ddp=True, lr=0.05
        )
        model.register_comm_hook(None, make(default_hooks.allreduce_hook, model, optimizer))
        torch.manual_seed(dist.get_rank())
        for _ in range(STEPS):
            model(torch.randn(8, _SIDE)).sub(0.5).pow(2).mean().backward()
            optimizer.step()
            model.zero_grad()
        found[name] = [part.detach().numpy().tobytes() for part in model.parameters()]
    return found
