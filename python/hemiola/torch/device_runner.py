# SPDX-License-Identifier: Apache-2.0
"""Runs a group's collectives on tensors of a device: plans them, keeps their programs, and names a lost rank."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from hemiola._core import Schedule
from hemiola.arguments.names import as_kind
from hemiola.communicator import Communicator
from hemiola.errors import ArgumentError, HemiolaError, MismatchError
from hemiola.torch.device_coding import DeviceCoding, may_code
from hemiola.torch.device_executor import DeviceProgram
from hemiola.torch.device_guard import DeviceGuard
from hemiola.torch.device_lateness import LateWord
from hemiola.torch.device_plans import LEAST_LATE_RANKS, DevicePlans, Kept, NoticedSlow
from hemiola.torch.device_queue import DeviceQueue
from hemiola.torch.errors import for_torch
from hemiola.torch.options import Options

_OF_ONE_WHOLE = ("all_reduce", "broadcast", "reduce")
#: A rank that comes later than all others by less of the operation's time is none to plan around, as on the host.
_LEAST_LATENESS = 0.25


class DeviceRunner:
    """Programs for a group's devices by their purpose, on one queue.

    Parameters
    ----------
    queue : DeviceQueue.
    comm : Communicator of the group's ranks on the host.
    options : Options, the same on all ranks.

    Raises
    ------
    ArgumentError
        for options that do not fit the group.
    MismatchError
        on all ranks, where one has other options for its device than rank 0.
    """

    def __init__(self, queue: DeviceQueue, comm: Communicator, options: Options) -> None:
        self._queue, self._comm = queue, comm
        self.rank_count = comm.rank_count
        _agree(comm, options)
        self._plans = DevicePlans(comm.rank_count, options)
        self._noticed = NoticedSlow(comm)
        self._guard = DeviceGuard(comm, queue.abort)
        self._late: LateWord | None = None
        if options.device_finds_late and comm.rank_count >= LEAST_LATE_RANKS:
            self._late = LateWord(comm, self._guard.check, comm._limit_s)
        self._is_sparse = options.device_sparse
        self._programs: Kept[DeviceProgram] = Kept()
        self._codings: Kept[DeviceCoding] = Kept()
        #: The schedule that ran last; None where nothing has run.
        self.latest: Schedule | None = None

    def run(self, kind: str, input: Any, output: Any, op: str = "sum", root: int = 0) -> None:
        """Run a collective on flat tensors; one that the rank does not bring or get is None.

        Raises
        ------
        ArgumentError
            for what the device's kernels have not.
        LostRankError
            naming a rank that has died.
        """
        whole = max(each.numel() for each in (input, output) if each is not None)
        if whole == 0 or self.rank_count == 1:
            if self.rank_count == 1 and output is not input:
                output.copy_(input)
            return
        try:
            self._guard.check()
            self._run(kind, whole, input, output, op, root)
        except HemiolaError as error:
            raise for_torch(error) from error.__cause__
        except RuntimeError as error:
            lost = self._guard.blamed()
            if lost is None:
                raise
            raise lost from error

    def _run(self, kind: str, whole: int, input: Any, output: Any, op: str, root: int) -> None:
        dtype = (output if input is None else input).dtype
        self.latest = schedule = self._schedule(kind, whole * dtype.itemsize, root)
        block = whole if kind in _OF_ONE_WHOLE else whole // self.rank_count
        program = self._programs.get(
            (schedule, block, dtype, op, output is input),
            lambda: DeviceProgram(schedule, self._comm.rank, block, dtype, op, in_place=output is input),
        )
        capacities = None
        if self._is_sparse and may_code(dtype):
            capacities = self._coding(schedule, block, dtype).capacities(input)
        program.on(self._queue, input, output, capacities).run()

    def _coding(self, schedule: Schedule, block: int, dtype: Any) -> DeviceCoding:
        if self._queue.is_captured():
            raise ArgumentError(
                "device_sparse: expected no graph that captures this collective, found one, which would keep the "
                "lengths of messages; capture it in a group without device_sparse"
            )
        saving = self._plans.least_saving
        return self._codings.get(
            (schedule, block, dtype), lambda: DeviceCoding(schedule, self._comm, block, dtype, saving)
        )

    def _schedule(self, kind: str, nbytes: int, root: int) -> Schedule:
        """Return the choice for this operation, which is the same on every rank."""
        is_captured = self._queue.is_captured()
        slow = {} if is_captured else self._noticed.now()
        found = self._plans.plan(as_kind(kind), nbytes, root, slow)
        around = self._plans.around(nbytes, slow) if self._late is not None and kind == "all_reduce" else ()
        if self._late is None or not any(around):
            return found.schedule
        if is_captured:
            raise ArgumentError(
                "device_finds_late: expected no graph that captures this all-reduce, found one, which would take the "
                "same rank for late each time; name the rank in device_conditions, or leave device_finds_late out"
            )
        late = self._late.late_rank(found.seconds * _LEAST_LATENESS)
        return found.schedule if late is None else around[late] or found.schedule


def _agree(comm: Communicator, options: Options) -> None:
    """Raise MismatchError on all ranks where their options for a device differ."""
    topology = options.device_topology
    told = (
        "none" if topology is None else f"{hash(topology):016x}",
        options.device_conditions,
        options.device_finds_late,
        options.device_sparse,
    )
    own = np.frombuffer(hashlib.sha256(repr(told).encode()).digest(), np.uint8)
    every = comm.all_gather(own, out=np.empty((comm.rank_count, own.size), np.uint8))
    for rank in np.flatnonzero((every != every[0]).any(axis=1)):
        raise MismatchError(
            f"hemiola.torch.Options: rank {rank} has another device_topology, device_conditions, device_finds_late "
            "or device_sparse than rank 0; pass the same on all ranks"
        )
