# SPDX-License-Identifier: Apache-2.0
"""PyTorch's traces: that of its profiler (Kineto), and its ExecutionTraceObserver's, which has the sizes.

`rf_id` of a node is "Record function id" of an event. On GPUs the profiler's trace has sizes, too, and is enough."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hemiola.topology.place import Place, quote
from hemiola.workload.readers.json_stream import JsonStream
from hemiola.workload.readers.pytorch_calls import Sent, kind_of, sent_by_kernel, sent_by_node
from hemiola.workload.readers.timeline import Recorded, Spans, step_of_timeline
from hemiola.workload.task import Call, Step

_SCHEMAS = ("1.0", "1.1")
_STEP = "ProfilerStep#"
_US = 1e-6
#: Threads or streams whose work overlaps are one timeline.
_MOST_EVENTS = 50_000_000


@dataclass
class _Trace:
    """What is kept of a profiler's trace."""

    rank_count: int = 0
    rank: int = 0
    operators: Spans = field(default_factory=Spans)
    kernels: Spans = field(default_factory=Spans)
    steps: list[tuple[float, float]] = field(default_factory=list)
    #: Starts of collectives on the host by record function id, and the ends of their work.
    started: dict[int, tuple[str, float, float]] = field(default_factory=dict)
    done: list[tuple[str, float, float]] = field(default_factory=list)
    on_device: list[tuple[Sent, float, float]] = field(default_factory=list)


def read_pytorch(profile: Path, execution: Path | None) -> Step:
    """Read one rank's traces.

    Parameters
    ----------
    profile : Path of a file of ``profile.export_chrome_trace``.
    execution : Path of a file of ``ExecutionTraceObserver``, of the same process; None: none, as on GPUs.

    Returns
    -------
    Step, the longest that the profiler marks (``ProfilerStep``) left out where there are several, of the others the
    middle one. Without marks all of the trace.

    Raises
    ------
    FormatError
        A file is none of these, cut off, of another version or too large; the message names file and place.
    OSError
        A file cannot be read.

    Notes
    -----
    Streams the files: memory grows by 16 bytes for each event, and by some 500 for each collective.
    """
    trace = _profile(profile)
    sizes = _sizes(execution) if execution is not None else {}
    where = Place(f"'{profile}'")
    if not trace.operators and not trace.kernels:
        where.fail("expected events of operators or kernels ('cat': 'cpu_op', 'kernel'), found none")
    recorded = _recorded(trace, sizes, where)
    busy = (trace.kernels or trace.operators).joined()
    span, told = _span(trace, busy)
    inside = [one for one in recorded if span[0] <= one.start_s < span[1]]
    named = profile.stem if trace.rank_count == 0 else f"{profile.stem}, {trace.rank_count} ranks"
    step = step_of_timeline(
        named, [one for one in busy if span[0] <= one[0] and one[1] <= span[1]], inside, span, told
    )
    return replace(step, tensor_ranks=_tensor_ranks(trace, where))


def _profile(path: Path) -> _Trace:
    trace, count = _Trace(), 0
    for key, value in JsonStream(path).parts(frozenset({"traceEvents"})):
        if key == "schemaVersion" and value != 1:
            Place(f"'{path}'", key=key).fail(
                f"expected version 1 of the profiler's trace, found {quote(str(value))}"
            )
        if key == "distributedInfo" and isinstance(value, dict):
            trace.rank_count, trace.rank = int(value.get("world_size", 0)), int(value.get("rank", 0))
        if key == "traceEvents" and isinstance(value, dict):
            count += 1
            if count > _MOST_EVENTS:
                Place(f"'{path}'").fail(
                    f"expected at most {_MOST_EVENTS:,} events, found more; profile fewer steps"
                )
            if value.get("ph") == "X":
                _keep(trace, value, Place(f"'{path}'", key=f"event {count}"))
    return trace


def _keep(trace: _Trace, event: dict[str, Any], where: Place) -> None:
    name, kind, told = str(event.get("name", "")), event.get("cat"), event.get("args") or {}
    begin, length = event.get("ts"), event.get("dur")
    if not isinstance(begin, int | float) or not isinstance(length, int | float) or length < 0:
        where.fail("expected 'ts' and 'dur' in microseconds, found none")
    span = begin * _US, (begin + length) * _US
    if name.startswith(_STEP):
        if kind == "user_annotation":
            trace.steps.append(span)
    elif kind == "kernel":
        sent = sent_by_kernel(told)
        if sent is None and not name.startswith("nccl"):
            trace.kernels.add(*span)
        elif sent is not None:
            trace.on_device.append((sent, *span))
    elif kind == "cpu_op":
        trace.operators.add(*span)
        if (of := kind_of(name)) is not None:
            trace.started[int(told.get("Record function id", -1 - len(trace.started)))] = of, *span
    elif kind == "user_annotation" and ":" in name and not name.startswith("##"):
        trace.done.append((name.rpartition(":")[2], *span))


