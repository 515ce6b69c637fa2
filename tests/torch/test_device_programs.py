# SPDX-License-Identifier: Apache-2.0
"""Programs of the device executor on a recorded queue: nothing but queueing, groups that match on all ranks, the same
list every time, and results that are right each time it is run."""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported: there may be no GPU

from typing import Any

import numpy as np
import pytest
import torch
from of_pytorch import needs_triton
from recorded_queue import Impure, RecordedQueue, run_all

import hemiola as hm
from hemiola.torch.device_executor import DeviceProgram
from hemiola.torch.device_queue import DeviceMessage

BLOCK = 24


def mesh() -> hm.Topology:
    return hm.topologies.mesh([2, 2], latency_s=1e-6, bandwidth=1e9)


def planned(kind: str, ranks: int, **conditions: Any) -> hm.Schedule:
    topology = hm.topologies.switch(ranks, latency_s=1e-6, bandwidth=1e9)
    return hm.plan(topology, kind, 1 << 20, conditions=hm.Conditions(**conditions)).schedule


def passed_on_and_added() -> hm.Schedule:
    """Return an all-reduce of 3 ranks whose second step sends what a scratch slot has, and adds it to the sum.

    ::

        step 0: own value to the next rank's slot 1
        step 1: slot 1 to the next rank's slot 2, and to the sum
        step 2: slot 2 to the sum
    """
    rows = []  # of step, src, dst, chunk, reduce, src_slot, dst_slot
    for chunk in range(3):
        for rank in range(3):
            following = (rank + 1) % 3
            rows += [(0, rank, following, chunk, 0, 0, 1), (1, rank, following, chunk, 0, 1, 2)]
            rows += [(1, rank, rank, chunk, 1, 1, 0), (2, rank, rank, chunk, 1, 2, 0)]
    return hm.Schedule.from_transfers(hm.Collective.make("all_reduce", 3, 3), rows)


def planned_small() -> hm.Schedule:
    topology = hm.topologies.switch(4, latency_s=1e-5, bandwidth=1e9)
    schedule = hm.plan(topology, "all_reduce", 64).schedule
    assert schedule.scratch_count > 0
    return schedule


SCHEDULES = {
    "one shot": lambda: hm.algorithms.all_gather_direct(4).one_shot_all_reduce(),
    "slots beside messages": passed_on_and_added,
    "planned small": planned_small,
    "ring": lambda: hm.algorithms.all_reduce_ring(4),
    "hierarchical": lambda: hm.algorithms.all_reduce_hierarchical(2, 2),
    "late": lambda: planned("all_reduce", 4, late={3: 2e-3}),
    "slow": lambda: planned("all_reduce", 3, slow={1: 2.0}),
    "synthesized all-gather": lambda: hm.synthesize(mesh(), "all_gather", seed=0),
    "synthesized all-reduce": lambda: hm.synthesize(mesh(), "all_reduce", seed=0),
    "reduce-scatter": lambda: hm.algorithms.reduce_scatter_ring(3),
    "broadcast": lambda: planned("broadcast", 4),
    "reduce": lambda: planned("reduce", 3),
    "all-to-all": lambda: planned("all_to_all", 3),
}
#: By kind, how many blocks a rank brings and gets; None: as many as ranks.
BLOCKS = {"all_gather": (1, None), "reduce_scatter": (None, 1), "all_to_all": (None, None)}


def brought(schedule: hm.Schedule, rank: int, salt: int) -> torch.Tensor:
    blocks = BLOCKS.get(schedule.collective.kind, (1, 1))[0] or schedule.rank_count
    return (torch.arange(blocks * BLOCK) * (rank + 1) + 100 * rank + salt).to(torch.int32)


def expected(schedule: hm.Schedule, rank: int, salt: int) -> torch.Tensor | None:
    """Return what a rank gets; None where what it has then does not count."""
    all = [brought(schedule, each, salt) for each in range(schedule.rank_count)]
    kind = schedule.collective.kind
    own = slice(rank * BLOCK, (rank + 1) * BLOCK)
    if kind == "all_gather":
        return torch.cat(all)
    if kind == "all_to_all":
        return torch.cat([each[own] for each in all])
    if kind == "broadcast":
        return all[0]
    total = torch.stack(all).sum(0).to(torch.int32)
    if kind == "reduce":
        return total if rank == 0 else None
    return total[own] if kind == "reduce_scatter" else total


