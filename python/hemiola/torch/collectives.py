"""The collectives of torch.distributed on a communicator: the same methods whichever of PyTorch's classes is the base.

Each takes the forms that PyTorch's own bindings have: lists of tensors and an options object, or a tensor and plain
arguments. An operation that is not asynchronous runs in the caller's thread, any other in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import torch
from torch._C import _distributed_c10d as c10d

from hemiola.communicator import Communicator
from hemiola.errors import HemiolaError, TimeoutError
from hemiola.torch.blocks import Blocks, Room, brought, in_order, split, spread, without_complaints
from hemiola.torch.errors import for_torch
from hemiola.torch.reductions import meant
from hemiola.torch.sparse import sum_of_sparse
from hemiola.torch.tensors import content, values
from hemiola.torch.work import Completion, Finished, Refused, Running, together

#: A call of the communicator, all but how it is waited for.
Call = Callable[..., Any]


class Collectives:
    """What a group can do. A class that has this as a base calls `begin` first."""

    _comm: Communicator

    def begin(self, comm: Communicator, timeout: timedelta, name: str) -> None:
        """Take the communicator whose operations these are."""
        self._comm = comm
        self._own_limit_s = self._limit_s = timeout.total_seconds()
        self._completion = Completion(f"hemiola {name}")
        self._sequence_number = 0
        self._coalesced: list[Any] | None = None

    # ---- how operations run ----

    def runs(self, what: str) -> None:
        """Return: whatever is called runs. A class that only estimates raises for what it cannot."""

    def _run(
        self, calls: Sequence[Call], result: Any, opts: Any, finish: Callable[[], None] | None = None
    ) -> Any:
        """Run or start calls of the communicator, several at once; return the Work of all.

        What is wrong with one of several does not keep the rest from being made, since the other ranks make them, too.
        It is raised when all are over, and among coalesced ones by whoever waits for all of these.
        """
        self._sequence_number += 1
        limit_s = self._limit_of(opts)
        blocks = not getattr(opts, "asyncOp", True)
        if blocks and len(calls) <= 1 and self._coalesced is None:
            try:
                for call in calls:
                    call(timeout_s=limit_s)
            except TimeoutError as error:
                raise for_torch(error) from error.__cause__
            if finish is not None:
                finish()
            return Finished(result)
        handles = [_begun(call, limit_s) for call in calls]
        work = Running(handles, result, self._completion, finish)
        if self._coalesced is not None:
            self._coalesced.append(work)
        elif blocks or any(isinstance(handle, Refused) for handle in handles):
            work.wait()
            return Finished(result)
        return work

    def _limit_of(self, opts: Any) -> float | None:
        """Return how long an operation may take; None means as long as the communicator says."""
        asked = _NO_TIME if opts is None else opts.timeout
        limit_s: float = asked.total_seconds() if asked > _NO_TIME else self._limit_s
        return None if limit_s == self._own_limit_s else limit_s

    # ---- everybody gets everything ----

    def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None, *, op: Any = None) -> Any:
        """Reduce each tensor in place, on all ranks."""
        given = listed(tensors)
        if not isinstance(opts, c10d.AllreduceCoalescedOptions):  # which is no AllreduceOptions to Python
            opts = options_of(c10d.AllreduceOptions, opts, timeout, reduceOp=op)
        reduction = opts.reduceOp
        if given[0].is_sparse:
            self.runs("sparse tensors")
            return self._run([], [sum_of_sparse(self._comm, one, reduction) for one in given], opts)
        call, op = self._comm.all_reduce, meant(reduction)
        return self._run([partial(call, values(tensor), op) for tensor in given], given, opts)

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        """Reduce several tensors in place, on all ranks."""
        return self.allreduce(tensors, options_of(c10d.AllreduceCoalescedOptions, opts, None))

    def broadcast(self, tensors: Any, opts: Any = None, timeout: Any = None, *, root: Any = None) -> Any:
        """Overwrite all ranks' tensors with the root's."""
        given = listed(tensors)
        opts = options_of(c10d.BroadcastOptions, opts, timeout, rootRank=root)
        broadcast, root = self._comm.broadcast, opts.rootRank
        return self._run([partial(broadcast, content(one), root) for one in given], given, opts)

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Any:
        """Gather each input of all ranks into a list with a tensor for each of them."""
        if isinstance(inputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        opts = options_of(c10d.AllgatherOptions, opts, timeout)
        calls: list[Call]
        if _uneven(outputs):
            calls = [
                partial(
                    self._comm.all_gather_blocks,
                    content(one.contiguous()),
                    out=without_complaints([in_order(each, content) for each in into]),
                )
                for into, one in _pairs(outputs, inputs)
            ]
            return self._run(calls, outputs, opts)
        rooms = [Room(into, one, self._comm.rank_count) for into, one in _pairs(outputs, inputs)]
        calls = [
            partial(self._comm.all_gather, content(one.contiguous()), out=room.array)
            for one, room in zip(inputs, rooms, strict=True)
        ]
        return self._run(calls, outputs, opts, partial(spread, rooms))

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Gather several inputs; of the outputs there is a list for each rank, with a tensor for each input."""
        return self.allgather([list(each) for each in zip(*outputs, strict=True)], inputs, opts)

    def all_gather_single(self, output: Any, input: Any, opts: Any = None, timeout: Any = None) -> Any:
        """Gather all ranks' inputs one behind the other."""
        return self.all_gather_single_coalesced([output], [input], opts, timeout)

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None
    ) -> Any:
        """Gather several inputs of all ranks, each one behind the other."""
        opts = options_of(c10d.AllgatherOptions, opts, timeout)
        calls = [
            partial(self._comm.all_gather, content(one.contiguous()), out=in_order(into, content))
            for into, one in _pairs(outputs, inputs)
        ]
        return self._run(calls, outputs, opts)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    # ---- everybody gets a part ----

    def reduce_scatter(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None, *, op: Any = None
    ) -> Any:
        """Reduce lists that have a tensor for each rank, and give each rank its own."""
        if isinstance(outputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        opts = options_of(c10d.ReduceScatterOptions, opts, timeout, reduceOp=op)
        if _uneven(inputs):
            op = meant(opts.reduceOp)
            calls = [
                partial(
                    self._comm.reduce_scatter_blocks,
                    without_complaints([values(one.contiguous()) for one in of]),
                    op,
                    out=in_order(into, values),
                )
                for into, of in _pairs(outputs, inputs)
            ]
            return self._run(calls, outputs, opts)
        whole = [brought(of, into, self._comm.rank_count) for into, of in _pairs(outputs, inputs)]
        return self._reduced(outputs, whole, opts)

    def reduce_scatter_single(
        self, output: Any, input: Any, opts: Any = None, timeout: Any = None, *, op: Any = None
    ) -> Any:
        """Reduce tensors that have a block for each rank, and give each rank its own."""
        return self.reduce_scatter_single_coalesced([output], [input], opts, timeout, op=op)

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None, *, op: Any = None
    ) -> Any:
        """Reduce several tensors that have a block for each rank, and give each rank its own."""
        opts = options_of(c10d.ReduceScatterOptions, opts, timeout, reduceOp=op)
        return self._reduced(outputs, [values(one.contiguous()) for one in inputs], opts)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def _reduced(self, outputs: Any, arrays: Sequence[Blocks], opts: Any) -> Any:
        op = meant(opts.reduceOp)
        calls = [
            partial(self._comm.reduce_scatter, array, op, out=in_order(into, values))
            for into, array in _pairs(outputs, arrays)
        ]
        return self._run(calls, outputs, opts)

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
        opts = options_of(c10d.AllToAllOptions, opts, timeout)
        into, of = in_order(output, content), content(input.contiguous())
        if not output_split_sizes and not input_split_sizes:
            return self._run([partial(self._comm.all_to_all, of, out=into)], [output], opts)
        parts = split(of, input, input_split_sizes, self._comm.rank_count)
        rooms = split(into, output, output_split_sizes, self._comm.rank_count)
        return self._exchanged(rooms, parts, [output], opts)

    alltoall_base = all_to_all_single

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Any:
        """Give each rank a tensor and get one of each, of any sizes that fit together."""
        opts = options_of(c10d.AllToAllOptions, opts, timeout)
        parts = without_complaints([content(one.contiguous()) for one in inputs])
        rooms = without_complaints([in_order(one, content) for one in outputs])
        return self._exchanged(rooms, parts, outputs, opts)

    def _exchanged(self, rooms: Any, parts: Any, result: Any, opts: Any) -> Any:
        return self._run([partial(self._comm.all_to_all_blocks, parts, out=rooms)], result, opts)

    # ---- one gets or gives ----

    def reduce(
        self, tensors: Any, opts: Any = None, op: Any = None, timeout: Any = None, *, root: Any = None
    ) -> Any:
        """Reduce a tensor to the root's; the others' are as they were."""
        given = listed(tensors)
        opts = options_of(c10d.ReduceOptions, opts, timeout, rootRank=root, reduceOp=op)
        call, op, root = self._comm.reduce, meant(opts.reduceOp), opts.rootRank
        return self._run([partial(call, values(one), op, root) for one in given], given, opts)

    def gather(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None, *, root: Any = None
    ) -> Any:
        """Gather all ranks' inputs into the root's list, which has a tensor for each of them."""
        if isinstance(inputs, torch.Tensor):
            inputs, outputs = [inputs], [outputs] if outputs else []
        opts = options_of(c10d.GatherOptions, opts, timeout, rootRank=root)
        root, one = opts.rootRank, inputs[0]
        rooms = []
        if self._comm.rank == root:
            rooms = [Room(outputs[0] if outputs else [], one, self._comm.rank_count)]
        call = partial(
            self._comm.gather, content(one.contiguous()), root, out=rooms[0].array if rooms else None
        )
        return self._run([call], outputs, opts, partial(spread, rooms))

    def scatter(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None, *, root: Any = None
    ) -> Any:
        """Give each rank a tensor of the root's list."""
        if isinstance(outputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs] if inputs else []
        opts = options_of(c10d.ScatterOptions, opts, timeout, rootRank=root)
        root, into = opts.rootRank, outputs[0]
        whole: Any = None
        if self._comm.rank == root:
            whole = brought(inputs[0] if inputs else [], into, self._comm.rank_count, content)
        return self._run(
            [partial(self._comm.scatter, whole, root, out=in_order(into, content))], outputs, opts
        )

    def barrier(self, opts: Any = None, timeout: Any = None) -> Any:
        """Wait for all ranks."""
        return self._run([self._comm.barrier], [], options_of(c10d.BarrierOptions, opts, timeout))

    # ---- several at once ----

    def _start_coalescing(self, device: Any = None) -> None:
        """Collect what is started until `_end_coalescing`."""
        self._coalesced = []

    def _end_coalescing(self, device: Any = None) -> Any:
        """Return the Work of all that has been started since."""
        works, self._coalesced = self._coalesced or [], None
        return together(works, self._completion)

    start_coalescing, end_coalescing = _start_coalescing, _end_coalescing