def _sizes(path: Path) -> dict[int, Sent]:
    """Return the collectives of an execution trace by record function id."""
    found: dict[int, Sent] = {}
    for key, value in JsonStream(path).parts(frozenset({"nodes"})):
        if key == "schema" and not str(value).startswith(_SCHEMAS):
            Place(f"'{path}'", key=key).fail(
                f"expected an execution trace of version {' or '.join(_SCHEMAS)}, found {quote(str(value))}"
            )
        if key == "nodes" and isinstance(value, dict) and (sent := sent_by_node(value)) is not None:
            for attribute in value.get("attrs") or ():
                if attribute.get("name") == "rf_id":
                    found[int(attribute.get("value", -1))] = sent
    return found


def _recorded(trace: _Trace, sizes: dict[int, Sent], where: Place) -> list[Recorded]:
    """Return the collectives with their calls, by their starts."""
    if trace.on_device:
        found = [
            Recorded(_call(sent, trace, where), begin_s, end_s) for sent, begin_s, end_s in trace.on_device
        ]
        return sorted(found, key=lambda one: one.start_s)
    ends: dict[str, deque[tuple[float, float]]] = defaultdict(deque)
    for kind, begin_s, end_s in sorted(trace.done, key=lambda one: one[1]):
        ends[kind.replace("_", "")].append((begin_s, end_s))
    found = []
    for number, (kind, begin_s, end_s) in sorted(trace.started.items(), key=lambda one: one[1][1]):
        if number not in sizes:
            where.fail(
                f"expected the size of the {kind} with record function id {number} in an execution trace, "
                "found none; "
                "record one of the same run (torch.profiler.ExecutionTraceObserver), and keep both in one "
                "folder"
            )
        mine = ends[kind.replace("_", "")]
        while mine and mine[0][0] < begin_s:
            mine.popleft()
        done_s = mine.popleft()[1] if mine else end_s
        found.append(Recorded(_call(sizes[number], trace, where), begin_s, done_s))
    return found


def _call(sent: Sent, trace: _Trace, where: Place) -> Call:
    """Return a call of the class that the group's ranks say: neighbours share layers, others are replicas."""
    count = len(sent.ranks)
    if count in (0, trace.rank_count):
        return Call(sent.kind, sent.nbytes, "world")
    steps = {b - a for a, b in zip(sent.ranks, sent.ranks[1:], strict=False)}
    if len(steps) > 1:
        where.fail(f"expected groups of ranks at equal distances, found {list(sent.ranks[:8])}")
    return Call(sent.kind, sent.nbytes, "tp" if steps <= {1} else "dp")


def _tensor_ranks(trace: _Trace, where: Place) -> int:
    """Return the size of groups of neighbours; 0 where there is none."""
    sizes = {
        len(sent.ranks)
        for sent, _, _ in trace.on_device
        if 1 < len(sent.ranks) < trace.rank_count and sent.ranks[1] - sent.ranks[0] == 1
    }
    if len(sizes) > 1:
        where.fail(f"expected groups of neighbours of one size, found {', '.join(map(str, sorted(sizes)))}")
    return max(sizes, default=0)


def _span(trace: _Trace, busy: list[tuple[float, float]]) -> tuple[tuple[float, float], tuple[str, ...]]:
    """Return the step to predict, and what is assumed of it."""
    told = (f"Rank {trace.rank}'s recorded work stands for all ranks.",)
    if not trace.steps:
        return (busy[0][0], busy[-1][1]), (
            *told,
            "The trace marks no steps (ProfilerStep): all of it counts as one.",
        )
    by_length = sorted(trace.steps, key=lambda one: one[1] - one[0])
    begin_s, end_s = by_length[(len(by_length) - 1) // 2]
    return (begin_s, end_s), (
        *told,
        f"The middle one of {len(by_length)} marked steps by length is predicted.",
    )


def pairs_of(folder: Path) -> Iterator[tuple[Path, Path | None]]:
    """Yield the profiler's traces of a folder by name, each with the execution trace of the same process, if any."""
    heads = {path: _head(path) for path in sorted(folder.glob("*.json"))}
    executions = {
        pid: path for path, (is_profile, pid) in heads.items() if not is_profile and pid is not None
    }
    for path, (is_profile, pid) in heads.items():
        if is_profile:
            yield path, executions.get(-1 if pid is None else pid)


def _head(path: Path) -> tuple[bool, int | None]:
    """Return whether a file is a profiler's trace, and its process, as far as the first event says."""
    is_profile = False
    for key, value in JsonStream(path).parts(frozenset({"traceEvents", "nodes"})):
        if key == "pid":
            return False, int(value)
        is_profile |= key in ("schemaVersion", "traceEvents", "deviceProperties")
        if key == "traceEvents" and isinstance(value, dict) and isinstance(value.get("pid"), int):
            return True, value["pid"]
        if key == "nodes":
            return False, None
    return is_profile, None
