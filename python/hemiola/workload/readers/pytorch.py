# SPDX-License-Identifier: Apache-2.0
"""PyTorch's traces: that of its profiler (Kineto), and its ExecutionTraceObserver's, which has the sizes.

`rf_id` of a node is "Record function id" of an event. With ``record_shapes``, and on GPUs, the profiler's trace has
sizes, too, and is enough."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hemiola.topology.place import Place, quote
from hemiola.workload.readers.json_stream import JsonStream
from hemiola.workload.readers.pytorch_calls import (
    Sent,
    element_bytes_of,
    kind_of,
    sent_by_kernel,
    sent_by_node,
    sent_by_shapes,
)
from hemiola.workload.readers.pytorch_works import Done, Started, matched
from hemiola.workload.readers.slowest import slowest
from hemiola.workload.readers.timeline import Recorded, Spans, step_of_timeline
from hemiola.workload.task import Call, Step

_SCHEMAS = ("1.0", "1.1")
_STEP = "ProfilerStep#"
_US = 1e-6
#: Threads or streams whose work overlaps are one timeline.
_MOST_EVENTS = 50_000_000
#: Ranks of a folder whose traces are read.
_MOST_RANKS = 16
#: Of an element whose type no event tells.
_ELEMENT_BYTES = 4


@dataclass
class _Trace:
    """What is kept of a profiler's trace."""

    rank_count: int = 0
    rank: int = 0
    #: By thread, without those that only call others.
    operators: dict[Any, Spans] = field(default_factory=lambda: defaultdict(Spans))
    kernels: Spans = field(default_factory=Spans)
    steps: list[tuple[float, float]] = field(default_factory=list)
    #: Collectives on the host, and their work.
    started: list[Started] = field(default_factory=list)
    done: list[Done] = field(default_factory=list)
    on_device: list[tuple[Sent, float, float]] = field(default_factory=list)
    #: Threads that start collectives; where there are any, others work for a backend.
    threads: set[Any] = field(default_factory=set)

    def busy(self) -> list[tuple[float, float]]:
        """Return the time in which the rank has worked, ascending."""
        if self.kernels:
            return self.kernels.joined()
        found = Spans()
        for thread, spans in self.operators.items():
            if thread in self.threads or not self.threads:
                found.extend(spans)
        return found.joined()


@dataclass
class _Recording:
    """One rank's traces, and the collectives in them by their starts."""

    profile: Path
    trace: _Trace
    collectives: list[Recorded]


