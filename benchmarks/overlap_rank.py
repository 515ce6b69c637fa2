# SPDX-License-Identifier: Apache-2.0
"""One rank of one contender of benchmarks/overlap.py: takes orders from the harness, answers with times.

Orders: "check <collective> <bytes> <operations>", answered with the number of wrong elements; "work <work> <units>
<repeats>"; "alone <collective> <bytes> <operations> <repeats>", which blocks in each operation; "together <collective>
<bytes> <operations> <work> <units> <repeats>", which starts operations, works, and waits for them. The three are
answered with seconds, and seconds of processor time a rank, each per repeat; "done <collective> <bytes> <operations>
<repeats>" with the seconds after which the last operation is over while its caller does not stop working in Python."""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np

from shared_memory_rank import Hemiola, Library, Torch, contribution, serve

#: What is started has `wait`.
Start = Callable[[], Any]
#: How long a caller works in Python to see when operations are over.
PYTHON_S = 0.06

#: In the second-level cache with room to spare.
CACHED = np.full(16 << 10, 0.5, dtype=np.float32)
SQUARE = np.full((128, 128), 0.5, dtype=np.float32)
PRODUCT = np.empty_like(SQUARE)


def python(units: int) -> None:
    """Hold the interpreter lock."""
    odd = 0
    for i in range(units):
        odd += i & 1


def elements(units: int) -> None:
    """Work on an array in cache, one pass a unit."""
    for _ in range(units):
        np.multiply(CACHED, 1.0, out=CACHED)


def product(units: int) -> None:
    """Multiply matrices in cache."""
    for _ in range(units):
        np.matmul(SQUARE, SQUARE, out=PRODUCT)


WORKS = {"python": python, "elements": elements, "product": product}


class HemiolaBehind(Hemiola):
    """Promises as little as Gloo does: inputs are lost when an operation fails."""

    def __init__(self) -> None:
        super().__init__(keep_inputs=False)

    def start(self, collective: str, whole: np.ndarray, part: np.ndarray) -> Start:
        if collective == "all_reduce":
            return lambda: self.comm.start_all_reduce(whole, sparse=False)
        return lambda: self.comm.start_all_gather(part, out=whole, sparse=False)

    @staticmethod
    def is_done(started: Any) -> bool:
        return bool(started.done())


class TorchBehind(Torch):
    def start(self, collective: str, whole: np.ndarray, part: np.ndarray) -> Start:
        to, piece = map(self._torch.from_numpy, (whole, part))
        if collective == "all_reduce":
            return lambda: self._dist.all_reduce(to, async_op=True)
        return lambda: self._dist.all_gather_into_tensor(to, piece, async_op=True)

    @staticmethod
    def is_done(started: Any) -> bool:
        return bool(started.is_completed())


LIBRARIES: dict[str, Callable[[], HemiolaBehind | TorchBehind]] = {
    "hemiola": HemiolaBehind,
    "hemiola_again": HemiolaBehind,
    "hemiola_torch": lambda: TorchBehind("hemiola"),
    "gloo": TorchBehind,
}
#: Whose all-reduce in place `operation` calls so.
IN_PLACE = {"all_reduce": "all_reduce_in_place", "all_gather": "all_gather"}


def wrong_elements(
    library: HemiolaBehind | TorchBehind, collective: str, nbytes: int, operations: int
) -> int:
    """Run operations on known data beside work and count this rank's wrong elements."""
    ranks, count = range(library.rank_count), nbytes // 4
    piece = count // library.rank_count
    if collective == "all_reduce":
        expected = np.sum([contribution(rank, count) for rank in ranks], axis=0)
    else:
        expected = np.concatenate([contribution(rank, piece) for rank in ranks])
    wholes = [contribution(library.rank, count) for _ in range(operations)]
    part = contribution(library.rank, piece)
    pending = [library.start(collective, whole, part)() for whole in wholes]
    elements(100)
    for each in pending:
        each.wait()
    return sum(int((whole[: len(expected)] != expected).sum()) for whole in wholes)


def timed(library: Library, body: Callable[[], object], repeats: int) -> str:
    """Return seconds, and processor seconds a rank, of one of `repeats` between two barriers."""
    for _ in range(1 + repeats // 4):
        body()
    library.barrier()
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    for _ in range(repeats):
        body()
    library.barrier()
    seconds, cpu_s = time.perf_counter() - begin_s, time.process_time() - begin_cpu_s
    return f"{seconds / repeats!r} {library.total(cpu_s) / library.rank_count / repeats!r}"


def done_after_s(library: HemiolaBehind | TorchBehind, starts: list[Start], repeats: int) -> float:
    """Return the median of the seconds after which the last operation is over; at most PYTHON_S."""
    seen = []
    for _ in range(repeats):
        library.barrier()
        begin_s, over_s = time.perf_counter(), PYTHON_S
        pending = [start() for start in starts]
        while (now_s := time.perf_counter() - begin_s) < PYTHON_S:
            if over_s == PYTHON_S and library.is_done(pending[-1]):
                over_s = now_s
        for each in pending:
            each.wait()
        seen.append(over_s)
    return float(np.median(seen))


def measured(library: HemiolaBehind | TorchBehind, words: list[str]) -> str:
    """Carry out one order on this rank."""
    order, *given = words
    if order == "work":
        work, units, repeats = given
        return timed(library, lambda: WORKS[work](int(units)), int(repeats))
    collective, nbytes, operations = given[0], int(given[1]), int(given[2])
    if order == "check":
        return str(int(library.total(wrong_elements(library, collective, nbytes, operations))))
    # Written before they are read: pages that never were are all one page, which is in the cache.
    wholes = [np.ones(nbytes // 4, dtype=np.float32) for _ in range(operations)]
    part = np.ones(nbytes // 4 // library.rank_count, dtype=np.float32)
    if order == "alone":
        blocking = [library.operation(IN_PLACE[collective], whole, whole, part) for whole in wholes]
        return timed(library, lambda: [run() for run in blocking], int(given[3]))
    starts = [library.start(collective, whole, part) for whole in wholes]
    if order == "done":
        return f"{done_after_s(library, starts, int(given[3]))!r} 0.0"
    busy, count = WORKS[given[3]], int(given[4])

    def together() -> None:
        pending = [start() for start in starts]
        busy(count)
        for each in pending:
            each.wait()

    return timed(library, together, int(given[5]))


if __name__ == "__main__":
    serve(LIBRARIES[sys.argv[1]](), measured)
