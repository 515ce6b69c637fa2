# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the communicator's tests do; each returns plain data for the test to judge."""

from __future__ import annotations

import builtins
import os
import pickle
import time
from typing import Any

import ml_dtypes
import numpy as np

import hemiola as hm
from hemiola.communicator.launch_environment import job_of
from hemiola.errors import ArgumentError, HemiolaError
from waiting import tell, wait_until_told


def result_shapes() -> dict[str, Any]:
    comm = hm.init(timeout_s=60)
    n, x = comm.rank_count, np.zeros((2 * comm.rank_count, 3), np.int16)
    shape = lambda result: None if result is None else (result.shape, str(result.dtype))  # noqa: E731
    return {
        "all_gather": shape(comm.all_gather(x)),
        "all_gather of a scalar": shape(comm.all_gather(np.array(1.0))),
        "reduce_scatter": shape(comm.reduce_scatter(x)),
        "all_to_all": shape(comm.all_to_all(x)),
        "gather": shape(comm.gather(x, root=n - 1)),
        "scatter": shape(comm.scatter(x, root=n - 1)),
        "reduce": shape(comm.reduce(x, root=n - 1)),
        "broadcast": shape(comm.broadcast(x, root=n - 1)),
        "all_reduce returns its argument": comm.all_reduce(x) is x,
    }


def shapes_of_one_size() -> dict[str, Any]:
    """Every rank cuts 24 elements into a shape of its own, one of more dimensions than an error shows."""
    comm = hm.init(timeout_s=60)
    shape = [(4, 6), (24,), (2, 1, 3, 1, 2, 1, 2)][comm.rank]
    x = np.arange(24.0).reshape(shape) + comm.rank
    found: dict[str, Any] = {
        "all_gather": comm.all_gather(x.copy()).ravel().tolist(),
        "broadcast": comm.broadcast(x.copy(), root=1).tolist(),
        "all_reduce": comm.all_reduce(x).tolist(),
    }
    try:
        comm.all_reduce(x[:1] if comm.rank == 0 else x)
    except hm.MismatchError as error:
        found["another size"] = str(error)
    found["afterwards"] = comm.all_reduce(np.ones((1,) if comm.rank else ())).tolist()
    return found


def background_order(operations: int) -> tuple[list[float], bool]:
    """Each operation reads what the one before it wrote, so any other order gives other numbers."""
    comm = hm.init(timeout_s=60)
    x = np.ones(1000)
    handles = [comm.start_all_reduce(x) for _ in range(operations)]
    last = comm.all_reduce(np.ones(1))  # blocking: after all of them
    done = all(handle.done() for handle in handles)
    assert handles[-1].wait() is x
    return [float(x[0]), float(x[-1]), float(last[0])], done


def waiting_has_limits(folder: str) -> tuple[str, float]:
    comm = hm.init(timeout_s=60)
    if comm.rank == 0:
        handle = comm.start_all_reduce(np.ones(4))
        try:
            handle.wait(timeout_s=0.05)
        except builtins.TimeoutError as error:
            tell(folder, comm.rank)
            return type(error).__name__, float(handle.wait()[0])
        return "", 0.0
    wait_until_told(folder, 0)
    return "TimeoutError", float(comm.all_reduce(np.ones(4))[0])


def mistakes_in_the_background() -> list[str]:
    comm = hm.init(timeout_s=60)
    seen = []
    handles = []
    for number in range(4):
        op = "median" if number == comm.rank else "sum"
        try:
            handles.append(comm.start_all_reduce(np.ones(8), op))
        except HemiolaError as error:
            seen.append(type(error).__name__)
            continue
        try:
            handles[-1].wait()
            seen.append("")
        except HemiolaError as error:
            seen.append(type(error).__name__)
    return seen


