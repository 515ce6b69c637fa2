# SPDX-License-Identifier: Apache-2.0
"""Compiles the device executor's kernels, and those of coded messages, for GPUs that need not be there. Prints how many
it has compiled."""

from __future__ import annotations

from itertools import product

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from hemiola.torch import codec_kernels, device_kernels

TARGETS = (GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64))
#: By kind, what its tensors are to Triton.
POINTERS = {"float32": "*fp32", "bfloat16": "*i16", "float16": "*fp16", "float64": "*fp64", "int64": "*i64"}
FLOATS = ("float32", "bfloat16", "float16", "float64")


def compiled(kernel: object, signature: dict[str, str], fixed: dict[str, object], target: GPUTarget) -> None:
    names = kernel.arg_names  # type: ignore[attr-defined]
    kinds = signature | {name: "constexpr" for name in fixed}
    places = {(names.index(name),): value for name, value in fixed.items()}
    triton.compile(ASTSource(kernel, {name: kinds[name] for name in names}, places), target=target)


def main() -> None:
    count = 0
    for target, kind in product(TARGETS, POINTERS):
        pointer, fixed = POINTERS[kind], {"kind": kind, "TILE": device_kernels.TILE}
        arrays = {"to": pointer, "left": pointer, "right": pointer, "size": "i64"}
        for op in ("sum", "min") if kind in FLOATS else ("product", "xor"):
            compiled(device_kernels.combine, arrays, fixed | {"op": op}, target)
            count += 1
        if kind in FLOATS:
            scaled = {"to": pointer, "divisor": "fp32", "size": "i64"}
            largest = {"LARGEST": torch.finfo(getattr(torch, kind)).max}
            compiled(device_kernels.scale, scaled, fixed | largest, target)
            count += 1
    print(count + coding())


def coding() -> int:
    """Compile the kernels of coded messages; return how many there were."""
    places = {"words": "*i64", "counts": "*i32", "starts": "*i32", "size": "i64", "capacity": "i64"}
    units = {"begins": "*i64", "ends": "*i64", "counts": "*i32"}
    side, tile = {"SIDE": 64}, {"TILE": device_kernels.TILE}
    count = 0
    for target in TARGETS:
        compiled(codec_kernels.number, {"counts": "*i32", "starts": "*i32", "tiles": "i32"}, tile, target)
        count += 1
        for pointer in ("*i16", "*i32"):
            arrays = places | units | {"x": pointer, "values": pointer, "out": pointer}
            for kernel, fixed in (
                (codec_kernels.scan, side),
                (codec_kernels.compress, tile),
                (codec_kernels.expand, tile | {"adds": False}),
                (codec_kernels.count_between, tile),
            ):
                names = [name for name in kernel.arg_names if name not in fixed]
                compiled(kernel, {name: arrays[name] for name in names}, fixed, target)
                count += 1
    return count


if __name__ == "__main__":
    main()
