# SPDX-License-Identifier: Apache-2.0
"""Exported programs of grouped sends and receives compile, and are right on processes: NCCL and CUDA are stand-ins.

The stand-ins (nccl_stub) move messages by files, so the program is whole and unchanged: its groups, its order of calls
to one peer, its landing places and its own check of every element.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from exported import published

import hemiola as hm
from hemiola.export.nccl_program import nccl_program, steps_of

STUB = Path(__file__).parent / "nccl_stub"
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")


def run_program(source: str, rank_count: int, folder: Path) -> list[str]:
    """Compile a program, and return the last line of each of its processes."""
    assert COMPILER is not None, "tests of the core need a compiler, too"
    (folder / "program.cpp").write_text(source)
    command = [
        COMPILER,
        "-std=c++17",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{STUB}",
        "program.cpp",
        "-pthread",
    ]
    subprocess.run([*command, "-o", "program"], cwd=folder, check=True, timeout=120)
    (folder / "exchange").mkdir()
    processes = []
    for rank in range(rank_count):
        known = {"RANK": str(rank), "WORLD_SIZE": str(rank_count), "EXCHANGE": str(folder / "exchange")}
        processes.append(
            subprocess.Popen(
                ["./program", "id", "3", "2"],
                cwd=folder,
                env=os.environ | known,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    return [process.communicate(timeout=60)[0].splitlines()[-1] for process in processes]


def exchange() -> hm.Schedule:
    """Two ranks swap chunks by way of each other's slots, and one of them has a second slot."""
    before, after = [(0, 0), (1, 1)], [(0, 1), (1, 0), (0, 0), (1, 1)]
    collective = hm.Collective.custom(2, 2, before, after)
    return hm.Schedule.from_transfers(collective, [(0, 0, 1, 0), (0, 1, 0, 1)])


@pytest.mark.parametrize(
    ("schedule", "op"),
    [
        (hm.algorithms.all_reduce_recursive_doubling(4), "max"),
        (hm.algorithms.all_to_all_bruck(3), "sum"),
        (hm.algorithms.reduce_double_binary_tree(4), "prod"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.collective.kind,
)
def test_a_program_is_right_on_processes(schedule: hm.Schedule, op: str, tmp_path: Path) -> None:
    source = nccl_program(schedule, op=op, name="x.sched")  # type: ignore[arg-type]
    assert "// x.sched: " in source
    lines = run_program(source, schedule.rank_count, tmp_path)
    assert [line.partition(",")[0] for line in lines] == [
        f"rank {rank}: 0 wrong elements" for rank in range(schedule.rank_count)
    ]


def test_a_program_of_a_schedule_that_lacks_a_transfer_says_that_it_is_wrong(tmp_path: Path) -> None:
    source = nccl_program(hm.algorithms.all_reduce_ring(2))
    assert source.count("{1, 0, 1, 1, 1, 1, 0}") == 1
    lines = run_program(source.replace("{1, 0, 1, 1, 1, 1, 0}", "{1, 0, 0, 1, 1, 1, 0}"), 2, tmp_path)
    assert not lines[0].startswith("rank 0: 0 wrong elements")
    assert lines[1].startswith("rank 1: 0 wrong elements")


def interpreted(schedule: hm.Schedule) -> list[np.ndarray]:
    """Do what a program does, on one array of whole numbers per rank: rank r's element i is 100 r + i."""
    steps = steps_of(schedule)
    memory = [np.full(steps.memory_units, -1) for _ in range(schedule.rank_count)]
    for rank, units in enumerate(memory):
        units[: steps.unit_count] = 100 * rank + np.arange(steps.unit_count)
    for step in steps.rows:
        sent = [memory[row.src][row.source : row.source + row.units].copy() for row in step]
        for row, units in zip(step, sent, strict=True):
            memory[row.dst][row.landing : row.landing + row.units] = units
        for row in step:
            landed = memory[row.dst][row.landing : row.landing + row.units].copy()
            target = memory[row.dst][row.target : row.target + row.units]
            target[:] = target + landed if row.reduces else landed
    return [units[: steps.unit_count] for units in memory]


def test_the_steps_of_every_algorithm_give_the_collectives_result() -> None:
    kinds = ("all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter")
    for name, schedule in published((2, 3, 5, 8), kinds):
        kind, owner = schedule.collective.kind, np.asarray(schedule.collective.owner)
        start = np.arange(schedule.chunk_count)
        added = sum(100 * rank + start for rank in range(schedule.rank_count))
        wanted = added if "reduce" in kind else 100 * owner + start
        for rank, units in enumerate(interpreted(schedule)):
            has = owner == rank if kind in ("reduce", "reduce_scatter") else slice(None)
            assert np.array_equal(units[has], wanted[has]), name


def test_a_copy_lands_in_its_slot_unless_that_is_sent_in_the_same_step() -> None:
    chain = hm.Schedule.from_transfers(hm.Collective.make("broadcast", 3, 1), [(0, 0, 1, 0), (1, 1, 2, 0)])
    assert [row.landing == row.target for step in steps_of(chain).rows for row in step] == [True, True]
    swap = hm.Collective.custom(2, 1, [(0, 0), (1, 0)], [(0, 0), (1, 0)])
    (step,) = steps_of(hm.Schedule.from_transfers(swap, [(0, 0, 1, 0), (0, 1, 0, 0)])).rows
    assert [row.landing == row.target for row in step] == [False, False]


@pytest.mark.parametrize(
    ("schedule", "op", "words"),
    [
        (exchange(), "sum", "found custom"),
        (hm.algorithms.all_reduce_ring(3), "avg", "expected the operation sum, prod, min, max, found 'avg'"),
        (
            hm.Schedule.from_transfers(hm.Collective.make("broadcast", 3, 1), [(0, 0, 1, 0)]),
            "sum",
            "missing_chunk at step",
        ),
    ],
)
def test_what_a_program_cannot_do_is_refused(schedule: hm.Schedule, op: str, words: str) -> None:
    with pytest.raises(hm.ArgumentError) as caught:
        nccl_program(schedule, op=op)  # type: ignore[arg-type]
    assert words in str(caught.value)