def groups_at_once(rounds: int) -> list[float]:
    """Even and odd ranks, and all, interleaved without a common order between groups."""
    comm = hm.init(timeout_s=60)
    mine = comm.group([rank for rank in range(comm.rank_count) if rank % 2 == comm.rank % 2])
    pair = comm.group(sorted([comm.rank ^ 1, comm.rank])) if comm.rank_count % 2 == 0 else mine
    total = 0.0
    for number in range(rounds):
        pending = mine.start_all_reduce(np.full(100, float(comm.rank)))
        total += float(pair.all_reduce(np.full(5000, float(number)))[0])
        total += float(comm.all_reduce(np.ones(10))[0]) + float(pending.wait()[0])
    return [mine.rank, mine.rank_count, total]


def group_mistakes() -> list[str]:
    comm = hm.init(timeout_s=60)
    seen = []
    for ranks in ([0, 0], [99], [-1, comm.rank], [(comm.rank + 1) % comm.rank_count]):
        try:
            comm.group(ranks)
            seen.append("")
        except HemiolaError as error:
            seen.append(type(error).__name__)
    return seen


def bits(algorithm: str, dtype: str, size: int) -> list[bytes]:
    """Return the bytes of five runs, with ranks that come at different times."""
    comm = hm.init(timeout_s=60)
    kind: Any = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    found = []
    for run in range(5):
        random = np.random.default_rng(comm.rank)
        x = (random.standard_normal(size) * 10.0 ** random.integers(-6, 7, size)).astype(kind)
        time.sleep(0.004 * ((comm.rank * 7 + run * 3) % 5))
        average = comm.all_reduce(x.copy(), "average", schedule=algorithm)
        found.append(comm.all_reduce(x, schedule=algorithm).tobytes() + average.tobytes())
    return found


def own_schedule(schedule: hm.Schedule) -> list[float]:
    comm = hm.init(timeout_s=60)
    x = np.arange(6.0) + 10 * comm.rank
    return list(comm.custom(x, schedule=schedule))


def arrivals(late: int) -> list[list[float]]:
    comm = hm.init(timeout_s=60)
    ready = np.zeros(1, np.uint8)
    for _ in range(3):
        if comm.rank == late:
            for rank in set(range(comm.rank_count)) - {late}:
                comm.recv(ready, rank)
            time.sleep(0.2)
        else:
            comm.send(ready, late)
        comm.all_reduce(np.ones(1))
    return [list(row) for row in comm.recent_arrivals_s()[-3:]]


PERSISTENT_DELAY_S = 0.03


