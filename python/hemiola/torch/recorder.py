"""A group's latest operations, with the times when they were called, began and ended here.

Every operation passes here, so it notes only facts that cannot be worked out later."""

from __future__ import annotations

import itertools
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
_next_number = itertools.count().__next__


class Entry:
    """One operation. Times are of `time.monotonic_ns`, and 0 where they are still to come."""

    __slots__ = (
        "called_ns",
        "dtype",
        "ended_ns",
        "error",
        "kind",
        "number",
        "peers",
        "pending",
        "sequence",
        "sizes",
    )

    def __init__(self, kind: str, sequence: int, sizes: tuple[int, int], dtype: Any, peers: Any) -> None:
        self.number, self.sequence = _next_number(), sequence
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
    entries : deque of Entry, oldest first.
    totals : dict by kind of operation: how many were called, and the bytes of their inputs.
    failures : int, how many have failed.
    """

    def __init__(self, on_failure: Callable[[Exception], None]) -> None:
        self.entries: deque[Entry] = deque(maxlen=REMEMBERED)
        self.totals: dict[str, list[int]] = {}
        self.failures = 0
        self._on_failure = on_failure
        self._message_count = self._collective_count = 0

    def collective(self, calls: Sequence[Call], result: Any) -> Entry:
        """Note that a collective is called, by the communicator's calls of which it is made."""
        self._collective_count += 1
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
        return self._noted(Entry(kind, self._collective_count, (given, written), dtype, None), nbytes)

    def begun(self, kind: str, given: int, written: int, dtype: Any, nbytes: int) -> Entry:
        """Note that a collective begins whose numbers of elements and bytes are known."""
        self._collective_count += 1
        return self._noted(Entry(kind, self._collective_count, (given, written), dtype, None), nbytes)

    def failed(self, entry: Entry, error: Exception) -> Exception:
        """Note the error that has ended an operation, once; return it as PyTorch's backends raise it."""
        raised = for_torch(error) if isinstance(error, HemiolaError) else error
        if not entry.error:
            self.over(entry, raised)
        return raised

    def message(self, kind: str, tensor: Any, src: int, dst: int) -> Entry:
        """Note that a message is sent or received; `src` -1: from any rank."""
        self._message_count += 1
        sizes = (tensor.numel(), 0) if kind == "send" else (0, tensor.numel())
        entry = Entry(kind, self._message_count, sizes, tensor.dtype, (src, dst))
        return self._noted(entry, tensor.nbytes)

    def _noted(self, entry: Entry, nbytes: int) -> Entry:
        self.entries.append(entry)
        try:
            total = self.totals[entry.kind]
        except KeyError:
            total = self.totals[entry.kind] = [0, 0]
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


_LISTS = (list, tuple)


def _size_of(array: Any) -> int:
    """Return the elements of an array, or of several."""
    return sum(map(_size_of, array)) if isinstance(array, _LISTS) else getattr(array, "size", 0)
