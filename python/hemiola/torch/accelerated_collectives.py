# SPDX-License-Identifier: Apache-2.0
"""The collectives of a group that go past Python where the accelerator is compiled. They have the same methods as those
in Python, which take every call that the accelerator leaves to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch._C import _distributed_c10d as c10d

from hemiola.torch.callbacks import in_python_callback
from hemiola.torch.device_collectives import DeviceCollectives


class AcceleratedCollectives(DeviceCollectives):
    """A group's operations, some of them faster."""

    #: Operations of accelerator.cpp; None where that is not compiled.
    _operations: Any = None
    #: The same, but None while collectives are only collected or estimated.
    _compiled: Any = None

    def accelerate(self, operations: Any | None) -> None:
        """Use the compiled accelerator; None where there is none."""
        self._operations = self._compiled = operations

    @property
    def accelerated_count(self) -> int:
        """How many collectives have gone past Python."""
        return 0 if self._operations is None else self._operations.count

    def _next_number(self) -> int:
        if self._operations is None:
            return super()._next_number()
        self._operations.number += 1
        return self._operations.number  # type: ignore[no-any-return]

    def _number(self) -> int:
        """Return how many collectives the program has issued."""
        return self._sequence_number if self._operations is None else self._operations.number

    def _begin_numbers(self) -> None:
        """Count from 0 again, as all ranks do."""
        self._sequence_number = 0
        if self._operations is not None:
            self._operations.number = 0

    def _past_python(self, opts: Any, kind: Any) -> Any:
        """Return what may take a call with these options; None: it is left to Python."""
        return self._compiled if type(opts) is kind and not in_python_callback() else None

    def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None, *, op: Any = None) -> Any:
        """Reduce each tensor in place, on all ranks."""
        compiled = self._past_python(opts, c10d.AllreduceOptions)
        if compiled is not None:
            work = compiled.all_reduce(tensors, opts)
            if work is not None:
                return work
        return super().allreduce(tensors, opts, timeout, op=op)

    def broadcast(self, tensors: Any, opts: Any = None, timeout: Any = None, *, root: Any = None) -> Any:
        """Overwrite all ranks' tensors with the root's."""
        compiled = self._past_python(opts, c10d.BroadcastOptions)
        if compiled is not None:
            work = compiled.broadcast(tensors, opts)
            if work is not None:
                return work
        return super().broadcast(tensors, opts, timeout, root=root)

    def all_gather_single(self, output: Any, input: Any, opts: Any = None, timeout: Any = None) -> Any:
        """Gather all ranks' inputs one behind the other."""
        compiled = self._past_python(opts, c10d.AllgatherOptions)
        if compiled is not None:
            work = compiled.all_gather(output, input, opts)
            if work is not None:
                return work
        return super().all_gather_single(output, input, opts, timeout)

    _allgather_base = all_gather_single

    def reduce_scatter_single(
        self, output: Any, input: Any, opts: Any = None, timeout: Any = None, *, op: Any = None
    ) -> Any:
        """Reduce tensors that have a block for each rank, and give each rank its own."""
        compiled = self._past_python(opts, c10d.ReduceScatterOptions)
        if compiled is not None:
            work = compiled.reduce_scatter(output, input, opts)
            if work is not None:
                return work
        return super().reduce_scatter_single(output, input, opts, timeout, op=op)

    _reduce_scatter_base = reduce_scatter_single

    def all_to_all_single(
        self,
        output: Any,
        input: Any,
        output_split_sizes: Sequence[int] = (),
        input_split_sizes: Sequence[int] = (),
        opts: Any = None,
        timeout: Any = None,
    ) -> Any:
        """Give each rank a block of the first axis and get one of each; of equal ones where no sizes are given."""
        even = not output_split_sizes and not input_split_sizes
        compiled = self._past_python(opts, c10d.AllToAllOptions)
        if compiled is not None and even:
            work = compiled.all_to_all(output, input, opts)
            if work is not None:
                return work
        return super().all_to_all_single(output, input, output_split_sizes, input_split_sizes, opts, timeout)

    alltoall_base = all_to_all_single

    def barrier(self, opts: Any = None, timeout: Any = None) -> Any:
        """Wait for all ranks."""
        compiled = self._past_python(opts, c10d.BarrierOptions)
        if compiled is not None:
            work = compiled.barrier(opts)
            if work is not None:
                return work
        return super().barrier(opts, timeout)

    def _start_coalescing(self, device: Any = None) -> None:
        """Collect what is started until `_end_coalescing`."""
        self._compiled = None
        super()._start_coalescing(device)

    def _end_coalescing(self, device: Any = None) -> Any:
        """Return the Work of all that has been started since."""
        self._compiled = self._operations
        return super()._end_coalescing(device)

    start_coalescing, end_coalescing = _start_coalescing, _end_coalescing
