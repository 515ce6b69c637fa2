# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the block collectives' tests do; each returns plain data for the test to judge."""

from __future__ import annotations

import math
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
            made = (comm.all_to_all_blocks if wait else comm.start_all_to_all_blocks)(given, inside)
            if not wait:
                assert isinstance(made, hm.Handle)
                made = made.wait()
            if made is not inside:
                wrong.append("result")
            for of, one in enumerate(out):
                expected = block(of, me, one.size - 2, dtype)
                if not np.array_equal(one[1:-1], expected) or one[0] or one[-1]:
                    wrong.append(f"{of} to {me} of {one.dtype}")
    return wrong


#: Of a rank's block, by rank: none, all alike, of one rank alone, long, and then the same in another order.
OF_RANKS = ((0, 3, 6, 1), (5, 5, 5, 5), (0, 0, 4, 0), (LONG, 2, 0, LONG - 1), (0, 0, 0, 0), (6, 0, 1, 3))


def gathered() -> list[str]:
    """Gather blocks of several sizes and dtypes; return what comes wrong."""
    comm = hm.init(timeout_s=60)
    me, n = comm.rank, comm.rank_count
    wrong = []
    for dtype in (np.float32, ml_dtypes.bfloat16, "datetime64[s]", np.dtype([("a", "i2"), ("b", "u1")])):
        for lengths in OF_RANKS:
            for wait in (True, False):
                rows = [np.arange(size + 2).astype(np.uint8).astype(dtype) for size in lengths[:n]]
                out = [np.zeros_like(row) for row in rows]
                inside = [one[1:-1] for one in out]
                made = (comm.all_gather_blocks if wait else comm.start_all_gather_blocks)(
                    rows[me][1:-1].copy(), inside
                )
                if (made.wait() if isinstance(made, hm.Handle) else made) is not inside:
                    wrong.append("result")
                for of, (one, row) in enumerate(zip(out, rows, strict=True)):
                    row[[0, -1]] = np.zeros(1, dtype)
                    if one.tobytes() != row.tobytes():
                        wrong.append(f"{of} of {dtype}, {lengths}")
    return wrong


def scattered() -> list[str]:
    """Reduce blocks of several sizes in several ways; return what differs from an all-reduce of the whole."""
    comm = hm.init(timeout_s=60)
    me, n = comm.rank, comm.rank_count
    wrong = []
    for dtype in (np.float64, np.int32, ml_dtypes.bfloat16):
        for lengths in OF_RANKS:
            ends = np.cumsum(lengths[:n])
            whole = block(me, 1, ends[-1], dtype)
            parts = np.split(whole, ends[:-1])
            before = whole.copy()
            for op in ("sum", "max", *((hm.PremulSum(me + 2.0), "average") if dtype == np.float64 else ())):
                room = np.zeros(lengths[me] + 2, dtype)
                wait = op == "sum"
                made = (comm.reduce_scatter_blocks if wait else comm.start_reduce_scatter_blocks)(
                    parts, op, out=room[1:-1]
                )
                if isinstance(made, hm.Handle):
                    made.wait()
                right = np.split(comm.all_reduce(whole.copy(), op), ends[:-1])[me]
                if not np.array_equal(room[1:-1], right) or room[0] or room[-1]:
                    wrong.append(f"{op} of {dtype.__name__}, {lengths}")
            if not np.array_equal(whole, before):
                wrong.append("the input")
    return wrong


