# SPDX-License-Identifier: Apache-2.0
"""The question that is put to algorithms when a schedule is chosen, and their answers: ways to run a task, with their
cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, ScheduleParts, Topology
from hemiola._core import algorithms as core
from hemiola.algorithms.block_sizes import BlockSizes, SizeTable
from hemiola.arguments import typed
from hemiola.arguments.names import Kind
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.topology.grid_of import Grid, grid_of
from hemiola.topology.named_nics import settled
from hemiola.topology.port_speed import PortSpeed

#: Rates that differ by less are one.
_ALIKE = 1e-9
#: A slower NIC carries less than its messages cost: for one of 1e-6 of the rate, an eighth more of them.
_LEAST_RATE = 0.01


@typed
@dataclass(frozen=True)
class Task:
    """A collective of `nbytes` to run over `rank_count` ranks whose ports have that speed.

    `speed` includes the slowing effect of `conditions`. Without a `topology` only the ports' speed is known, and
    algorithms made for one cannot run. `shared_message_s` is the time that every message costs all ranks together where
    they share cores, beside the ports' own. It decides how many pieces are worth their messages, and is in no formula.
    `sizes` are those of an all-to-all whose blocks differ, of which `nbytes` is a rank's share on average.
    `most_transfers` of a schedule can be simulated; None for as many as a plan with the usual effort has time for.
    """

    kind: Kind
    rank_count: int
    nbytes: int
    speed: PortSpeed
    conditions: Conditions
    root: int = 0
    topology: Topology | None = None
    shared_message_s: float = 0.0
    sizes: BlockSizes | None = field(default=None, repr=False)
    most_transfers: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.conditions.slow_nics:
            if self.topology is None:
                raise ArgumentError(
                    "task: slow NICs are those of a topology, found none; name slow ranks instead"
                )
            topology, conditions = settled(self.topology, self.conditions)
            object.__setattr__(self, "topology", topology)
            object.__setattr__(self, "conditions", conditions)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what was derived."""
        return {one.name: self.__dict__[one.name] for one in fields(self)}

    @property
    def delay_s(self) -> float:
        """How long the last rank is late."""
        return max(self.conditions.late.values(), default=0.0)

    @property
    def late_ranks(self) -> list[int]:
        """The ranks that are late at all, in order of arrival."""
        return [rank for _, rank in sorted((s, rank) for rank, s in self.conditions.late.items() if s > 0)]

    @property
    def relative_latency(self) -> float:
        """latency · bandwidth / bytes at the port of the fastest rank; above 0 also without latency, or bytes."""
        slow = self.conditions.slow_ranks
        factors = [slow.get(rank, 1.0) for rank in range(self.rank_count)]
        bandwidth = self.speed.bandwidth * max(factors) / min(factors)
        return max(1e-9, self.speed.latency_s * bandwidth / max(self.nbytes, 1))

    @cached_property
    def grid(self) -> Grid | None:
        """The grid that the topology is, if it is one."""
        return None if self.topology is None else grid_of(self.topology)

    @cached_property
    def nodes(self) -> NDArray[np.int32]:
        """The node of each rank; raises ArgumentError without a topology."""
        if self.topology is None:
            raise ArgumentError("expected a topology that says which nodes the ranks share, found none")
        return self.topology.nodes

    @cached_property
    def ranks_per_node(self) -> list[int]:
        """How many ranks each node has; raises ArgumentError without a topology."""
        counts: list[int] = np.bincount(self.nodes).tolist()
        return counts

    @cached_property
    def slow_hosts(self) -> tuple[dict[int, float], int]:
        """The hosts whose NICs are slower than the fastest host's, by what factor, and how many ranks a host has.

        There are none where all are alike, where hosts have one rank each or not as many as the others, and where ranks
        are not numbered host by host. Where each rank has a NIC, the slowest of a host's ranks counts for the host.
        """
        if self.topology is None:
            return {}, 1
        return core.slow_hosts(self.topology, self.conditions.slow_ranks)

    @cached_property
    def nic_rates(self) -> dict[int, float]:
        """The rates of slower NICs over the fastest one, by rank; 0 for one without, or with less than a hundredth.

        Nothing where no host has NICs that differ, where a host has none, where hosts have one rank each or not as many
        as the others, and where ranks are not numbered host by host.
        """
        counts = [] if self.topology is None else self.ranks_per_node
        if self.topology is None or len(counts) < 2 or not 2 <= min(counts) == max(counts):
            return {}
        own = np.array(core.nic_bandwidths(self.topology, self.conditions.slow_ranks))
        by_host = own.reshape(len(counts), -1)
        differ = by_host.max(axis=1) > by_host.min(axis=1) * (1 + _ALIKE)
        if not differ.any() or not by_host.any(axis=1).all() or bool((np.diff(self.nodes) < 0).any()):
            return {}
        rates = own / own.max()
        rates[rates < _LEAST_RATE] = 0.0
        return {rank: float(rate) for rank, rate in enumerate(rates) if rate < 1 - _ALIKE}

    @cached_property
    def core(self) -> core.Task:
        """The same for the algorithms that C++ makes."""
        return core.Task(
            self.kind,
            self.rank_count,
            self.nbytes,
            latency_s=self.speed.latency_s,
            bandwidth=self.speed.bandwidth,
            message_s=self.speed.message_s,
            late=dict(self.conditions.late),
            slow=self.conditions.slow_ranks,
            root=self.root,
            topology=self.topology,
            most_transfers=self.most_transfers,
        )


