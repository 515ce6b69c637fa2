# SPDX-License-Identifier: Apache-2.0
"""A group of Ray's actors whose collectives Hemiola runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from ray.util.collective import types
from ray.util.collective.collective_group.base_collective_group import BaseGroup

from hemiola import environment
from hemiola._core import Complaint
from hemiola.arguments.names import Op
from hemiola.communicator import Communicator
from hemiola.errors import LostRankError
from hemiola.ray.meeting import met

NAME = "HEMIOLA"
Tensors = Sequence[Any]
_NAMES: tuple[Op, ...] = ("sum", "product", "min", "max")
_OPS = {types.ReduceOp[name.upper()]: name for name in _NAMES}

#: Ray's own defaults, for callers that give no options.
_ALL_REDUCE = types.AllReduceOptions()
_BARRIER = types.BarrierOptions()
_REDUCE = types.ReduceOptions()
_ALL_GATHER = types.AllGatherOptions()
_BROADCAST = types.BroadcastOptions()
_SCATTER = types.ReduceScatterOptions()


class HemiolaGroup(BaseGroup):
    """One actor's part of a group; Ray makes it in `init_collective_group`.

    Tensors are NumPy arrays and PyTorch's tensors on the CPU. Those that are not contiguous are copied, and back.
    Errors are those of `hemiola.Communicator`. Each is a RuntimeError, ValueError or TimeoutError, as Ray's own are.
    """

    #: The names of this process's groups.
    _open: ClassVar[set[str]] = set()

    def __init__(self, world_size: int, rank: int, group_name: str) -> None:
        super().__init__(world_size, rank, group_name)
        if group_name in self._open:
            raise RuntimeError(
                f"expected a new group's name, found '{group_name}', open here; call destroy_collective_group"
            )
        limit_s = environment.TIMEOUT.value()
        store, hall, self._actors = met(group_name, rank, world_size, limit_s)
        self._comm = Communicator.join(rank, world_size, store, timeout_s=limit_s)
        self._open.add(group_name)
        if rank == 0:
            hall.clear()

    @classmethod
    def backend(cls) -> str:
        """Return the backend's name."""
        return NAME

    @classmethod
    def check_backend_availability(cls) -> bool:
        """Say that the backend can be used; where it cannot, nobody can import this."""
        return True

    def destroy_group(self) -> None:
        """End this actor's part; calls of the others that need it say so."""
        self._open.discard(self._group_name)
        self._comm.close()

    def allreduce(self, tensor: Tensors, options: types.AllReduceOptions = _ALL_REDUCE) -> None:
        """Combine all tensors in place."""
        with self._named(), _written(tensor) as x:
            self._comm.all_reduce(x, op=_OPS[options.reduceOp])

    def barrier(self, options: types.BarrierOptions = _BARRIER) -> None:
        """Wait for all actors."""
        with self._named():
            self._comm.barrier()

    def reduce(self, tensor: Tensors, options: types.ReduceOptions = _REDUCE) -> None:
        """Combine all tensors in the root's; the others' stay."""
        root, op = options.root_rank, _OPS[options.reduceOp]
        with self._named(), _written(tensor, back=self._rank == root) as x:
            self._comm.reduce(x, op=op, root=root)

    def allgather(
        self, tensor_list: Sequence[Tensors], tensor: Tensors, options: types.AllGatherOptions = _ALL_GATHER
    ) -> None:
        """Fill the list with all actors' tensors."""
        held = _memories(tensor_list)
        with self._named():
            self._comm.all_gather(_memory(tensor), out=held)
        for given, memory in zip(tensor_list[0], held, strict=True):
            _put_back(given, memory)

    def broadcast(self, tensor: Tensors, options: types.BroadcastOptions = _BROADCAST) -> None:
        """Give all the root's tensor."""
        with self._named(), _written(tensor) as x:
            self._comm.broadcast(x, root=options.root_rank)

    def reducescatter(
        self, tensor: Tensors, tensor_list: Sequence[Tensors], options: types.ReduceScatterOptions = _SCATTER
    ) -> None:
        """Combine all lists, which stay; each actor gets the tensor of its rank."""
        op = _OPS[options.reduceOp]
        with self._named(), _written(tensor) as out:
            self._comm.reduce_scatter(_memories(tensor_list), op=op, out=out)

    def send(self, tensor: Tensors, options: types.SendOptions) -> None:
        """Send a tensor to one actor."""
        with self._named():
            self._comm.send(_memory(tensor), options.dst_rank)

    def recv(self, tensor: Tensors, options: types.RecvOptions) -> None:
        """Receive a tensor of one actor."""
        with self._named(), _written(tensor) as x:
            self._comm.recv(x, options.src_rank)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Have the error of a lost rank name its actor, too."""
        try:
            yield
        except LostRankError as error:
            if error.rank is not None:
                actor = self._actors[error.rank]
                error.args = (f"group '{self._group_name}': {error} (rank {error.rank} is actor {actor})",)
            raise


def _memory(tensors: Tensors) -> Any:
    """Return the memory of this process's tensor in C order, as the core takes it: the tensor's own, or a copy.

    Where there is none, a complaint, which the operation tells to all actors. Ray's list is for several GPUs.
    """
    if len(tensors) != 1:
        return Complaint(
            f"expected one tensor of each actor, found {len(tensors)}. HEMIOLA has no multi-GPU calls; call for each"
        )
    (tensor,) = tensors
    if isinstance(tensor, np.ndarray):
        return np.ascontiguousarray(tensor) if tensor.ndim else tensor
    if hasattr(tensor, "detach") and tensor.device.type == "cpu" and not tensor.is_sparse:
        return tensor.detach().contiguous()
    where = f" on {tensor.device}, {tensor.layout}" if hasattr(tensor, "layout") else ""
    return Complaint(
        f"expected a NumPy array or dense torch tensor, found {type(tensor).__name__}{where}; use .cpu() or .to_dense()"
    )


def _memories(tensor_list: Sequence[Tensors]) -> Any:
    """Return the memory of a list's tensors, or what is wrong with one of them."""
    if len(tensor_list) != 1:
        return _memory(tensor_list)
    held = [_memory([tensor]) for tensor in tensor_list[0]]
    return next((one for one in held if isinstance(one, Complaint)), held)


def _put_back(tensor: Any, memory: Any) -> None:
    """Write a copy's values where they belong."""
    if isinstance(tensor, np.ndarray):
        if memory is not tensor:
            np.copyto(tensor, memory)
    elif memory.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(memory)


@contextmanager
def _written(tensors: Tensors, *, back: bool = True) -> Iterator[Any]:
    """Show a tensor's memory to a call that writes to it."""
    memory = _memory(tensors)
    yield memory
    if back:
        _put_back(tensors[0], memory)
