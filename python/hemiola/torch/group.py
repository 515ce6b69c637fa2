# SPDX-License-Identifier: Apache-2.0
"""A group of ranks as PyTorch holds it, without its collectives and messages. It can be of two of PyTorch's classes:
`ProcessGroup` and, beside other backends, `Backend`."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch._C import _distributed_c10d as c10d

from hemiola.communicator import Communicator
from hemiola.communicator.arrivals import RankArrivals
from hemiola.communicator.epochs import History
from hemiola.communicator.health import SlowRank
from hemiola.communicator.init_options import InitOptions
from hemiola.errors import HemiolaError
from hemiola.torch.accelerated_collectives import AcceleratedCollectives
from hemiola.torch.accelerator import operations_of
from hemiola.torch.call import Call
from hemiola.torch.compiling import leave_to_python
from hemiola.torch.device_collectives import Queued
from hemiola.torch.errors import GroupArgumentError, for_torch
from hemiola.torch.kept_works import KeptWorks, pytorch_keeps_works
from hemiola.torch.messages import Messages
from hemiola.torch.monitoring import MonitoredBarrier
from hemiola.torch.open_groups import OPEN
from hemiola.torch.operation_types import OF_CALL
from hemiola.torch.options import Options
from hemiola.torch.recorder import Recorder
from hemiola.torch.records import save_after
from hemiola.torch.time_estimate import TimeEstimate, not_estimated
from hemiola.torch.work import Finished, Message, Running
from hemiola.transfers.recorded import TRANSFER_DTYPE


@dataclass(frozen=True)
class Part:
    """Some ranks of a group, by their numbers in it, in their order in a new one, whose name they have in common."""

    of: Group
    ranks: Sequence[int]
    name: str


@dataclass(frozen=True)
class Place:
    """Which rank this is in a new group, at which store its ranks can meet, and of which group they are a part, if of
    one, or the communicator that they have: these need no store, since they are together already."""

    store: Any
    rank: int
    rank_count: int
    part: Part | None = None
    communicator: Communicator | None = None

    def join(self, store: Any, timeout: timedelta, options: Options) -> Communicator:
        """Return the new group's communicator."""
        limit_s, keeps = timeout.total_seconds(), options.keep_inputs
        if self.communicator is not None:
            return self.communicator
        if self.part is None:
            return Communicator.join(
                self.rank, self.rank_count, store, timeout_s=limit_s, keep_inputs=keeps, adapt=options.adapt
            )
        asked = InitOptions.of(limit_s, keeps, None, options.adapt)
        return self.part.of._comm._apart(self.part.ranks, asked, self.part.name)


