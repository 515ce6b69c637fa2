"""What the ranks of the block collectives' tests do; each returns plain data for the test to judge."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from message_ranks import error_of

import hemiola as hm

LONG = 70_000  #: elements: beyond what is sent without a receiver


def sizes(rank_count: int) -> list[list[int]]:
    """Return how much each gives each: nothing, little and much, none of it symmetrical."""
    scale = (0, 1, LONG, 7)
    return [[scale[(2 * a + b) % 4] + a for b in range(rank_count)] for a in range(rank_count)]


def block(giver: int, taker: int, size: int, dtype: Any) -> Any:
    return (np.arange(size) % 5 + giver + 3 * taker).astype(dtype)


def exchanged() -> list[str]:
    """Exchange blocks of several dtypes and gather some; return what comes wrong."""
    comm = hm.init(timeout_s=60)
    me, n = comm.rank, comm.rank_count
    wrong = []
    for dtype in (np.float32, np.bool_, ml_dtypes.float8_e4m3fn):
        given = [block(me, to, size, dtype) for to, size in enumerate(sizes(n)[me])]
        for wait in (True, False):
            out = [np.zeros(sizes(n)[of][me] + 2, dtype) for of in range(n)]
            inside = [one[1:-1] for one in out]
            made = comm.all_to_all_blocks(given, inside, wait=wait)
            if not wait:
                assert isinstance(made, hm.Handle)
                made = made.wait()
            if made is not inside:
                wrong.append("result")
            for of, one in enumerate(out):
                expected = block(of, me, one.size - 2, dtype)
                if not np.array_equal(one[1:-1], expected) or one[0] or one[-1]:
                    wrong.append(f"{of} to {me} of {one.dtype}")
    every = [np.zeros(3 * of) for of in range(n)]
    comm.all_gather_blocks(np.full(3 * me, float(me)), every)
    if any(set(one) - {float(of)} for of, one in enumerate(every)):
        wrong.append("gathered")
    parts = [np.arange(4 * to) * (me + 1) for to in range(n)]
    total = comm.reduce_scatter_blocks(parts, out=np.zeros(4 * me, parts[0].dtype))
    if not np.array_equal(total, np.arange(4 * me) * (n * (n + 1) // 2)):
        wrong.append("reduced")
    return wrong


def disagreeing() -> dict[str, tuple[str, str]]:
    """Disagree in several ways, and go on after each."""
    comm = hm.init(timeout_s=60)
    me, n = comm.rank, comm.rank_count
    right = [np.ones(2) for _ in range(n)]
    room = [np.zeros(2) for _ in range(n)]
    short = [np.zeros(1 if of == 0 and me == 1 else 2) for of in range(n)]
    other = [one.astype(np.int64) for one in room] if me == 1 else room
    found = {
        "size": error_of(lambda: comm.all_to_all_blocks(right, short)),
        "dtype": error_of(lambda: comm.all_to_all_blocks(other, other)),
        "count": error_of(lambda: comm.all_to_all_blocks(right[me == 1 :], room)),
        "array": error_of(lambda: comm.all_gather_blocks("x" if me == 1 else right[0], room)),  # type: ignore[call-overload]
        "read-only": error_of(
            lambda: comm.all_gather_blocks(right[0], [_fixed(r) for r in room] if me == 1 else room)
        ),
        "reduced": error_of(lambda: comm.reduce_scatter_blocks(short if me == 1 else right, out=np.zeros(2))),
        "a number": error_of(lambda: comm.reduce_scatter_blocks(3 if me == 1 else right, out=np.zeros(2))),  # type: ignore[call-overload]
        "afterwards": error_of(lambda: comm.all_to_all_blocks(right, room)),
    }
    assert all((one == 1).all() for one in room)
    return found


def _fixed(array: Any) -> Any:
    shown = array.view()
    shown.flags.writeable = False
    return shown