#: In place is nothing where input and output differ in size.
CASES = [(name, False) for name in SCHEDULES] + [
    (name, True)
    for name in (
        "one shot",
        "slots beside messages",
        "ring",
        "hierarchical",
        "late",
        "synthesized all-reduce",
        "broadcast",
        "all-to-all",
    )
]


@needs_triton
@pytest.mark.parametrize(("name", "in_place"), CASES)
def test_what_is_queued_is_pure_matches_and_can_be_run_again(name: str, in_place: bool) -> None:
    schedule = SCHEDULES[name]()
    ranks = range(schedule.rank_count)
    blocks = BLOCKS.get(schedule.collective.kind, (1, 1))
    queues, inputs, outputs = [], [], []
    for rank in ranks:
        queue = RecordedQueue()
        input = brought(schedule, rank, 0)
        output = input if in_place else torch.zeros((blocks[1] or len(ranks)) * BLOCK, dtype=torch.int32)
        program = DeviceProgram(schedule, rank, BLOCK, torch.int32, in_place=in_place)
        launch = program.on(queue, input, output)
        launch.run()
        once = [described(each) for each in queue.queued]
        launch.run()
        assert [described(each) for each in queue.queued[len(once) :]] == once, (
            "a run depends on the one before"
        )
        del queue.queued[len(once) :]
        queues.append(queue)
        inputs.append(input)
        outputs.append(output)
    for salt in (0, 7):  # the same list on other values, as a graph is replayed
        for rank in ranks:
            inputs[rank].copy_(brought(schedule, rank, salt))
        run_all(queues)
        for rank in ranks:
            right = expected(schedule, rank, salt)
            if right is not None:
                assert torch.equal(outputs[rank], right), f"rank {rank}, salt {salt}"
            if not in_place:
                assert torch.equal(inputs[rank], brought(schedule, rank, salt)), "an input has changed"


def described(queued: Any) -> Any:
    """Return what has been queued, down to its addresses."""
    if isinstance(queued, list):
        return [(each.sending, each.peer, each.memory.data_ptr(), each.memory.numel()) for each in queued]
    what, given = queued
    return what, [each.data_ptr() if isinstance(each, torch.Tensor) else each for each in given]


def test_a_rank_has_one_group_for_each_step_in_which_it_takes_part() -> None:
    schedule = hm.algorithms.all_reduce_ring(4)
    queue = RecordedQueue()
    x = torch.zeros(BLOCK)
    DeviceProgram(schedule, 1, BLOCK, torch.float32, in_place=True).on(queue, x, x).run()
    groups = [each for each in queue.queued if isinstance(each, list)]
    assert [sorted((m.sending, m.peer) for m in group) for group in groups] == [[(False, 0), (True, 2)]] * 6
    assert len(queue.queued) == 6 + 3  # three of what has come are added
    assert sum(m.memory.numel() for group in groups for m in group if m.sending) == 6 * BLOCK


def test_the_recorded_queue_sees_what_may_not_be_done() -> None:
    queue = RecordedQueue()
    queue.begin()
    for deed in (lambda: torch.empty(1), lambda: torch.ones(1).item(), lambda: torch.zeros(2) + 1):
        with pytest.raises(Impure):
            deed()
    queue.end()
    first, second = RecordedQueue(), RecordedQueue()
    room = torch.zeros(4, dtype=torch.uint8)
    for queue, groups in ((first, [(True,), (False,)]), (second, [(True,), (False,)])):
        queue.begin()
        for group in groups:
            queue.exchange([DeviceMessage(sends, 0 if queue is second else 1, room) for sends in group])
        queue.end()
    with pytest.raises(AssertionError, match="in a circle"):
        run_all([first, second])