@typed
@dataclass(frozen=True)
class Candidate:
    """A way to run a task: an algorithm and its arguments, its cost by its formula, and how to make it.

    `name` is the algorithm's; `variant` names the choice of arguments, such as "12 chunks"; it is empty where there was
    none. `parts` makes the same schedule rank by rank, where possible. `arguments` are those of the algorithm's
    function. With the name they are a recipe, from which everybody makes the same schedule; a synthesized schedule has
    none. `is_searched` marks a long search whose formula is the task's lower bound: it is not made where another comes
    near that. `knows_topology` marks a formula that counts the links of one topology, not just a port's speed.
    `is_simulation` marks one that stands for a simulation, which would find it, too, or takes longer than a plan may.
    """

    name: str
    variant: str
    formula_s: float
    transfer_count: int
    generate: Callable[[], Schedule] = field(repr=False, compare=False)
    parts: Callable[[], ScheduleParts] | None = field(default=None, repr=False, compare=False)
    arguments: Mapping[str, object] = field(default_factory=dict)
    is_searched: bool = False
    knows_topology: bool = False
    is_simulation: bool = False

    @property
    def label(self) -> str:
        """Name and variant together, for tables."""
        return f"{self.name} ({self.variant})" if self.variant else self.name

    def __hash__(self) -> int:
        return hash((self.name, self.variant, self.formula_s, self.transfer_count))

    def __getstate__(self) -> dict[str, object]:
        """Keep the core's functions, which make the same everywhere; of any other what it makes."""
        return self.__dict__ if self.is_compiled else self.with_schedule(self.generate()).__dict__

    @property
    def is_compiled(self) -> bool:
        """Whether functions of the core make it."""
        return _is_compiled(self.generate) and (self.parts is None or _is_compiled(self.parts))

    def with_schedule(self, schedule: Schedule) -> Candidate:
        """Return the same with a schedule that has been made already.

        Parameters
        ----------
        schedule : Schedule.

        Returns
        -------
        Candidate

        Raises
        ------
        ArgumentTypeError
            for anything but a Schedule.
        """
        return replace(self, generate=partial(given, schedule), parts=None)


def given(schedule: Schedule) -> Schedule:
    """Return it: the generator of a candidate whose schedule is there already."""
    return schedule


def _is_compiled(generate: Callable[[], object]) -> bool:
    """Say whether a generator is a function of the core with its arguments."""
    if not isinstance(generate, partial):
        return False
    return generate.func is getattr(core, getattr(generate.func, "__name__", ""), None)


def bytes_and_sizes(nbytes: int | SizeTable, kind: Kind, rank_count: int) -> tuple[int, BlockSizes | None]:
    """Tell a number of bytes from sizes of blocks; return a rank's bytes, on average, and the sizes, if there are any.

    Raises ArgumentError where sizes are wrong, or for another collective than an all_to_all.
    """
    if isinstance(nbytes, int) or getattr(nbytes, "ndim", None) == 0:
        return cast(int, nbytes), None
    if kind != "all_to_all":
        raise ArgumentError(
            f"expected a number of bytes for {kind}, found an array; all_to_all takes sizes of blocks"
        )
    sizes = BlockSizes.of(nbytes, rank_count)
    return sizes.per_rank, sizes
