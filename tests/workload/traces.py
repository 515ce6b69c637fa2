# SPDX-License-Identifier: Apache-2.0
"""Hand-made traces in PyTorch's forms, of any length: one all-reduce beside computation, and the wait for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PID, MS = 4711, 1000.0
#: In elements of 4 bytes.
ELEMENTS = 250_000


def operator(
    name: str, begin_ms: float, end_ms: float, number: int, category: str = "cpu_op"
) -> dict[str, Any]:
    return {
        "ph": "X", "cat": category, "name": name, "pid": PID, "tid": 1 if category == "cpu_op" else 2,
        "ts": begin_ms * MS, "dur": (end_ms - begin_ms) * MS, "args": {"Record function id": number},
    }  # fmt: skip


def events() -> list[dict[str, Any]]:
    """Return 10 ms of work, an all-reduce of 6 ms beside 4 ms of work, a wait of 2 ms, and 1 ms of work."""
    return [
        operator("aten::mm", 0, 10, 1),
        operator("c10d::allreduce_", 10, 10.1, 2),
        operator("aten::mm", 10.1, 14, 3),
        operator("gloo:all_reduce", 10, 16, 2, "user_annotation"),
        operator("aten::add_", 16.1, 17, 4),
    ]


def node(name: str, number: int, elements: int = ELEMENTS) -> dict[str, Any]:
    nothing: dict[str, Any] = {"values": [], "shapes": [], "types": []}
    given = {"values": [[]], "shapes": [[[elements]]], "types": ["GenericList[Tensor(float)]"]}
    return {
        "id": number + 10, "name": name, "ctrl_deps": 1, "inputs": given, "outputs": nothing,
        "attrs": [{"name": "rf_id", "type": "uint64", "value": number}],
    }  # fmt: skip


def profile(told: list[dict[str, Any]], ranks: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "schemaVersion": 1,
        "distributedInfo": {"backend": "gloo", "rank": 0, "world_size": ranks},
        "traceEvents": told,
        **more,
    }


def execution(nodes: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"schema": "1.1.1-chakra.0.0.4", "pid": PID, "nodes": nodes, **more}


def written(folder: Path, of_profile: dict[str, Any], of_execution: dict[str, Any] | None = None) -> Path:
    """Write a pair into a folder, and return the profiler's file."""
    (folder / "kineto.json").write_text(json.dumps(of_profile, indent=1))
    if of_execution is not None:
        (folder / "et.json").write_text(json.dumps(of_execution, indent=1))
    return folder / "kineto.json"
