# SPDX-License-Identifier: Apache-2.0
"""Records of a job that tests make themselves, as `hemiola.torch.save_records` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ERROR = "LostRankError: all_reduce (operation 2) on rank {rank}: rank 2 has died."


def operation(number: int, called: float, ended: float | None, **more: Any) -> dict[str, Any]:
    """Return one all-reduce; its times are seconds after the job's begin."""
    told = {
        "number": number,
        "operation": "all_reduce",
        "state": "completed",
        "elements": [1, 1],
        "type": "float32",
    }
    times = {
        "called_s": 1000 + called,
        "began_s": 1000 + called,
        "ended_s": None if ended is None else 1000 + ended,
    }
    return {**told, **times, **more}


def write_record(folder: Path, rank: int, operations: list[dict[str, Any]], members: list[int]) -> None:
    folder.mkdir(exist_ok=True)
    group = {"name": "0", "ranks": members, "failures": 0, "operations": operations}
    record = {"version": 1, "rank": rank, "host": "here", "written_s": 1002.0, "groups": [group]}
    (folder / f"hemiola-{rank}.json").write_text(json.dumps(record))


def killed_job(folder: Path) -> Path:
    """Three ranks, of which rank 2 is killed: rank 1 came 300 ms after the median of two calls, and rank 0 noticed the
    death 100 ms after rank 1."""
    for rank, called, noticed in ((0, 0.0, 1.2), (1, 0.6, 1.1)):
        failed = {"state": "failed", "error": ERROR.format(rank=rank)}
        second = operation(2, 1.0, noticed, **failed)
        write_record(folder, rank, [operation(1, called, 0.7), second], [0, 1, 2])
    return folder
