# SPDX-License-Identifier: Apache-2.0
"""Made-up traces of any length, for the readers of `hemiola.whatif`: steps of kernels, and a sum after each hundred."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: Of a step: kernels, and kernels between two sums.
_KERNELS, _BETWEEN = 4000, 100
_KERNEL_US, _LAUNCH_US, _SUM_US = 40.0, 6.0, 900.0
_ELEMENTS = 6_553_600
#: Nodes of a Chakra trace, of which no reader takes more.
_NODES = 200_000


def write_pytorch(path: Path, nbytes: int) -> None:
    """Write a trace of PyTorch's profiler on a GPU: operators on the host, kernels, sums with their sizes."""
    head = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}}
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
        written, at_us, number, before = 0, 0.0, 0, ""
        while written < nbytes:
            for event in _step(number, at_us):
                written += file.write(f"{before}{json.dumps(event)}")
                before = ",\n"
            at_us, number = at_us + _KERNELS * _KERNEL_US + 1000, number + 1
        file.write("\n]}\n")


def _step(number: int, at_us: float) -> Iterator[dict[str, Any]]:
    mark = {"name": f"ProfilerStep#{number}", "cat": "user_annotation", "args": {}}
    yield _event(mark, at_us, _KERNELS * _KERNEL_US, 1)
    for place in range(_KERNELS):
        begin_us, of = at_us + place * _KERNEL_US, number * _KERNELS + place
        shapes = {"External id": of, "Input Dims": [[4096, 4096], [4096, 1024]], "Sequence number": of}
        yield _event({"name": "aten::mm", "cat": "cpu_op", "args": shapes}, begin_us, _LAUNCH_US, 1)
        grid = {"External id": of, "stream": 7, "correlation": of, "grid": [32, 8, 1], "block": [256, 1, 1]}
        name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_nn"
        yield _event({"name": name, "cat": "kernel", "args": grid}, begin_us, _KERNEL_US - 1, 7)
        if place % _BETWEEN == _BETWEEN - 1:
            sent = {
                "Collective name": "allreduce", "In msg nelems": _ELEMENTS, "Out msg nelems": _ELEMENTS,
                "dtype": "BFloat16", "Process Group Ranks": str([*range(8)]), "stream": 22,
            }  # fmt: skip
            name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
            yield _event({"name": name, "cat": "kernel", "args": sent}, begin_us, _SUM_US, 22)


def _event(told: dict[str, Any], begin_us: float, length_us: float, thread: int) -> dict[str, Any]:
    return {"ph": "X", "pid": 4711, "tid": thread, "ts": round(begin_us, 3), "dur": length_us, **told}


def write_chakra(path: Path, nbytes: int) -> None:
    """Write a Chakra trace of one rank: a chain of computations with long attributes, and sums beside it."""
    long = _text(10, _text(1, "inputs") + _text(5, "x" * max(1, nbytes // _NODES - 100)))
    with path.open("wb") as file:
        _message(file.write, _text(1, "0.0.4"))
        for place in range(_NODES):
            is_sum = place % _BETWEEN == _BETWEEN - 1
            told = _attribute("comm_type", 0) + _attribute("comm_size", 2 * _ELEMENTS) if is_sum else long
            needs = _text(5, _varint(place - 1)) if place else b""
            node = _number(1, place) + _text(2, "aten::mm") + _number(3, 7 if is_sum else 4) + needs
            _message(file.write, node + _number(7, int(_KERNEL_US)) + told)


def _message(write: Callable[[bytes], int], data: bytes) -> None:
    write(_varint(len(data)) + data)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _attribute(name: str, value: int) -> bytes:
    return _text(10, _text(1, name) + _number(9, value))


#: By the name of the form.
WRITERS: dict[str, Callable[[Path, int], None]] = {"PyTorch": write_pytorch, "Chakra": write_chakra}