@pytest.mark.parametrize(
    ("dtype", "op"), [(torch.complex64, "sum"), (torch.float32, "xor"), (torch.int32, "average")], ids=str
)
def test_what_the_kernels_have_not_is_refused(dtype: torch.dtype, op: str) -> None:
    with pytest.raises(hm.ArgumentError, match=f"found {op} of"):
        DeviceProgram(hm.algorithms.all_reduce_ring(2), 0, 8, dtype, op)


def test_tensors_that_do_not_fit_are_refused_before_anything_is_queued() -> None:
    queue = RecordedQueue()
    program = DeviceProgram(hm.algorithms.all_reduce_ring(2), 0, 8, torch.float32)
    good = torch.zeros(8)
    for bad in (torch.zeros(9), torch.zeros(8, dtype=torch.int32), torch.zeros(16)[::2], None):
        with pytest.raises(hm.ArgumentError, match="expected 8 elements of float32"):
            program.on(queue, bad, good)
    in_place = DeviceProgram(hm.algorithms.all_reduce_ring(2), 0, 8, torch.float32, in_place=True)
    with pytest.raises(hm.ArgumentError, match="in place"):
        in_place.on(queue, good, torch.zeros(8))
    assert queue.queued == []


@needs_triton
def test_bfloat16_is_rounded_to_nearest_even_by_the_kernels() -> None:
    rng = np.random.default_rng(0)
    a, b = (
        torch.from_numpy(rng.standard_normal(4099).astype(np.float32)).to(torch.bfloat16) for _ in range(2)
    )
    a[:3] = torch.tensor([float("nan"), float("inf"), -0.0])
    queues, tensors = [RecordedQueue(), RecordedQueue()], [a.clone(), b.clone()]
    for rank, queue in enumerate(queues):
        program = DeviceProgram(
            hm.algorithms.all_reduce_ring(2), rank, a.numel(), a.dtype, "average", in_place=True
        )
        program.on(queue, tensors[rank], tensors[rank]).run()
    run_all(queues)
    right = ((a + b).float() / 2).to(torch.bfloat16)
    for found in tensors:
        torch.testing.assert_close(found, right, rtol=0, atol=0, equal_nan=True)


@needs_triton
@pytest.mark.parametrize("op", ["sum", "product", "min", "max", "average"])
@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        (torch.bfloat16, torch.int16),
        (torch.float16, torch.int16),
        (torch.float32, torch.int32),
        (torch.float64, torch.int64),
    ],
    ids=str,
)
def test_what_is_no_number_has_all_bits_set_as_on_a_host(
    dtype: torch.dtype, bits: torch.dtype, op: str
) -> None:
    queues, tensors = [RecordedQueue(), RecordedQueue()], [torch.ones(16, dtype=dtype) for _ in range(2)]
    tensors[0][3], tensors[1][5] = float("nan"), -torch.tensor(float("nan"))
    for rank, queue in enumerate(queues):
        program = DeviceProgram(hm.algorithms.all_reduce_ring(2), rank, 16, dtype, op, in_place=True)
        program.on(queue, tensors[rank], tensors[rank]).run()
    run_all(queues)
    for found in tensors:
        assert found.isnan().nonzero().flatten().tolist() == [3, 5]
        assert found.view(bits)[[3, 5]].tolist() == [-1, -1]


@needs_triton
@pytest.mark.parametrize("ranks", [2, 3])
def test_averages_are_right_in_every_tile(ranks: int) -> None:
    size = ranks * (2 * 4096 + 5)  # of each chunk two tiles and a part of one
    given = [torch.arange(size, dtype=torch.float32) % 1000 + rank for rank in range(ranks)]
    queues, tensors = [RecordedQueue() for _ in given], [one.clone() for one in given]
    for rank, queue in enumerate(queues):
        program = DeviceProgram(
            hm.algorithms.all_reduce_ring(ranks), rank, size, torch.float32, "average", in_place=True
        )
        program.on(queue, tensors[rank], tensors[rank]).run()
    run_all(queues)
    right = sum(given) / ranks
    for found in tensors:
        torch.testing.assert_close(found, right, rtol=1e-6, atol=0)
