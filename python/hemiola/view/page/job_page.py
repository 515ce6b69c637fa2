# SPDX-License-Identifier: Apache-2.0
"""The numbers of a page about a job: its ranks' latest operations, who came late to them, and who failed first.

Ranks' times are those of their hosts' clocks. Between hosts they are as far apart as those are."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hemiola.diagnosis.recorded_trace import naming, read_records
from hemiola.errors import ArgumentError
from hemiola.units import format_seconds
from hemiola.view.page.packing import column, ticks

_STATES = ("completed", "failed", "started", "scheduled")
#: Operations with the latest ranks that the page lists.
_MOST_LISTED = 100
_BLAMED = re.compile(r"\brank (\d+)\b")


@dataclass(frozen=True)
class _Operation:
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


def job_data(folder: Path, title: str) -> dict[str, Any]:
    """Return all that the page knows of the records in a folder."""
    records = read_records(folder)
    operations: list[_Operation] = []
    members: set[int] = set()
    hosts: dict[int, str] = {}
    for path, record in records:
        with naming(path):
            hosts[int(record["rank"])] = str(record["host"])
            for group in record["groups"]:
                members |= {int(rank) for rank in group["ranks"]}
                operations += [_operation(one, record, group) for one in group["operations"]]
    if not operations:
        raise ArgumentError(f"folder: expected records with operations in {folder}, found none in its files")
    operations.sort(key=lambda one: one.called_s)
    start = operations[0].called_s
    length = max(max(one.ended_s for one in operations) - start, 1e-9)
    missing = sorted(members - hosts.keys())
    ranks = max(members | hosts.keys()) + 1
    late = _late(operations, start)
    findings, first = _findings(operations, missing, start)
    kinds, groups = (sorted({getattr(one, of) for one in operations}) for of in ("kind", "group"))
    return {
        "kind": "job",
        "title": title or f"job in {folder.name or folder}",
        "subtitle": f"{len(hosts)} of {ranks} ranks have left a record: {len(operations):,} operations on "
        f"{', '.join(sorted(set(hosts.values())))}",
        "length": length,
        "ranks": ranks,
        "missing": missing,
        "first": first,
        "findings": findings,
        "late": sorted(late, key=lambda one: -one["late"])[:_MOST_LISTED],
        "lateCounts": _late_counts(late),
        "count": len(operations),
        "kinds": kinds,
        "groups": groups,
        "states": _STATES,
        "errors": {str(i): one.error for i, one in enumerate(operations) if one.error},
        "rank": column([one.rank for one in operations]),
        "number": column([one.number for one in operations]),
        "opKind": column([kinds.index(one.kind) for one in operations]),
        "opGroup": column([groups.index(one.group) for one in operations]),
        "opState": column([_STATES.index(one.state) for one in operations]),
        "called": column(ticks([one.called_s - start for one in operations], length)),
        "began": column(ticks([one.began_s - start for one in operations], length)),
        "ended": column(ticks([one.ended_s - start for one in operations], length)),
    }


def _operation(told: dict[str, Any], record: dict[str, Any], group: dict[str, Any]) -> _Operation:
    """Read one operation; one that has not ended lasts until its rank's file was written."""
    called = float(told["called_s"])
    began = called if told["began_s"] is None else max(called, float(told["began_s"]))
    ended = float(record["written_s"] if told["ended_s"] is None else told["ended_s"])
    if told["state"] not in _STATES:
        raise ValueError(f"state {told['state']!r}")
    return _Operation(
        int(record["rank"]),
        str(group["name"]),
        int(told["number"]),
        str(told["operation"]),
        told["state"],
        str(told.get("error", "")),
        "from" in told,
        called,
        began,
        max(ended, began),
    )


def _late(operations: list[_Operation], start: float) -> list[dict[str, Any]]:
    """Return for each collective of several ranks the last to call it, and how long after their median."""
    calls: dict[tuple[str, int], list[_Operation]] = defaultdict(list)
    for one in operations:
        if not one.is_message:
            calls[one.group, one.number].append(one)
    found = []
    for (group, number), those in calls.items():
        last = max(those, key=lambda one: one.called_s)
        late = last.called_s - median(one.called_s for one in those)
        if late > 0:
            at = last.called_s - start
            found.append(
                {"rank": last.rank, "late": late, "at": at, "what": f"{last.kind} {number}", "group": group}
            )
    return found


def _late_counts(late: list[dict[str, Any]]) -> list[tuple[int, int, float]]:
    """Return rank, how often it came last, and its seconds in all; the most seconds first."""
    found: dict[int, list[float]] = defaultdict(list)
    for one in late:
        found[one["rank"]].append(one["late"])
    rows = [(rank, len(times), sum(times)) for rank, times in found.items()]
    return sorted(rows, key=lambda row: -row[2])


def _findings(
    operations: list[_Operation], missing: list[int], start: float
) -> tuple[list[dict[str, Any]], int | None]:
    """Return what happened, in its order, and the rank that failed first: the one that the first error names."""
    failed = sorted((one for one in operations if one.state == "failed"), key=lambda one: one.ended_s)
    if not failed:
        return [{"at": None, "rank": rank, "text": "has left no record"} for rank in missing], None
    named = [int(rank) for rank in _BLAMED.findall(failed[0].error) if int(rank) != failed[0].rank]
    first = named[0] if named else failed[0].rank
    noticed = failed[0].ended_s - start
    blamed = "failed first, says the first error" + (", and has left no record" if first in missing else "")
    found: list[dict[str, Any]] = [{"at": noticed, "rank": first, "text": blamed}]
    for one in failed:
        after = format_seconds(one.ended_s - failed[0].ended_s)
        when = "noticed it first" if one is failed[0] else f"{after} later"
        found.append(
            {
                "at": one.ended_s - start,
                "rank": one.rank,
                "text": f"{when}, in {one.kind} {one.number}: {one.error}",
            }
        )
    others = [rank for rank in missing if rank != first]
    return found + [{"at": None, "rank": rank, "text": "has left no record"} for rank in others], first
