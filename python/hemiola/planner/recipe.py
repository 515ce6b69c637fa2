# SPDX-License-Identifier: Apache-2.0
"""One rank's message to the others about a schedule that it has chosen for all.

An algorithm and its arguments, from which everybody makes the same schedule, or, where that could differ in a last bit,
the schedule itself."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hemiola import algorithms
from hemiola._core import LateOutlook, Schedule, ScheduleParts, Topology
from hemiola.algorithms import Algorithm, Candidate, Task
from hemiola.algorithms.registry import is_brought
from hemiola.errors import FormatError
from hemiola.planner.brought import checked
from hemiola.planner.outcome import Alternative, Plan
from hemiola.planner.sparse_rule import SMALLEST, MessageCosts
from hemiola.topology.port_speed import PortSpeed


@dataclass(frozen=True)
class LateSearch:
    """How ranks look for a late one: on ports of speed `speed`, which the ranks of a host have together where it is
    `by_host`. Where `plain_s` is given, the time of an all-reduce of `nbytes` without the search, they look only when
    the latest operations predict a gain."""

    speed: PortSpeed
    plain_s: float | None = None
    nbytes: int = 1
    by_host: bool = False


@dataclass(frozen=True)
class LateHabit:
    """That ranks note who comes last, and how an all-reduce of `nbytes` is planned once one rank always does.

    Without it takes `plain_s` seconds. Where the schedule is planned for a late `rank`, that one is `delay_s` late, and
    it takes `finish_s` from its arrival on; None, while nobody is expected, or where that would save nothing: then
    `finish_s` is `plain_s`. Where it is another rank each time, `around` has the schedule around each rank, None where
    the one without stands; else it is empty."""

    plain_s: float
    nbytes: int
    delay_s: float = 0.0
    finish_s: float = 0.0
    rank: int | None = None
    around: tuple[Schedule | None, ...] = ()

    def outlook(self, nbytes: int) -> LateOutlook:
        """Say what is predicted for that many bytes."""
        share = nbytes / self.nbytes
        return LateOutlook(
            plain_s=self.plain_s * share, delay_s=self.delay_s * share, finish_s=self.finish_s * share
        )


@dataclass(frozen=True)
class SparseWords:
    """When messages leave zeros out: below which density those of the chosen schedule do, and below which another
    algorithm runs, whose sums do not fill up on their way, its chunks cut into segments (see `spread`). Ranks look for
    zeros before one operation in `pause`, and choose their messages' formats by their costs."""

    coded_below: float
    algorithm: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)
    algorithm_below: float = 0.0
    segments: int = 1
    pause: int = 64
    #: Of messages that are copied, and of those that are added.
    costs: tuple[MessageCosts, MessageCosts] = (SMALLEST, SMALLEST)


@dataclass(frozen=True)
class Recipe:
    """A choice in words.

    Parameters
    ----------
    algorithm : str, the algorithm's name.
    arguments : mapping, those of its function.
    schedule : Schedule, where everybody making it from the arguments would not be sure to make the same; else None.
    late : LateSearch, for an all-reduce that is to look for a late rank; LateHabit, for one that is planned around a
        rank that keeps coming last; else None.
    alternatives : the candidates that were considered, the chosen one first; empty where it was asked for by name.
    sparse : SparseWords, where messages may leave zeros out if that is expected to pay; else None.
    """

    algorithm: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    schedule: Schedule | None = None
    late: LateSearch | LateHabit | None = None
    alternatives: tuple[Alternative, ...] = ()
    sparse: SparseWords | None = None

    @classmethod
    def of(cls, plan: Plan, late: LateSearch | LateHabit | None = None) -> Recipe:
        """Put a plan into words."""
        if _is_reproducible(plan.name):
            return cls(plan.name, plan.chosen.arguments, None, late, plan.alternatives)
        return cls(plan.name, {}, plan.schedule, late, plan.alternatives)

    @classmethod
    def of_algorithm(cls, algorithm: Algorithm, task: Task) -> Recipe:
        """Put into words that an algorithm runs a task, as its formula has it cheapest."""
        if algorithm.is_reproducible and (found := algorithm.candidates(task)):
            return cls(algorithm.name, min(found, key=lambda candidate: candidate.formula_s).arguments)
        return cls(algorithm.name, {}, checked(algorithm.name, algorithm.schedule_for(task)))

    def schedule_on(self, topology: Topology) -> Schedule:
        """Make the whole schedule."""
        if self.schedule is not None:
            return self.schedule
        made = algorithms.get(self.algorithm).function(**self._arguments_on(topology))
        return checked(self.algorithm, made)

    def made_on(self, topology: Topology) -> Schedule | ScheduleParts:
        """Make the schedule, rank by rank where it is known how, which takes a rank less time."""
        parts = self._parts_on(topology)
        return self.schedule_on(topology) if parts is None else parts()

    def candidate_on(self, topology: Topology) -> Candidate:
        """Return it as the planner's candidate."""
        winner = self.alternatives[0]
        return Candidate(
            self.algorithm,
            winner.variant,
            winner.formula_s,
            winner.transfer_count,
            generate=lambda: self.schedule_on(topology),
            parts=self._parts_on(topology),
            arguments=self.arguments,
        )

    def _parts_on(self, topology: Topology) -> Any:
        if self.schedule is not None or is_brought(self.algorithm):  # which is verified as a whole
            return None
        parts = algorithms.get(self.algorithm).parts
        return None if parts is None else lambda: parts(**self._arguments_on(topology))

    def _arguments_on(self, topology: Topology) -> dict[str, Any]:
        """Return the arguments, with the network that all ranks know where the algorithm wants one."""
        return {name: topology if value is _THE_TOPOLOGY else value for name, value in self.arguments.items()}

    def to_bytes(self) -> bytes:
        """Return it as a line of JSON, in which floats keep every bit, and after it the schedules' binary forms."""
        around = self.late.around if isinstance(self.late, LateHabit) else ()
        schedules = [b"" if one is None else one.to_bytes() for one in (self.schedule, *around)]
        words = {
            "algorithm": self.algorithm,
            "arguments": {name: _in_words(value) for name, value in self.arguments.items()},
            "late": None if self.late is None else _late_in_words(self.late),
            "alternatives": [dataclasses.astuple(one) for one in self.alternatives],
            "sparse": None if self.sparse is None else _sparse_in_words(self.sparse),
            "lengths": [len(one) for one in schedules],
        }
        return json.dumps(words).encode() + b"\n" + b"".join(schedules)

    @classmethod
    def from_bytes(cls, data: bytes) -> Recipe:
        """Read the bytes that `to_bytes` has written; raise FormatError for anything else."""
        try:
            return cls._read(data)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise FormatError(f"a recipe of {len(data)} bytes that cannot be read: {error}") from error

    @classmethod
    def _read(cls, data: bytes) -> Recipe:
        line, _, rest = data.partition(b"\n")
        words = json.loads(line)
        schedule, *around = _schedules_in(rest, words["lengths"])
        return cls(
            _name_in(words["algorithm"]),
            {name: _from_words(value) for name, value in words["arguments"].items()},
            schedule,
            None if words["late"] is None else _late_from_words(words["late"], tuple(around)),
            tuple(Alternative(*one) for one in words["alternatives"]),
            None if words["sparse"] is None else _sparse_from_words(words["sparse"]),
        )