def disagreeing() -> dict[str, tuple[str, str]]:
    """Disagree in several ways, and go on after each."""
    comm = hm.init(timeout_s=60)
    me, n = comm.rank, comm.rank_count
    right = [np.ones(2) for _ in range(n)]
    room = [np.zeros(2) for _ in range(n)]
    short = [np.zeros(1 if of == 0 and me == 1 else 2) for of in range(n)]
    other = [one.astype(np.int64) for one in room] if me == 1 else room
    wrong: dict[str, Any] = {
        "a size": 2,
        "sizes": [2, -1, math.nan],
        "two dtypes": [right[0].astype(np.float32), *right[1:]],
        "gaps": [np.ones(4)[::2], *right[1:]],
        "objects": [one.astype(object) for one in right],
    }
    found = {
        "size": error_of(lambda: comm.all_to_all_blocks(right, short)),
        "dtype": error_of(lambda: comm.all_to_all_blocks(other, other)),
        "count": error_of(lambda: comm.all_to_all_blocks(right[me == 1 :], room)),
        "a rank's array": error_of(
            lambda: comm.all_to_all_blocks([*right[1:], None] if me == 1 else right, room)
        ),
        "no list": error_of(lambda: comm.all_to_all_blocks(None if me == 1 else right, room)),
        **{
            name: error_of(lambda x=x: comm.all_to_all_blocks(x if me == 1 else right, room))
            for name, x in wrong.items()
        },
        "limit": error_of(lambda: comm.all_to_all_blocks(right, room, timeout_s=-1 if me == 1 else 9)),
        "a table as schedule": error_of(
            lambda: comm.all_to_all_blocks(right, room, schedule=np.ones((n, n)) if me == 1 else None)  # type: ignore[arg-type]
        ),
        "read-only": error_of(
            lambda: comm.all_to_all_blocks(right, [_fixed(r) for r in room] if me == 1 else room)
        ),
        "in the background": error_of(lambda: comm.start_all_to_all_blocks(right, short).wait()),
    }
    assert not any(one.any() for one in (*room, *short))
    found["afterwards"] = error_of(lambda: comm.all_to_all_blocks(right, room))
    assert all((one == 1).all() for one in room)
    return found


def disagreeing_about_all() -> dict[str, tuple[str, str]]:
    """Disagree about blocks that all ranks gather or reduce, and go on after each."""
    comm = hm.init(timeout_s=60)
    me, n = comm.rank, comm.rank_count
    odd = me == 1
    x, room = np.ones(2), [np.zeros(2) for _ in range(n)]
    lists = [np.ones(2) for _ in range(n)]
    sizes = [2] * n
    other = [np.zeros(size) for size in [3, 2, 1, *sizes[3:]]]
    reduced = np.zeros(2)
    gather, reduce = comm.all_gather_blocks, comm.reduce_scatter_blocks
    found = {
        "gathered: longer": error_of(lambda: gather(x, [np.zeros(3), *room[1:]] if odd else room)),
        "gathered: as many in all": error_of(lambda: gather(x, other if odd else room)),
        "gathered: own": error_of(lambda: gather(np.ones(3) if odd else x, room)),
        "gathered: dtype": error_of(
            lambda: gather(x.astype(int), [r.astype(int) for r in room]) if odd else gather(x, room)
        ),
        "gathered: own dtype": error_of(lambda: gather(x.astype(int) if odd else x, room)),
        "gathered: two dtypes": error_of(
            lambda: gather(x, [room[0].astype(int), *room[1:]] if odd else room)
        ),
        "gathered: too few": error_of(lambda: gather(x, room[1:] if odd else room)),
        "gathered: no list": error_of(lambda: gather(x, room[0] if odd else room)),
        "gathered: no array": error_of(lambda: gather("x" if odd else x, room)),
        "gathered: read-only": error_of(lambda: gather(x, [_fixed(r) for r in room] if odd else room)),
        "gathered: overlap": error_of(lambda: gather(room[0] if odd else x, room)),
        "gathered: background": error_of(
            lambda: comm.start_all_gather_blocks(x, other if odd else room).wait()
        ),
        "reduced: longer": error_of(lambda: reduce([np.ones(3), *lists[1:]] if odd else lists, out=reduced)),
        "reduced: as many in all": error_of(
            lambda: reduce([np.ones(o.size) for o in other] if odd else lists, out=reduced)
        ),
        "reduced: own": error_of(lambda: reduce(lists, out=np.zeros(3) if odd else reduced)),
        "reduced: op": error_of(lambda: reduce(lists, "max" if odd else "sum", out=reduced)),
        "reduced: wrong op": error_of(lambda: reduce(lists, "xor" if odd else "sum", out=reduced)),
        "reduced: too few": error_of(lambda: reduce(lists[1:] if odd else lists, out=reduced)),
        "reduced: a number": error_of(lambda: reduce(3 if odd else lists, out=reduced)),
        "reduced: timeout": error_of(lambda: reduce(lists, out=reduced, timeout_s=-1 if odd else 9)),
        "another call": error_of(lambda: gather(x, room) if odd else reduce(lists, out=reduced)),
    }
    assert all((one == 1).all() for one in (x, *lists))
    found["afterwards"] = error_of(lambda: gather(x, room))
    assert all((one == 1).all() for one in room)
    return found


def _fixed(array: Any) -> Any:
    shown = array.view()
    shown.flags.writeable = False
    return shown


