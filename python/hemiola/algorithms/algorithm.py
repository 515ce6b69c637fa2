# SPDX-License-Identifier: Apache-2.0
"""The registry's entry of one algorithm, whoever made it: the core, this package, or a user."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from hemiola._core import Schedule, ScheduleParts
from hemiola._core import algorithms as core
from hemiola._core.algorithms import Variant
from hemiola.algorithms.fewest_pieces import fewest_up_to
from hemiola.algorithms.from_task import OF_A_TOPOLOGY, SETTLED, arguments_from
from hemiola.algorithms.task import Candidate, Task
from hemiola.arguments import typed
from hemiola.arguments.names import Kind, as_kind
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.topology.port_speed import PortSpeed

_ROOTED = ("broadcast", "reduce", "scatter", "gather")
#: The chosen parameter's name in tables.
_UNITS = {"chunk_count": "chunks"}


@typed
@dataclass(frozen=True, repr=False)
class Paper:
    """Where an algorithm was published: a key, that of docs/references.bib if it is there, and authors and year."""

    key: str
    citation: str

    def __repr__(self) -> str:
        return f"{self.citation} [{self.key}]"


@typed
@dataclass(frozen=True, eq=False, repr=False)
class Algorithm:
    """One entry of the registry: an algorithm's source, validity, cost, and function.

    Parameters
    ----------
    name : str, ``<collective>_<pattern>[_<variant>]``, that of its function.
    kind : str, the collective.
    paper : Paper, where it was published.
    idea : str, one sentence.
    sizes : str, for how many ranks, or which topologies, it is valid, in words.
    function : callable that makes the schedule. Its parameters have the names that all algorithms have for the same
        thing: rank_count, root, late_rank, late_ranks, slow, host_count, ranks_per_host, slow_hosts, topology, dims,
        wires, nbytes, latency_s, bandwidth, relative_latency; others are its own, such as chunk_count or segments.
    needs : str, the condition that it must know beside the rank count: "" (nothing), "late", "slow" or "topology".
    chunks_formula, steps_formula, bytes_formula, formula : str, the numbers of chunks and steps, the bytes that the
        busiest rank sends, and seconds on a one-port network, in the symbols of docs/reference/algorithms.md; empty if
        there is none.
    parts : callable that makes the same schedule rank by rank, from the same arguments; None where there is none.
    unable : callable that explains why a task of its kind, which states the function's requirements, cannot be run; an
        empty str where it can. None: it always can.
    variants : callable that lists the variants worth trying for a task that can be run, with their costs. None, or
        nothing listed: the planner does not consider it; people can still ask for it by name.
    is_reproducible : bool, whether the same arguments make the same schedule on every machine. With False one rank
        makes it and sends it to the others: where a solver chooses among equals, or a float's last bit may decide.

    Notes
    -----
    docs/decisions/0009-algorithm-rows.md says how to add one.
    """

    name: str
    kind: Kind
    paper: Paper
    idea: str
    sizes: str
    function: Callable[..., Schedule]
    needs: str = ""
    chunks_formula: str = ""
    steps_formula: str = ""
    bytes_formula: str = ""
    formula: str = ""
    parts: Callable[..., ScheduleParts] | None = None
    unable: Callable[[Task], str] | None = None
    variants: Callable[[Task], Iterable[Variant]] | None = None
    is_reproducible: bool = False
    _entry: core.Algorithm | None = None

    @cached_property
    def parameters(self) -> Mapping[str, bool]:
        """The arguments of its function, and whether each must be given."""
        if self._entry is not None:
            return dict(self._entry.parameters)
        taken = inspect.signature(self.function).parameters
        return {name: parameter.default is parameter.empty for name, parameter in taken.items()}

    @property
    def is_rooted(self) -> bool:
        return self.kind in _ROOTED

    @property
    def is_pipelined(self) -> bool:
        """Whether it takes a chunk_count, and nothing but a rank count beside it."""
        return not self.needs and "chunk_count" in self.parameters

    @property
    def chunk_count_multiple(self) -> int:
        """The number that a chunk_count must be a multiple of."""
        return 1 if self._entry is None else self._entry.chunk_count_multiple

    @property
    def knows_topology(self) -> bool:
        """Whether its schedule is made for one topology, and its formula counts that one's links."""
        return self.needs == "topology" or not OF_A_TOPOLOGY.isdisjoint(self.parameters)

    @typed
    def why_not(self, task: Task) -> str:
        """Say why it cannot run a task; empty where it can.

        Parameters
        ----------
        task : Task.

        Returns
        -------
        str, the expected and the found value.

        Raises
        ------
        ArgumentError
            if the task's conditions name a rank that it does not have.
        """
        if task.kind != self.kind:
            return f"expected the collective {self.kind}, found {task.kind}"
        try:
            arguments_from(task, (name for name, is_required in self.parameters.items() if is_required))
        except ArgumentError as error:
            return str(error)
        if self.knows_topology and task.topology is None:
            return "expected a topology, found none"
        return "" if self.unable is None else self.unable(task)

    @typed
    def candidates(self, task: Task) -> list[Candidate]:
        """List the ways to run a task that are worth trying; nothing where it cannot run it.

        Parameters
        ----------
        task : Task.

        Returns
        -------
        list of Candidate.

        Raises
        ------
        ArgumentError
            if the task's conditions name a rank that it does not have.
        """
        if task.kind != self.kind or self.variants is None or self.why_not(task):
            return []
        stated = (name for name, required in self.parameters.items() if required or name in SETTLED)
        arguments = arguments_from(task, stated)
        return [self._candidate(arguments, variant) for variant in self.variants(task)]

    def _candidate(self, stated: Mapping[str, Any], variant: Variant) -> Candidate:
        chosen = {variant.parameter: variant.count} if variant.parameter else {}
        arguments = {**stated, **chosen}
        unit = _UNITS.get(variant.parameter, variant.parameter.replace("_", " "))
        return Candidate(
            name=self.name,
            variant=f"{variant.count} {unit}" if chosen else "",
            formula_s=variant.formula_s,
            transfer_count=variant.transfer_count,
            generate=partial(self.function, **arguments),
            parts=None if self.parts is None else partial(self.parts, **arguments),
            arguments=arguments,
            knows_topology=self.knows_topology,
            is_simulation=variant.is_simulation,
        )

    @typed
    def schedule_for(self, task: Task, *, chunk_count: int | None = None) -> Schedule:
        """Make the schedule for a task: the cheapest candidate, or by the function's own choice where there is none.

        Parameters
        ----------
        task : Task.
        chunk_count : int, optional, in the algorithm's own unit.

        Returns
        -------
        Schedule

        Raises
        ------
        ArgumentError
            It cannot run the task, or takes no chunk_count.
        """
        if reason := self.why_not(task):
            raise ArgumentError(
                f"'{self.name}' does not run here: {reason}; see docs/reference/algorithms.md for its tasks"
            )
        if chunk_count is not None and "chunk_count" not in self.parameters:
            raise ArgumentError(f"{self.name} has as many chunks as it needs; leave the number of chunks out")
        if chunk_count is None and (found := self.candidates(task)):
            return min(found, key=lambda candidate: candidate.formula_s).generate()
        arguments = arguments_from(task, self.parameters)
        if chunk_count is not None:
            arguments["chunk_count"] = chunk_count
        left = [name for name, required in self.parameters.items() if required and name not in arguments]
        if left:
            raise ArgumentError(
                f"'{self.name}' must be told {' and '.join(left)}: call hemiola.algorithms.{self.name}(…)"
            )
        return self.function(**arguments)

    @typed
    def is_valid(self, rank_count: int) -> bool:
        """Say whether the rank count is enough to generate a schedule, one of at most 2**28 transfers.

        Parameters
        ----------
        rank_count : int, any.

        Returns
        -------
        bool
        """
        if self._entry is not None:
            return self._entry.is_valid(rank_count)
        return not self.needs and not self.why_not(self._task(rank_count))

    @typed
    def step_count(self, rank_count: int, *, chunk_count: int | None = None) -> int:
        """Count the steps of the schedule for that many ranks.

        Parameters
        ----------
        rank_count : int, valid for this algorithm.
        chunk_count : int or None, for pipelined algorithms; None takes the default.

        Returns
        -------
        int

        Raises
        ------
        ArgumentError
            if the rank count or chunk count is not valid.
        """
        if self._entry is not None:
            return self._entry.step_count(rank_count, chunk_count=chunk_count)
        return self.generate(rank_count, chunk_count=chunk_count).step_count

    @typed
    def transfer_count(self, rank_count: int, *, chunk_count: int | None = None) -> int:
        """Count the transfers of the schedule for that many ranks, of the core's algorithms without making it.

        Parameters
        ----------
        rank_count : int, valid for this algorithm.
        chunk_count : int or None, for pipelined algorithms; None takes the default.

        Returns
        -------
        int

        Raises
        ------
        ArgumentError
            if the rank count or chunk count is not valid.
        """
        if self._entry is not None:
            return self._entry.transfer_count(rank_count, chunk_count=chunk_count)
        return self.generate(rank_count, chunk_count=chunk_count).transfer_count

    @typed
    def bytes_per_rank(self, rank_count: int, nbytes: int, *, chunk_count: int | None = None) -> int:
        """Return the bytes that the busiest rank sends.

        Parameters
        ----------
        rank_count : int, valid for this algorithm.
        nbytes : int, bytes of one rank's buffer (the gathered one of a gather), >= 0.
        chunk_count : int or None, for pipelined algorithms; None takes the default.

        Returns
        -------
        int, rounded up where the buffer does not divide into the chunks.

        Raises
        ------
        ArgumentError
            if the rank count, chunk count or nbytes is not valid, or the algorithm states no exact cost.
        """
        return self._counted.bytes_per_rank(rank_count, nbytes, chunk_count=chunk_count)

    @typed
    def seconds(
        self,
        rank_count: int,
        nbytes: int,
        latency_s: float,
        bandwidth: float,
        *,
        chunk_count: int | None = None,
        message_s: float = 0.0,
    ) -> float:
        """Evaluate the cost formula on a one-port network.

        Every step costs one latency and the time of the busiest port, which sends and receives at once, and further
        messages of that port in the step `message_s` each. This is the classical model that `formula` states, where
        messages are free; hemiola.simulate, where steps are no barriers, may take less.

        Parameters
        ----------
        rank_count : int, valid for this algorithm.
        nbytes : int, bytes of one rank's buffer (the gathered one of a gather), >= 0.
        latency_s : float, seconds >= 0, of a message, including the time that it occupies its port beside its bytes.
        bandwidth : float, bytes per second > 0.
        chunk_count : int or None, for pipelined algorithms; None takes the default.
        message_s : float, seconds >= 0 that a message occupies its port beside its bytes.

        Returns
        -------
        float, seconds.

        Raises
        ------
        ArgumentError
            if an argument is not valid, or the algorithm states no exact cost.
        """
        return self._counted.seconds(
            rank_count, nbytes, latency_s, bandwidth, chunk_count=chunk_count, message_s=message_s
        )

    @typed
    def best_chunk_count(
        self, rank_count: int, nbytes: int, latency_s: float, bandwidth: float
    ) -> int | None:
        """Choose the chunk count, up to 4096, at which the cost formula is smallest.

        Parameters
        ----------
        rank_count, nbytes, latency_s, bandwidth : as in `seconds`.

        Returns
        -------
        int, or None if the algorithm is not pipelined.

        Raises
        ------
        ArgumentError
            if an argument is not valid, or the algorithm states no exact cost.
        """
        return self._counted.best_chunk_count(rank_count, nbytes, latency_s, bandwidth)

    @typed
    def generate(self, rank_count: int, root: int = 0, chunk_count: int | None = None) -> Schedule:
        """Make the schedule.

        Parameters
        ----------
        rank_count : int, valid for this algorithm.
        root : int, 0 … rank_count-1; 0 unless the collective is rooted.
        chunk_count : int or None, for pipelined algorithms; None takes the default.

        Returns
        -------
        Schedule

        Raises
        ------
        ArgumentError
            if an argument is not valid, or the schedule would have more than 2**28 transfers.
        """
        if self._entry is not None:
            return self._entry.generate(rank_count, root, chunk_count)
        if self.needs:
            raise self._needs_more()
        if root != 0 and not self.is_rooted:
            raise ArgumentError(f"{self.name}: expected no root, found root {root}")
        rooted = {"root": root} if self.is_rooted else {}
        chosen = {} if chunk_count is None else {"chunk_count": chunk_count}
        return self.function(rank_count, **rooted, **chosen)

    @property
    def _counted(self) -> core.Algorithm:
        """The core's entry, which counts costs exactly."""
        if self._entry is not None:
            return self._entry
        if self.needs:
            raise self._needs_more()
        raise ArgumentError(
            f"{self.name} states no exact cost; take its candidates', or simulate its schedule"
        )

    def _needs_more(self) -> ArgumentError:
        return ArgumentError(
            f"{self.name}: its schedule and cost depend on more than the rank count ({self.needs}); call the function "
            "of that name"
        )

    def _task(self, rank_count: int) -> Task:
        return Task(self.kind, rank_count, 0, PortSpeed(0.0, 1.0), Conditions())

    def __repr__(self) -> str:
        return f"<Algorithm {self.name}>"


