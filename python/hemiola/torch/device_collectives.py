# SPDX-License-Identifier: Apache-2.0
"""The collectives of a group on tensors of a device, by schedules that a queue runs. They have the same methods as
those on the CPU, which take all other tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch._C import _distributed_c10d as c10d

from hemiola._core import Complaint
from hemiola.communicator import Communicator
from hemiola.errors import ArgumentError, HemiolaError, MismatchError
from hemiola.torch.blocks import split_sizes
from hemiola.torch.collectives import Collectives, listed, options_of
from hemiola.torch.device_queue import DeviceQueue, ProcessGroupQueue
from hemiola.torch.device_runner import DeviceRunner
from hemiola.torch.errors import GroupArgumentError, for_torch
from hemiola.torch.options import Options
from hemiola.torch.reductions import meant
from hemiola.torch.tensors import described, side_by_side
from hemiola.torch.work import Finished


class DeviceCollectives(Collectives):
    """A group's operations on tensors of a device; all other tensors go to the base.

    A class that has this as a base names the queue by `_made_queue`."""

    _runner: DeviceRunner | None = None
    _options: Options
    _store: Any

    def is_on_device(self, tensor: Any) -> bool:
        """Say whether a tensor is for the device's queue."""
        return bool(tensor.is_cuda)

    def _are_on_device(self, tensors: Sequence[Any]) -> bool:
        return len(tensors) > 0 and self.is_on_device(tensors[0])

    def _made_queue(self, device: Any) -> DeviceQueue:
        return ProcessGroupQueue(cuda_messages(self._store, self._comm.rank, self._comm.rank_count), device)

    def _device(self, tensor: Any) -> DeviceRunner:
        """Return what runs on tensors of this device, made when the first one comes."""
        self.runs("tensors on a device")
        if self._runner is None:
            try:
                self._runner = DeviceRunner(self._made_queue(tensor.device), self._comm, self._options)
            except HemiolaError as error:
                raise for_torch(error) from error.__cause__
        return self._runner

    def _queued(self, result: Sequence[Any]) -> Any:
        """Return the Work of what has been queued: the stream knows its order, so that it is over for whoever queues
        something behind it."""
        self._next_number()
        work = Queued(result)
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work

    def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None, *, op: Any = None) -> Any:
        """Reduce each tensor in place, on all ranks."""
        given = listed(tensors)
        if not self._are_on_device(given):
            return super().allreduce(tensors, opts, timeout, op=op)
        _check_single(given, "allreduce")
        return self._each_reduced(given, options_of(c10d.AllreduceOptions, opts, timeout, reduceOp=op))

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        """Reduce several tensors in place, on all ranks."""
        given = listed(tensors)
        if not self._are_on_device(given):
            return super().allreduce_coalesced(tensors, opts)
        return self._each_reduced(given, options_of(c10d.AllreduceCoalescedOptions, opts, None))

    def _each_reduced(self, given: Sequence[Any], opts: Any) -> Any:
        name = _reduction(opts.reduceOp)
        reduced = {id(tensor): tensor for tensor in given}  # one that is named twice is reduced once
        for tensor in reduced.values():
            flat = _flat(tensor)
            self._device(tensor).run("all_reduce", flat, flat, name)
        return self._queued(given)

    def broadcast(self, tensors: Any, opts: Any = None, timeout: Any = None, *, root: Any = None) -> Any:
        """Overwrite all ranks' tensors with the root's."""
        given = listed(tensors)
        if not self._are_on_device(given):
            return super().broadcast(tensors, opts, timeout, root=root)
        _check_single(given, "broadcast")
        opts = options_of(c10d.BroadcastOptions, opts, timeout, rootRank=root)
        for tensor in given:
            flat = _flat(tensor)
            self._device(tensor).run("broadcast", flat, flat, root=opts.rootRank)
        return self._queued(given)

    def reduce(
        self, tensors: Any, opts: Any = None, op: Any = None, timeout: Any = None, *, root: Any = None
    ) -> Any:
        """Reduce a tensor to the root's; the others' are as they were."""
        given = listed(tensors)
        if not self._are_on_device(given):
            return super().reduce(tensors, opts, op, timeout, root=root)
        opts = options_of(c10d.ReduceOptions, opts, timeout, rootRank=root, reduceOp=op)
        name = _reduction(opts.reduceOp)
        for tensor in given:
            flat = _flat(tensor)
            out = flat if self._comm.rank == opts.rootRank else torch.empty_like(flat)
            self._device(tensor).run("reduce", flat, out, name, opts.rootRank)
        return self._queued(given)

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Any:
        """Gather each input of all ranks into a list with a tensor for each of them, all of one size."""
        if not self._are_on_device(listed(inputs)):
            return super().allgather(outputs, inputs, opts, timeout)
        for into, each in zip(outputs, inputs, strict=True):
            _same_sizes(into, each, self._comm.rank_count)
            room = torch.empty((self._comm.rank_count, each.numel()), dtype=each.dtype, device=each.device)
            self._device(each).run("all_gather", _flat(each.contiguous()), room.view(-1))
            for tensor, row in zip(into, room, strict=True):
                tensor.detach().copy_(row.view(tensor.shape), non_blocking=True)
        return self._queued(outputs[0] if len(outputs) == 1 else outputs)

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Gather several inputs; of the outputs there is a list for each rank, with a tensor for each input."""
        if not self._are_on_device(inputs):
            return super().allgather_coalesced(outputs, inputs, opts)
        return self.allgather([list(each) for each in zip(*outputs, strict=True)], inputs, opts)

    def all_gather_single(self, output: Any, input: Any, opts: Any = None, timeout: Any = None) -> Any:
        """Gather all ranks' inputs one behind the other."""
        if not self.is_on_device(input):
            return super().all_gather_single(output, input, opts, timeout)
        return self.all_gather_single_coalesced([output], [input], opts, timeout)

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None
    ) -> Any:
        """Gather several inputs of all ranks, each one behind the other."""
        if not self._are_on_device(inputs):
            return super().all_gather_single_coalesced(outputs, inputs, opts, timeout)
        for into, each in zip(outputs, inputs, strict=True):
            self._device(each).run("all_gather", _flat(each.contiguous()), _result(into))
        return self._queued(outputs)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def reduce_scatter_single_coalesced(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None, *, op: Any = None
    ) -> Any:
        """Reduce several tensors that have a block for each rank, and give each rank its own."""
        if not self._are_on_device(inputs):
            return super().reduce_scatter_single_coalesced(outputs, inputs, opts, timeout, op=op)
        opts = options_of(c10d.ReduceScatterOptions, opts, timeout, reduceOp=op)
        name = _reduction(opts.reduceOp)
        for into, each in zip(outputs, inputs, strict=True):
            self._device(each).run("reduce_scatter", _flat(each.contiguous()), _result(into), name)
        return self._queued(outputs)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def reduce_scatter(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None, *, op: Any = None
    ) -> Any:
        """Reduce lists that have a tensor for each rank, all of one size, and give each rank its own."""
        if isinstance(outputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        if not self._are_on_device(outputs):
            return super().reduce_scatter(outputs, inputs, opts, timeout, op=op)
        for into, of in zip(outputs, inputs, strict=True):
            _same_sizes(of, into, self._comm.rank_count)
        whole = [torch.cat([each.detach().reshape(-1) for each in of]) for of in inputs]
        return self.reduce_scatter_single_coalesced(outputs, whole, opts, timeout, op=op)

    def all_to_all_single(
        self,
        output: Any,
        input: Any,
        output_split_sizes: Sequence[int] = (),
        input_split_sizes: Sequence[int] = (),
        opts: Any = None,
        timeout: Any = None,
    ) -> Any:
        """Give each rank a block of the first axis and get one of each, all of one size on a device.

        Ranks that pass split sizes compare them on the host first, so that all of these raise where sizes differ.
        """
        if not self.is_on_device(input):
            return super().all_to_all_single(
                output, input, output_split_sizes, input_split_sizes, opts, timeout
            )
        if output_split_sizes or input_split_sizes:
            opts = options_of(c10d.AllToAllOptions, opts, timeout)
            sides = (input, input_split_sizes), (output, output_split_sizes)
            try:
                _agree_on_blocks(
                    self._comm, _equal_blocks(sides, self._comm.rank_count), self._limit_of(opts)
                )
            except HemiolaError as error:
                raise for_torch(error) from error.__cause__
        self._device(input).run("all_to_all", _flat(input.contiguous()), _result(output))
        return self._queued([output])

    alltoall_base = all_to_all_single


class Queued(Finished):
    """An operation that was given to a stream. Waiting for it is having queued it."""

    def get_future(self) -> Any:
        """Return a future whose callbacks run on streams that wait for the result."""
        first = next((each for each in self._result if isinstance(each, torch.Tensor)), None)
        if first is None or first.is_cpu:
            return super().get_future()
        future: Any = torch.futures.Future(devices=[first.device])
        future.set_result(self._result)
        return future


def cuda_messages(store: Any, rank: int, rank_count: int) -> Any:
    """Return a process group whose messages NCCL (or RCCL) carries; it has a place of its own in the store.

    Raises
    ------
    ArgumentError
        where this PyTorch has no NCCL.
    """
    if not hasattr(c10d, "ProcessGroupNCCL"):
        raise ArgumentError("tensors on CUDA: expected a PyTorch with NCCL or RCCL, found one without")
    place = c10d.PrefixStore("device messages", store)
    group = c10d.ProcessGroup(place, rank, rank_count)
    nccl = c10d.ProcessGroupNCCL(place, rank, rank_count, c10d.ProcessGroupNCCL.Options())
    group._register_backend(torch.device("cuda"), c10d.ProcessGroup.BackendType.NCCL, nccl)
    group._set_default_backend(c10d.ProcessGroup.BackendType.NCCL)
    return group


def _reduction(op: Any) -> str:
    """Return our name of a reduction."""
    found = meant(op)
    if isinstance(found, Complaint):
        raise ArgumentError(found.text)
    if not isinstance(found, str):
        raise ArgumentError("PREMUL_SUM on a device: expected another reduction; multiply the tensor before")
    return found


def _flat(tensor: Any) -> Any:
    """Return a tensor of one axis over the same memory, in its order."""
    found = side_by_side(tensor.detach())
    if isinstance(found, Complaint):
        raise ArgumentError(found.text)
    return found.view(-1)


def _result(tensor: Any) -> Any:
    if not tensor.is_contiguous():
        raise ArgumentError(f"expected a contiguous tensor for the result, found {described(tensor)}")
    return tensor.detach().view(-1)


def _same_sizes(tensors: Sequence[Any], like: Any, rank_count: int) -> None:
    """Refuse a list on a device that has not a tensor of one size for each rank."""
    sizes = [tensor.numel() for tensor in tensors]
    if sizes != [like.numel()] * rank_count:
        raise ArgumentError(
            f"on a device: expected a list of {rank_count} tensors of {like.numel()} elements, found {sizes}"
        )


def _equal_blocks(sides: Sequence[tuple[Any, Sequence[int]]], rank_count: int) -> Any:
    """Return a block's elements and their bytes, of tensors that are split evenly; or a complaint about their sizes."""
    blocks = set()
    for tensor, sizes in sides:
        found = split_sizes(tensor, sizes, rank_count)
        if isinstance(found, Complaint):
            return found
        if len(set(found)) > 1:
            return Complaint(f"on a device: expected blocks of one size, found {found}; pad them")
        blocks.add((tensor.numel() // rank_count, tensor.element_size()))
    if len(blocks) > 1:
        return Complaint(f"on a device: expected output for {sides[0][0].shape}, found {sides[1][0].shape}")
    return np.array(blocks.pop(), np.int64)


def _agree_on_blocks(comm: Communicator, told: Any, limit_s: float | None) -> None:
    """Raise MismatchError on all ranks where another has told something else than rank 0, or has a complaint."""
    every = np.empty((comm.rank_count, 2), np.int64)
    comm.all_gather(told, out=every, timeout_s=limit_s)
    for rank in np.flatnonzero((every != every[0]).any(axis=1)):
        first, other = (f"{count} elements of {size} bytes" for count, size in (every[0], every[rank]))
        raise MismatchError(f"all_to_all_single: rank 0 has blocks of {first}, rank {rank} of {other}")


def _check_single(tensors: Sequence[Any], name: str) -> None:
    """Refuse several tensors of one rank, which gloo would combine."""
    if len(tensors) != 1:
        raise GroupArgumentError(
            f"{name}: expected one tensor on a device, found {len(tensors)}; call it for each"
        )