#: Collectives whose input, or whose result, may be a list; and the algorithms that join blocks in their own ways.
OF_LISTS: dict[str, tuple[bool, bool, tuple[str | None, ...]]] = {
    "all_gather": (
        False,
        True,
        (None, "all_gather_ring", "all_gather_bruck", "all_gather_recursive_doubling"),
    ),
    "gather": (False, True, (None, "gather_binomial")),
    "reduce_scatter": (
        True,
        False,
        (None, "reduce_scatter_ring", "reduce_scatter_bruck", "reduce_scatter_recursive_halving"),
    ),
    "scatter": (True, False, (None, "scatter_binomial")),
    "all_to_all": (True, True, (None, "all_to_all_bruck", "all_to_all_pairwise")),
}


def in_list(array: Any, n: int) -> list[Any]:
    """Return an array's n blocks, each with memory of its own and a guard around it, the last first in memory."""
    size = array.size // n
    room = np.full((n, size + 2), 99).astype(array.dtype)[::-1]
    for block, values in zip(room, array.reshape(n, size), strict=True):
        block[1:-1] = values
    return [block[1:-1] for block in room]


def as_list(comm: Any, name: str, x: Any, **options: Any) -> Any:
    """Call a collective with lists; return the result as one array, and whether nothing around it was touched."""
    brings, gets, _ = OF_LISTS[name.removeprefix("start_")]
    n = comm.rank_count
    given = in_list(x, n) if brings else x
    size = x.size // n if brings and not gets else x.size if brings else n * x.size
    out: Any = np.zeros(size, x.dtype)
    if gets:
        out = in_list(out, n)
    result = getattr(comm, name)(given, out=out, **options)
    if isinstance(result, hm.Handle):
        result = result.wait()
    if result is None:
        return None
    assert result is out
    guards = [edge for one in (out if gets else []) for edge in (one.base[:, 0], one.base[:, -1])]
    assert all((edge == 99).all() for edge in guards)
    return np.concatenate(out) if gets else out


def lists() -> list[str]:
    """Compare lists with arrays, some ranks passing the one and some the other; return what differs."""
    comm = hm.init(timeout_s=60)
    me, n = comm.rank, comm.rank_count
    wrong = []

    def compare(name: str, x: Any, **options: Any) -> None:
        blocking = getattr(comm, name.removeprefix("start_"))
        right = blocking(x, **options)
        found = right if me == 1 else as_list(comm, name, x, **options)
        if me == 1:
            blocking(x, **options)
        if not np.array_equal(found, right):
            wrong.append(f"{name} {x.dtype}[{x.size}] {options}")

    for name, (_, _, algorithms) in OF_LISTS.items():
        for size in (0, 3, LONG):
            for schedule in algorithms:
                compare(name, block(me, 0, n * size, np.float32), schedule=schedule)
        compare(f"start_{name}", block(me, 1, n * 5, ml_dtypes.bfloat16))
    zeros = np.where(np.arange(n * LONG) % 50 == 0, me + 1.0, 0)
    for name in ("all_gather", "reduce_scatter"):
        compare(name, zeros, sparse=True)
    for op in ("average", hm.PremulSum(me + 2.0)):
        compare("reduce_scatter", block(me, 2, n * 7, np.float64), op=op)
    return wrong


def wrong_lists() -> dict[str, tuple[str, str]]:
    """Pass lists that are none, or where there are none, and go on after each."""
    comm = hm.init(timeout_s=60)
    me, n = comm.rank, comm.rank_count
    x = np.ones(2)
    room = [np.zeros(2) for _ in range(n)]
    bad = {
        "count": room[1:],
        "sizes": [*room[1:], np.zeros(3)],
        "dtypes": [*room[1:], np.zeros(2, np.int64)],
        "empty": [],
        "what": [*room[1:], "x"],
        "read-only": [*room[1:], _fixed(x)],
        "over the input": [*room[1:], x],
    }
    found = {
        name: error_of(lambda out=out: comm.all_gather(x, out=out if me == 1 else room))
        for name, out in bad.items()
    }
    found["no blocks"] = error_of(lambda: comm.all_reduce([x] * n if me == 1 else x))
    found["other sizes"] = error_of(
        lambda: comm.reduce_scatter([np.ones(3 if me == 1 else 2)] * n, out=np.zeros(3 if me == 1 else 2))
    )
    found["afterwards"] = error_of(lambda: comm.all_gather(x, out=room))
    assert all((one == 1).all() for one in room)
    return found