class Group(AcceleratedCollectives):
    """The part that groups of both of PyTorch's classes have in common."""

    #: While there is one, collectives are added to it and none runs.
    _estimate: TimeEstimate | None = None
    #: By which its ranks know each other again, where they come to another one at a store.
    name_at_store = ""
    #: PyTorch knows it by now, or has forgotten it: nobody else holds it open.
    is_pytorchs = False

    def join(self, place: Place, timeout: timedelta, options: Options) -> None:
        """Come together with the other ranks."""
        rank, rank_count = place.rank, place.rank_count
        self._has_met = place.communicator is None
        self._store, self._options = c10d.PrefixStore("hemiola", place.store), options
        try:
            comm = place.join(self._store, timeout, options)
        except HemiolaError as error:
            raise for_torch(error) from error.__cause__
        self.begin(comm, timeout, f"rank {rank} of {rank_count}")
        self._monitored_barrier = MonitoredBarrier(comm)
        self._split_count = 0
        self._kept_works = None if pytorch_keeps_works() else KeptWorks()
        self.recorder = Recorder(save_after)
        self.accelerate(operations_of(comm._core, self._limit_s, self.recorder))
        self.known_as("", range(rank_count))
        OPEN.add(self)

    def known_as(self, name: str, ranks: Sequence[int]) -> None:
        """Take the name by which records call the group, and its ranks' numbers in the job."""
        self.record_name, self.job_ranks = name, list(ranks)
        if self._operations is not None:
            self._operations.name = name

    def _run(
        self, calls: Sequence[Call], result: Any, opts: Any, finish: Callable[[], None] | None = None
    ) -> Any:
        """Run or start calls of the communicator, and note when; or only say what they would take."""
        if self._estimate is not None:
            return self._estimated(calls, result)
        entry = self.recorder.collective(calls, result)
        try:
            work = super()._run(calls, result, opts, finish)
        except Exception as error:
            self.recorder.over(entry, error)
            raise
        if isinstance(work, Running):
            entry.pending = work.pending()
            work.on_end = partial(self.recorder.over, entry)
        else:
            self.recorder.over(entry, None)
        work.times_ns, work.op_type = entry.times_ns, OF_CALL[entry.kind]
        if self._kept_works is not None:
            self._kept_works.add(work)
        return work

    def _meet_again(self) -> Communicator:
        store, limit_s = c10d.PrefixStore("callbacks", self._store), self._limit_s
        rank, rank_count = self._comm.rank, self._comm.rank_count
        part = None if self._has_met else Part(self, range(rank_count), "callbacks")
        return Place(store, rank, rank_count, part).join(store, timedelta(seconds=limit_s), self._options)

    def seen(self) -> tuple[Sequence[RankArrivals], Sequence[SlowRank]]:
        """Return the late ranks and the slow ports; waits for an operation that is under way."""
        try:
            return self._comm.arrivals().ranks, self._comm.health().slow
        except HemiolaError:  # the group is over
            return (), ()

    def history(self) -> History:
        """Return who has come to the group and gone."""
        return self._comm._history

    def transfers(self) -> NDArray[np.void]:
        """Return this rank's latest messages, as of `Communicator.transfers`; none where the group is over."""
        try:
            return self._comm.transfers()
        except HemiolaError:
            return np.zeros(0, TRANSFER_DTYPE)

    # ---- names and numbers ----

    def getBackendName(self) -> str:
        """Return the backend's name."""
        return "hemiola"

    name = _get_backend_name = getBackendName

    def getSequenceNumberForGroup(self) -> int:
        """Return how many collectives this rank has begun."""
        return self._number()

    _get_sequence_number_for_group = getSequenceNumberForGroup

    def setSequenceNumberForGroup(self) -> None:
        """Begin to count: all ranks do at 0."""
        self._begin_numbers()

    _set_sequence_number_for_group = setSequenceNumberForGroup

    def get_group_store(self) -> Any:
        """Return the store at which the ranks have met."""
        return self._store

    # ---- time ----

    def set_timeout(self, timeout: timedelta) -> None:
        """Have later operations take no longer."""
        self._limit_s = timeout.total_seconds()
        if self._operations is not None:
            self._operations.limit_s = self._limit_s

    setTimeout = _set_default_timeout = set_timeout

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """Wait for all ranks, and name the missing ones; the group can be used further. `timeout`: or
        BarrierOptions."""
        if isinstance(timeout, c10d.BarrierOptions):
            timeout = timeout.timeout if timeout.timeout >= timedelta(0) else None
        limit_s = self._limit_s if timeout is None else timeout.total_seconds()
        self._monitored_barrier.wait(limit_s, wait_all_ranks)

    def _enable_collectives_timing(self) -> None:
        """Return: a Work knows when it began and ended, always."""

    # ---- estimates ----

    def _start_time_estimate(self) -> None:
        """Run no collective from here on, but add up what each would take: `torch.distributed._time_estimator`."""
        self._estimate = TimeEstimate(self._comm)
        self._compiled = None

    def _end_time_estimate(self) -> float:
        """Run collectives again, and return in microseconds what those since the start would have taken."""
        found, self._estimate = self._estimate, None
        self._compiled = self._operations
        if found is None:
            raise GroupArgumentError(
                "_end_time_estimate: expected _start_time_estimate before it, found none"
            )
        return found.microseconds

    def _estimated(self, calls: Sequence[Call], result: Any) -> Any:
        assert self._estimate is not None
        self._estimate.add(calls)
        work = Finished(result)
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work

    def runs(self, what: str) -> None:
        """Raise GroupArgumentError where nothing runs, for an operation without an estimate."""
        if self._estimate is not None:
            raise not_estimated(what)

    # ---- the end ----

    def shutdown(self) -> None:
        """Close the group, as often as one likes. Operations that wait in it, here or elsewhere, are ended with an
        error."""
        self._comm.close()
        self._of_callbacks.close()
        self._completion.close()
        if self._operations is not None:
            self._operations.close()
        OPEN.discard(self)

    def abort(self) -> None:
        """End the operations under way here and on the other ranks, from any thread; they raise LostRankError."""
        self._comm.abort()
        self.shutdown()

    # ---- unsupported operations ----

    def _register_on_completion_hook(self, hook: Any) -> None:
        """Raise NotImplementedError, as gloo does."""
        raise _not_there("on-completion hooks", "use Work.get_future().then()")

    def _has_hooks(self) -> bool:
        """Return False."""
        return False

    def _wait_for_pending_works(self) -> None:
        """Raise NotImplementedError, which is a RuntimeError, as gloo does."""
        raise _not_there("waiting for pending works", "wait for each Work")

    def _part(
        self, store: Any, ranks: Sequence[int], name: str, timeout: timedelta | None, options: Any
    ) -> Any:
        """Make a group of the same class of some of the ranks, this one among them; what is not said is as here."""
        chosen, kind = list(ranks), cast(Any, type(self))
        part = kind(
            Place(store, chosen.index(self._comm.rank), len(chosen), Part(self, chosen, name)),
            timeout or timedelta(seconds=self._limit_s),
            options if isinstance(options, Options) else self._options,
        )
        part.known_as(name, [self.job_ranks[rank] for rank in chosen])
        return part

    #: Read by PyTorch before it asks for more; inherited, each would ask itself without end where a Backend is.
    supports_abort_hooks = supports_completion_hooks = supports_window = property(lambda self: False)
    supports_shrinking = supports_reconfigure = property(lambda self: False)

    def register_abort_hook(self, *given: Any) -> None:
        """Raise NotImplementedError."""
        raise _not_there("register_abort_hook", "operations raise LostRankError where a group is aborted")

    def register_pre_hook(self, *given: Any) -> None:
        """Raise NotImplementedError."""
        raise _not_there(
            "a hook around operations", "hemiola.torch.save_records tells them, with their times"
        )

    register_post_hook = unregister_pre_hook = unregister_post_hook = register_pre_hook
    unregister_abort_hook = register_abort_hook

    def reconfigure(self, *given: Any) -> Any:
        """Raise NotImplementedError."""
        raise _not_there("reconfigure", "destroy the group and make another")

    get_reconfigure_handle = reconfigure

    def new_window(self, *given: Any) -> Any:
        """Raise NotImplementedError."""
        raise _not_there("new_window", "send and receive messages")

    def gather_single(self, *given: Any, **named: Any) -> Any:
        """Raise NotImplementedError."""
        raise _not_there("gather_single", "gather into a list, such as the output's chunks")

    gather_into_tensor = gather_single

    def _add_ephemeral_timeout(self, *given: Any) -> None:
        """Raise NotImplementedError."""
        raise _not_there("_add_ephemeral_timeout", "set_timeout")

    def eager_connect_single_device(self, device: Any = None) -> None:
        """Return: all ranks are connected."""


