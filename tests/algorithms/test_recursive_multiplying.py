# SPDX-License-Identifier: Apache-2.0
"""Recursive multiplying on grids: right for all dimensions, as many transfers as counted, and its costs by hand."""

from __future__ import annotations

from itertools import product

import pytest

import hemiola as hm
from hemiola.algorithms import all_reduce_recursive_multiplying as multiplying
from hemiola.errors import ArgumentError

count = hm._core.algorithms.all_reduce_recursive_multiplying_transfers
WIRES = ("line", "ring", "fully_connected", "switch")
LINK = {"latency_s": 1e-6, "bandwidth": 1e9}


@pytest.mark.parametrize("dims", [(1,), (2,), (5,), (2, 2), (4, 3), (1, 3), (2, 3, 2)], ids=str)
def test_every_rank_gets_every_sum_once(dims: tuple[int, ...]) -> None:
    for wires in product(WIRES, repeat=len(dims)):
        for scattered, parts in product(range(len(dims) + 1), range(1, len(dims) + 1)):
            schedule = multiplying(dims, wires, scattered=scattered, parts=parts)
            assert hm.verify(schedule) == [], (wires, scattered, parts)
            assert schedule.transfer_count == count(dims, wires, scattered=scattered, parts=parts)


def test_parts_of_unequal_blocks_are_equal_parts_of_the_buffer() -> None:
    schedule = multiplying((2, 3), ("switch", "switch"), scattered=1, parts=2)
    assert list(schedule.chunk_weights) == [3, 3, 2, 2, 2]


@pytest.mark.parametrize("ranks", [3, 8])
def test_one_dimension_behind_a_switch_takes_one_step(ranks: int) -> None:
    """Given 1 us, 1 GB/s, 1,000 B. Derivation: a latency, and n - 1 buffers of 1 us. Expect n us."""
    network = hm.topologies.switch(ranks, **LINK)
    found = hm.simulate(multiplying((ranks,), ("switch",)), network, 1000).seconds
    assert found == pytest.approx(ranks * 1e-6, rel=1e-6)


def test_factors_of_a_switch_take_a_latency_each_and_fewer_bytes() -> None:
    """Given 6 ranks as 2 x 3. Derivation: 1 us + 1 buffer, 1 us + 2 buffers of 1 us. Expect 5 us; else 6."""
    network = hm.topologies.switch(6, **LINK)
    seconds = [
        hm.simulate(multiplying(dims, ("switch",) * len(dims)), network, 1000).seconds
        for dims in ((2, 3), (6,))
    ]
    assert seconds == pytest.approx([5e-6, 6e-6], rel=1e-6)


@pytest.mark.parametrize("sides", [(4, 4), (9, 9), (3, 5)], ids=str)
def test_few_bytes_go_through_a_torus_in_one_diameter(sides: tuple[int, ...]) -> None:
    network = hm.topologies.torus(list(sides), **LINK)
    schedule = multiplying(sides, ("ring", "ring"), parts=2)
    diameter_s = sum(side // 2 for side in sides) * 1e-6
    assert hm.simulate(schedule, network, 8).seconds == pytest.approx(diameter_s, rel=0.02)


def test_both_ways_round_a_ring_of_four_are_as_busy() -> None:
    """Given 4 ranks, 1,000 B, 1 GB/s, no latency. Derivation: 3 buffers in two directions. Expect 1.5 us."""
    network = hm.topologies.ring(4, latency_s=0.0, bandwidth=1e9)
    assert hm.simulate(multiplying((4,), ("ring",)), network, 1000).seconds == pytest.approx(1.5e-6)


@pytest.mark.parametrize(
    ("arguments", "options", "found"),
    [
        (((2, 2), ("ring",)), {}, "one kind of wires for each of the 2 dimensions, found 1"),
        (((2, 2), ("ring", "ring")), {"scattered": 3}, "expected 0 … 2 scattered dimensions, found 3"),
        (((2, 2), ("ring", "ring")), {"parts": 0}, "expected 1 … 2 parts"),
        (((2, 2), ("ring", "ring")), {"parts": 3}, "expected 1 … 2 parts"),
        (((0,), ("ring",)), {}, "found size 0"),
        (((4096,), ("switch",)), {}, "slots of all ranks"),
    ],
)
def test_what_makes_no_grid_is_refused(
    arguments: tuple[tuple[int, ...], tuple[str, ...]], options: dict[str, int], found: str
) -> None:
    with pytest.raises(ArgumentError, match=found):
        multiplying(*arguments, **options)