def exchanged_over_nics() -> list[str]:
    """Exchange blocks of which rank 0 has most, between hosts whose ranks have a slow NIC each; return wrong ones."""
    comm = hm.init(timeout_s=60)
    me, n = comm.rank, comm.rank_count
    wrong = []
    for dtype in (np.float32, np.uint8, ml_dtypes.bfloat16):
        for scale in (LONG, 0):
            table = [[(scale if a == 0 else 0) + (a + 2 * b) % 4 for b in range(n)] for a in range(n)]
            given = [block(me, to, size, dtype) for to, size in enumerate(table[me])]
            out = [np.zeros(table[of][me] + 2, dtype) for of in range(n)]
            comm.start_all_to_all_blocks(given, [one[1:-1] for one in out]).wait()
            for of, one in enumerate(out):
                expected = block(of, me, one.size - 2, dtype)
                if not np.array_equal(one[1:-1], expected) or one[0] or one[-1]:
                    wrong.append(f"{of} to {me} of {one.dtype}, {scale}")
    none = [np.zeros(0) for _ in range(n)]
    comm.all_to_all_blocks(none, none)
    short = [np.zeros(1 if of == 0 and me == 1 else 2) for of in range(n)]
    kind, text = error_of(lambda: comm.all_to_all_blocks([np.ones(2)] * n, short))
    if kind != "MismatchError" or "rank 1 expects 1 of rank 0" not in text or any(one.any() for one in short):
        wrong.append(text)
    return wrong


def exchanged_by_another_schedule() -> tuple[str, str]:
    """Bring blocks that are not as long as the schedule says."""
    comm = hm.init(timeout_s=60)
    schedule = hm.plan(hm.topologies.switch(2, latency_s=0.0, bandwidth=1e9), "all_to_all", [[1, 2], [3, 4]])
    blocks = [np.zeros(3, np.uint8) for _ in range(2)]
    return error_of(
        lambda: comm._core.start(
            "all_to_all_blocks", blocks, blocks, "sum", 0, schedule.schedule, None, False
        )
    )


#: Bytes from each rank to each, for which ranks bring a schedule.
PLANNED = [[0, LONG, 3, 1], [5, 0, 0, LONG], [1, 2, 0, 0], [0, 0, 9, 7]]


def exchanged_as_planned() -> dict[str, tuple[str, str]]:
    """Exchange by a schedule for a table that is known beforehand; then bring schedules that do not fit."""
    comm = hm.init(timeout_s=60)
    me, n = comm.rank, comm.rank_count
    network = hm.topologies.hosts(
        2, 2, 2, latency_s=1e-6, bandwidth=1e10, nic_latency_s=5e-6, nic_bandwidth=1e8
    )
    schedule = hm.plan(network, "all_to_all", PLANNED).schedule
    other = hm.plan(network, "all_to_all", np.transpose(PLANNED)).schedule
    given = [block(me, to, size, np.uint8) for to, size in enumerate(PLANNED[me])]
    right = [block(of, me, PLANNED[of][me], np.uint8) for of in range(n)]

    def exchange(schedule: Any) -> None:
        out = [np.zeros(PLANNED[of][me], np.uint8) for of in range(n)]
        try:
            comm.start_all_to_all_blocks(given, out, schedule=schedule).wait()
        except hm.HemiolaError:
            assert not any(one.any() for one in out)
            raise
        assert all(map(np.array_equal, out, right))

    found = {
        "planned": error_of(lambda: exchange(schedule)),
        "another table": error_of(lambda: exchange(other)),
        "another table on one": error_of(lambda: exchange(other if me == 1 else schedule)),
        "none on one": error_of(lambda: exchange(None if me == 1 else schedule)),
        "a name on one": error_of(lambda: exchange("all_to_all_direct" if me == 1 else schedule)),
        "an all-gather on one": error_of(
            lambda: exchange(hm.algorithms.all_gather_ring(n) if me == 1 else schedule)
        ),
        "a wrong one on one": error_of(
            lambda: exchange(_without_last_step(schedule) if me == 1 else schedule)
        ),
        "afterwards": error_of(lambda: exchange(schedule)),
    }
    none = [np.zeros(0)] * n
    comm.all_to_all_blocks(none, none, schedule=schedule)
    return found


def _without_last_step(schedule: hm.Schedule) -> hm.Schedule:
    transfers = schedule.transfers
    kept = transfers[transfers["step"] < schedule.step_count - 1]
    return hm.Schedule.from_transfers(
        schedule.collective, kept, chunk_weights=schedule.chunk_weights.tolist()
    )
