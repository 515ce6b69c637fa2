# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the background's tests do: start operations and messages, and keep Python's lock meanwhile."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

import hemiola as hm

COUNT = 32
#: For how long a rank does nothing but look whether all are done.
LIMIT_S = 20.0


def done_beside_python(handles: Sequence[Any]) -> int:
    """Return how many are done by the time when all are, or LIMIT_S are over; this thread gives the lock to no other
    meanwhile."""
    until = time.monotonic() + LIMIT_S
    while not all(handle.done() for handle in handles) and time.monotonic() < until:
        pass
    return sum(handle.done() for handle in handles)


def operations() -> tuple[int, bool]:
    """Start operations; return how many end while Python works, and whether their results are right."""
    comm = hm.init(timeout_s=60)
    arrays = [np.full(1000, float(i + comm.rank)) for i in range(COUNT)]
    sys.setswitchinterval(1e6)
    done = done_beside_python([comm.start_all_reduce(x) for x in arrays])
    return done, all(
        (x == sum(i + rank for rank in range(comm.rank_count))).all() for i, x in enumerate(arrays)
    )


def messages() -> tuple[int, bool]:
    """Send messages round; return how many end while Python works, and whether what has come is right."""
    comm = hm.init(timeout_s=60)
    to, source = (comm.rank + 1) % comm.rank_count, (comm.rank - 1) % comm.rank_count
    arrays = [np.zeros(1000) for _ in range(COUNT)]
    sys.setswitchinterval(1e6)
    handles: list[Any] = [comm.start_recv(x, source, tag) for tag, x in enumerate(arrays)]
    handles += [comm.start_send(np.full(1000, float(tag + comm.rank)), to, tag) for tag in range(COUNT)]
    done = done_beside_python(handles)
    return done, all((x == tag + source).all() for tag, x in enumerate(arrays))


def _start(comm: hm.Communicator) -> tuple[Any, weakref.ref[Any]]:
    """Start an operation on an array that nobody else has."""
    x = np.ones(1000)
    return comm.start_all_reduce(x), weakref.ref(x)


def let_go_by_the_main_thread() -> bool:
    """Return whether an array that only an operation has goes once that is over, with no further call of ours."""
    comm = hm.init(timeout_s=60)
    seen = _start(comm)[1]
    until = time.monotonic() + LIMIT_S
    while seen() is not None and time.monotonic() < until:
        time.sleep(0.01)
    return seen() is None


def let_go_by_the_next_call() -> bool:
    """The same while the main thread runs nothing, as soon as two more operations have been started and waited for."""
    comm = hm.init(timeout_s=60)
    found: list[bool] = []

    def other() -> None:
        seen = _start(comm)[1]
        _start(comm)[0].wait()  # one after the other: the first has let go of its array
        last = _start(comm)[0]
        found.append(seen() is None)
        last.wait()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    return found == [True]
