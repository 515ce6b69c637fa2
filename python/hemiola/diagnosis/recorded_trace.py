# SPDX-License-Identifier: Apache-2.0
"""Merges the records that PyTorch's ranks have written of their operations (`hemiola.torch.save_records`) into one
trace for Perfetto.

Needs no PyTorch: the files may come from elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hemiola.errors import ArgumentError, FormatError
from hemiola.transfers.trace import lanes
from hemiola.whole_file import write_whole

#: A rank's name for its file.
JSON_NAME = "hemiola-{rank}.json"
_VERSION = 1


def save_trace(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> int:
    """Merge the records of all ranks into one trace for Perfetto or chrome://tracing.

    Parameters
    ----------
    folder : with the files of `save_records`, of any ranks.
    path : the file to write.

    Returns
    -------
    int, how many operations are in it: of each rank a process, of each of its groups a thread, and threads for its
    messages where HEMIOLA_RECORD_TRANSFERS kept any. An operation that has not ended lasts until its rank's file was
    written, and its name says so.

    Raises
    ------
    ArgumentError
        when there are no such files.
    FormatError
        naming one that is no such record.
    OSError
        for one that cannot be read or written.

    Notes
    -----
    Ranks' times are those of their hosts' clocks: between hosts they are as far apart as those are. The command line's
    `hemiola trace` does the same, also where there is no PyTorch.
    """
    events: list[dict[str, Any]] = []
    records = read_records(folder)
    for one, record in records:
        with naming(one):
            events += _events_of(record)
    write_whole(path, json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))
    return sum(len(group["operations"]) for _, record in records for group in record["groups"])


def read_records(folder: str | os.PathLike[str]) -> list[tuple[Path, dict[str, Any]]]:
    """Return the records in a folder with their files, by name; their parts are not yet looked at.

    Raises as `save_trace` does.
    """
    found = sorted(Path(folder).glob(JSON_NAME.format(rank="*")))
    if not found:
        raise ArgumentError(
            f"folder: expected files such as {JSON_NAME.format(rank=0)} in {folder}, found none"
        )
    records = []
    for one in found:
        with naming(one):
            record = json.loads(one.read_bytes())
            if record["version"] != _VERSION:
                raise ValueError(f"version {record['version']!r}")
            records.append((one, record))
    return records


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn what goes wrong where a record lacks a part into a FormatError that names its file."""
    try:
        yield
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(
            f"{path}: expected a file of hemiola.torch.save_records, version {_VERSION}, found another file "
            f"({type(error).__name__}: {error})"
        ) from None


def _events_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one rank's record as events."""
    rank = record["rank"]
    events = [_name("process_name", rank, 0, f"rank {rank} ({record['host']})")]
    for number, group in enumerate(record["groups"]):
        events.append(_name("thread_name", rank, number, f"group {group['name']} {group['ranks']}"))
        events += [_event(operation, rank, number, record["written_s"]) for operation in group["operations"]]
    return events + _messages_of(record)


def _messages_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one rank's messages as events, where they were recorded, on threads behind those of the groups."""
    events = []
    thread = len(record["groups"])
    for group in record["groups"]:
        for sent, word in ((True, "sends"), (False, "receives")):
            own = [one for one in group.get("transfers", []) if (one["from"] == record["rank"]) == sent]
            own.sort(key=lambda one: one["began_s"])
            ends = [record["written_s"] if one["ended_s"] is None else one["ended_s"] for one in own]
            used = lanes([one["began_s"] for one in own], ends)
            for lane in range(max(used, default=-1) + 1):
                events.append(
                    _name("thread_name", record["rank"], thread + lane, f"group {group['name']} {word}")
                )
            for one, end_s, lane in zip(own, ends, used, strict=True):
                peer = f"to {one['to']}" if sent else f"from {one['from']}"
                name = f"step {one['step']}, chunk {one['chunk']}, {peer}"
                events.append(_slice(name, (record["rank"], thread + lane), one["began_s"], end_s, one))
            thread += max(used, default=-1) + 1
    return events


def _name(kind: str, rank: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": rank, "tid": thread, "args": {"name": name}}


def _event(operation: dict[str, Any], rank: int, thread: int, written_s: float) -> dict[str, Any]:
    began_s = operation["began_s"] or operation["called_s"]
    ended_s = operation["ended_s"]
    state = "" if operation["state"] == "completed" else f" ({operation['state']})"
    end_s = written_s if ended_s is None else ended_s
    return _slice(f"{operation['operation']}{state}", (rank, thread), began_s, end_s, operation)


def _slice(
    name: str, place: tuple[int, int], began_s: float, ended_s: float, told: dict[str, Any]
) -> dict[str, Any]:
    rank, thread = place
    times = {"ts": began_s * 1e6, "dur": (ended_s - began_s) * 1e6}
    return {"ph": "X", "name": name, "pid": rank, "tid": thread, **times, "args": told}