@atexit.register
def _shut_down_all() -> None:
    """End the threads that end futures before the interpreter goes: none may wait for its lock by then."""
    for group in list(OPEN):
        group.shutdown()


os.register_at_fork(after_in_child=partial(atexit.unregister, _shut_down_all))  # a forked child is no rank


def _not_there(what: str, instead: str) -> NotImplementedError:
    return NotImplementedError(f"hemiola: {what} is not supported; {instead}")


def _check_merged(number: int, size: int) -> None:
    """Raise GroupArgumentError where a rank is one too many of those that meet at a store to become one group."""
    if not number < size:
        raise GroupArgumentError(
            f"merge_remote_group: expected {size} ranks at the store, found rank {number}; use a new store for each "
            f"merged group"
        )


class _NoStore(c10d.Store):
    """The store of a group that needs none, and of a gloo that meets nobody: it takes what they say of themselves, and
    refuses to look for peers."""

    def set(self, key: str, value: Any) -> None:
        """Take it: gloo tells its address when it is made."""

    def get(self, key: str) -> Any:
        """Raise NotImplementedError."""
        raise _not_there(
            "PyTorch's way around the group, to the gloo inside,", "call the group's own methods"
        )

    def wait(self, keys: Sequence[str], timeout: Any = None) -> None:
        """Raise NotImplementedError."""
        self.get(keys[0])


