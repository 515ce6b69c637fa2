# SPDX-License-Identifier: Apache-2.0
"""What ranks of the device executor's tests do: gloo carries the messages of tensors on the CPU, Triton's interpreter
runs the kernels, and the host's executor says what is right."""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported: there may be no GPU

from functools import partial
from typing import Any

import torch
import torch.distributed as dist

import hemiola as hm
from hemiola.torch import device_kernels  # noqa: F401  # once, for all ranks
from hemiola.torch.device_collectives import DeviceCollectives
from hemiola.torch.device_executor import DeviceProgram
from hemiola.torch.device_queue import ProcessGroupQueue
from hemiola.torch.lookup import group_of
from hemiola.torch.tensors import values

RANKS = 4
BLOCK = 60
CPU = torch.device("cpu")


def planned(kind: str, **conditions: Any) -> hm.Schedule:
    topology = hm.topologies.switch(RANKS, latency_s=1e-6, bandwidth=1e9)
    return hm.plan(topology, kind, 1 << 20, conditions=hm.Conditions(**conditions)).schedule


def synthesized(kind: str) -> hm.Schedule:
    return hm.synthesize(hm.topologies.mesh([2, 2], latency_s=1e-6, bandwidth=1e9), kind, seed=0)


#: Schedule, dtypes, reduction.
CASES = [
    (lambda: hm.algorithms.all_reduce_ring(RANKS), (torch.float32, torch.bfloat16, torch.float16), "sum"),
    (lambda: hm.algorithms.all_reduce_hierarchical(2, 2), (torch.float32, torch.bfloat16), "average"),
    (lambda: planned("all_reduce", late={3: 2e-3}), (torch.bfloat16, torch.int8), "sum"),
    (lambda: planned("all_reduce", slow={1: 2.0}), (torch.float16, torch.int64), "max"),
    (lambda: synthesized("all_reduce"), (torch.float32, torch.bool), "product"),
    (lambda: hm.algorithms.reduce_scatter_ring(RANKS), (torch.bfloat16, torch.uint8), "min"),
    (lambda: synthesized("all_gather"), (torch.float16,), "sum"),
    (lambda: planned("broadcast"), (torch.bfloat16,), "sum"),
    (lambda: planned("all_to_all"), (torch.float32,), "sum"),
]
#: How many blocks a rank brings and gets.
BLOCKS = {"all_gather": (1, RANKS), "reduce_scatter": (RANKS, 1), "all_to_all": (RANKS, RANKS)}


def own(rank: int, size: int, dtype: Any) -> Any:
    """Return values whose sums are rounded, among them a negative zero and an infinity."""
    made = torch.Generator().manual_seed(100 + rank)
    if not dtype.is_floating_point:
        return torch.randint(0, 2 if dtype is torch.bool else 120, (size,), generator=made).to(dtype)
    x = (torch.randn(size, generator=made) * 3).to(dtype)
    x[rank], x[10 + rank] = -0.0, float("inf")
    return x


def bits() -> int:
    """Compare every case with the host's executor, bit by bit, twice in the same memory; return how many there were."""
    rank = dist.get_rank()
    comm = group_of()._comm
    queue = ProcessGroupQueue(dist.new_group(backend="gloo"), CPU)
    count = 0
    for make, dtypes, op in CASES:
        schedule = make()
        kind = schedule.collective.kind
        brings, gets = BLOCKS.get(kind, (1, 1))
        for dtype in dtypes:
            x = own(rank, brings * BLOCK, dtype)
            right = torch.zeros(gets * BLOCK, dtype=dtype)
            right = x.clone() if (brings, gets) == (1, 1) else right
            on_host(comm, kind, x, right, op, schedule)
            in_place = (brings, gets) == (1, 1)
            input = x.clone()
            output = input if in_place else torch.zeros_like(right)
            launch = DeviceProgram(schedule, rank, BLOCK, dtype, op, in_place=in_place).on(
                queue, input, output
            )
            for _ in range(2):
                input.copy_(x)
                launch.run()
                assert torch.equal(output.view(torch.uint8), right.view(torch.uint8)), (kind, dtype, op)
                count += 1
    return count


def on_host(comm: hm.Communicator, kind: str, x: Any, right: Any, op: str, schedule: hm.Schedule) -> None:
    """Put into `right` what the host's executor makes of the same."""
    if kind == "all_reduce":
        comm.all_reduce(values(right), op, schedule=schedule)
    elif kind == "reduce_scatter":
        comm.reduce_scatter(values(x), op, out=values(right), schedule=schedule)
    elif kind == "broadcast":
        comm.broadcast(values(right), schedule=schedule)
    else:
        getattr(comm, kind)(values(x), out=values(right), schedule=schedule)


