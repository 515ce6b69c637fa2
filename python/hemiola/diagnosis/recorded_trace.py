# SPDX-License-Identifier: Apache-2.0
"""Merges the records that PyTorch's ranks have written of their operations (`hemiola.torch.save_records`) into one
trace for Perfetto.

Needs no PyTorch: the files may come from elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from hemiola.errors import ArgumentError, FormatError
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
    int, how many operations are in it: of each rank a process, of each of its groups a thread. An operation that has
    not ended lasts until its rank's file was written, and its name says so.

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
    found = sorted(Path(folder).glob(JSON_NAME.format(rank="*")))
    if not found:
        raise ArgumentError(
            f"folder: expected files such as {JSON_NAME.format(rank=0)} in {folder}, found none"
        )
    events: list[dict[str, Any]] = []
    for one in found:
        events += _events_of(one)
    write_whole(path, json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))
    return sum(event["ph"] == "X" for event in events)


def _events_of(path: Path) -> list[dict[str, Any]]:
    """Return one rank's file as events."""
    try:
        record = json.loads(path.read_bytes())
        if record["version"] != _VERSION:
            raise ValueError(f"version {record['version']!r}")
        rank = record["rank"]
        events = [_name("process_name", rank, 0, f"rank {rank} ({record['host']})")]
        for number, group in enumerate(record["groups"]):
            events.append(_name("thread_name", rank, number, f"group {group['name']} {group['ranks']}"))
            events += [
                _event(operation, rank, number, record["written_s"]) for operation in group["operations"]
            ]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(
            f"{path}: expected a file of hemiola.torch.save_records, version {_VERSION}, found another file "
            f"({type(error).__name__}: {error})"
        ) from None
    return events


def _name(kind: str, rank: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": rank, "tid": thread, "args": {"name": name}}


def _event(operation: dict[str, Any], rank: int, thread: int, written_s: float) -> dict[str, Any]:
    began_s = operation["began_s"] or operation["called_s"]
    ended_s = operation["ended_s"]
    state = "" if operation["state"] == "completed" else f" ({operation['state']})"
    return {
        "ph": "X",
        "name": f"{operation['operation']}{state}",
        "pid": rank,
        "tid": thread,
        "ts": began_s * 1e6,
        "dur": ((written_s if ended_s is None else ended_s) - began_s) * 1e6,
        "args": operation,
    }