def from_core(entry: core.Algorithm) -> Algorithm:
    """Return an entry of the core's registry as one of ours."""
    returned_by = {returned: getattr(core, name) for name, returned in reversed(entry.functions)}
    return Algorithm(
        name=entry.name,
        kind=as_kind(entry.kind),
        paper=Paper(*entry.paper),
        idea=entry.idea,
        sizes=entry.sizes,
        function=returned_by["schedule"],
        needs=entry.needs,
        chunks_formula=entry.chunks_formula,
        steps_formula=entry.steps_formula,
        bytes_formula=entry.bytes_formula,
        formula=entry.formula,
        parts=returned_by.get("parts"),
        unable=partial(_unable, entry),
        variants=partial(_variants if entry.needs else _best_by_formula, entry),
        is_reproducible=True,
        _entry=entry,
    )


def _unable(entry: core.Algorithm, task: Task) -> str:
    if entry.needs:
        return entry.why_not(task.core)
    return "" if entry.is_valid(task.rank_count) else f"expected {entry.sizes}, found {task.rank_count} ranks"


def _variants(entry: core.Algorithm, task: Task) -> list[Variant]:
    return entry.variants(task.core)


def _best_by_formula(entry: core.Algorithm, task: Task) -> list[Variant]:
    """Return what is cheapest by a formula that knows no conditions, so that the delay is added in full."""
    cost = (task.rank_count, task.nbytes, task.speed.latency_s, task.speed.bandwidth)
    chunks = entry.best_chunk_count(*cost)
    # Where ranks are slow or late, the formula says too little of pieces.
    if chunks is not None and task.conditions == Conditions():
        chunks = _fewest_chunks(entry, task, chunks)
    seconds = task.delay_s + entry.seconds(*cost, chunk_count=chunks, message_s=task.speed.message_s)
    transfers = entry.transfer_count(task.rank_count, chunk_count=chunks)
    return [Variant(seconds, transfers, "chunk_count", chunks) if chunks else Variant(seconds, transfers)]


def _fewest_chunks(entry: core.Algorithm, task: Task, best: int) -> int:
    """Return the fewest chunks that are about as cheap as the best number by formula; what messages cost all ranks
    together, of which the formula knows nothing, is in it."""
    cost = (task.rank_count, task.nbytes, task.speed.latency_s, task.speed.bandwidth)
    multiple = entry.chunk_count_multiple

    def seconds(groups: int) -> float:
        chunks = groups * multiple
        shared_s = task.shared_message_s * entry.transfer_count(task.rank_count, chunk_count=chunks)
        return entry.seconds(*cost, chunk_count=chunks) + shared_s

    return multiple * fewest_up_to(best // multiple, seconds)