_NO_TIME = timedelta(0)


def _begun(call: Call, limit_s: float | None) -> Any:
    """Start a call of the communicator; return its Handle, or what stands for one where the call is wrong."""
    try:
        return call(wait=False, timeout_s=limit_s)
    except HemiolaError as error:
        return Refused(error)


def listed(tensors: Any) -> Sequence[Any]:
    return [tensors] if isinstance(tensors, torch.Tensor) else tensors


def _uneven(lists: Sequence[Sequence[Any]]) -> bool:
    """Say whether some list has tensors of different sizes, as it then has on all ranks."""
    return any(len({tensor.numel() for tensor in each}) > 1 for each in lists)


def _pairs(outputs: Sequence[Any], inputs: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(outputs, inputs, strict=True))


def options_of(kind: Any, opts: Any, timeout: Any, **fields: Any) -> Any:
    """Return the options of a call: those that were passed, or made of plain arguments.

    PyTorch's bindings take the reduction, the root or the timeout in the place of the options.
    """
    if isinstance(opts, kind):
        return opts
    made = kind()
    if isinstance(opts, timedelta):
        timeout = opts
    elif opts is not None:
        fields["rootRank" if isinstance(opts, int) else "reduceOp"] = opts
    for name, value in fields.items():
        if value is not None:
            setattr(made, name, value)
    if timeout is not None:
        made.timeout = timeout
    return made
