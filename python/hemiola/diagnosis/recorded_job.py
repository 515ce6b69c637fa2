# SPDX-License-Identifier: Apache-2.0
"""What a job's records tell: its ranks' latest operations, who came late to them, who failed first, and who came and
went.

Ranks' times are those of their hosts' clocks. Between hosts they are as far apart as those are."""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from hemiola.diagnosis.recorded_trace import naming, read_records
from hemiola.errors import ArgumentError
from hemiola.units import format_seconds

#: An operation's states.
STATES = ("completed", "failed", "started", "scheduled")
_BLAMED = re.compile(r"\brank (\d+)\b")


@dataclass(frozen=True)
class RecordedOperation:
    """One operation of one rank; its times are seconds after the job's first recorded call."""

    rank: int
    group: str
    number: int
    kind: str
    state: str
    error: str
    is_message: bool
    called_s: float
    began_s: float
    ended_s: float

    @property
    def name(self) -> str:
        """Its kind and number."""
        return f"{self.kind} {self.number}"


@dataclass(frozen=True)
class RecordedMessage:
    """One message of an operation as one of its ends has seen it; `ended_s` None: it had not ended there."""

    rank: int
    src: int
    dst: int
    step: int
    chunk: int
    began_s: float
    ended_s: float | None


@dataclass(frozen=True)
class LateCall:
    """The last rank to call a collective, when, and for how long after the median of those that called it."""

    rank: int
    group: str
    name: str
    at_s: float
    late_s: float


@dataclass(frozen=True)
class RecordedChange:
    """Ranks that joined a group, left it or were lost, with the words for that, and when its others went on."""

    group: str
    epoch: int
    at_s: float
    what: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class JobFinding:
    """What happened to a rank, and when; None: nobody knows."""

    rank: int
    at_s: float | None
    text: str


@dataclass(frozen=True)
class RecordedJob:
    """The records of a job.

    Attributes
    ----------
    operations : in the order in which they were called.
    hosts : host by rank, of the ranks that have left a record.
    members : ranks of all recorded groups, in order.
    messages : where HEMIOLA_RECORD_TRANSFERS kept any, by their beginning.
    changes : of members, in their order: the latest one before the first recorded call, and those since. One that
        several ranks have recorded stands once.
    """

    operations: tuple[RecordedOperation, ...]
    hosts: dict[int, str]
    members: tuple[int, ...]
    messages: tuple[RecordedMessage, ...] = ()
    changes: tuple[RecordedChange, ...] = ()

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> RecordedJob:
        """Read the records in a folder.

        Parameters
        ----------
        folder : with the files of `hemiola.torch.save_records`, of any ranks.

        Raises
        ------
        ArgumentError
            when there are no such files, or none has an operation.
        FormatError
            naming one that is no such record.
        OSError
            for one that cannot be read.
        """
        operations: list[RecordedOperation] = []
        messages: list[RecordedMessage] = []
        members: set[int] = set()
        hosts: dict[int, str] = {}
        changes: dict[tuple[str, int], RecordedChange] = {}
        records = read_records(folder)
        start = min((_first_call(path, record) for path, record in records), default=math.inf)
        if start == math.inf:
            raise ArgumentError(
                f"folder: expected records with operations in {folder}, found none in its files"
            )
        for path, record in records:
            with naming(path):
                hosts[int(record["rank"])] = str(record["host"])
                for group in record["groups"]:
                    members |= {int(rank) for rank in group["ranks"]}
                    operations += [_operation(one, record, group, start) for one in group["operations"]]
                    messages += [_message(one, record, start) for one in group.get("transfers", [])]
                    for one in group.get("epochs", []):
                        members |= {int(rank) for rank in one["ranks"]}
                        change = _change(one, str(group["name"]), start)
                        if change.what:
                            changes.setdefault((change.group, change.epoch), change)
        messages.sort(key=lambda one: one.began_s)
        operations.sort(key=lambda one: one.called_s)
        return cls(
            tuple(operations),
            hosts,
            tuple(sorted(members | hosts.keys())),
            tuple(messages),
            _shown(changes.values()),
        )

    @property
    def seconds(self) -> float:
        """From the first recorded call to the last end."""
        return max(one.ended_s for one in self.operations)

    @property
    def missing(self) -> tuple[int, ...]:
        """The ranks that have left no record."""
        return tuple(rank for rank in self.members if rank not in self.hosts)

    @property
    def summary(self) -> str:
        """Who has left a record, in words."""
        hosts = ", ".join(sorted(set(self.hosts.values())))
        return (
            f"{len(self.hosts)} of {len(self.members)} ranks have left a record: "
            f"{len(self.operations):,} operations on {hosts}"
        )

    def waited_for(self, rank: int) -> list[tuple[int, int]]:
        """Return the ranks whose messages had not come to a rank when it wrote its record, with their number."""
        return sorted(Counter(one.src for one in self.messages if _is_awaited(one, rank)).items())

    @cached_property
    def failures(self) -> tuple[RecordedOperation, ...]:
        """The failed operations, by their ends."""
        failed = [one for one in self.operations if one.state == "failed"]
        return tuple(sorted(failed, key=lambda one: one.ended_s))

    @property
    def failed_first(self) -> int | None:
        """The rank that failed first: the one that the first error names; None where nothing failed."""
        if not self.failures:
            return None
        error = self.failures[0]
        named = [int(rank) for rank in _BLAMED.findall(error.error) if int(rank) != error.rank]
        return named[0] if named else error.rank

    @cached_property
    def findings(self) -> tuple[JobFinding, ...]:
        """The failure and the others' reaction to it, in their order, then changes of members and ranks without a
        record."""
        first, found = self.failed_first, []
        if first is not None:
            noticed = self.failures[0].ended_s
            gone = ", and has left no record" if first in self.missing else ""
            found.append(JobFinding(first, noticed, f"failed first, says the first error{gone}"))
            for one in self.failures:
                after = f"{format_seconds(one.ended_s - noticed)} later"
                when = "noticed it first" if one is self.failures[0] else after
                found.append(JobFinding(one.rank, one.ended_s, f"{when}, in {one.name}: {self._reason(one)}"))
        for change in self.changes:
            before = ", before the first recorded call" if change.at_s < 0 else ""
            at_s = max(change.at_s, 0.0)
            found += [JobFinding(rank, at_s, f"{text}{before}") for rank, text in change.what]
        found += [JobFinding(rank, None, "has left no record") for rank in self.missing if rank != first]
        return tuple(found)

    def _reason(self, failed: RecordedOperation) -> str:
        """Return an operation's error, and whose messages its rank still waited for."""
        ranks = [f"{count} of rank {src}" for src, count in self.waited_for(failed.rank)]
        if not ranks:
            return failed.error
        return f"{failed.error.removesuffix('.')}. Messages that had not come: {', '.join(ranks)}."

    @cached_property
    def late_calls(self) -> tuple[LateCall, ...]:
        """The last call of each collective of several ranks, the latest first."""
        calls: dict[tuple[str, int], list[RecordedOperation]] = defaultdict(list)
        for one in self.operations:
            if not one.is_message:
                calls[one.group, one.number].append(one)
        found = []
        for (group, _), those in calls.items():
            last = max(those, key=lambda one: one.called_s)
            late_s = last.called_s - median(one.called_s for one in those)
            if late_s > 0:
                found.append(LateCall(last.rank, group, last.name, last.called_s, late_s))
        return tuple(sorted(found, key=lambda one: -one.late_s))

    @property
    def late_ranks(self) -> list[tuple[int, int, float]]:
        """Rank, how often it came last, and its seconds in all; the most seconds first."""
        late_s: dict[int, list[float]] = defaultdict(list)
        for one in self.late_calls:
            late_s[one.rank].append(one.late_s)
        return sorted(
            ((rank, len(all_s), sum(all_s)) for rank, all_s in late_s.items()), key=lambda row: -row[2]
        )


