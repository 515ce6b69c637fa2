# SPDX-License-Identifier: Apache-2.0
"""Ending the futures of operations in the order in which these end, whether callbacks wait or raise."""

from __future__ import annotations

import heapq
import threading
from contextlib import suppress
from itertools import count
from typing import Any

from hemiola.torch.callbacks import CallbackPlace, run_at

#: How long a closed group waits for callbacks that a program runs when its operations are over.
_LONGEST_CALLBACK_S = 5.0


class Completion:
    """Threads that end the futures of a communicator's operations, which end in the order of their numbers.

    A thread that ends a future runs its callbacks, which may wait for any other future. So nobody depends on that
    thread from then on: before it begins, another one takes over. There are as many as callbacks that wait at once.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._is_closed = False
        self._waiting: list[tuple[int, int, Any, Any]] = []  # a heap: number, tie, Work, future
        self._ties = count()
        self._awaited: list[int] = []  # the numbers of the operations for which threads wait
        self._idle = 0
        self._threads: set[threading.Thread] = set()

    def when_over(self, work: Any, future: Any) -> None:
        """Give a future its value when an operation is over."""
        with self._changed:
            if not self._is_closed:
                heapq.heappush(self._waiting, (work.number, next(self._ties), work, future))
                self._have_first_awaited()
                return
        _complete(work, future)

    def close(self) -> None:
        """End the threads once the operations that they were told of are over; a long callback may outlive this."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            if threading.current_thread() not in self._threads:
                self._changed.wait_for(lambda: not self._threads, _LONGEST_CALLBACK_S)

    def _have_first_awaited(self) -> None:
        """Have a thread wait for the first operation, unless one waits for it or for an earlier one. Called locked."""
        if not self._waiting or any(number <= self._waiting[0][0] for number in self._awaited):
            return
        if self._idle > 0:
            self._changed.notify()
            return
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._threads.add(thread)
        thread.start()

    def _run(self) -> None:
        while (first := self._first()) is not None:
            number, _, work, future = first
            with suppress(Exception):  # the future's child raises it
                work.wait()
            with self._changed:
                self._awaited.remove(number)
                self._have_first_awaited()
            _complete(work, future)
            del first, work, future  # whose tensors are to be freed while nothing runs
        with self._changed:
            self._threads.discard(threading.current_thread())
            self._changed.notify_all()

    def _first(self) -> tuple[int, int, Any, Any] | None:
        """Return the first operation for which nobody waits; None at the end."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            self._idle -= 1
            if not self._waiting:
                return None
            first = heapq.heappop(self._waiting)
            self._awaited.append(first[0])
            return first


def _complete(work: Any, future: Any) -> None:
    with suppress(Exception):  # the future's child raises it
        work.wait()
    # Callbacks of PyTorch's own, such as those of `collect_all`, have no place but that of the operation.
    run_at(CallbackPlace(f"{work.place.name}~"), future.set_result, None)
