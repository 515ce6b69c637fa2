# SPDX-License-Identifier: Apache-2.0
"""What it costs that several ranks send to one at once, derived by hand, and that plans avoid it."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.planner.crowding import crowding_s

NBYTES, BANDWIDTH, CROWDING = 1 << 20, 1e9, 0.02


def test_a_ring_is_never_crowded() -> None:
    ring = hm.algorithms.all_reduce_ring(8)
    assert crowding_s(ring, NBYTES, BANDWIDTH, CROWDING) == 0


def test_nothing_is_crowded_where_crowding_costs_nothing_or_nobody_sends() -> None:
    assert crowding_s(hm.algorithms.all_reduce_direct(8), NBYTES, BANDWIDTH, 0.0) == 0
    assert crowding_s(hm.algorithms.all_reduce_direct(1), NBYTES, BANDWIDTH, CROWDING) == 0


@pytest.mark.parametrize("n", [3, 4, 8])
def test_a_direct_exchange_pays_for_each_further_sender(n: int) -> None:
    """Given a direct all-reduce: in each of its two steps n - 1 ranks send 1/n of the buffer each to every rank.
    Derivation: 2(n-1)/n of the buffer pass a port; n - 2 further ranks send in the same step, and in all.
    Expect: that time, times n - 2, times 0.02 · (1 + 1/5)."""
    port_s = 2 * (n - 1) / n * NBYTES / BANDWIDTH
    found = crowding_s(hm.algorithms.all_reduce_direct(n), NBYTES, BANDWIDTH, CROWDING)
    assert found == pytest.approx(port_s * (n - 2) * 0.02 * 1.2)


def test_ranks_that_take_turns_cost_a_fifth() -> None:
    """Given the same all-reduce in rounds: in each step one rank sends to every other.
    Derivation: of 4 ranks, 2 further ones send to each in all, none in the same step; 6/4 of the buffer pass a port.
    Expect: that time, times 2, times 0.02 / 5."""
    found = crowding_s(hm.algorithms.all_reduce_direct_rounds(4), NBYTES, BANDWIDTH, CROWDING)
    assert found == pytest.approx(6 / 4 * NBYTES / BANDWIDTH * 2 * 0.02 / 5)


def test_a_large_all_reduce_between_crowded_ports_is_a_ring_and_a_small_one_is_not() -> None:
    network = hm.topologies.switch(8, latency_s=100e-6, bandwidth=24e6)
    large = hm.plan(network, "all_reduce", 16 << 20, crowding=CROWDING)
    small = hm.plan(network, "all_reduce", 4 << 10, crowding=CROWDING)
    assert large.name == "all_reduce_ring"
    assert small.name != "all_reduce_ring"
    alone = hm.simulate(hm.algorithms.all_reduce_ring(8), network, 16 << 20)
    assert large.seconds == pytest.approx(alone.seconds)


@pytest.mark.parametrize("crowding", [-0.01, float("inf"), float("nan")])
def test_a_crowding_that_cannot_be_is_refused(crowding: float) -> None:
    with pytest.raises(ArgumentError, match="crowding"):
        hm.plan(hm.topologies.switch(2, latency_s=1e-6, bandwidth=1e9), "all_reduce", 8, crowding=crowding)
