# SPDX-License-Identifier: Apache-2.0
"""The planner's choices for a group's devices, by what is known of late and slow ranks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np

from hemiola._core import Schedule, Topology
from hemiola.arguments.names import Kind
from hemiola.communicator import Communicator
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.planner import Plan, plan
from hemiola.planner.late_habit_plans import planned_for_habit
from hemiola.planner.recipe import LateHabit
from hemiola.planner.sparse_rule import link_bandwidth
from hemiola.topologies import fully_connected
from hemiola.torch.options import Options

#: Assumptions about a network of devices without a description: to queue a group takes 10 µs, and a device sends 25
#: GB/s to each other one.
_LATENCY_S, _BANDWIDTH = 10e-6, 25e9
#: To queue the kernels of a coded message at both of its ends takes so long.
_CODING_S = 20e-6
_MOST_KEPT = 256
T = TypeVar("T")
#: Fewer ranks have nobody to reduce with while they wait.
LEAST_LATE_RANKS = 3
#: Device operations from one word on slow ranks to the next.
_LOOK_EVERY = 64


class DevicePlans:
    """Plans for a group's devices. They are the same on every rank, which asks for the same ones.

    Parameters
    ----------
    rank_count : int.
    options : Options.

    Raises
    ------
    ArgumentError
        for a topology of another number of ranks, and for a late or slow rank or NIC that is not there.
    """

    def __init__(self, rank_count: int, options: Options) -> None:
        topology = options.device_topology
        if topology is not None and topology.rank_count != rank_count:
            raise ArgumentError(
                f"device_topology: expected {rank_count} ranks, as the group has, found {topology.rank_count}"
            )
        self._rank_count = rank_count
        self._told = options.device_conditions or Conditions()
        wrong = sorted({*self._told.late, *self._told.slow_ranks} - set(range(rank_count)))
        if wrong:
            raise ArgumentError(
                f"device_conditions: expected ranks 0 … {rank_count - 1}, as the group has, found {wrong}"
            )
        self._topology: Topology = topology or fully_connected(
            max(rank_count, 2), latency_s=_LATENCY_S, bandwidth=_BANDWIDTH
        )
        if rank_count > 1:  # a NIC that is not there is told now
            plan(self._topology, "all_reduce", 0, self._told)
        self._plans: Kept[Plan] = Kept()
        self._around: Kept[tuple[Schedule | None, ...]] = Kept()

    def plan(self, kind: Kind, nbytes: int, root: int, slow: Mapping[int, float]) -> Plan:
        """Return the plan of a collective of so many bytes while those ranks are slow, beside the ones told."""
        key = (kind, nbytes, root, tuple(slow.items()))
        return self._plans.get(key, lambda: self._planned(kind, nbytes, root, slow))

    def _planned(self, kind: Kind, nbytes: int, root: int, slow: Mapping[int, float]) -> Plan:
        conditions = Conditions(late=self._told.late, slow=self._slow(slow))
        return plan(self._topology, kind, nbytes, conditions, root=root)

    def around(self, nbytes: int, slow: Mapping[int, float]) -> tuple[Schedule | None, ...]:
        """Return the all-reduce around each rank that may be late, None where the one without late ranks stands; empty
        where nobody is to be looked for: as on the host with fewer than three ranks, or with a slow one."""
        if self._rank_count < LEAST_LATE_RANKS or self._slow(slow):
            return ()
        return self._around.get((nbytes,), lambda: self._planned_around(nbytes))

    def _planned_around(self, nbytes: int) -> tuple[Schedule | None, ...]:
        found = self.plan("all_reduce", nbytes, 0, {})
        habit = LateHabit(found.seconds, nbytes, delay_s=found.seconds)
        planned = partial(plan, self._topology, "all_reduce", nbytes)
        _, habit = planned_for_habit(planned, attrgetter("seconds"), found, habit, None)
        return habit.around

    @property
    def least_saving(self) -> float:
        """The bytes that a coded message has to save at least: those of the time in which its kernels are queued."""
        return _CODING_S * link_bandwidth(self._topology)

    def _slow(self, noticed: Mapping[int, float]) -> dict[int | str, float]:
        slow: dict[int | str, float] = {}
        for key, told in self._told.slow.items():
            slow[key] = told
        for rank, factor in noticed.items():
            slow[rank] = max(factor, slow.get(rank, 1.0))
        return slow


class Kept(Generic[T]):
    """The latest 256 things that were made, by what they were made for."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[Any, ...], T] = OrderedDict()

    def get(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return it, made now where it is not kept."""
        if key not in self._made:
            self._made[key] = make()
            if len(self._made) > _MOST_KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return self._made[key]


class NoticedSlow:
    """The slow ranks that the group's host has noticed, of which rank 0 tells all others before one in 64 operations.

    So all ranks change their schedules at the same operation, and nothing is asked of a host that notices nothing: one
    whose ranks share memory, or that adapts to no slow ports.
    """

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self._is_watching = "slow" in comm._options.adapt and comm.health().watching
        self._count = 0
        self._slow: dict[int, float] = {}

    def now(self) -> dict[int, float]:
        """Return the factor of each slow rank; called by all ranks before the same operation."""
        if self._is_watching and self._count % _LOOK_EVERY == 0:
            factors = np.ones(self._comm.rank_count)
            for port in self._comm.health().slow if self._comm.rank == 0 else ():
                factors[port.rank] = port.planned_factor
            self._comm.broadcast(factors, 0)
            self._slow = {int(rank): float(factors[rank]) for rank in np.flatnonzero(factors > 1)}
        self._count += 1
        return self._slow
