# SPDX-License-Identifier: Apache-2.0
"""The collectives of torch.distributed on a communicator, with the same methods for each of PyTorch's base classes.

Each takes the forms that PyTorch's own bindings have: lists of tensors and an options object, or a tensor and plain
arguments. An operation that is not asynchronous runs in the caller's thread, any other in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import torch
from torch._C import _distributed_c10d as c10d

from hemiola._core import Complaint
from hemiola.communicator import Communicator
from hemiola.errors import HemiolaError
from hemiola.torch.blocks import Blocks, Room, brought, in_order, split, spread, without_complaints
from hemiola.torch.call import Call
from hemiola.torch.callback_order import CallbackOrder, Refused, begun
from hemiola.torch.callbacks import CallbackPlace, issued_by_callback
from hemiola.torch.completion import Completion
from hemiola.torch.errors import for_torch
from hemiola.torch.lists import (
    combined,
    copy_in_pieces,
    copy_to_all,
    flat,
    unlike,
    unlike_types,
    wrong_root,
)
from hemiola.torch.loosely import Chunks, ChunksOfEach
from hemiola.torch.reductions import meant
from hemiola.torch.sparse import sum_of_sparse
from hemiola.torch.tensors import content, described, values
from hemiola.torch.work import Finished, Running, together


class Collectives:
    """A group's collectives. A class that has this as a base calls `begin` first."""

    _comm: Communicator
    #: Makes another communicator of the same ranks, whenever they all call it.
    _meet_again: Callable[[], Communicator]
    record_name: str

    def begin(self, comm: Communicator, timeout: timedelta, name: str) -> None:
        """Take the communicator whose operations these are."""
        self._comm = comm
        self._own_limit_s = self._limit_s = timeout.total_seconds()
        self._completion = Completion(f"hemiola {name}")
        self._of_callbacks = CallbackOrder(self._meet_again, f"hemiola callbacks, {name}", self._limit_s)
        self._numbers_in_callbacks = count(1)
        self._sequence_number = 0
        self._coalesced: list[Any] | None = None

    # ---- how operations run ----

    def runs(self, what: str) -> None:
        """Return: every collective runs. A class that only estimates raises for collectives without an estimate."""

    def _run(
        self, calls: Sequence[Call], result: Any, opts: Any, finish: Callable[[], None] | None = None
    ) -> Any:
        """Run or start calls of the communicator, several at once; return the Work of all.

        What is wrong with one of several does not keep the rest from being made, since the other ranks make them, too.
        It is raised when all are over, and among coalesced ones by whoever waits for all of these.
        """
        limit_s = self._limit_of(opts)
        name = issued_by_callback()
        if name is not None:
            return self._run_in_callback(name, calls, result, opts, finish)
        number = self._next_number()
        place = CallbackPlace(f"{self.record_name}/{number}")
        blocks = not getattr(opts, "asyncOp", True)
        if blocks and len(calls) <= 1 and self._coalesced is None:
            try:
                for call in calls:
                    call.run(self._comm, limit_s)
            except HemiolaError as error:
                raised = for_torch(error)
                if raised is error:
                    raise
                raise raised from error.__cause__
            if finish is not None:
                finish()
            return Finished(result)
        handles = [begun(call, self._comm, limit_s) for call in calls]
        work = Running(handles, result, self._completion, finish)
        work.number, work.place = number, place
        if self._coalesced is not None:
            self._coalesced.append(work)
        elif blocks or any(isinstance(handle, Refused) for handle in handles):
            work.wait()
            return Finished(result)
        return work

    def _run_in_callback(
        self, name: str, calls: Sequence[Call], result: Any, opts: Any, finish: Callable[[], None] | None
    ) -> Any:
        """Run what a callback of a future issues: in the order of all such, which is another one than the program's."""
        handles = self._of_callbacks.start(name, calls, self._limit_of(opts))
        work = Running(handles, result, self._of_callbacks.completion, finish)
        # Rank 0 says in which order these end; a number below all others has a thread of its own wait for it.
        work.number, work.place = -next(self._numbers_in_callbacks), CallbackPlace(name)
        if not getattr(opts, "asyncOp", True):
            work.wait()
            return Finished(result)
        return work

    def _next_number(self) -> int:
        """Return the number of the collective that the program issues now."""
        self._sequence_number += 1
        return self._sequence_number

    def _limit_of(self, opts: Any) -> float | None:
        """Return how long an operation may take; None means as long as the communicator says."""
        asked = _NO_TIME if opts is None else opts.timeout
        limit_s: float = asked.total_seconds() if asked > _NO_TIME else self._limit_s
        return None if limit_s == self._own_limit_s else limit_s

    # ---- everybody gets everything ----

    def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None, *, op: Any = None) -> Any:
        """Reduce a tensor in place, on all ranks; several as one, and each then holds the result."""
        given = listed(tensors)
        opts = options_of(c10d.AllreduceOptions, opts, timeout, reduceOp=op)
        if any(tensor.is_sparse for tensor in given):
            return self._sparse_reduced(given, opts)
        op, whole, finish = meant(opts.reduceOp), unlike(given), None
        if whole is None:
            whole = given[0] if len(given) == 1 else combined(given, opts.reduceOp)
            if len(given) > 1 and not isinstance(whole, Complaint):
                finish = partial(copy_to_all, given, whole)
        return self._run([Call("all_reduce", _shown(whole, values), op)], given, opts, finish)

    def _sparse_reduced(self, given: Any, opts: Any) -> Any:
        self.runs("sparse tensors")
        if issued_by_callback() is not None:
            raise NotImplementedError(
                "hemiola: all-reduces of sparse tensors in a future's callback are not supported; wait for the future, "
                "then call them"
            )
        try:
            total = sum_of_sparse(self._comm, given, opts.reduceOp)
        except HemiolaError as error:
            raise for_torch(error) from error.__cause__
        for tensor in given:
            tensor.copy_(total)  # a sparse one gets other elements, which an alias would keep for itself
        return self._run([], given, opts)

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        """Reduce several tensors in place, on all ranks, in one operation."""
        given = listed(tensors)
        opts = options_of(c10d.AllreduceCoalescedOptions, opts, None)
        whole, finish = unlike_types(given), None
        if whole is None and given[0].is_sparse:
            whole = Complaint("unsupported layout: expected dense tensors, found sparse ones; use all_reduce")
        if whole is None:
            whole = flat(given)
            finish = partial(copy_in_pieces, given, whole)
        # Zeros are never left out, which tells it from an all-reduce of as many elements.
        call = Call("all_reduce", _shown(whole, values), meant(opts.reduceOp), sparse=False)
        return self._run([call], given, opts, finish)

    def broadcast(self, tensors: Any, opts: Any = None, timeout: Any = None, *, root: Any = None) -> Any:
        """Overwrite all tensors of all ranks with one of the root's."""
        given = listed(tensors)
        opts = options_of(c10d.BroadcastOptions, opts, timeout, rootRank=root)
        root, place = opts.rootRank, opts.rootTensor
        whole = wrong_root(root, self._comm.rank_count, place, len(given)) or unlike(given)
        finish = None
        if whole is None:
            whole = given[place]
            if len(given) > 1:
                finish = partial(copy_to_all, [one for one in given if one is not whole], whole)
        if isinstance(whole, Complaint):
            root = 0  # complaints are worded in one place
        return self._run([Call("broadcast", _shown(whole, content), root)], given, opts, finish)

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Any:
        """Gather each input of all ranks into a list with a tensor for each of them.

        Of several inputs every list gets all, a rank's one behind the other.
        """
        if isinstance(inputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        opts = options_of(c10d.AllgatherOptions, opts, timeout)
        wrong = _wrong_lists(outputs, inputs, "input")
        if wrong is not None:
            return self._refused("all_gather", wrong, opts)
        if len(inputs) > 1:
            return self._gathered_to_all(outputs, inputs, opts)
        return self._gathered(outputs, inputs, outputs[0], opts)

    def _gathered(self, outputs: Any, inputs: Any, result: Any, opts: Any) -> Any:
        calls: list[Call]
        if _uneven(outputs):
            calls = [
                Call(
                    "all_gather_blocks",
                    content(one.contiguous()),
                    out=_own_place(into, one, self._comm.rank)
                    or without_complaints([in_order(each, content) for each in into]),
                )
                for into, one in _pairs(outputs, inputs)
            ]
            return self._run(calls, result, opts)
        rooms = [Room(into, one, self._comm.rank_count) for into, one in _pairs(outputs, inputs)]
        calls = [
            Call("all_gather", content(one.contiguous()), out=room.array)
            for one, room in zip(inputs, rooms, strict=True)
        ]
        return self._run(calls, result, opts, partial(spread, rooms))

    def _gathered_to_all(self, outputs: Any, inputs: Any, opts: Any) -> Any:
        n, count = self._comm.rank_count, len(inputs)
        wrong = unlike(inputs) or next(
            (
                Complaint(
                    f"invalid output tensor list at index {place}: expected length {n * count}, found {len(each)}"
                )
                for place, each in enumerate(outputs)
                if len(each) != n * count
            ),
            None,
        )
        if wrong is not None:
            return self._refused("all_gather", wrong, opts)
        own = flat(inputs)
        every = own.new_empty(n * own.numel())

        def finish() -> None:
            for each in outputs:
                copy_in_pieces(each, every)

        call = Call("all_gather", content(own), out=content(every))
        return self._run([call], outputs, opts, finish)

    def _refused(self, name: str, wrong: Complaint, opts: Any) -> Any:
        """Tell all ranks what is wrong with this one's call."""
        return self._run([Call(name, wrong, out=wrong)], [], opts)

    def allgather_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Any:
        """Gather several inputs; of the outputs there is a list for each rank, with a tensor for each input."""
        opts = options_of(c10d.AllgatherOptions, opts, None)
        wrong = _wrong_of_each_rank(outputs, inputs, self._comm.rank_count)
        if wrong is not None:
            return self._refused("all_gather", wrong, opts)
        return self._gathered([list(each) for each in zip(*outputs, strict=True)], inputs, outputs, opts)

    def all_gather_single(self, output: Any, input: Any, opts: Any = None, timeout: Any = None) -> Any:
        """Gather all ranks' inputs one behind the other."""
        opts = options_of(c10d.AllgatherOptions, opts, timeout)
        call = Call("all_gather", content(input.contiguous()), out=in_order(output, content))
        return self._run([call], Chunks(output, self._comm.rank_count), opts)

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None
    ) -> Any:
        """Gather several inputs of all ranks, each one behind the other."""
        opts = options_of(c10d.AllgatherOptions, opts, timeout)
        wrong = _wrong_lists(outputs, inputs, "input")
        if wrong is not None:
            return self._refused("all_gather", wrong, opts)
        calls = [
            Call("all_gather", content(one.contiguous()), out=in_order(into, content))
            for into, one in _pairs(outputs, inputs)
        ]
        return self._run(calls, ChunksOfEach(outputs, self._comm.rank_count), opts)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    # ---- everybody gets a part ----

    def reduce_scatter(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None, *, op: Any = None
    ) -> Any:
        """Reduce lists that have a tensor for each rank, and give each rank its own."""
        if isinstance(outputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs]
        opts = options_of(c10d.ReduceScatterOptions, opts, timeout, reduceOp=op)
        wrong = _wrong_lists(outputs, inputs, "output")
        if wrong is not None:
            return self._refused("reduce_scatter", wrong, opts)
        if _uneven(inputs):
            op = meant(opts.reduceOp)
            calls = [
                Call(
                    "reduce_scatter_blocks",
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
            Call("reduce_scatter", array, op, out=in_order(into, values))
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
            return self._run([Call("all_to_all", of, out=into)], [output], opts)
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
        return self._run([Call("all_to_all_blocks", parts, out=rooms)], result, opts)

    # ---- one gets or gives ----

    def reduce(
        self, tensors: Any, opts: Any = None, op: Any = None, timeout: Any = None, *, root: Any = None
    ) -> Any:
        """Reduce a tensor to the root's; the others' are as they were."""
        given = listed(tensors)
        opts = options_of(c10d.ReduceOptions, opts, timeout, rootRank=root, reduceOp=op)
        op, root = meant(opts.reduceOp), opts.rootRank
        wrong = wrong_root(root, self._comm.rank_count, opts.rootTensor, len(given)) or _not_one(
            given, "tensor"
        )
        whole, root = (given[0], root) if wrong is None else (wrong, 0)
        call = Call("reduce", _shown(whole, values), op, root)
        return self._run([call], given, opts)

    def gather(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None, *, root: Any = None
    ) -> Any:
        """Gather all ranks' inputs into the root's list, which has a tensor for each of them."""
        if isinstance(inputs, torch.Tensor):
            inputs, outputs = [inputs], [outputs] if outputs else []
        opts = options_of(c10d.GatherOptions, opts, timeout, rootRank=root)
        root, rooms = opts.rootRank, []
        is_root = self._comm.rank == root
        wrong = (
            wrong_root(root, self._comm.rank_count, 0, 1)
            or _not_one(inputs, "input tensor")
            or _not_one(outputs, "output", is_root)
        )
        if wrong is not None:
            return self._run([Call("gather", wrong, 0, out=wrong)], [], opts)
        one = inputs[0]
        if self._comm.rank == root:
            rooms = [Room(outputs[0], one, self._comm.rank_count)]
        call = Call("gather", content(one.contiguous()), root, out=rooms[0].array if rooms else None)
        return self._run([call], outputs[0] if outputs else [], opts, partial(spread, rooms))

    def scatter(
        self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None, *, root: Any = None
    ) -> Any:
        """Give each rank a tensor of the root's list."""
        if isinstance(outputs, torch.Tensor):
            outputs, inputs = [outputs], [inputs] if inputs else []
        opts = options_of(c10d.ScatterOptions, opts, timeout, rootRank=root)
        root = opts.rootRank
        is_root = self._comm.rank == root
        wrong = (
            wrong_root(root, self._comm.rank_count, 0, 1)
            or _not_one(outputs, "output tensor")
            or _not_one(inputs, "input", is_root)
        )
        if wrong is not None:
            return self._run([Call("scatter", wrong, 0, out=wrong)], [], opts)
        into = outputs[0]
        whole: Any = None
        if self._comm.rank == root:
            whole = brought(inputs[0], into, self._comm.rank_count, content)
        return self._run([Call("scatter", whole, root, out=in_order(into, content))], outputs, opts)

    def barrier(self, opts: Any = None, timeout: Any = None) -> Any:
        """Wait for all ranks."""
        return self._run([Call("barrier")], [], options_of(c10d.BarrierOptions, opts, timeout))

    # ---- several at once ----

    def _start_coalescing(self, device: Any = None) -> None:
        """Collect what is started until `_end_coalescing`."""
        if issued_by_callback() is not None:
            raise NotImplementedError(
                "hemiola: coalescing in a future's callback is not supported; call each collective"
            )
        self._coalesced = []

    def _end_coalescing(self, device: Any = None) -> Any:
        """Return the Work of all that has been started since."""
        works, self._coalesced = self._coalesced or [], None
        return together(works, self._completion)

    start_coalescing, end_coalescing = _start_coalescing, _end_coalescing


_NO_TIME = timedelta(0)


def listed(tensors: Any) -> Sequence[Any]:
    return [tensors] if isinstance(tensors, torch.Tensor) else tensors


def _shown(tensor: Any, show: Callable[[Any], Any]) -> Any:
    """Return a tensor's memory; what is wrong stays as it is."""
    return tensor if isinstance(tensor, Complaint) else show(tensor)


def _not_one(given: Sequence[Any], what: str, is_wanted: bool = True) -> Complaint | None:
    """Return what is wrong with a list that has one element where it is wanted, and none elsewhere."""
    if len(given) == (1 if is_wanted else 0):
        return None
    wanted = f"requires a single-element {what} list" if is_wanted else f"requires empty {what} on non-root"
    return Complaint(f"{wanted}: found {len(given)}")


def _wrong_lists(outputs: Sequence[Any], inputs: Sequence[Any], what: str) -> Complaint | None:
    """Return what is wrong with lists of which each has one of the other kind."""
    if not (inputs if what == "input" else outputs):
        return Complaint(f"requires non-empty {what} tensor list: found none")
    if len(outputs) != len(inputs):
        return Complaint(
            f"requires input/output tensor lists to have the same length: found {len(inputs)} and {len(outputs)}"
        )
    return None


def _wrong_of_each_rank(outputs: Sequence[Any], inputs: Sequence[Any], rank_count: int) -> Complaint | None:
    """Return what is wrong with lists of which there is one for each rank, with a tensor for each input."""
    if not inputs:
        return Complaint("requires non-empty input tensor list: found none")
    if len(outputs) != rank_count:
        return Complaint(
            f"output lists should be equal to world size: expected {rank_count}, found {len(outputs)}"
        )
    for rank, each in enumerate(outputs):
        if len(each) != len(inputs):
            return Complaint(
                f"invalid output size: expected {len(inputs)} tensors for rank {rank}, found {len(each)}"
            )
        for place, (into, one) in enumerate(zip(each, inputs, strict=True)):
            found = f"expected {described(one)}, as this rank brings, found {described(into)} for rank {rank}"
            if into.numel() != one.numel():
                return Complaint(f"invalid size of output tensor at index {place}: {found}")
            if into.dtype != one.dtype:
                return Complaint(f"invalid tensor type at index {place}: {found}")
    return None


def _own_place(outputs: Sequence[Any], own: Any, rank: int) -> Complaint | None:
    """Return what is wrong with the place for what this rank brings itself."""
    if rank >= len(outputs) or outputs[rank].numel() == own.numel():
        return None
    return Complaint(
        f"invalid tensor size at index {rank}: expected {described(own)}, as this rank brings, found "
        f"{described(outputs[rank])}"
    )


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
