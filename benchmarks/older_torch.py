# SPDX-License-Identifier: Apache-2.0
"""What trainings use of PyTorch that older ones have at another place, or that their gloo does wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist

try:
    from torch.distributed.tensor import Shard, distribute_tensor
except ImportError:
    from torch.distributed._tensor import Shard, distribute_tensor
try:
    from torch.distributed.fsdp import fully_shard
except ImportError:  # one that has it elsewhere (2.4) has it for CUDA alone

    def fully_shard(*_: Any, **__: Any) -> Any:
        """Raise NotImplementedError."""
        raise NotImplementedError("this PyTorch has no FSDP2 for the CPU")


__all__ = ["Shard", "averages", "distribute_tensor", "fully_shard"]


@contextmanager
def averages() -> Iterator[None]:
    """Have AVG be the average: the gloo of some versions adds up (a reduce-scatter, 2.8) or refuses (2.4)."""
    if _average_of_ones("all_reduce") == _average_of_ones("reduce_scatter_tensor") == 1:
        yield
        return
    with (
        mock.patch.object(dist, "all_reduce", _dividing(dist.all_reduce)),
        mock.patch.object(dist, "reduce_scatter_tensor", _dividing(dist.reduce_scatter_tensor)),
    ):
        yield


def _average_of_ones(name: str) -> float:
    """Return what a collective makes of ones when it is to average them; 0 where it refuses."""
    part, whole = torch.ones(1), torch.ones(dist.get_world_size())
    try:
        if name == "all_reduce":
            dist.all_reduce(part, op=dist.ReduceOp.AVG)
        else:
            getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)(
                part, whole, op=dist.ReduceOp.AVG
            )
    except RuntimeError:
        return 0
    return float(part.item())


def _dividing(collective: Any) -> Any:
    """Return a collective that adds up and then divides where it is to average; the result is its first argument."""

    @wraps(collective)
    def averaging(*tensors: Any, op: Any = dist.ReduceOp.SUM, group: Any = None, **more: Any) -> Any:
        if op != dist.ReduceOp.AVG:
            return collective(*tensors, op=op, group=group, **more)
        assert not more.get("async_op"), "an average that nobody waits for cannot be divided"
        collective(*tensors, op=dist.ReduceOp.SUM, group=group, **more)
        result = tensors[0] if tensors else more["output"]
        result.div_(dist.get_world_size(group))
        return None

    return averaging