def _schedules_in(data: bytes, lengths: list[int]) -> list[Schedule | None]:
    """Return the schedules that follow each other in bytes, None for one of no length."""
    if min(lengths) < 0 or sum(lengths) != len(data):
        raise ValueError(f"schedules of {lengths} bytes in {len(data)}")
    begins = [sum(lengths[:i]) for i in range(len(lengths))]
    return [
        Schedule.from_bytes(data[begin : begin + length]) if length else None
        for begin, length in zip(begins, lengths, strict=True)
    ]


#: Stands for the network that all ranks of a communicator know.
_THE_TOPOLOGY = object()


def _in_words(value: object) -> object:
    """Return an argument as JSON has it."""
    if isinstance(value, Topology) or value is _THE_TOPOLOGY:
        return {"the": "topology"}
    return {"factors": sorted(value.items())} if isinstance(value, Mapping) else value


def _name_in(words: object) -> str:
    if not isinstance(words, str):
        raise TypeError(f"expected the name of an algorithm, found {words!r}")
    return words


def _from_words(words: object) -> object:
    if isinstance(words, dict):
        return dict(map(tuple, words["factors"])) if "factors" in words else _THE_TOPOLOGY
    return words


def _late_in_words(late: LateSearch | LateHabit) -> object:
    if isinstance(late, LateHabit):
        return {one.name: getattr(late, one.name) for one in dataclasses.fields(late) if one.name != "around"}
    return [late.speed.latency_s, late.speed.bandwidth, late.plain_s, late.nbytes, late.by_host]


def _late_from_words(words: Any, around: tuple[Schedule | None, ...]) -> LateSearch | LateHabit:
    if isinstance(words, dict):
        return LateHabit(**words, around=around)
    latency_s, bandwidth, plain_s, nbytes, by_host = words
    return LateSearch(PortSpeed(latency_s, bandwidth), plain_s, nbytes, by_host)


def _sparse_in_words(sparse: SparseWords) -> list[object]:
    arguments = {name: _in_words(value) for name, value in sparse.arguments.items()}
    return [
        sparse.coded_below,
        sparse.algorithm,
        arguments,
        sparse.algorithm_below,
        sparse.segments,
        sparse.pause,
        sparse.costs,
    ]


def _sparse_from_words(words: list[Any]) -> SparseWords:
    coded_below, algorithm, arguments, algorithm_below, segments, pause, (copied, added) = words
    arguments = {name: _from_words(value) for name, value in arguments.items()}
    costs = MessageCosts(*copied), MessageCosts(*added)
    return SparseWords(coded_below, algorithm, arguments, algorithm_below, segments, pause, costs)


def _is_reproducible(name: str) -> bool:
    """Say whether the name is an algorithm's from whose arguments everybody makes the same schedule."""
    return name in algorithms.names() and algorithms.get(name).is_reproducible
