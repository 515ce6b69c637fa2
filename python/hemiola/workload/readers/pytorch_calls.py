# SPDX-License-Identifier: Apache-2.0
"""PyTorch's collectives in traces: their kinds, sizes and groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: By the name of the operator without its namespace and underscores; the larger of input and output counts.
_KINDS = {
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "allgather": "all_gather",
    "allgather_base": "all_gather",
    "allgather_coalesced": "all_gather",
    "allgather_into_tensor_coalesced": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all",
    "all_to_all": "all_to_all",
    "all_to_allv": "all_to_all",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
}
#: Bytes of an element, by PyTorch's and NCCL's names of types.
_SIZES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "c10::half": 2, "c10::bfloat16": 2, "int": 4, "long": 8,
    "char": 1, "byte": 1, "bool": 1, "short": 2, "long int": 8, "unsigned char": 1, "signed char": 1, "short int": 2,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Sent:
    """A collective as a trace has it: its kind, the bytes of one rank's buffer, and its group's ranks; () for all.

    Lists of tensors are recorded without their type: their size is in elements."""

    kind: str
    nbytes: int
    ranks: tuple[int, ...] = ()
    is_in_elements: bool = False


def kind_of(name: str) -> str | None:
    """Return the collective of an operator such as 'c10d::allreduce_'; None where it is none."""
    if name.startswith("c10d::"):
        return _KINDS.get(name.removeprefix("c10d::").strip("_"))
    return None


def sent_by_node(node: Mapping[str, Any]) -> Sent | None:
    """Return the collective of a node of an execution trace; None where it is none."""
    kind = kind_of(str(node.get("name", "")))
    if kind is None:
        return None
    sizes = []
    for side in ("inputs", "outputs"):
        part = node.get(side) or {}
        for shape, of_type in zip(part.get("shapes", ()), part.get("types", ()), strict=False):
            sizes.append(_bytes_of(shape, str(of_type)))
    return Sent(kind, max(sizes, default=0))


def sent_by_shapes(kind: str, told: Mapping[str, Any]) -> Sent | None:
    """Return the collective of an operator whose shapes the profiler has recorded; None where it has not."""
    sizes = [0]
    elements = [0]
    for shape, of_type in zip(told.get("Input Dims", ()), told.get("Input type", ()), strict=False):
        if of_type == "TensorList":
            elements.append(sum(_elements(one) for one in shape if isinstance(one, Sequence)))
        elif isinstance(of_type, str) and of_type.lower() in _SIZES:
            sizes.append(_elements(shape) * _SIZES[of_type.lower()])
    if max(elements) > 0:
        return Sent(kind, max(elements), is_in_elements=True)
    return Sent(kind, max(sizes)) if max(sizes) > 0 else None


def element_bytes_of(told: Mapping[str, Any]) -> int:
    """Return the bytes of an element of the first tensor of an event; 4 where its type is not told."""
    types = [str(one).lower() for one in told.get("Input type", ())]
    return next((_SIZES[one] for one in types if one in _SIZES), 4)


def sent_by_kernel(told: Mapping[str, Any]) -> Sent | None:
    """Return the collective that a kernel's or a call's arguments tell of; None where they tell of none."""
    kind = _KINDS.get(str(told.get("Collective name", "")).lower().strip("_"))
    if kind is None:
        return None
    elements = max(_number(told.get("In msg nelems")), _number(told.get("Out msg nelems")))
    size = _SIZES.get(str(told.get("dtype", "")).lower(), 4)
    text = str(told.get("Process Group Ranks", ""))
    ranks = tuple(int(one) for one in text.strip("[] ").split(",") if one.strip().isdigit())
    return Sent(kind, elements * size, () if "..." in text else ranks)


def _number(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _bytes_of(shape: object, of_type: str) -> int:
    """Return the bytes of a tensor, or of a list of them."""
    if "[" in of_type:
        inner = of_type.partition("[")[2].rstrip("]")
        shapes = shape if isinstance(shape, Sequence) else ()
        types = inner.split(",")
        return sum(
            _bytes_of(one, types[min(place, len(types) - 1)].strip()) for place, one in enumerate(shapes)
        )
    if not of_type.startswith("Tensor(") or not isinstance(shape, Sequence):
        return 0
    return _elements(shape) * _SIZES.get(of_type.removeprefix("Tensor(").rstrip(")").lower(), 4)


def _elements(shape: Sequence[object]) -> int:
    elements = 1
    for length in shape:
        elements *= length if isinstance(length, int) else 1
    return elements
