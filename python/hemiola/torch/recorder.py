# SPDX-License-Identifier: Apache-2.0
"""A group's latest operations, with the times when they were called, began and ended here.

Every operation passes here, so it notes only facts that cannot be worked out later."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic_ns
from typing import Any

from hemiola.errors import HemiolaError
from hemiola.torch.call import Call
from hemiola.torch.errors import for_torch

#: How many operations a group remembers.
REMEMBERED = 1024


class Entry:
    """One operation. Times are of `time.monotonic_ns`, and 0 where they are still to come."""

    __slots__ = (
        "called_ns",
        "dtype",
        "ended_ns",
        "error",
        "kind",
        "peers",
        "pending",
        "sequence",
        "sizes",
    )

    def __init__(self, kind: str, sizes: tuple[int, int], dtype: Any, peers: Any) -> None:
        #: Its place among the group's collectives, or among its messages, from 1 on; 0 until somebody reads it.
        self.sequence = 0
        #: Elements of input and output; the sender and the receiver of a message.
        self.kind, self.sizes, self.dtype, self.peers = kind, sizes, dtype, peers
        self.ended_ns, self.error = 0, ""
        #: The operation in the background; empty where its caller waits, and for messages, which begin when they are
        #: called and end when their end is noticed.
        self.pending: Sequence[Any] = ()
        self.called_ns = monotonic_ns()

    @property
    def type_name(self) -> str:
        """The elements' type: PyTorch's name, where they come from a tensor."""
        return "" if self.dtype is None else str(self.dtype).removeprefix("torch.")

    def times_ns(self) -> tuple[int, int]:
        """Return when it began and ended."""
        if not self.pending:
            return self.called_ns, self.ended_ns
        began, ended = zip(*(one.times_ns for one in self.pending), strict=True)
        return began[0], max(ended) if all(ended) else 0

    def state(self) -> str:
        """Return "scheduled", "started", "completed" or "failed"."""
        if self.error:
            return "failed"
        began_ns, ended_ns = self.times_ns()
        return "completed" if ended_ns else "started" if began_ns else "scheduled"


class Recorder:
    """The latest operations of one group, and the totals of all.

    Parameters
    ----------
    on_failure : called with an error that has ended an operation.

    Attributes
    ----------
    compiled : notes of the group's compiled operations; None: there are none.
    failures : int, how many operations have failed.
    """

    def __init__(self, on_failure: Callable[[Exception], None]) -> None:
        self.compiled: Any | None = None
        self.failures = 0
        self._on_failure = on_failure
        self._entries: deque[Entry] = deque(maxlen=REMEMBERED)
        self._totals: dict[str, list[int]] = {}

    def collective(self, calls: Sequence[Call], result: Any) -> Entry:
        """Note that a collective is called, by the communicator's calls of which it is made."""
        kind, given, written, nbytes, dtype = "all_reduce", 0, 0, 0, None
        for call in calls:
            kind = call.name
            if not call.arguments:  # a barrier
                continue
            array, into = call.arguments[0], call.options.get("out")
            if isinstance(array, _LISTS):
                size, dtype = sum(one.size for one in array), next((one.dtype for one in array), None)
                nbytes += sum(one.nbytes for one in array)
            else:
                size, dtype = (
                    getattr(array, "size", 0),
                    getattr(array, "dtype", None),
                )  # none: cannot be passed
                nbytes += getattr(array, "nbytes", 0)
            given += size
            written += size if into is None else _size_of(into)
        with suppress(AttributeError, IndexError, TypeError):  # a list of lists, or nothing
            dtype = result[0].dtype  # which knows of types that travel as bytes
        return self._noted(Entry(kind, (given, written), dtype, None), nbytes)

    def message(self, kind: str, tensor: Any, src: int, dst: int) -> Entry:
        """Note that a message is sent or received; `src` -1: from any rank."""
        sizes = (tensor.numel(), 0) if kind == "send" else (0, tensor.numel())
        return self._noted(Entry(kind, sizes, tensor.dtype, (src, dst)), tensor.nbytes)

    def _noted(self, entry: Entry, nbytes: int) -> Entry:
        self._entries.append(entry)
        total = self._totals.setdefault(entry.kind, [0, 0])
        total[0] += 1
        total[1] += nbytes
        return entry

    def over(self, entry: Entry, error: Exception | None) -> None:
        """Note that an operation has ended, or that this has been seen."""
        entry.ended_ns = monotonic_ns()
        if error is not None:
            entry.error = f"{type(error).__name__}: {error}"
            self.failures += 1
            self._on_failure(error)

    def failed(self, entry: Entry, error: Exception) -> Exception:
        """Note the error that has ended an operation, once; return it as PyTorch's backends raise it."""
        raised = for_torch(error) if isinstance(error, HemiolaError) else error
        if not entry.error:
            self.over(entry, raised)
        return raised

    # ---- reading ----

    def totals(self) -> dict[str, tuple[int, int]]:
        """Return by kind of operation how many were called, and the bytes of their inputs."""
        compiled = {} if self.compiled is None else self.compiled.totals()
        kinds = {**self._totals, **compiled}
        found = {}
        for kind in kinds:
            (count, nbytes), (also, more) = self._totals.get(kind, (0, 0)), compiled.get(kind, (0, 0))
            found[kind] = (count + also, nbytes + more)
        return found

    def latest(self) -> list[Entry]:
        """Return the latest operations, whoever ran them, in the order in which they were called."""
        notes = [] if self.compiled is None else [_entry_of(note) for note in self.compiled.latest()]
        entries = sorted((*self._entries, *notes), key=lambda entry: entry.called_ns)
        messages = sum(count for kind, (count, _) in self.totals().items() if kind in _MESSAGES)
        collectives = sum(count for count, _ in self.totals().values()) - messages
        for entry in reversed(entries):
            if entry.kind in _MESSAGES:
                entry.sequence, messages = messages, messages - 1
            else:
                entry.sequence, collectives = collectives, collectives - 1
        return entries[-REMEMBERED:]


_LISTS = (list, tuple)
_MESSAGES = ("send", "recv")


def _entry_of(note: Any) -> Entry:
    """Return what the accelerator has noted of an operation as an Entry of its own."""
    entry = Entry(note.kind, note.sizes, note.dtype, None)
    entry.called_ns, entry.ended_ns, entry.error, entry.pending = (
        note.called_ns,
        note.ended_ns,
        note.error,
        note.pending,
    )
    return entry


def _size_of(array: Any) -> int:
    """Return the elements of an array, or of several."""
    return sum(map(_size_of, array)) if isinstance(array, _LISTS) else getattr(array, "size", 0)
