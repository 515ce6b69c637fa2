# SPDX-License-Identifier: Apache-2.0
"""Files of this rank's latest operations: as JSON for people, and as the pickle that PyTorch's analyzer of flight
recorders loads."""

from __future__ import annotations

import json
import math
import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from torch import distributed as dist

from hemiola import environment
from hemiola.diagnosis.recorded_trace import JSON_NAME
from hemiola.side_channel import harmless
from hemiola.torch.open_groups import OPEN
from hemiola.torch.recorder import Entry
from hemiola.whole_file import write_whole

#: Of files for PyTorch's analyzer, which takes every file whose name has the same beginning and ends in a rank.
PICKLE_PREFIX = "hemiola_record_"
#: The version that PyTorch 2.13 writes itself.
_PICKLE_VERSION = "2.10"
_LEAST_PAUSE_S = 1.0

_saving = threading.Lock()
_saved_at_s = -_LEAST_PAUSE_S
_is_listening = False


def save_records(folder: str | os.PathLike[str], *, reason: str = "asked for") -> Path:
    """Write the latest 1,024 operations of each open group of this process.

    Parameters
    ----------
    folder : where to; made if need be. The same one on all ranks that see the same files.
    reason : str, said in the file.

    Returns
    -------
    Path of `hemiola-RANK.json`. Beside it stands `hemiola_record_RANK`, for `python -m
    torch.distributed.flight_recorder.fr_trace FOLDER`.

    Raises
    ------
    OSError
        naming the file.

    Notes
    -----
    Needs no other rank, and may be called while operations run. Times are of this host's clock. Times of operations in
    the background are the core's own: when their turn came and when they ended. A message's end is when somebody has
    seen it. The pickle has collectives alone, since the analyzer takes a message between two of three ranks for a
    collective that the third has missed; and it calls them `gloo:`, since it refuses backends that it does not know.
    """
    rank = _rank()
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    # Groups in which somebody holds a lock of theirs are read as they are: nothing here waits.
    groups = [(group, group.recorder.latest()) for group in sorted(OPEN, key=lambda one: one.record_name)]
    offset_ns = time.time_ns() - time.monotonic_ns()
    content = {
        "version": 1,
        "rank": rank,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "reason": reason,
        "written_s": time.time(),
        "groups": [
            {
                "name": group.record_name,
                "ranks": group.job_ranks,
                "failures": group.recorder.failures,
                "epochs": [epoch.as_dict() for epoch in group.history().epochs()],
                "operations": [_as_json(entry, offset_ns) for entry in entries],
                **_transfers(group, offset_ns * 1e-9),
            }
            for group, entries in groups
        ],
    }
    path = into / JSON_NAME.format(rank=rank)
    write_whole(path, json.dumps(content, indent=1) + "\n")
    write_whole(into / f"{PICKLE_PREFIX}{rank}", pickle.dumps(_for_analyzer(groups, offset_ns)))
    return path


def save_after(error: Exception) -> None:
    """Write them where HEMIOLA_RECORD says, after an operation has failed; at most once a second. Never raises."""
    global _saved_at_s
    folder = environment.RECORD.value()
    if folder is None:
        return
    with _saving:
        if time.monotonic() - _saved_at_s < _LEAST_PAUSE_S:
            return
        _save_where_told(folder, f"{type(error).__name__}: {error}")
        _saved_at_s = time.monotonic()


def _save_where_told(folder: str, reason: str) -> None:
    with harmless(f"{environment.RECORD.name} '{folder}'"):
        save_records(folder, reason=reason)


def begin_recording() -> None:
    """Write them on SIGUSR2, too, where HEMIOLA_RECORD is set; earlier handlers of that signal still run."""
    global _is_listening
    folder = environment.RECORD.value()
    if folder is None or _is_listening or threading.current_thread() is not threading.main_thread():
        return
    before, own_pid = signal.getsignal(signal.SIGUSR2), os.getpid()

    def save(number: int, frame: FrameType | None) -> None:
        if os.getpid() == own_pid:  # and no process that it has forked, such as a loader's
            _save_where_told(folder, "SIGUSR2")
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGUSR2, save)
    _is_listening = True


def _rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


def _as_json(entry: Entry, offset_ns: int) -> dict[str, Any]:
    began_ns, ended_ns = entry.times_ns()
    told = {
        "number": entry.sequence,
        "operation": entry.kind,
        "state": entry.state(),
        "elements": list(entry.sizes),
        "type": entry.type_name,
        "called_s": (entry.called_ns + offset_ns) * 1e-9,
        "began_s": (began_ns + offset_ns) * 1e-9 if began_ns else None,
        "ended_s": (ended_ns + offset_ns) * 1e-9 if ended_ns else None,
    }
    if entry.peers is not None:
        told["from"], told["to"] = entry.peers
    if entry.error:
        told["error"] = entry.error
    return told


def _transfers(group: Any, offset_s: float) -> dict[str, Any]:
    """Return the group's latest messages, where HEMIOLA_RECORD_TRANSFERS keeps any; ranks by their numbers in the
    job."""
    rows = group.transfers()
    if not len(rows):
        return {}
    told = []
    for row in rows:
        end_s = float(row["end_s"])
        told.append(
            {
                "step": int(row["step"]),
                "chunk": int(row["chunk"]),
                "chunks": int(row["chunk_count"]),
                "from": group.job_ranks[row["src"]],
                "to": group.job_ranks[row["dst"]],
                "bytes": int(row["nbytes"]),
                "began_s": float(row["begin_s"]) + offset_s,
                "ended_s": None if math.isnan(end_s) else end_s + offset_s,
            }
        )
    return {"transfers": told}


def _for_analyzer(groups: Iterable[tuple[Any, list[Entry]]], offset_ns: int) -> dict[str, Any]:
    entries, configuration = [], {}
    for group, records in groups:
        name = group.record_name
        configuration[name] = {"name": name, "desc": "hemiola", "ranks": str(group.job_ranks)}
        entries += [_analyzed(entry, name, offset_ns) for entry in records if entry.peers is None]
    entries.sort(key=lambda one: one["time_created_ns"])
    for number, entry in enumerate(entries):
        entry["record_id"] = number
    return {
        "version": _PICKLE_VERSION,
        "entries": entries,
        "pg_config": configuration,
        "pg_status": {},
        "nccl_comm_state": {},
    }


def _analyzed(entry: Entry, group_name: str, offset_ns: int) -> dict[str, Any]:
    began_ns, ended_ns = entry.times_ns()
    state = entry.state()
    given, written = entry.sizes
    return {
        "record_id": 0,  # until all groups' are in order
        "pg_id": 0,
        "process_group": (group_name, "hemiola"),
        "collective_seq_id": entry.sequence,
        "p2p_seq_id": 0,
        "op_id": entry.sequence,
        "profiling_name": f"gloo:{entry.kind}",
        "time_created_ns": entry.called_ns + offset_ns,
        "time_discovered_started_ns": began_ns + offset_ns if began_ns else None,
        "time_discovered_completed_ns": ended_ns + offset_ns if ended_ns else None,
        "duration_ms": (ended_ns - began_ns) * 1e-6 if ended_ns else None,
        "input_sizes": [[given] if given else []],
        "input_dtypes": [entry.type_name],
        "output_sizes": [[written] if written else []],
        "output_dtypes": [entry.type_name],
        "state": "started" if state == "failed" else state,
        "timeout_ms": 0,
        "is_p2p": False,
        "retired": bool(ended_ns),
        "frames": [],
        "error": entry.error,
    }
