# SPDX-License-Identifier: Apache-2.0
"""MSCCL++ plans of Hemiola's schedules do what their collective promises, in any order of thread blocks."""

from __future__ import annotations

import json

import exported
import hypothesis.strategies as st
import numpy as np
import plan_numbers
import pytest
from hypothesis import given, settings

import hemiola as hm
from hemiola.export.mscclpp import mscclpp_plan
from hemiola.export.mscclpp_clocks import races
from hemiola.export.mscclpp_document import MOST_CHANNELS, MOST_OPERATIONS


def assert_right(name: str, schedule: hm.Schedule, interleavings: int, **options: object) -> None:
    plan = exported.plan_of(schedule, **options)
    assert races(plan) == [], name
    assert plan_numbers.faults(plan, interleavings) == [], name


@pytest.mark.parametrize("rank_count", [1, 2, 3, 4, 6, 8])
def test_every_published_algorithm_is_right(rank_count: int) -> None:
    for name, schedule in exported.published((rank_count,)):
        assert_right(name, schedule, 3)


@pytest.mark.parametrize("options", [{"lanes": 1}, {"in_place": False}], ids=["one lane", "out of place"])
def test_one_lane_and_two_buffers_are_right(options: dict[str, object]) -> None:
    for name, schedule in exported.published((5,)):
        assert_right(name, schedule, 3, **options)


def test_synthesized_schedules_are_right() -> None:
    for name, schedule in exported.synthesized(6):
        assert_right(name, schedule, 3)


@pytest.mark.long
@pytest.mark.parametrize("rank_count", [*range(2, 10), 12, 16])
def test_every_published_algorithm_is_right_in_twenty_interleavings(rank_count: int) -> None:
    for name, schedule in exported.published((rank_count,)):
        assert_right(name, schedule, 20)


@pytest.mark.long
def test_fifty_synthesized_schedules_are_right_in_twenty_interleavings() -> None:
    for name, schedule in exported.synthesized(50):
        assert_right(name, schedule, 20)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_order_of_chunks_sizes_and_owners_is_right(data: st.DataObject) -> None:
    """Given a ring whose ranks and chunks have other numbers, and chunks of two sizes; expect a right plan."""
    ranks = data.draw(st.permutations(range(5)))
    chunks = data.draw(st.permutations(range(5)))
    kind = data.draw(st.sampled_from(["all_reduce_ring", "all_gather_ring", "reduce_scatter_ring"]))
    ring = hm.algorithms.get(kind).generate(5).relabel(ranks=ranks, chunks=chunks)
    if kind == "all_reduce_ring":
        weights = data.draw(st.lists(st.integers(0, 3), min_size=5, max_size=5).filter(any))
        ring = hm.Schedule.from_transfers(ring.collective, ring.transfers, weights)
    assert_right(kind, ring, 2, lanes=data.draw(st.integers(1, 5)))


def test_scratch_slots_and_local_copies_are_right() -> None:
    """Two ranks exchange by way of a second slot: 0.1 <- 1, then each adds what waits there."""
    rows = [(0, 0, 1, 0, False, 0, 1), (0, 1, 0, 0, False, 0, 1)]
    rows += [(1, 0, 0, 0, True, 1, 0), (1, 1, 1, 0, True, 1, 0)]
    schedule = hm.Schedule.from_transfers(hm.Collective.make("all_reduce", 2, 2), [
        *rows, *((step, src, dst, 1, *rest) for step, src, dst, _, *rest in rows)
    ])  # fmt: skip
    assert hm.verify(schedule) == []
    assert_right("by a second slot", schedule, 20)


def test_thread_blocks_stay_within_the_executors_room() -> None:
    document = json.loads(mscclpp_plan(hm.algorithms.all_reduce_direct(24), lanes=1))
    blocks = [block for gpu in document["gpus"] for block in gpu["threadblocks"]]
    assert max(len(block["ops"]) for block in blocks) <= MOST_OPERATIONS
    assert max(len(ids["channel_ids"]) for block in blocks for ids in block["channels"]) <= MOST_CHANNELS
    assert len(blocks) > 24
    assert races(exported.plan_of(hm.algorithms.all_reduce_direct(24), lanes=1)) == []


def test_a_rings_copies_go_directly_and_only_its_sums_take_scratch() -> None:
    """In a ring's all-gather, every slot is free when its copy comes: what comes has been through all ranks."""
    document = json.loads(mscclpp_plan(hm.algorithms.all_reduce_ring(8), lanes=1))
    assert all(gpu["scratch_chunks"] <= 7 for gpu in document["gpus"])
    names = [op["name"] for gpu in document["gpus"] for block in gpu["threadblocks"] for op in block["ops"]]
    assert names.count("re") == 8 * 7
    assert names.count("copy") == 0
    assert names.count("put") == 8 * 14


def test_results_do_not_depend_on_the_interleaving_to_the_last_bit() -> None:
    plan = exported.plan_of(hm.algorithms.all_reduce_direct(6))
    inputs = [np.random.default_rng(rank).random((6, 1)) for rank in range(6)]
    first = plan_numbers.emulate(plan, inputs, 0)
    for seed in range(1, 8):
        for one, other in zip(first, plan_numbers.emulate(plan, inputs, seed), strict=True):
            assert np.array_equal(one, other)


def wrong_schedule() -> hm.Schedule:
    ring = hm.algorithms.all_reduce_ring(3)
    return hm.Schedule.from_transfers(ring.collective, ring.transfers[:-1])


def unequal_shares() -> hm.Schedule:
    ring = hm.algorithms.all_gather_ring(3)
    return hm.Schedule.from_transfers(ring.collective, ring.transfers, [1, 1, 2])


def finely_divided() -> hm.Schedule:
    ring = hm.algorithms.all_reduce_ring(3)
    return hm.Schedule.from_transfers(ring.collective, ring.transfers, [1, 1 << 30, 5])


@pytest.mark.parametrize(
    ("schedule", "options", "words"),
    [
        (hm.algorithms.broadcast_chain(4), {}, "found broadcast"),
        (hm.algorithms.reduce_binomial(4), {}, "found reduce"),
        (hm.algorithms.gather_direct(4), {}, "found gather"),
        (unequal_shares(), {}, "found 1 parts of 4 for rank 0 and 2 for rank 2"),
        (finely_divided(), {}, "fewer different chunk_weights"),
        (wrong_schedule(), {}, "missing_contribution at step 4, rank 0, chunk 1"),
        (hm.algorithms.all_reduce_ring(4), {"lanes": 0}, "lanes of 1 … 4"),
        (hm.algorithms.all_reduce_ring(4), {"lanes": 5}, "lanes of 1 … 4"),
        (hm.algorithms.all_reduce_ring(4), {"op": "max"}, "expected the operation sum, found 'max'"),
        (hm.algorithms.all_to_all_direct(4), {"in_place": True}, "all_to_all"),
    ],
)
def test_what_a_plan_cannot_say_is_refused_with_its_place(
    schedule: hm.Schedule, options: dict[str, object], words: str
) -> None:
    with pytest.raises(hm.ArgumentError) as caught:
        mscclpp_plan(schedule, **options)  # type: ignore[arg-type]
    assert words in str(caught.value)
