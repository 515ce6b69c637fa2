# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a conformance test do: run one collective in guarded arrays and count what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import hemiola as hm
from hemiola.measure.pattern import Pattern, dtype_named

GUARD_BYTES = 64
GUARD = 0x5A

PLACED_KINDS = ("all_gather", "gather", "reduce_scatter", "scatter")
REDUCING = ("all_reduce", "reduce", "reduce_scatter")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
FLOATS = ("float16", "bfloat16", "float32", "float64", *FLOAT8)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")


def dtypes_and_operations() -> list[tuple[str, str]]:
    """Return every operation with every dtype that it is for."""
    arithmetic = ("sum", "product", "min", "max")
    bits = ("and", "or", "xor")
    pairs = [(dtype, op) for dtype in FLOATS for op in (*arithmetic, "average")]
    pairs += [(dtype, op) for dtype in INTEGERS for op in (*arithmetic, *bits)]
    pairs += [(dtype, op) for dtype in COMPLEX for op in ("sum", "product", "average")]
    pairs += [("bool", op) for op in bits]
    return pairs


@dataclass(frozen=True)
class Case:
    """One collective on data of `block` elements (of the whole buffer, or of each rank's part)."""

    kind: str
    block: int
    dtype: str = "float32"
    op: str = "sum"
    root: int = 0
    in_place: bool = False
    schedule: str | None = None
    wait: bool = True

    def pattern(self, rank_count: int) -> Pattern:
        many = self.kind in (*PLACED_KINDS, "all_to_all")
        count = self.block * (rank_count if many else 1)
        return Pattern(self.kind, rank_count, count, dtype_named(self.dtype), self.op, self.root)


class GuardedArray:
    """An array between two guards, so that a write outside shows."""

    def __init__(self, values: Any) -> None:
        self._bytes = np.full(values.nbytes + 2 * GUARD_BYTES, GUARD, np.uint8)
        self.array = self._bytes[GUARD_BYTES : GUARD_BYTES + values.nbytes].view(values.dtype)
        self.array[:] = values

    def guards_hold(self) -> bool:
        inside = self._bytes.size - GUARD_BYTES
        return bool(np.all(self._bytes[:GUARD_BYTES] == GUARD) and np.all(self._bytes[inside:] == GUARD))


def arrays_of(case: Case, pattern: Pattern, rank: int) -> tuple[GuardedArray, Any, Any]:
    """Return the memory to guard, and the input and output in it; in place, one is (part of) the other."""
    brought, wanted = pattern.input_of(rank), pattern.output_of(rank)
    if not case.in_place:
        memory = GuardedArray(np.zeros(brought.size + wanted.size, brought.dtype))
        x, out = memory.array[: brought.size], memory.array[brought.size :]
    else:
        memory = GuardedArray(np.zeros(max(brought.size, wanted.size), brought.dtype))
        whole = memory.array
        own = whole[rank * case.block : (rank + 1) * case.block]
        gathers = case.kind in ("all_gather", "gather") and wanted.size > 0
        scatters = case.kind == "reduce_scatter" or (case.kind == "scatter" and brought.size > 0)
        x, out = own if gathers else whole[: brought.size], own if scatters else whole[: wanted.size]
    x[:] = brought
    return memory, x, out


def call(comm: hm.Communicator, case: Case, x: Any, out: Any) -> Any:
    """Make the call that a case describes."""
    options: dict[str, Any] = {"schedule": case.schedule}
    if case.kind in ("all_reduce", "reduce", "reduce_scatter"):
        options["op"] = case.op
    if case.kind in ("reduce", "broadcast", "gather", "scatter"):
        options["root"] = case.root
    gets = out if out.size or case.block == 0 else None
    brings = x if x.size or case.block == 0 else None
    collective = getattr(comm, case.kind if case.wait else f"start_{case.kind}")
    return collective(brings if brings is not None else gets, out=gets, **options)


def failures_of(comm: hm.Communicator, case: Case) -> list[str]:
    """Run a case; return what is wrong with it on this rank."""
    pattern = case.pattern(comm.rank_count)
    memory, x, out = arrays_of(case, pattern, comm.rank)
    before = x.copy()
    result = call(comm, case, x, out)
    if not case.wait:
        result.wait()
    found = []
    wrong = pattern.wrong(comm.rank, out)
    if wrong:
        found.append(f"{wrong} of {out.size} elements")
    if not memory.guards_hold():
        found.append("guards")
    if not case.in_place and x.tobytes() != before.tobytes():
        found.append("the input changed")
    return [f"rank {comm.rank}: {case}: {', '.join(found)}"] if found else []


def run_cases(cases: list[Case]) -> list[str]:
    """Run on every rank: all cases, one after the other."""
    comm = hm.init(timeout_s=60)
    return [failure for case in cases for failure in failures_of(comm, case)]