def in_a_group() -> list[Any]:
    """Run what a group of "hemiola" does with tensors on a device, with the CPU in the device's place."""
    rank, n = dist.get_rank(), dist.get_world_size()
    gloo = dist.new_group(backend="gloo")
    dist.group.WORLD.accelerate(None)  # type: ignore[union-attr]  # which takes what is on the CPU before anybody asks
    kept = DeviceCollectives.is_on_device, DeviceCollectives._made_queue
    DeviceCollectives.is_on_device = lambda self, tensor: True  # type: ignore[method-assign]
    DeviceCollectives._made_queue = lambda self, device: ProcessGroupQueue(gloo, device)  # type: ignore[method-assign]
    try:
        return every_collective(rank, n)
    finally:
        DeviceCollectives.is_on_device, DeviceCollectives._made_queue = kept  # type: ignore[method-assign]


def every_collective(rank: int, n: int) -> list[Any]:
    def whole(of: int, *shape: int) -> Any:
        return (torch.arange(torch.Size(shape).numel()).reshape(shape) % 7 + of).to(torch.float32)

    def same(found: Any, right: Any) -> None:
        torch.testing.assert_close(found, right, rtol=0, atol=0)

    x = whole(rank, 5, 3)
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    same(work.get_future().wait()[0], sum(whole(each, 5, 3) for each in range(n)))
    x = whole(rank, 2, 3, 4, 5).to(memory_format=torch.channels_last)
    dist.all_reduce(x, op=dist.ReduceOp.AVG)
    same(x, sum(whole(each, 2, 3, 4, 5) for each in range(n)) / n)
    x = whole(rank, 4)
    dist.broadcast(x, 1)
    same(x, whole(1, 4))
    x = whole(rank, 4)
    dist.reduce(x, 1, op=dist.ReduceOp.MAX)
    same(x, whole(n - 1 if rank == 1 else rank, 4))
    out = torch.empty(n * 6)
    dist.all_gather_into_tensor(out, whole(rank, 6))
    same(out, torch.cat([whole(each, 6) for each in range(n)]))
    into = [torch.empty(2, 3) for _ in range(n)]
    dist.all_gather(into, whole(rank, 2, 3))
    same(into, [whole(each, 2, 3) for each in range(n)])
    part = torch.empty(3)
    total = sum(whole(each, 3 * n) for each in range(n))[3 * rank : 3 * rank + 3]
    dist.reduce_scatter_tensor(part, whole(rank, 3 * n))
    same(part, total)
    dist.reduce_scatter(part, list(whole(rank, 3 * n).split(3)))
    same(part, total)
    out = torch.empty(2 * n)
    dist.all_to_all_single(out, whole(rank, 2 * n))
    same(out, torch.cat([whole(each, 2 * n)[2 * rank : 2 * rank + 2] for each in range(n)]))
    dist.all_to_all_single(out, whole(rank, 2 * n), [2] * n, [2] * n)
    same(out, torch.cat([whole(each, 2 * n)[2 * rank : 2 * rank + 2] for each in range(n)]))
    uneven, nan = [3, 1, *[2] * (n - 2)], [float("nan")] * n
    refused = (
        lambda: dist.all_reduce(torch.zeros(8)[::2]),
        lambda: dist.all_reduce(torch.zeros(8), op=dist.ReduceOp.BXOR),
        lambda: dist.all_gather([torch.zeros(1)] * (n - 1) + [torch.zeros(2)], torch.zeros(1)),
    )
    is_odd = rank == 1
    mine, twos = whole(rank, 2 * n), [2] * n
    more = 2 + is_odd
    splits: dict[str, tuple[Any, Any, Any, Any]] = {
        "uneven": (out, mine, twos, uneven if is_odd else twos),
        "uneven, expected": (out, mine, uneven if is_odd else None, twos),
        "no sizes": (out, mine, nan if is_odd else twos, None),
        "too few": (out, mine, twos[is_odd:], twos),
        "negative": (out, mine, twos, [-2] * n if is_odd else twos),
        "a longer result": (torch.empty(more * n), mine, None, twos),
        "longer": (torch.empty(more * n), whole(rank, more * n), None, [more] * n),
    }
    out.fill_(99)
    seen = {name: told(partial(dist.all_to_all_single, *args)) for name, args in splits.items()}
    assert (out == 99).all()
    return [[told(deed)[1] for deed in refused], seen]


def told(deed: Any) -> tuple[str, str]:
    try:
        deed()
    except Exception as error:
        return type(error).__name__, str(error)
    return "", "nothing"