def _is_awaited(message: RecordedMessage, rank: int) -> bool:
    return message.rank == rank and message.dst == rank and message.ended_s is None


def _first_call(path: Path, record: dict[str, Any]) -> float:
    """Return when a record's first operation was called."""
    with naming(path):
        calls = [float(one["called_s"]) for group in record["groups"] for one in group["operations"]]
        if not all(map(math.isfinite, calls)):
            raise ValueError("a time that is not finite")
        return min(calls, default=math.inf)


def _operation(
    told: dict[str, Any], record: dict[str, Any], group: dict[str, Any], start: float
) -> RecordedOperation:
    """Read one operation; one that has not ended lasts until its rank's file was written."""
    called = float(told["called_s"])
    began = called if told["began_s"] is None else max(called, float(told["began_s"]))
    ended = float(record["written_s"] if told["ended_s"] is None else told["ended_s"])
    if told["state"] not in STATES:
        raise ValueError(f"state {told['state']!r}")
    if not math.isfinite(began) or not math.isfinite(ended):
        raise ValueError("a time that is not finite")
    return RecordedOperation(
        int(record["rank"]),
        str(group["name"]),
        int(told["number"]),
        str(told["operation"]),
        told["state"],
        str(told.get("error", "")),
        "from" in told,
        called - start,
        began - start,
        max(ended, began) - start,
    )


def _change(told: dict[str, Any], group: str, start: float) -> RecordedChange:
    """Read one epoch, as the change with which it began."""
    number, at_s, took_s = int(told["number"]), float(told["at_s"]), float(told["took_s"])
    if not math.isfinite(at_s) or not math.isfinite(took_s):
        raise ValueError("a time that is not finite")
    then = f"; epoch {number} began after {format_seconds(took_s)}"
    what = [(int(rank), f"joined{then}") for rank in told["joined"]]
    what += [(int(rank), f"left{then}") for rank in told["left"]]
    what += [(int(rank), f"was lost: {reason}{then}") for rank, reason in told["lost"].items()]
    return RecordedChange(group, number, at_s - start, tuple(what))


def _shown(changes: Iterable[RecordedChange]) -> tuple[RecordedChange, ...]:
    """Return the change by which the recorded ranks came together, and those since, in their order."""
    every = sorted(changes, key=lambda one: one.at_s)
    earlier = sum(change.at_s < 0 for change in every)
    return tuple(every[max(0, earlier - 1) :])


def _message(told: dict[str, Any], record: dict[str, Any], start: float) -> RecordedMessage:
    """Read one message."""
    began = float(told["began_s"])
    ended = None if told["ended_s"] is None else max(float(told["ended_s"]), began)
    if not math.isfinite(began) or (ended is not None and not math.isfinite(ended)):
        raise ValueError("a time that is not finite")
    src, dst, step, chunk = (int(told[key]) for key in ("from", "to", "step", "chunk"))
    after = None if ended is None else ended - start
    return RecordedMessage(int(record["rank"]), src, dst, step, chunk, began - start, after)