def read_pytorch(profile: Path, execution: Path | None) -> Step:
    """Read one rank's traces.

    Parameters
    ----------
    profile : Path of a file of ``profile.export_chrome_trace``.
    execution : Path of a file of ``ExecutionTraceObserver``, of the same process; None: none, as on GPUs, or where the
        profile has shapes.

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
    recording = _recording(profile, execution)
    middle = _middle([end_s - begin_s for begin_s, end_s in recording.trace.steps])
    told = f"Rank {recording.trace.rank}'s recorded work stands for all ranks."
    return _step(recording, middle, told)


def read_pytorch_ranks(pairs: Sequence[tuple[Path, Path | None]]) -> Step:
    """Read the traces of several ranks of one training; the parameters of each are those of `read_pytorch`.

    Returns
    -------
    Step, of each part the slowest rank's, of the first 16 ranks. Where the ranks have marked different steps, or run
    different collectives, the first rank stands for all.

    Raises
    ------
    FormatError, OSError
        as `read_pytorch`.
    """
    recordings = [_recording(*pair) for pair in pairs[:_MOST_RANKS]]
    counts = {len(one.trace.steps) for one in recordings}
    if len(recordings) == 1 or len(counts) > 1:
        return read_pytorch(*pairs[0])
    spans = zip(*(one.trace.steps for one in recordings), strict=True)
    middle = _middle([max(end_s - begin_s for begin_s, end_s in of_ranks) for of_ranks in spans])
    told = f"In each part of the step the slowest of {len(recordings)} recorded ranks counts."
    found = slowest([_step(one, middle, told) for one in recordings])
    return read_pytorch(*pairs[0]) if found is None else found


def _recording(profile: Path, execution: Path | None) -> _Recording:
    trace = _profile(profile)
    sizes = _sizes(execution) if execution is not None else {}
    where = Place(f"'{profile}'")
    if not trace.operators and not trace.kernels:
        where.fail("expected events of operators or kernels ('cat': 'cpu_op', 'kernel'), found none")
    return _Recording(profile, trace, _recorded(trace, sizes, where))


def _middle(lengths: Sequence[float]) -> int:
    """Return the place of the middle one by length; -1 where there is none."""
    by_length = sorted(range(len(lengths)), key=lambda place: lengths[place])
    return by_length[(len(lengths) - 1) // 2] if by_length else -1


def _step(recording: _Recording, marked: int, told: str) -> Step:
    """Return one of the marked steps; all of the trace where none is marked."""
    trace, busy = recording.trace, recording.trace.busy()
    if marked < 0:
        span = busy[0][0], busy[-1][1]
        chosen = "The trace marks no steps (ProfilerStep): all of it counts as one."
    else:
        span = trace.steps[marked]
        chosen = f"The middle one of {len(trace.steps)} marked steps by length is predicted."
    inside = [one for one in recording.collectives if span[0] <= one.start_s < span[1]]
    profile = recording.profile
    named = profile.stem if trace.rank_count == 0 else f"{profile.stem}, {trace.rank_count} ranks"
    step = step_of_timeline(
        named, [one for one in busy if span[0] <= one[0] and one[1] <= span[1]], inside, span, (told, chosen)
    )
    tensor_ranks = _tensor_ranks(trace, Place(f"'{profile}'"))
    return replace(step, tensor_ranks=tensor_ranks, recorded_s=span[1] - span[0])


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
        if not _only_calls(name):
            trace.operators[event.get("tid")].add(*span)
        if (of := kind_of(name)) is not None:
            trace.threads.add(event.get("tid"))
            number = int(told.get("Record function id", 0))
            trace.started.append(Started(number, of, *span, sent_by_shapes(of, told)))
    elif kind == "user_annotation" and name.count(":") == 1:
        trace.done.append(Done(name.rpartition(":")[2], *span, element_bytes_of(told)))


def _only_calls(name: str) -> bool:
    """Say whether an operator is a node of autograd: all work in it is that of operators which it calls.

    A hook may wait in it, too: FSDP2's, for a reduce-scatter."""
    is_node = "::" not in name and name.rstrip("0123456789").endswith("Backward")
    return is_node or name.startswith(("autograd::", "torch::autograd::"))


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
    found = []
    for one, work in matched(trace.started, trace.done):
        sent = sizes.get(one.number, one.sent)
        if sent is None:
            where.fail(
                f"expected the size of the {one.kind} with record function id {one.number}, found none; record with "
                "profile(record_shapes=True), or keep an execution trace of the same run "
                "(torch.profiler.ExecutionTraceObserver) in the same folder"
            )
        if sent.is_in_elements:
            size = work.element_bytes if work is not None else _ELEMENT_BYTES
            sent = Sent(sent.kind, sent.nbytes * size, sent.ranks)
        done_s = one.end_s if work is None else work.end_s
        found.append(Recorded(_call(sent, trace, where), one.begin_s, done_s))
    return found


def _call(sent: Sent, trace: _Trace, where: Place) -> Call:
    """Return a call of the class that the group's ranks say: neighbours share layers, others are replicas."""
    count = len(sent.ranks)
    if trace.rank_count and count and max(sent.ranks) >= trace.rank_count:
        where.fail(
            f"expected groups of the {trace.rank_count} ranks of distributedInfo, found one with rank {max(sent.ranks)}"
        )
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