def who_is_persistent(late: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Be late to every operation, of all ranks and of a group; return what arrivals() says of both."""
    comm = hm.init(timeout_s=60)
    pair = comm.group([1, late]) if comm.rank in (1, late) else None
    for _ in range(40):
        for one in (comm, pair):
            if one is not None:
                time.sleep(PERSISTENT_DELAY_S if comm.rank == late else 0)
                one.all_reduce(np.ones(1))
    return comm.arrivals().as_dict(), None if pair is None else pair.arrivals().as_dict()


def closes_with_work_left(folder: str) -> str:
    comm = hm.init(timeout_s=60)
    if comm.rank == 0:
        handle = comm.start_all_reduce(np.ones(4))
        comm.close()
        tell(folder, comm.rank)
        try:
            handle.wait()
        except HemiolaError as error:
            return type(error).__name__
        return ""
    wait_until_told(folder, 0)
    try:
        comm.all_reduce(np.ones(4))
    except HemiolaError as error:
        return type(error).__name__
    return ""


def emulated_seconds(size: int, algorithm: str) -> tuple[float, bool]:
    comm = hm.init(timeout_s=60)
    x = np.full(size // 4, comm.rank + 1.0, np.float32)
    comm.barrier()
    begin = time.perf_counter()
    comm.all_reduce(x, schedule=algorithm)
    seconds = time.perf_counter() - begin
    return seconds, bool(np.all(x == sum(range(1, comm.rank_count + 1))))


def disagreement_over_an_emulated_network() -> tuple[str, float]:
    comm = hm.init(timeout_s=60)
    try:
        comm.all_reduce(np.ones(20_000 + comm.rank))
        kind = ""
    except HemiolaError as error:
        kind = type(error).__name__
    return kind, float(comm.all_reduce(np.ones(1000))[-1])


def more_operations_than_the_log_holds() -> tuple[int, float]:
    comm = hm.init(timeout_s=60)
    for _ in range(600):
        comm.barrier()
    return comm.recent_arrivals_s().shape[0], float(comm.all_reduce(np.ones(1))[0])


def errors_in_a_group(victim: int) -> tuple[str, int | None, int | None, str] | None:
    """In a group of ranks 1, 3 and 5, disagree, then lose one; return the messages and who is named."""
    comm = hm.init(timeout_s=60)
    if comm.rank not in (1, 3, 5):
        return None
    group = comm.group([1, 3, 5])
    disagreement = ""
    try:
        group.all_reduce(np.ones(4 if comm.rank == 5 else 8))
    except hm.errors.MismatchError as error:
        disagreement = str(error)
    if comm.rank == victim:
        os._exit(1)
    try:
        group.all_reduce(np.ones(8))
    except hm.errors.LostRankError as error:
        travelled = pickle.loads(pickle.dumps(error))
        return disagreement, travelled.rank, travelled.world_rank, str(travelled)
    return None


def init_with(options_of_rank: dict[int, dict[str, Any]]) -> str:
    """Join with options that may differ from the others'; return the error."""
    try:
        hm.init(**{"timeout_s": 60, **options_of_rank.get(job_of().rank, {})})
    except HemiolaError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def init_again(options: dict[str, Any]) -> str:
    """Join, and ask again with other options, then without any, and with the same; return the error of the first."""
    comm = hm.init(timeout_s=60)
    error = ""
    try:
        hm.init(**options)
    except ArgumentError as caught:
        error = str(caught)
    assert hm.init() is comm
    assert hm.init(timeout_s=60, keep_inputs=True) is comm
    comm.close()
    return error


def arrivals_at_first() -> tuple[int, int]:
    """Return how many operations arrivals() counts after start-up, and after one operation."""
    comm = hm.init(timeout_s=60)
    before = comm.arrivals().operation_count
    comm.barrier()
    return before, comm.arrivals().operation_count


def own_times_with_a_slow_port(slow: int) -> tuple[int | None, list[float], list[float]]:
    """Have one port slow in a ring; return who is persistently late, and medians of lag seen and of own time."""
    comm = hm.init(timeout_s=60)
    if comm.rank == 0:
        comm.degrade({slow: 4.0})
    comm.barrier()
    x = np.zeros(16 << 10)
    for _ in range(24):
        comm.all_reduce(x, schedule="all_reduce_ring")
    seen, own = comm.recent_arrivals_s()[4:], comm.recent_own_s()[4:]
    return comm.arrivals().persistent_rank, list(np.median(seen, axis=0)), list(np.median(own, axis=0))


def own_time_of_two_communicators(late: int) -> tuple[float, float]:
    """Wait for a late rank in a group between operations of all; return rank 1's and the late one's own time in all."""
    comm = hm.init(timeout_s=60)
    pair = comm.group([1, late]) if comm.rank in (1, late) else None
    for _ in range(12):
        comm.barrier()
        if pair is not None:
            time.sleep(PERSISTENT_DELAY_S if comm.rank == late else 0)
            pair.all_reduce(np.ones(1))
    comm.barrier()
    own = np.median(comm.recent_own_s()[-12:], axis=0)
    return float(own[1]), float(own[late])


def degrade_mistakes() -> list[str]:
    """Degrade links that there are not, or by factors that cannot be; return the errors' types."""
    comm = hm.init(timeout_s=60)
    seen = []
    for slow in ({(0, 1): 2.0}, {(0, 9): 2.0}, {(0, 4): 0.5}, {(-1, 4): 2.0}):
        try:
            comm.degrade(slow)
            seen.append("")
        except HemiolaError as error:
            seen.append(type(error).__name__)
    comm.barrier()
    return seen
