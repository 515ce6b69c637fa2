# SPDX-License-Identifier: Apache-2.0
"""What ranks do where the accelerator is compiled, on all of them or on some."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from typing import Any

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d


def counted() -> list[int]:
    """Return after each call how many operations have gone past Python."""
    group: Any = dist.group.WORLD
    n = dist.get_world_size()
    whole, part = torch.ones(6 * n), torch.ones(6)
    calls = [
        lambda: dist.all_reduce(torch.ones(3)),
        lambda: dist.broadcast(torch.ones(3), 0),
        lambda: dist.all_gather_into_tensor(whole, part),
        lambda: dist.reduce_scatter_tensor(part, whole),
        lambda: dist.all_to_all_single(whole, torch.ones(6 * n)),
        dist.barrier,
        # And what is left to Python: nothing to move, elements with gaps in between, lists.
        lambda: dist.all_reduce(torch.ones(0)),
        lambda: dist.all_gather([torch.ones(4) for _ in range(n)], torch.ones(4)),
        lambda: dist.reduce(torch.ones(4), 0),
    ]
    seen = []
    for call in calls:
        call()
        seen.append(group.accelerated_count)
    return seen


def mixed() -> tuple[int, list[float]]:
    """Go through Python on rank 0 alone, in a group of its own."""
    if dist.get_rank() == 0:
        os.environ["HEMIOLA_TORCH_ACCELERATOR"] = "off"
    group: Any = dist.new_group()
    os.environ["HEMIOLA_TORCH_ACCELERATOR"] = "on"
    rank, n = dist.get_rank(), dist.get_world_size()
    seen: list[float] = []
    for dtype in (torch.float32, torch.bfloat16, torch.uint8, torch.bool, torch.float8_e5m2):
        summed = torch.ones(5).to(dtype)
        dist.all_reduce(summed, op=dist.ReduceOp.MAX, group=group)
        sent = torch.full((3,), float(rank % 2)).to(dtype)
        dist.broadcast(sent, 1, group=group)
        whole = torch.zeros(2 * n).to(dtype)
        dist.all_gather_into_tensor(whole, torch.full((2,), float(rank % 2)).to(dtype), group=group)
        works = [dist.all_reduce(summed, op=dist.ReduceOp.MAX, group=group, async_op=True) for _ in range(3)]
        for work in works:
            work.wait()
        seen += [float(x) for x in (summed[0], sent[0], whole[0], whole[2])]
    found = group.accelerated_count, seen
    dist.destroy_process_group(group)
    return found


def completed() -> list[Any]:
    """Look at a Work without waiting for it, while no other rank has come and after, and at its future's thread."""
    rank = dist.get_rank()
    if rank == 1:
        time.sleep(0.3)
    work = dist.all_reduce(torch.ones(1000), async_op=True)
    at_once = work.is_completed()
    threads: list[str] = []
    told = work.get_future().then(lambda future: threads.append(threading.current_thread().name))
    told.wait()
    return [at_once if rank == 0 else False, work.is_completed(), len(threads), work.exception()]


def let_go() -> list[bool]:
    """A tensor lives while its operation runs, and no longer than its Work; a group that is destroyed goes, too."""
    tensor = torch.ones(1000)
    seen = weakref.ref(tensor)
    work = dist.all_reduce(tensor, async_op=True)
    del tensor
    work.wait()
    del work
    dist.barrier()  # the thread that runs operations has let go of the one before
    deadline = time.monotonic() + 20
    while seen() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    group: Any = dist.new_group()
    dist.all_reduce(torch.ones(3), group=group)
    operations = weakref.ref(group._operations)
    ended = weakref.ref(group)
    dist.destroy_process_group(group)
    del group
    # A PyTorch without it tells nobody; the next group sees what it has forgotten.
    if not hasattr(c10d.ProcessGroup, "shutdown"):
        dist.new_group()
    gc.collect()
    return [seen() is None, ended() is None, operations() is None]
