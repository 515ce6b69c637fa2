# SPDX-License-Identifier: Apache-2.0
"""The groups of an exported NCCL program, as gloo's point-to-point between processes: step by step, rank by rank."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist

import hemiola as hm
from hemiola.export.nccl_program import Steps, steps_of

UNIT = 5  # elements


def before(rank: int, unit_count: int) -> torch.Tensor:
    return 1000.0 * rank + torch.arange(unit_count * UNIT, dtype=torch.float32)


def run_steps(steps: Steps, memory: torch.Tensor, rank: int) -> None:
    """Do what the program's `run` does: a group of sends and receives, and then what remains at this rank."""

    def units(first: int, count: int) -> torch.Tensor:
        return memory[first * UNIT : (first + count) * UNIT]

    for step in steps.rows:
        calls = [
            dist.P2POp(dist.isend, units(row.source, row.units), row.dst)
            if row.src == rank
            else dist.P2POp(dist.irecv, units(row.landing, row.units), row.src)
            for row in step
            if rank in (row.src, row.dst)
        ]
        for work in dist.batch_isend_irecv(calls) if calls else []:
            work.wait()
        for row in step:
            if row.dst == rank and row.landing != row.target:
                landed, target = units(row.landing, row.units), units(row.target, row.units)
                target.copy_(target + landed if row.reduces else landed)


def job(schedule: hm.Schedule, meeting: str) -> list[float]:
    """Run the schedule on this rank's buffer; return the buffer."""
    comm = hm.init()
    dist.init_process_group("gloo", init_method=meeting, rank=comm.rank, world_size=comm.rank_count)
    try:
        steps = steps_of(schedule)
        memory = torch.full((steps.memory_units * UNIT,), -1.0)
        memory[: steps.unit_count * UNIT] = before(comm.rank, steps.unit_count)
        run_steps(steps, memory, comm.rank)
        dist.barrier()
        return memory[: steps.unit_count * UNIT].tolist()
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize(
    "schedule",
    [
        hm.algorithms.all_reduce_recursive_doubling(2),
        hm.algorithms.all_reduce_double_binary_tree(3),
    ],
    ids=["recursive doubling", "double tree"],
)
def test_an_all_reduce_by_groups_of_gloo_adds_every_rank_once(schedule: hm.Schedule, tmp_path: Path) -> None:
    count = schedule.rank_count
    results = hm.launch(job, count, schedule, f"file://{tmp_path}/meeting", timeout_s=120)
    wanted = sum(before(rank, steps_of(schedule).unit_count) for rank in range(count))
    assert results == [wanted.tolist()] * count