#: Kept, since gloo holds another object than the Python one.
NO_STORE = _NoStore()


@cache
def _gloo_device(process: int) -> Any | None:
    """Return the one listening socket, and its thread, that all gloos inside of a process share; None where gloo does
    not know how to connect when something first moves through it.

    By process, since a fork has no thread of its parent's.
    """
    try:
        return c10d.ProcessGroupGloo.create_device(hostname="127.0.0.1", lazy_init=True)
    except TypeError:
        return None


class _Inside(c10d.ProcessGroupGloo):
    """The gloo in a group, which hands it what PyTorch asks a backend for and only the group can answer.

    It would connect when something first moves through it, and its store refuses that: so making it costs no message.
    In versions whose gloo connects at once it meets the other ranks', and what PyTorch moves through it gets there.
    """

    supports_time_estimate = _supports_time_estimate = property(lambda self: True)

    def __init__(self, group: Group, timeout: timedelta) -> None:
        rank, rank_count, device = group._comm.rank, group._comm.rank_count, _gloo_device(os.getpid())
        if device is None:
            # A store may outlive a group: no name twice.
            number = np.frombuffer(os.urandom(8), np.int64).copy()
            group._comm.broadcast(number, 0)
            super().__init__(c10d.PrefixStore(f"inside {number[0]}", group._store), rank, rank_count, timeout)
        else:
            options = c10d.ProcessGroupGloo._Options()
            options._devices, options._threads, options._timeout = [device], 1, timeout
            super().__init__(NO_STORE, rank, rank_count, options)
        self._group = weakref.ref(group)

    def _set_default_timeout(self, timeout: timedelta) -> None:
        self._whole().set_timeout(timeout)

    def _start_time_estimate(self) -> None:
        self._whole()._start_time_estimate()

    def _end_time_estimate(self) -> float:
        return self._whole()._end_time_estimate()

    def _whole(self) -> Group:
        group = self._group()
        assert group is not None  # it has this inside
        return group


class HemiolaProcessGroup(Messages, Group, c10d.ProcessGroup):
    """A group that has all of a process group's tensors: PyTorch's callers in Python reach its methods with nothing in
    between, and get its Works as they are.

    PyTorch finds the gloo inside when it asks a group for its backend; no data reaches it.
    """

    def __init__(self, place: Place, timeout: timedelta, options: Options) -> None:
        c10d.ProcessGroup.__init__(self, place.rank, place.rank_count)
        self.join(place, timeout, options)
        self._inner = _Inside(self, timeout)
        kinds, may_choose = c10d.ProcessGroup.BackendType, hasattr(self, "_set_default_backend")
        self._register_backend(
            torch.device("cpu"), kinds.GLOO if may_choose else kinds.UNDEFINED, self._inner
        )
        if may_choose:  # else the default is the one registered as UNDEFINED
            self._set_default_backend(kinds.GLOO)

    def split_group(
        self,
        new_ranks: Sequence[int],
        timeout: timedelta | None = None,
        opts: Any = None,
        group_name: str | None = None,
        group_desc: str | None = None,
        device_types: Any = None,
    ) -> Any:
        """Make a group of some of the ranks, numbered in the order given; each rank calls this with its own.

        Returns None on a rank that is not among them.
        """
        self._split_count += 1
        if self.rank() not in new_ranks:
            return None
        name = group_name or f"{self.group_name}:split:{self._split_count}:{list(new_ranks)}"
        store = c10d.PrefixStore(f"split {self._split_count} {list(new_ranks)}", self._store)
        part = self._part(store, new_ranks, name, timeout, opts)
        part._set_group_name(name)
        part._set_group_desc(group_desc or f"{self.group_desc}:split")
        return part

    splitGroup = split_group

    def merge_remote_group(
        self,
        store: Any,
        size: int,
        timeout: timedelta | None = None,
        group_name: str | None = None,
        group_desc: str | None = None,
    ) -> Any:
        """Make a group of this one's ranks and others', `size` in all, which meet at a store where no group has met.

        They are numbered in the order in which they come, as gloo's are.
        """
        number = store.add("hemiola/merged", 1) - 1
        _check_merged(number, size)
        whole = HemiolaProcessGroup(
            Place(store, number, size), timeout or timedelta(seconds=self._limit_s), self._options
        )
        name = group_name or f"{self.group_name}:merged:{size}"
        whole.known_as(name, range(size))
        whole._set_group_name(name)
        whole._set_group_desc(group_desc or f"{self.group_desc}:merged")
        return whole


