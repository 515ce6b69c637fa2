# SPDX-License-Identifier: Apache-2.0
"""Runs side by side in one Chrome trace, for ui.perfetto.dev and chrome://tracing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def lanes(begin_s: Iterable[float], end_s: Iterable[float]) -> list[int]:
    """Return a lane for each of some times, given by their beginning, so that none overlap in a lane."""
    ends: list[float] = []
    found = []
    for begin, end in zip(begin_s, end_s, strict=True):
        lane = next((lane for lane, busy in enumerate(ends) if busy <= begin), len(ends))
        ends[lane : lane + 1] = [end]
        found.append(lane)
    return found


def trace_of(runs: Mapping[str, NDArray[np.void]], rank_count: int) -> str:
    """Return a Chrome trace of runs side by side. Each rank is a process, and has threads for each run's sends and its
    landings, with an arrow from one to the other.

    Parameters
    ----------
    runs : messages by the run's name, as MESSAGE_DTYPE has them.
    rank_count : int.
    """
    events = [_named("process_name", rank, 0, f"rank {rank}") for rank in range(rank_count)]
    events += [
        {"ph": "M", "name": "process_sort_index", "pid": rank, "args": {"sort_index": rank}}
        for rank in range(rank_count)
    ]
    arrow = 0
    first_thread = 1
    for run, messages in runs.items():
        lane = np.zeros(len(messages), np.int64)
        for rank in range(rank_count):
            own = np.flatnonzero(messages["src"] == rank)
            lane[own] = lanes(messages["begin_s"][own], messages["leave_s"][own])
        landed = first_thread + int(lane.max(initial=0)) + 1
        for rank in range(rank_count):
            used = int(lane[messages["src"] == rank].max(initial=-1)) + 1
            events += [_named("thread_name", rank, first_thread + one, f"{run} sends") for one in range(used)]
            events.append(_named("thread_name", rank, landed, f"{run}, received"))
        for message, of_lane in zip(messages, lane.tolist(), strict=True):
            events += _slices(message, first_thread + of_lane, landed, arrow)
            arrow += 1
        first_thread = landed + 1
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})


def _named(kind: str, rank: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": rank, "tid": thread, "args": {"name": name}}


def _slices(message: np.void, thread: int, landed: int, arrow: int) -> list[dict[str, Any]]:
    """Return a message's slice at its sender, its landing, and the arrow between."""
    src, dst, count = int(message["src"]), int(message["dst"]), int(message["chunk_count"])
    chunk = int(message["chunk"])
    chunks = f"chunk {chunk}" if count == 1 else f"chunks {chunk} to {chunk + count - 1}"
    name = f"{chunks} to be added" if message["reduce"] else chunks
    begin, leave, land = (float(message[key]) * 1e6 for key in ("begin_s", "leave_s", "land_s"))
    args = {"step": int(message["step"]), "src": src, "dst": dst}
    at = {"cat": "message", "name": name, "id": arrow}
    return [
        {
            "ph": "X",
            "name": f"{name}, to {dst}",
            "pid": src,
            "tid": thread,
            "ts": begin,
            "dur": leave - begin,
            "args": args,
        },
        {
            "ph": "X",
            "name": f"{name}, from {src}",
            "pid": dst,
            "tid": landed,
            "ts": land,
            "dur": 0,
            "args": args,
        },
        {"ph": "s", **at, "pid": src, "tid": thread, "ts": begin},
        {"ph": "f", "bp": "e", **at, "pid": dst, "tid": landed, "ts": land},
    ]
