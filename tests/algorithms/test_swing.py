# SPDX-License-Identifier: Apache-2.0
"""Swing: right on tori whose sides are powers of two, nearer peers than recursive doubling, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import hemiola as hm
from hemiola.algorithms import all_reduce_swing
from hemiola.errors import ArgumentError

LINK = {"latency_s": 1e-6, "bandwidth": 1e9}


@pytest.mark.parametrize("dims", [(1,), (2,), (16,), (4, 4), (8, 2), (1, 4), (2, 4, 8)], ids=str)
def test_every_rank_gets_every_sum_once(dims: tuple[int, ...]) -> None:
    for parts in range(1, 2 * len(dims) + 1):
        schedule = all_reduce_swing(dims, parts=parts)
        assert hm.verify(schedule) == [], parts
        assert schedule.chunk_count == parts
        assert schedule.step_count == sum(side.bit_length() - 1 for side in dims)


def test_peers_on_a_ring_are_one_one_and_three_away() -> None:
    transfers = np.asarray(all_reduce_swing((8,)).transfers)
    for step, distance in enumerate((1, 1, 3)):
        ahead = (transfers["dst"] - transfers["src"])[transfers["step"] == step] % 8
        assert set(np.minimum(ahead, 8 - ahead).tolist()) == {distance}


def test_it_takes_two_thirds_of_the_hops_of_recursive_doubling() -> None:
    """Given a ring of 16, 1 us. Derivation: 1 + 1 + 3 + 5 hops, and 1 + 2 + 4 + 8. Expect 10 us and 15 us."""
    network = hm.topologies.ring(16, **LINK)
    doubling = hm.algorithms.all_reduce_recursive_doubling(16)
    assert hm.simulate(all_reduce_swing((16,)), network, 1).seconds == pytest.approx(10e-6, rel=0.01)
    assert hm.simulate(doubling, network, 1).seconds == pytest.approx(15e-6, rel=0.01)


@pytest.mark.parametrize(
    ("dims", "parts", "found"),
    [
        ((3,), 1, "powers of two, found 3"),
        ((4, 6), 1, "powers of two, found 6"),
        ((4, 4), 5, "1 … 4 parts"),
        ((4,), 0, "1 … 2 parts"),
        ((), 1, "expected 1 … 16 dimensions"),
    ],
)
def test_what_makes_no_such_torus_is_refused(dims: tuple[int, ...], parts: int, found: str) -> None:
    with pytest.raises(ArgumentError, match=found):
        all_reduce_swing(dims, parts=parts)


def test_the_planner_takes_it_where_it_is_the_fastest() -> None:
    network = hm.topologies.torus([4, 4, 4], latency_s=0.5e-6, bandwidth=50e9)
    plan = hm.plan(network, "all_reduce", 32 << 10)
    assert plan.name == "all_reduce_swing"
    assert plan.seconds <= 3.67e-6  # by dimensions 3.98, synthesized 6.04
