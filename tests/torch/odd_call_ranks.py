# SPDX-License-Identifier: Apache-2.0
"""What ranks of the test of odd arguments do: a table of calls of a group, and what comes of each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d


def full(value: float, count: int = 2, dtype: Any = torch.float32) -> Any:
    return torch.full((count,), value, dtype=dtype)


def options(kind: Any, **fields: Any) -> Any:
    made = kind()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def told(result: Any) -> Any:
    """Return tensors and lists of them as lists of numbers."""
    return result.tolist() if isinstance(result, torch.Tensor) else [told(one) for one in result]


def after(work: Any, *tensors: Any) -> Any:
    """Return the tensors when it is over, and what its future holds."""
    work.wait()
    try:
        result = told(work.get_future().wait())
    except RuntimeError as error:
        if "getFuture not implemented" not in str(error):  # of gloo's reduce-scatters there is none
            raise
        result = told(tensors)
    return told(tensors), result


def _all_reduced(op: Any, *tensors: Any) -> Any:
    group = dist.group.WORLD
    return after(group.allreduce(list(tensors), options(c10d.AllreduceOptions, reduceOp=op)), *tensors)


def _sparse_reduced(count: int, op: Any = dist.ReduceOp.SUM) -> Any:
    """Return sparse tensors of unlike places, as dense ones, and what their future holds."""
    own = [torch.zeros(4).index_fill(0, torch.tensor([dist.get_rank() + k]), k + 1.0) for k in range(count)]
    tensors = [one.to_sparse() for one in own]
    work = dist.group.WORLD.allreduce(tensors, options(c10d.AllreduceOptions, reduceOp=op))
    return told([one.to_dense() for one in (*tensors, *work.get_future().wait())])


def _aliased() -> Any:
    x, y = full(dist.get_rank() + 1), full(10 * (dist.get_rank() + 1))
    return after(dist.group.WORLD.allreduce_coalesced([x, x, y]), x, y)


def _broadcast(tensors: list[Any], root: int, place: int) -> Any:
    opts = options(c10d.BroadcastOptions, rootRank=root, rootTensor=place)
    return after(dist.group.WORLD.broadcast(tensors, opts), *tensors)


def _reduced(tensors: list[Any], root: int, place: int = 0) -> Any:
    opts = options(c10d.ReduceOptions, rootRank=root, rootTensor=place)
    dist.group.WORLD.reduce(tensors, opts).wait()
    return told(tensors) if dist.get_rank() == root else None


def _gathered(outputs: list[Any], inputs: list[Any], root: int) -> Any:
    return after(dist.group.WORLD.gather(outputs, inputs, options(c10d.GatherOptions, rootRank=root)))


def _scattered(outputs: list[Any], inputs: list[Any], root: int) -> Any:
    return after(dist.group.WORLD.scatter(outputs, inputs, options(c10d.ScatterOptions, rootRank=root)))


def _calls() -> dict[str, Callable[[], Any]]:
    group, rank, n = dist.group.WORLD, float(dist.get_rank()), dist.get_world_size()
    ops, f64, i32 = dist.ReduceOp, torch.float64, torch.int32
    several = [full(rank), full(rank + 10)]
    return {
        "all_reduce: two, SUM": lambda: _all_reduced(ops.SUM, full(rank + 1), full(10.0)),
        "all_reduce: two, PRODUCT": lambda: _all_reduced(ops.PRODUCT, full(2), full(3)),
        "all_reduce: two, MIN": lambda: _all_reduced(ops.MIN, full(rank), full(3)),
        "all_reduce: two, MAX": lambda: _all_reduced(ops.MAX, full(rank), full(3)),
        "all_reduce: two, BAND": lambda: _all_reduced(ops.BAND, full(6, 2, i32), full(3, 2, i32)),
        "all_reduce: two, BOR": lambda: _all_reduced(ops.BOR, full(6, 2, i32), full(3, 2, i32)),
        "all_reduce: two, BXOR": lambda: _all_reduced(ops.BXOR, full(6, 2, i32), full(rank, 2, i32)),
        "all_reduce: two, AVG": lambda: _all_reduced(ops.AVG, full(rank + 1), full(10.0)),
        "all_reduce: one, AVG": lambda: _all_reduced(ops.AVG, full(rank + 1)),
        "all_reduce: sparse": lambda: _sparse_reduced(1),
        "all_reduce: two, sparse": lambda: _sparse_reduced(2),
        "all_reduce: sparse, MAX": lambda: _sparse_reduced(1, ops.MAX),
        "all_reduce: dense and sparse": lambda: _all_reduced(ops.SUM, full(1), full(1).to_sparse()),
        "all_reduce: sparse and dense": lambda: _all_reduced(ops.SUM, full(1).to_sparse(), full(1)),
        "all_reduce: sparse, sizes": lambda: _all_reduced(
            ops.SUM, full(1).to_sparse(), full(1, 3).to_sparse()
        ),
        "all_reduce: one twice": lambda: _all_reduced(ops.SUM, *[full(1)] * 2),
        "all_reduce: none": lambda: _all_reduced(ops.SUM),
        "all_reduce: types": lambda: _all_reduced(ops.SUM, full(1), full(1, 2, f64)),
        "all_reduce: sizes": lambda: _all_reduced(ops.SUM, full(1), full(1, 3)),
        "coalesced: aliased": _aliased,
        "coalesced: sizes": lambda: after(group.allreduce_coalesced([full(1), full(1, 3)])),
        "coalesced: layouts": lambda: after(group.allreduce_coalesced([torch.ones(2, 3).t(), full(1)])),
        "coalesced: none": lambda: after(group.allreduce_coalesced([])),
        "coalesced: types": lambda: after(group.allreduce_coalesced([full(1), full(1, 2, f64)])),
        "coalesced: AVG": lambda: after(
            group.allreduce_coalesced(several, options(c10d.AllreduceCoalescedOptions, reduceOp=ops.AVG))
        ),
        "coalesced: sparse": lambda: after(group.allreduce_coalesced([full(1).to_sparse()] * 2)),
        "coalesced: dense and sparse": lambda: after(
            group.allreduce_coalesced([full(1), full(1).to_sparse()])
        ),
        "broadcast: two": lambda: _broadcast([full(rank), full(rank + 10)], 1, 1),
        "broadcast: none": lambda: _broadcast([], 0, 0),
        "broadcast: types": lambda: _broadcast([full(1), full(1, 2, f64)], 0, 0),
        "broadcast: sizes": lambda: _broadcast([full(1), full(1, 3)], 0, 0),
        "broadcast: root": lambda: _broadcast([full(1)], n, 0),
        "broadcast: root's tensor": lambda: _broadcast([full(1)], 0, 1),
        "reduce: one": lambda: _reduced([full(rank)], 0),
        "reduce: none": lambda: _reduced([], 0),
        "reduce: two": lambda: _reduced([full(1), full(2)], 0),
        "reduce: root": lambda: _reduced([full(1)], -1),
        "reduce: root's tensor": lambda: _reduced([full(1)], 0, 1),
        "all_gather: one": lambda: after(group.allgather([[full(0), full(0)]], [full(rank)])),
        "all_gather: two": lambda: after(
            group.allgather([[full(0) for _ in range(4)] for _ in range(2)], several)
        ),
        "all_gather: two, short": lambda: after(group.allgather([[full(0), full(0)]] * 2, several)),
        "all_gather: nothing": lambda: after(group.allgather([], [])),
        "all_gather: no input": lambda: after(group.allgather([[full(0), full(0)]], [])),
        "all_gather: no output": lambda: after(group.allgather([], [full(0)])),
        "all_gather: short": lambda: after(group.allgather([[full(0)]], [full(1)])),
        "all_gather: long": lambda: after(group.allgather([[full(0)] * 3], [full(1)])),
        "all_gather: types": lambda: after(group.allgather([[full(0), full(0, 2, f64)]], [full(1)])),
        "all_gather: sizes": lambda: after(group.allgather([[full(0), full(0, 3)]], [full(1)])),
        "all_gather coalesced": lambda: after(
            group.allgather_coalesced([[full(0), full(0, 3)] for _ in range(n)], [full(rank), full(rank, 3)])
        ),
        "all_gather coalesced: short": lambda: after(
            group.allgather_coalesced([[full(0), full(0, 3)]], [full(1), full(1, 3)])
        ),
        "all_gather coalesced: none": lambda: after(group.allgather_coalesced([[], []], [])),
        "all_gather coalesced: size": lambda: after(
            group.allgather_coalesced([[full(0, 3)], [full(0)]], [full(1)])
        ),
        "all_gather coalesced: type": lambda: after(
            group.allgather_coalesced([[full(0, 2, f64)], [full(0)]], [full(1)])
        ),
        "all_gather base, coalesced": lambda: after(
            group.allgather_into_tensor_coalesced([full(0, 4), full(0, 6)], [full(rank), full(rank, 3)])
        ),
        "reduce_scatter base, coalesced": lambda: after(
            group.reduce_scatter_tensor_coalesced(
                [out := full(0), also := full(0, 1)], [full(5, 4), full(6)]
            ),
            out,
            also,
        ),
        "all_gather base": lambda: after(group._allgather_base(full(0, 4), full(rank))),
        "all_gather base: size": lambda: after(group._allgather_base(full(0, 3), full(1))),
        "all_gather base: type": lambda: after(group._allgather_base(full(0, 4, f64), full(1))),
        "gather: one": lambda: _gathered([[full(0), full(0)]] if rank == 0 else [], [full(rank)], 0),
        "gather: none": lambda: _gathered([], [], 0),
        "gather: two": lambda: _gathered([], [full(1), full(1)], 0),
        "gather: short": lambda: _gathered([[full(0)]] if rank == 0 else [], [full(1)], 0),
        "gather: types": lambda: _gathered([[full(0, 2, f64)] * 2] if rank == 0 else [], [full(1)], 0),
        "gather: root": lambda: _gathered([], [full(1)], -1),
        "scatter: one": lambda: _scattered([full(0)], [[full(5), full(6)]] if rank == 0 else [], 0),
        "scatter: two": lambda: _scattered([full(0), full(0)], [], n),
        "scatter: short": lambda: _scattered([full(0)], [[full(5)]] if rank == 0 else [], 0),
        "scatter: sizes": lambda: _scattered([full(0)], [[full(5, 3)] * 2] if rank == 0 else [], 0),
        "scatter: root": lambda: _scattered([full(0)], [], -1),
        "reduce_scatter": lambda: after(group.reduce_scatter([out := full(0)], [[full(5), full(6)]]), out),
        "reduce_scatter: short": lambda: after(group.reduce_scatter([full(0)], [[full(5)]])),
        "reduce_scatter: none": lambda: after(group.reduce_scatter([], [])),
        "reduce_scatter base": lambda: after(group._reduce_scatter_base(out := full(0), full(5, 4)), out),
        "reduce_scatter base: size": lambda: after(group._reduce_scatter_base(full(0), full(5, 3))),
        "all_to_all": lambda: after(group.alltoall([full(0), full(0)], [full(rank), full(rank + 2)])),
        "all_to_all: short": lambda: after(group.alltoall([full(0)], [full(1)])),
        "all_to_all base": lambda: after(group.alltoall_base(full(0, 4), full(rank, 4), [], [])),
        "all_to_all base: size": lambda: after(group.alltoall_base(full(0, 3), full(1, 3), [], [])),
        "barrier": lambda: after(group.barrier()),
    }


#: What gloo does not refuse there, but ends the process, leaves the result unset or divides the first tensor alone; or
#: refuses on one rank alone, so that the other waits for it.
_NOT_ON_GLOO = (
    "all_reduce: two, AVG",
    "all_to_all base: size",
    "gather: short",
    "gather: types",
    "scatter: short",
    "scatter: sizes",
)


def odd_calls() -> dict[str, Any]:
    """Return what each call comes to: its result, or that it raises a RuntimeError and what this says."""
    found: dict[str, Any] = {}
    for name, call in _calls().items():
        if dist.get_backend() == "gloo" and name in _NOT_ON_GLOO:
            continue
        try:
            found[name] = call()
        except RuntimeError as error:
            found[name] = f"refused: {error}"
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
        dist.barrier()
    return found


def views() -> list[str]:
    """Return what an all-reduce says of views whose memory does not hold their values."""
    said = []
    for tensor in (torch.ones(2)._neg_view(), torch.ones(2, dtype=torch.complex64).conj()):
        try:
            dist.group.WORLD.allreduce([tensor]).wait()
        except RuntimeError as error:
            said.append(str(error))
    return said


def unlike_calls() -> str:
    """Call an all-reduce on one rank, and a coalesced one of as many elements on the other."""
    try:
        if dist.get_rank() == 0:
            dist.group.WORLD.allreduce([full(1, 4)]).wait()
        else:
            dist.group.WORLD.allreduce_coalesced([full(1), full(1)]).wait()
    except RuntimeError as error:
        return type(error).__name__
    return "unnoticed"


def waited_too_short() -> list[str]:
    """Return the classes of what a wait raises for which there was no time."""
    group = dist.new_group()
    classes: list[str] = []
    if dist.get_rank() == 0:
        work = dist.all_reduce(full(1), group=group, async_op=True)
        try:
            work.wait(timedelta(seconds=0.1))
        except Exception as error:
            classes = [kind.__name__ for kind in type(error).__mro__]
        dist.barrier()
        work.wait()
    else:
        dist.barrier()
        dist.all_reduce(full(1), group=group)
    dist.destroy_process_group(group)
    return classes
