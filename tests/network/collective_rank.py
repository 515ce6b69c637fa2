# SPDX-License-Identifier: Apache-2.0
"""One rank of a job on several hosts, started as a program; what it has found goes to standard output, in one line."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import ml_dtypes
import numpy as np

import hemiola as hm
from hemiola.planner.communicator_plans import CommunicatorPlans

SIZES = (1, 3, 1000, 300_000)


#: Of the all-reduce whose traffic is counted.
PAYLOAD_BYTES = 6 << 20

#: Of an all-reduce to which a rank comes late, by how much, how often more once it is looked for, and how many
#: operations are too many to notice either.
LATE_BYTES, LATE_S, LATE_MORE, MOST_LATE = 4 << 20, 0.2, 4, 60


def own(rank: int, size: int, dtype: type = np.float32) -> np.ndarray:
    """Return what a rank brings: small whole numbers, whose sums are exact in any order."""
    return np.arange(size).astype(dtype) % 16 + rank


def leaving_zeros_out(comm: hm.Communicator) -> None:
    """Compare with NumPy what comes of arrays that are mostly zero."""
    n, size = comm.rank_count, 300_000
    every = [own(each, n * size) * (np.arange(n * size) % 50 == each) for each in range(n)]
    mine, part = every[comm.rank], slice(comm.rank * size, (comm.rank + 1) * size)
    assert np.array_equal(comm.reduce_scatter(mine, sparse=True), sum(every)[part])
    assert np.array_equal(
        comm.all_gather(mine[:size], sparse=True), np.concatenate([x[:size] for x in every])
    )
    assert np.array_equal(comm.all_reduce(mine.copy(), sparse=True), sum(every))


def blocks_that_differ(comm: hm.Communicator) -> None:
    """Gather, reduce and exchange blocks of other sizes for each rank, one of them empty; compare with NumPy."""
    n, rank = comm.rank_count, comm.rank
    for size in SIZES:
        sizes = [size * each for each in range(n)]
        every = [own(each, sizes[each]) for each in range(n)]
        room = [np.zeros_like(one) for one in every]
        comm.all_gather_blocks(every[rank], room)
        assert all(np.array_equal(a, b) for a, b in zip(room, every, strict=True))
        mine = comm.reduce_scatter_blocks(
            [own(rank + part, sizes[part]) for part in range(n)], out=np.zeros(sizes[rank], np.float32)
        )
        assert np.array_equal(mine, sum(own(each + rank, sizes[rank]) for each in range(n)))
        room = [np.zeros(sizes[each], np.float32) for each in range(n)]
        comm.all_to_all_blocks([own(rank + to, sizes[rank]) for to in range(n)], room)
        assert all(np.array_equal(a, own(of + rank, sizes[of])) for of, a in enumerate(room))


def before_a_guard(values: np.ndarray) -> np.ndarray:
    """Return a copy at the end of a page, behind which nobody may read."""
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    guard = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + mmap.PAGESIZE
    no_access = 0
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(guard), mmap.PAGESIZE, no_access) == 0
    page = np.frombuffer(pages, values.dtype, mmap.PAGESIZE // values.itemsize)
    copy = page[page.size - values.size :]
    copy[:] = values
    return copy


def blocks_beside_a_guard(comm: hm.Communicator) -> str:
    """Reduce and exchange long blocks behind a first one that is short or empty and lies at the end of memory."""
    n, rank = comm.rank_count, comm.rank
    for first in (0, 1):
        sizes = [first, *[SIZES[-1]] * (n - 1)]
        blocks = [before_a_guard(own(rank, first)), *(own(rank + part, sizes[part]) for part in range(1, n))]
        mine = comm.reduce_scatter_blocks(blocks, out=np.zeros(sizes[rank], np.float32))
        assert np.array_equal(mine, sum(own(each + rank, sizes[rank]) for each in range(n)))
        room = [np.zeros(sizes[rank], np.float32) for _ in range(n)]
        comm.all_to_all_blocks(blocks, room)
        assert all(np.array_equal(a, own(of + rank, sizes[rank])) for of, a in enumerate(room))
    return "right"


def right_results(comm: hm.Communicator) -> str:
    """Run every collective in several sizes, and compare with what NumPy finds."""
    n, rank = comm.rank_count, comm.rank
    for size in SIZES:
        total = sum(own(each, size) for each in range(n))
        x = own(rank, size)
        comm.all_reduce(x)
        assert np.array_equal(x, total)
        blocks = np.concatenate([own(each, size) for each in range(n)])
        assert np.array_equal(comm.all_gather(own(rank, size)), blocks)
        summed = sum(np.concatenate([own(each + part, size) for part in range(n)]) for each in range(n))
        mine = np.concatenate([own(rank + part, size) for part in range(n)])
        assert np.array_equal(comm.reduce_scatter(mine), summed[rank * size : (rank + 1) * size])
        given = np.concatenate([own(10 * rank + to, size) for to in range(n)])
        got = np.concatenate([own(10 * each + rank, size) for each in range(n)])
        assert np.array_equal(comm.all_to_all(given), got)
        for root in range(n):
            x = own(rank, size)
            comm.broadcast(x, root=root)
            assert np.array_equal(x, own(root, size))
        comm.barrier()
    blocks_that_differ(comm)
    leaving_zeros_out(comm)
    x = own(rank, 100, ml_dtypes.bfloat16)
    comm.all_reduce(x, op="max")
    assert np.array_equal(x, own(n - 1, 100, ml_dtypes.bfloat16))
    return "right"


def messages(comm: hm.Communicator) -> str:
    """Every rank sends to every other, short and long, and rank 0 receives from anybody."""
    n, rank = comm.rank_count, comm.rank
    for size in SIZES:
        sending = [comm.start_send(own(10 * rank + to, size), to, size) for to in range(n) if to != rank]
        for src in range(n):
            x = np.zeros(size, np.float32)
            if src != rank:
                assert comm.recv(x, src, size) == src
                assert np.array_equal(x, own(10 * src + rank, size))
        for handle in sending:
            handle.wait()
        if rank != 0:
            comm.send(own(rank, size), 0)
        for _ in range(n - 1 if rank == 0 else 0):
            src = comm.recv(x)
            assert np.array_equal(x, own(src, size))
        comm.barrier()
    return "right"


def groups(comm: hm.Communicator) -> str:
    """Halves that work side by side, then all again."""
    ranks = [rank for rank in reversed(range(comm.rank_count)) if rank % 2 == comm.rank % 2]
    half = comm.group(ranks)
    assert half.all_gather(np.array([comm.rank])).tolist() == ranks
    x = np.full(5000, comm.rank, np.int64)
    half.all_reduce(x)
    assert (x == sum(range(comm.rank % 2, comm.rank_count, 2))).all()
    comm.all_reduce(x)
    return f"group {int(x[0])}"


def mistakes(comm: hm.Communicator) -> str:
    """One rank passes something else; all are told, and go on."""
    told, order = [], list(range(comm.rank_count))
    for wrong in (
        lambda: comm.group([1, 0, *order[2:]] if comm.rank == 0 else order),
        lambda: comm.all_reduce(np.ones(10 if comm.rank != 1 else 11, np.float32)),
        lambda: comm.broadcast(np.ones(10, np.float32), root=0 if comm.rank != 1 else 1),
        lambda: comm.all_reduce(np.ones(10, np.float32)) if comm.rank != 1 else comm.barrier(),
        lambda: comm.reduce(np.ones(10, np.float32), op="sum" if comm.rank != 1 else "max"),
        lambda: comm.all_reduce(np.ones(10, np.float32), op="sum" if comm.rank != 1 else "no such"),
    ):
        try:
            wrong()
            told.append("nothing")
        except hm.MismatchError as error:
            told.append("mismatch" if "rank 1" in str(error) else str(error))
        except hm.ArgumentError:
            told.append("argument")
        x = np.ones(7, np.float32)
        comm.all_reduce(x)
        assert (x == comm.rank_count).all()
    return " ".join(told)


def traffic(comm: hm.Communicator) -> str:
    """Send each rank a megabyte, and say how many bytes this host's NICs have received in the meantime."""
    comm.barrier()
    before = _received()
    comm.all_to_all(np.ones(comm.rank_count << 18, np.float32))
    comm.barrier()
    return " ".join(f"{name}={count - before[name]}" for name, count in _received().items())


