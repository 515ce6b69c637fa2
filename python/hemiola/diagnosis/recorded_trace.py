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
    events: list[dict[str, Any]] = []
    for one, record in read_records(folder):
        with naming(one):
            events += _events_of(record)
    write_whole(path, json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))
    return sum(event["ph"] == "X" for event in events)


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
