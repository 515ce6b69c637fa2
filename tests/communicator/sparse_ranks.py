# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the tests of sparse collectives do: the same call dense and sparse, on the same data."""

from __future__ import annotations

import ctypes
import math
import platform
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import hemiola as hm
from hemiola.measure.pattern import dtype_named

#: What a float can be besides a number: all of it must come out as of a dense call.
SPECIAL = (-0.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-40, 6e-8, 65504.0)
#: What a case runs that names no schedule: with a name messages leave zeros out on shared memory, too.
RUN = {
    "all_gather": "all_gather_ring",
    "all_reduce": "all_reduce_ring",
    "all_to_all": "all_to_all_pairwise",
    "broadcast": "broadcast_binomial",
    "gather": "gather_binomial",
    "reduce": "reduce_binomial",
    "reduce_scatter": "reduce_scatter_ring",
    "scatter": "scatter_binomial",
}


@dataclass(frozen=True)
class SparseCase:
    kind: str
    size: int
    dtype: str = "float32"
    op: str = "sum"
    density: float = 0.1
    schedule: hm.Schedule | str | None = None
    in_place: bool = False
    clustered: bool = False


def data(case: SparseCase, rank: int, rank_count: int) -> Any:
    """Values at a share of the places, chosen anew for every rank; a tenth of a float's are special."""
    random = np.random.default_rng([rank, case.size])
    count = rank_count * case.size
    is_value = random.random(count) < case.density
    if case.clustered:
        is_value = np.repeat(random.random(count // 64 + 1) < case.density, 64)[:count]
    dtype: Any = dtype_named(case.dtype)
    parts = 2 if dtype.kind == "c" else 1
    values = random.integers(-100, 100, (count, parts)).astype(np.float64)
    if dtype.kind not in "biu":
        values = random.standard_normal((count, parts)) * 10.0 ** random.integers(-5, 6, (count, parts))
        chosen = random.random((count, parts)) < 0.1
        values[chosen] = random.choice(SPECIAL, int(chosen.sum()))
    whole: Any = values[:, 0] + 1j * values[:, 1] if parts == 2 else values[:, 0]
    if dtype.kind in "iu":
        whole = whole.astype(np.int64)
    with np.errstate(all="ignore"):
        x = whole.astype(dtype)
    x[~is_value] = 0
    return x if case.kind in ("reduce_scatter", "all_reduce", "all_to_all", "scatter") else x[: case.size]


def same(dense: Any, sparse: Any) -> bool:
    """Whether all bits are the same, a NaN's but for its payload."""
    if dense is None or sparse is None:
        return dense is sparse
    if dense.dtype.kind == "c":
        dense, sparse = dense.view(f"f{dense.itemsize // 2}"), sparse.view(f"f{dense.itemsize // 2}")
    bits = f"u{dense.itemsize}"
    equal = dense.view(bits) == sparse.view(bits)
    if dense.dtype.kind not in "biu":
        equal |= np.isnan(dense.astype(np.float64)) & np.isnan(sparse.astype(np.float64))
    return bool(equal.all())


def result(comm: hm.Communicator, case: SparseCase, sparse: bool) -> Any:
    x = data(case, comm.rank, comm.rank_count)
    out = (
        None if case.in_place or case.kind not in ("all_reduce", "reduce", "broadcast") else np.empty_like(x)
    )
    op = (case.op,) if case.kind in ("all_reduce", "reduce", "reduce_scatter") else ()
    if case.kind == "all_gather" and case.in_place:
        out = np.zeros(comm.rank_count * x.size, x.dtype)
        block = out[comm.rank * x.size : (comm.rank + 1) * x.size]
        block[:] = x
        x = block
    before = x.copy()
    schedule = case.schedule or RUN[case.kind]
    got = getattr(comm, case.kind)(x, *op, out=out, schedule=schedule, sparse=sparse)
    assert case.in_place or out is None or x.tobytes() == before.tobytes(), "the input has changed"
    return got


def differing(cases: list[SparseCase]) -> list[str]:
    """Return the cases in which a sparse call gives another result than the dense one."""
    comm = hm.init(timeout_s=60)
    return [
        f"rank {comm.rank}: {case}"
        for case in cases
        if not same(result(comm, case, False), result(comm, case, True))
    ]


def disagreeing(odd: int, others: Any = True) -> tuple[str, str, float]:
    """One rank leaves to the planner what the others ask for; then all go on."""
    comm = hm.init(timeout_s=60)
    raised = ("", "")
    try:
        comm.all_reduce(np.zeros(5000), sparse=None if comm.rank == odd else others)
    except hm.MismatchError as error:
        raised = (type(error).__name__, str(error))
    return *raised, float(comm.all_reduce(np.ones(5000), sparse=True)[0])


def passing(values: list[object]) -> list[str]:
    """Return what is said to each value of `sparse`."""
    comm = hm.init(timeout_s=60)
    call: Any = comm.all_reduce
    told = []
    for value in values:
        try:
            call(np.ones(10), sparse=value)
        except hm.ArgumentError as error:
            told.append(str(error))
    return told


def late(size: int, late: int) -> list[bool]:
    """The last rank is found and waited for, in calls that leave zeros out."""
    comm = hm.init(timeout_s=60)
    right = []
    for turn in range(4):
        x = np.zeros(size, np.int64)
        x[comm.rank :: 100] = comm.rank + 1
        total = np.zeros(size, np.int64)
        for rank in range(comm.rank_count):
            total[rank::100] += rank + 1
        if comm.rank == late and turn % 2 == 0:
            time.sleep(0.1)
        right.append(bool((comm.all_reduce(x, schedule="all_reduce_late", sparse=True) == total).all()))
    return right


def unnamed() -> list[str]:
    """Calls of which the planner says how they run, on dense and sparse data in turn; exact in any order."""
    comm = hm.init(timeout_s=60)
    n, size = comm.rank_count, 6000
    wrong = []
    for kind in (*RUN,):
        for turn, every in enumerate((1, 100, 100, 1, 7)):
            whole = np.arange(n * size) % 50 * (np.arange(n * size) % every == comm.rank % every) + 0.0
            bits = []
            for sparse in (False, True, None):
                x = (
                    whole.copy()
                    if kind in ("reduce_scatter", "all_reduce", "all_to_all", "scatter")
                    else whole[:size].copy()
                )
                got = getattr(comm, kind)(x, sparse=sparse)
                bits.append(None if got is None else got.tobytes())
            if bits != bits[:1] * 3:
                wrong.append(f"rank {comm.rank}: {kind}, turn {turn}")
    return wrong


def by_form(form: str, size: int) -> Any:
    """Data of which this form is the smallest, and stays so when all ranks bring them and add them."""
    x = np.zeros(size, np.float32)
    random = np.random.default_rng(1)
    if form == "hier":
        x[np.repeat(random.random(size // 64) < 0.02, 64)] = 1
    elif form == "pici":
        x[random.random(size) < 0.4] = 1
    else:
        x[:: {"dense": 1, "ef": 97}[form]] = 1
    return x


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Return what has been added where something has."""
    return {key: count - before[key] for key, count in after.items() if count > before[key]}


def forms_sent(
    kind: str, size: int, schedule: str | None = None
) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
    """Return by data's form which forms this rank's values went in, those that are added and those that are copied."""
    comm = hm.init(timeout_s=60)
    told = {}
    for form in ("dense", "pici", "ef", "hier"):
        x = by_form(form, size)
        before = comm.traffic()
        got = getattr(comm, kind)(x, schedule=schedule, sparse=True)
        after = comm.traffic()
        if kind != "all_gather":
            assert set(got.tolist()) <= {0, comm.rank_count}
        told[form] = (
            grown(before.added_forms, after.added_forms),
            grown(before.copied_forms, after.copied_forms),
        )
    return told


def planned_reduce_scatter(size: int) -> tuple[bool, list[int], dict[str, int], dict[str, int]]:
    """Return whether the sum is right, which ranks this one has sent to, and in which forms."""
    comm = hm.init(timeout_s=60)
    x = np.zeros(size, np.float32)
    x[comm.rank :: 100] = comm.rank + 1
    total = np.zeros(size, np.float32)
    for rank in range(comm.rank_count):
        total[rank::100] += rank + 1
    part = size // comm.rank_count
    got = comm.reduce_scatter(x, sparse=True)
    right = bool((got == total[comm.rank * part : (comm.rank + 1) * part]).all())
    sent = comm.traffic()
    # The look for zeros before the first call, an exchange of 24 bytes, is none of the collective's.
    peers = [rank for rank, nbytes in enumerate(sent.sent_bytes) if nbytes > 100]
    return right, peers, sent.added_forms, sent.copied_forms


def flush_subnormals() -> None:
    """Make this thread's arithmetic take subnormals for zeros and make none: MXCSR's FTZ and DAZ, or FPCR's FZ."""
    at, bits = {"x86_64": (28, 1 << 15 | 1 << 6), "aarch64": (0, 1 << 24)}[platform.machine()]
    libm = ctypes.CDLL("libm.so.6")
    environment = (ctypes.c_uint8 * 64)()
    libm.fegetenv(environment)
    ctypes.c_uint32.from_buffer(environment, at).value |= bits
    libm.fesetenv(environment)


def flushing(size: int) -> list[str]:
    """Return where sums of subnormals have other bits than dense ones, or none is flushed, in a thread that flushes."""
    comm = hm.init(timeout_s=60)
    random = np.random.default_rng(comm.rank)
    wrong = []
    calls = [(comm.all_reduce, "all_reduce_ring"), (comm.reduce_scatter, "reduce_scatter_direct_rounds")]
    inputs = []
    for bits in (np.uint32, np.uint64):  # made before anything is flushed
        x = np.where(random.random(size) < 0.05, random.integers(1, 1000, size), 0).astype(bits)
        x[comm.rank :: 64] |= bits(1) << bits(np.dtype(bits).itemsize * 8 - 1)  # negative ones, and -0.0
        inputs.append(x.view(f"f{x.itemsize}"))
    kept = [call(x, schedule=name).tobytes() for x in inputs for call, name in calls]
    flush_subnormals()
    for i, (x, (call, name)) in enumerate([(x, one) for x in inputs for one in calls]):
        dense = call(x, schedule=name).tobytes()
        sparse = call(x, schedule=name, sparse=True).tobytes()
        if dense != sparse:
            wrong.append(f"rank {comm.rank}: {name}, {x.dtype}: other bits")
        if dense == kept[i]:
            wrong.append(f"rank {comm.rank}: {name}, {x.dtype}: nothing flushed")
    return wrong


def changing(size: int) -> list[tuple[int, bool]]:
    """Return of each call the bytes this rank has sent, and whether messages could leave zeros out: dense data, sparse
    ones from the third call on, dense ones again from the sixth."""
    comm = hm.init(timeout_s=60)
    told = []
    for every in (1, 1, 100, 100, 100, 1, 1):
        x = np.zeros(size, np.float32)
        x[::every] = 1
        before = comm.traffic()
        assert float(comm.all_reduce(x, sparse=True).sum()) == len(range(0, size, every)) * comm.rank_count
        after = comm.traffic()
        sent = sum(after.sent_bytes) - sum(before.sent_bytes)
        told.append((sent, bool(grown(before.added_forms, after.added_forms))))
    return told