def payload(comm: hm.Communicator) -> str:
    """Run a schedule, and say what the wire has sent to and received from other hosts, and this host's NIC."""
    per_host = int(os.environ["HEMIOLA_LOCAL_RANK_COUNT"])
    schedule = hm.algorithms.all_reduce_hierarchical(comm.rank_count // per_host, per_host)
    x = np.ones(PAYLOAD_BYTES // 4, np.float32)
    comm.barrier()
    before, before_nic = comm.traffic(), _received()
    comm.barrier()
    comm.all_reduce(x, schedule=schedule)
    comm.barrier()
    after, after_nic = comm.traffic(), _received()
    away = np.arange(comm.rank_count) // per_host != comm.rank // per_host
    sent = np.subtract(after.sent_bytes, before.sent_bytes)[away].sum()
    received = np.subtract(after.received_bytes, before.received_bytes)[away].sum()
    return f"{sent} {received} {sum(after_nic.values()) - sum(before_nic.values())}"


def _received() -> dict[str, int]:
    nics = sorted(Path("/sys/class/net").glob("eth*"))
    return {nic.name: int((nic / "statistics/rx_bytes").read_text()) for nic in nics}


def carriers(comm: hm.Communicator) -> str:
    """Say by what each rank is reached."""
    return " ".join(carrier or "self" for carrier in comm._core.carriers())


def endless_with_helper(comm: hm.Communicator) -> str:
    """The same in a process that has forked another, which lives on, as a data loader's workers do."""
    if os.fork() == 0:
        os.closerange(0, 3)
        time.sleep(60)
        os._exit(0)
    return endless(comm)


def endless(comm: hm.Communicator) -> str:
    """Work until somebody dies."""
    x = np.ones(50_000, np.float32)
    print("working", flush=True)
    try:
        while True:
            comm.all_reduce(x)
            x[:] = 1
    except hm.LostRankError as error:
        return f"lost {error.rank}"


def reduce_with_late_rank(comm: hm.Communicator, late_s: float) -> None:
    """Add up arrays, the last rank coming that much later than the others, and compare every element."""
    n, last, ready = comm.rank_count, comm.rank_count - 1, np.zeros(1, np.uint8)
    x = np.arange(LATE_BYTES // 4, dtype=np.float32) % 1000 + comm.rank
    if comm.rank != last:
        comm.send(ready, last)
    else:  # who has no core for a while must not be later still
        for rank in range(last):
            comm.recv(ready, rank)
        time.sleep(late_s)
    comm.all_reduce(x)
    assert np.array_equal(x, n * (np.arange(x.size, dtype=np.float32) % 1000) + n * (n - 1) / 2)


def late_rank_found(comm: hm.Communicator) -> str:
    """The last rank comes late until all look for it, and some more; say after how many operations they began, of how
    many the arrivals are known, and who was last in three of four of them: a rank that has no core for a while once
    comes later still."""
    began = 0
    while not comm.expects_late_rank(LATE_BYTES):
        reduce_with_late_rank(comm, LATE_S)
        began += 1
        assert began < MOST_LATE, comm.arrivals()
    for _ in range(LATE_MORE):
        reduce_with_late_rank(comm, LATE_S)
    known = comm.arrivals().last_rank[-(began + LATE_MORE) :]
    often = [rank for rank in range(comm.rank_count) if (known == rank).mean() >= 0.75]
    return f"began {began} last {often} of {len(known)}"


def late_rank(comm: hm.Communicator) -> str:
    """The same, and then it comes in time until nobody looks for it any more."""
    found = late_rank_found(comm)
    for _ in range(MOST_LATE):
        if not comm.expects_late_rank(LATE_BYTES):
            return found
        reduce_with_late_rank(comm, 0)
    return f"still looks for a late rank: {comm.arrivals()}"


def one_kills_itself(comm: hm.Communicator) -> str:
    """Rank 1 dies in the middle of work, the others learn of it."""
    if comm.rank == 1:
        for _ in range(20):
            comm.all_reduce(np.ones(50_000, np.float32))
        os.kill(os.getpid(), signal.SIGKILL)
    return endless(comm)


def shrinking(comm: hm.Communicator) -> str:
    """Work until all that have to die have died, going on without them and measuring nothing again; then add up who is
    left."""
    CommunicatorPlans.measure = mock.Mock(side_effect=AssertionError("measured"))  # type: ignore[method-assign]
    own, deaths = comm.rank, int(os.environ["DEATHS"])
    left, lost = comm.rank_count - deaths, []
    print("working", flush=True)
    while comm.rank_count > left:
        try:
            comm.all_reduce(np.ones(50_000, np.float32))
        except hm.LostRankError as error:
            lost.append(error.world_rank)
            comm = comm.shrink(timeout_s=30)
    for turn in range(10):
        x = np.full(5000, own + turn, np.int64)
        comm.all_reduce(x)
    return f"named {lost[0]}, left {int(x[0]) - 9 * left} of {comm.rank_count}"


WAYS: dict[str, Callable[[hm.Communicator], str]] = {
    each.__name__: each
    for each in (
        right_results,
        blocks_beside_a_guard,
        messages,
        groups,
        mistakes,
        traffic,
        payload,
        carriers,
        endless,
        endless_with_helper,
        late_rank,
        late_rank_found,
        one_kills_itself,
        shrinking,
    )
}


def main() -> None:
    """Join, do what the command line says, one after the other, and say how each went."""
    try:
        comm = hm.init(timeout_s=60)
    except hm.HemiolaError as error:
        print(f"{os.environ['HEMIOLA_RANK']}: {type(error).__name__} {error}", flush=True)
        return
    with comm:
        for way in sys.argv[1].split(","):
            print(f"{comm.rank}: {WAYS[way](comm)}", flush=True)


if __name__ == "__main__":
    main()