class HemiolaBackend(Messages, Group, c10d.Backend):
    """A group where Python may derive from `Backend`: PyTorch's own `ProcessGroup` has it inside, beside others.

    PyTorch wraps every Work of such a class in one of its own (PyWorkHolder), which passes on `wait` and `get_future`
    and answers all else as for an operation that never ends.
    """

    supports_coalescing = supports_splitting = property(lambda self: True)
    supports_time_estimate = _supports_time_estimate = property(lambda self: True)
    #: PyTorch asks for it before it splits or merges.
    options = property(lambda self: self._options_for_torch)

    def __init__(self, place: Place, timeout: timedelta, options: Options) -> None:
        c10d.Backend.__init__(self, place.rank, place.rank_count)
        self.join(place, timeout, options)
        self._options_for_torch = c10d.Backend.Options("hemiola", timeout)

    def supports_tensor_alloc(self, device: Any) -> bool:
        """Return False: memory is PyTorch's."""
        return False

    def allocate_tensor(self, *given: Any, **named: Any) -> Any:
        """Raise NotImplementedError."""
        raise _not_there("allocate_tensor", "use torch.empty: any memory is as good")

    @property
    def mem_allocator(self) -> Any:
        """Raise NotImplementedError."""
        raise _not_there("mem_allocator", "use torch.empty: any memory is as good")

    def memory_stats(self) -> Any:
        """Raise NotImplementedError."""
        raise _not_there("memory_stats", "look at /proc/self/smaps")

    def split(self, store: Any, ranks: Sequence[int], options: Any) -> Any:
        """Make a group of some of the ranks, numbered as given; PyTorch's split_group calls it.

        Returns None on a rank that is not among them: PyTorch asks all.
        """
        self._split_count += 1
        if self.rank() not in ranks:
            return None
        name = f"{self.record_name}:split:{self._split_count}:{list(ranks)}"
        return self._part(store, ranks, name, getattr(options, "_timeout", None), options)

    def merge(self, store: Any, options: Any, rank: int, size: int) -> Any:
        """Make a group of this one's ranks and others'; PyTorch's merge_remote_group calls it."""
        _check_merged(rank, size)
        timeout = timedelta(seconds=self._limit_s)
        return HemiolaBackend(
            Place(store, rank, size), timeout, options if isinstance(options, Options) else self._options
        )

    def allreduce_sparse(self, tensors: Any, opts: Any = None) -> Any:
        """Add up sparse tensors."""
        return self.allreduce(tensors, opts)

    def get_error(self) -> Any:
        """Raise NotImplementedError."""
        raise _not_there("get_error", "operations raise what went wrong")

    def shrink(self, *given: Any, **named: Any) -> Any:
        """Raise NotImplementedError."""
        raise _not_there("shrink", "make a group of the survivors, or use hemiola.Communicator.shrink")

    def suspend(self, *given: Any) -> Any:
        """Raise NotImplementedError."""
        raise _not_there("suspend", "there is no device memory to give back")

    def resume(self, *given: Any) -> Any:
        """Raise NotImplementedError."""
        raise _not_there("resume", "there is no device memory to take again")


leave_to_python(HemiolaProcessGroup, HemiolaBackend, Finished, Message, Queued)


def python_may_derive_from_backend() -> bool:
    """Say whether this PyTorch has a `Backend` for classes in Python."""
    try:
        type("Probe", (c10d.Backend,), {})(0, 1)
    except TypeError:
        return False
    return True
