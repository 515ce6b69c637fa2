# SPDX-License-Identifier: Apache-2.0
"""Collectives on memory that is no NumPy array's: DLPack's, the buffer protocol's, and that at an address."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hemiola as hm

RANKS = 2
#: PyTorch's types, and what small whole numbers of two ranks add up to in each.
TYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
)


class Exported:
    """What a library shows of its memory by DLPack; read-only where NumPy's array is."""

    def __init__(self, x: Any, device: tuple[int, int] = (1, 0)) -> None:
        self._x, self._device = x, device

    def __dlpack__(self, **options: Any) -> Any:
        return self._x.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def error_of(call: Any) -> str:
    try:
        call()
    except hm.HemiolaError as error:
        return f"{type(error).__name__}: {error}"
    return ""


#: What lies at the addresses, by the RawMemory that says so.
raw_of: dict[int, Any] = {}


def forms_of_blocks(torch: Any, rank: int) -> dict[str, tuple[list[Any], list[Any]]]:
    """Return blocks of several forms: what this rank gives, `taker` + 2 `rank` bytes or words each; and room."""

    def at(values: Any) -> hm.RawMemory:
        memory = hm.RawMemory(values.ctypes.data, str(values.dtype), [values.size])
        raw_of[id(memory)] = values
        return memory

    forms: dict[str, Callable[[Any], Any]] = {
        "bytearray": bytearray,
        "memoryview": lambda x: memoryview(bytearray(x)),
        "array": lambda x: array.array("B", bytes(x)),
        "DLPack": lambda x: torch.tensor(x.astype(np.int32)).to(torch.bfloat16),
        "address": at,
    }
    return {
        name: (
            [form(np.full(to + 2 * rank, 10 * rank + to, np.uint8)) for to in range(RANKS)],
            [form(np.zeros(rank + 2 * of, np.uint8)) for of in range(RANKS)],
        )
        for name, form in forms.items()
    }


def blocks(comm: Any, torch: Any, check: Callable[[str, Any, Any], None]) -> None:
    """Exchange, gather and reduce blocks of all forms."""
    for form, (given, room) in forms_of_blocks(torch, comm.rank).items():
        result = comm.all_to_all_blocks(given, room)
        check(f"blocks of {form}", result is room, True)
        for of, block in enumerate(room):
            values = raw_of[id(block)] if isinstance(block, hm.RawMemory) else block
            check(
                f"block of {form}", [int(one) for one in values], [10 * of + comm.rank] * (comm.rank + 2 * of)
            )
    own: Any = array.array("d", [0, 0])
    rows = list(torch.full((2, 2), -1))
    moving = comm.start_all_gather_blocks(torch.full((2,), comm.rank), rows)  # type: ignore[arg-type]
    assert isinstance(moving, hm.Handle)
    moving.wait()
    check("gathered blocks", torch.cat(rows), [0, 0, 1, 1])
    comm.reduce_scatter_blocks([torch.ones(2).double(), torch.ones(2).double()], out=own)
    check("reduced blocks", list(own), [2, 2])


def foreign_arrays() -> dict[str, Any]:
    """Return what was wrong with sums of each form, and what each mistake of rank 1 raises."""
    torch = pytest.importorskip("torch")
    comm = hm.init(timeout_s=60)
    rank = comm.rank
    found: dict[str, Any] = {"wrong": []}

    def check(name: str, result: Any, right: Any) -> None:
        if not np.array_equal(result, right):
            found["wrong"].append((name, result, right))

    for name in TYPES:
        dtype = getattr(torch, name)
        x = torch.ones(6, dtype=torch.int64).to(dtype).reshape(2, 3)
        result: Any = comm.all_reduce(x)  # type: ignore[type-var]
        check(name, result.to(torch.complex128), [[1 if name == "bool" else 2] * 3] * 2)
        found["wrong"] += [] if result is x else [f"{name}: another object"]
        into = torch.zeros(RANKS, 2, dtype=torch.int64).to(dtype)
        comm.all_gather(torch.full((2,), rank).to(dtype), out=into)
        check(
            f"{name} gathered", into.to(torch.int64) if name[:7] != "complex" else into.real, [[0, 0], [1, 1]]
        )
    words = array.array("i", [rank, 5])
    comm.all_reduce(words)
    check("array", list(words), [1, 10])
    raw = bytearray([1, 2, 3])
    comm.all_reduce(memoryview(raw))
    check("bytearray", list(raw), [2, 4, 6])
    x = np.arange(6.0).reshape(2, 3)
    comm.all_reduce(hm.RawMemory(x.ctypes.data, "float64", [2, 3]))
    check("address", x, 2 * np.arange(6.0).reshape(2, 3))
    exported = np.ones(4)
    comm.all_reduce(Exported(exported))
    check("DLPack", exported, np.full(4, 2.0))
    if rank == 0:
        comm.send(torch.arange(3), 1)  # type: ignore[arg-type]
    else:
        got = torch.zeros(3, dtype=torch.int64)
        comm.recv(got, 0)  # type: ignore[arg-type]
        check("message", got, [0, 1, 2])

    blocks(comm, torch, check)

    fixed = np.ones(4, np.float32)
    fixed.flags.writeable = False
    good = torch.ones(4)
    bad = {
        "gaps": torch.ones(4, 2)[:, 0],
        "graph": torch.ones(4, requires_grad=True),
        "device": Exported(np.ones(4, np.float32), device=(2, 3)),
        "read-only": Exported(fixed),
        "read-only buffer": memoryview(bytes(4)),
        "none": "four",
    }
    for name, wrong in bad.items():
        found[name] = error_of(lambda wrong=wrong: comm.all_reduce(wrong if rank == 1 else good))
        found[f"block: {name}"] = error_of(
            lambda wrong=wrong: comm.all_gather_blocks(
                good, [wrong if rank == 1 else torch.ones(4), torch.ones(4)]
            )
        )
    found["afterwards"] = float(comm.all_reduce(np.ones(1))[0])
    return found


def test_any_memory_is_taken_and_what_is_wrong_is_told_to_all() -> None:
    zero, one = hm.launch(foreign_arrays, RANKS, timeout_s=120)
    assert zero["wrong"] == one["wrong"] == []
    for name, words in (
        ("gaps", "not contiguous in C order"),
        ("block: gaps", "out is not contiguous"),
        ("block: graph", "array 0 of the list: expected memory that DLPack can show"),
        ("block: device", "memory of the host"),
        ("block: read-only", "out is read-only"),
        ("block: none", "array 0 of the list: expected an array"),
        ("graph", "require gradient"),
        ("device", "memory of the host"),
        ("read-only", "read-only"),
        ("read-only buffer", "read-only"),
        ("none", "expected an array"),
    ):
        assert one[name].startswith("ArgumentError"), (name, one[name])
        assert words in one[name]
        assert zero[name].startswith("MismatchError")
        assert words in zero[name]
    assert zero["afterwards"] == RANKS


def test_an_address_needs_a_dtype_and_a_shape() -> None:
    assert hm.RawMemory(0, "float32", [0, 4]).shape == [0, 4]
    for arguments, words in (
        ((0, "float32", [1]), "address"),
        ((64, "float31", [1]), "float31"),
        ((64, "float32", [-1]), "-1"),
        ((-1, "float32", [1]), "address"),
    ):
        with pytest.raises(hm.ArgumentError, match=words):
            hm.RawMemory(*arguments)  # type: ignore[arg-type]
