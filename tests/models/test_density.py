# SPDX-License-Identifier: Apache-2.0
"""Data of which a share is not zero: what simulations, bounds and plans make of that."""

from __future__ import annotations

import math

import pytest

import hemiola as hm
from hemiola.codecs import Speeds
from hemiola.conditions import Conditions, least_share

US = 1e-6
B = 1e9
BYTES = 1 << 20  #: of a chunk: one slice
FREE = Speeds(math.inf, math.inf, math.inf)
SLOW = Speeds(compress=4e9, decompress=8e9, add=2e9)
QUICK = Speeds(8e9, 8e9, 8e9)
OVER = 1.016  #: a message over what its entropy and its values take
NETWORKS = ("fluid", "fifo")


def line(ranks: int) -> hm.Topology:
    return hm.topologies.ring(ranks, latency_s=US, bandwidth=B)


def seconds(
    schedule: hm.Schedule, chunks: int, density: float, codecs: Speeds = FREE, network: str = "fluid"
) -> float:
    now = Conditions(density=density)
    return hm.simulate(
        schedule, line(schedule.rank_count), chunks * BYTES, now, network, codecs=codecs
    ).seconds


# Given two ranks that swap a chunk of b bytes over links of B and α. Derivation: 1 % of 4-byte elements take
# 0.01 + 0.0808/32 = 1/79.9 of b, the messages 1.6 % more. Expect α + 1.016·b/79.9/B.
@pytest.mark.parametrize("network", NETWORKS)
def test_a_message_takes_its_values_and_the_entropy_of_their_places(network: str) -> None:
    found = seconds(hm.algorithms.all_gather_ring(2), 2, 0.01, network=network)
    assert found == pytest.approx(US + OVER * BYTES / 79.9 / B, rel=1e-3)


# The same with a core: b is encoded before and decoded after, for it is no more than a slice.
@pytest.mark.parametrize("network", NETWORKS)
def test_a_core_encodes_before_a_message_and_decodes_after_it(network: str) -> None:
    wire = US + OVER * least_share(0.01) * BYTES / B
    gather = seconds(hm.algorithms.all_gather_ring(2), 2, 0.01, SLOW, network)
    assert gather == pytest.approx(BYTES / 4e9 + wire + BYTES / 8e9, rel=1e-6)
    scatter = seconds(hm.algorithms.reduce_scatter_ring(2), 2, 0.01, SLOW, network)
    assert scatter == pytest.approx(BYTES / 4e9 + wire + BYTES / 2e9, rel=1e-6)


# Three ranks on a ring: the first hop is encoded, the second one forwards what came.
@pytest.mark.parametrize("network", NETWORKS)
def test_what_came_is_forwarded_as_it_came(network: str) -> None:
    wire = US + OVER * least_share(0.01) * BYTES / B
    found = seconds(hm.algorithms.all_gather_ring(3), 3, 0.01, SLOW, network)
    assert found == pytest.approx(BYTES / 4e9 + 2 * (wire + BYTES / 8e9), rel=1e-6)


# A ring's second hop carries the sum of two ranks, of which 1 - 0.9² = 0.19 is not zero.
@pytest.mark.parametrize("network", NETWORKS)
def test_sums_fill_up_from_hop_to_hop(network: str) -> None:
    found = seconds(hm.algorithms.reduce_scatter_ring(3), 3, 0.1, network=network)
    shares = least_share(0.1) + least_share(0.19)
    assert found == pytest.approx(2 * US + OVER * shares * BYTES / B, rel=1e-6)
    assert least_share(0.1, 2) == pytest.approx(least_share(0.19))


# Four ranks send each other a chunk directly: a core encodes 3 and decodes 3, one after the other.
@pytest.mark.parametrize("network", NETWORKS)
def test_a_rank_has_one_core(network: str) -> None:
    everywhere = hm.topologies.fully_connected(4, latency_s=US, bandwidth=1e15)
    schedule = hm.algorithms.reduce_scatter_direct(4)
    codecs = Speeds(1e9, 1e9, 1e9)
    now = Conditions(density=0.001)
    found = hm.simulate(schedule, everywhere, 4 * BYTES, now, network, codecs=codecs).seconds
    assert found == pytest.approx(6 * BYTES / 1e9, rel=0.01)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("density", [0.99, 1.0])
def test_what_saves_less_than_three_percent_goes_plain_and_costs_no_core(
    network: str, density: float
) -> None:
    schedule = hm.algorithms.all_reduce_ring(4)
    dense = hm.simulate(schedule, line(4), 4 * BYTES, network=network).seconds
    assert seconds(schedule, 4, density, SLOW, network) == dense


def test_a_chunk_of_many_slices_is_encoded_while_it_is_sent() -> None:
    codecs = Speeds(1e11, 1e11, 1e11)
    whole = seconds(hm.algorithms.all_gather_ring(2), 128, 0.1, codecs)
    wire = US + OVER * least_share(0.1) * 64 * BYTES / B
    assert wire < whole < wire + 3 * BYTES / 1e11


def test_bounds_count_what_is_not_zero() -> None:
    dense = hm.lower_bound(line(4), "all_gather", 4 * BYTES)
    sparse = hm.lower_bound(line(4), "all_gather", 4 * BYTES, Conditions(density=0.01))
    assert (sparse.seconds - US) / (dense.seconds - US) == pytest.approx(least_share(0.01), rel=0.01)
    assert "entropy" in sparse.witness


# Of 64 ranks at 1 % the others' sum holds 1 - 0.99^63 = 0.469: N·(0.469 + H/32) bytes enter every port.
def test_an_all_reduce_must_at_least_learn_the_sum_of_the_others() -> None:
    switch = hm.topologies.switch(64, latency_s=US, bandwidth=B)
    bound = hm.lower_bound(switch, "all_reduce", 64 * BYTES, Conditions(density=0.01))
    assert bound.seconds == pytest.approx(least_share(0.469) * 64 * BYTES / B, rel=0.01)
    assert "in the sum of all others" in bound.witness


@pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter", "all_reduce", "broadcast", "all_to_all"])
@pytest.mark.parametrize("density", [0.5, 0.01, 0.0001])
def test_no_simulation_beats_the_bound(kind: str, density: float) -> None:
    switch = hm.topologies.switch(8, latency_s=US, bandwidth=B)
    plan = hm.plan(switch, kind, 8 * BYTES, Conditions(density=density), codecs=FREE)
    assert plan.coded is not None
    assert plan.coded.is_coded
    assert plan.seconds >= plan.bound_s > 0
    assert plan.seconds < hm.plan(switch, kind, 8 * BYTES).seconds


def test_messages_are_bitmaps_where_telling_places_by_numbers_takes_cores_longer_than_it_saves_links() -> (
    None
):
    # Given 8 ranks, 1 MiB each, of which one element in ten is nonzero, and so 0.57 of a bitmap's bytes, and 0.9988 of
    # those that say which: 0.710 bits an element. The shortest messages take 1.016 times what values and places are
    # worth. A position in 40 bytes.
    switch, schedule = hm.topologies.switch(8, latency_s=US, bandwidth=B), hm.algorithms.all_gather_ring(8)

    def seconds(position_s: float) -> float:
        cores = Speeds(math.inf, math.inf, math.inf, 0.0, position_s)
        now = Conditions(density=0.1)
        return hm.simulate(schedule, switch, 8 * BYTES, conditions=now, codecs=cores).seconds

    by_numbers, by_bitmap = 1.016 * least_share(0.1), 0.1 + (1 - 0.9**8 + (1 - 0.9**64) / 8 + 1 / 64) / 32
    assert by_numbers < by_bitmap
    hops = 7
    assert seconds(0) == pytest.approx(hops * (US + by_numbers * BYTES / B), rel=1e-3)
    # A core that takes longer for positions than a link for the bitmap writes bitmaps, and takes no time for them.
    limit_s = 40 * by_bitmap / B
    assert seconds(1.01 * limit_s) == pytest.approx(hops * (US + by_bitmap * BYTES / B), rel=1e-3)
    assert seconds(0.99 * limit_s) > seconds(
        1.01 * limit_s
    )  # where the choice looks at the longer of the two


def test_a_plan_says_of_each_phase_why_it_goes_sparse() -> None:
    switch = hm.topologies.switch(8, latency_s=US, bandwidth=B)
    plan = hm.plan(switch, "all_reduce", 64 << 20, Conditions(density=0.01), codecs=QUICK)
    told = plan.explain()
    assert plan.name != "all_reduce_ring"  # whose sums fill up
    assert "reduce-scatter: of 0.01 nonzero" in told
    assert "all-gather: of 0.0773 nonzero" in told
    assert told.count("; sparse, for a link carries") == 2
    assert "So zeros are left out" in told


def test_a_plan_says_why_it_stays_dense_and_is_then_the_dense_one() -> None:
    switch = hm.topologies.switch(8, latency_s=US, bandwidth=100e9)
    plan = hm.plan(switch, "reduce_scatter", 64 << 20, Conditions(density=0.01), codecs=SLOW)
    dense = hm.plan(switch, "reduce_scatter", 64 << 20)
    assert (plan.name, plan.seconds) == (dense.name, dense.seconds)
    assert "dense, for a link carries 100 GB/s" in plan.explain()
    assert "So all goes dense" in plan.explain()


@pytest.mark.parametrize("name", ["compress", "decompress", "add"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_a_core_that_does_nothing_is_refused(name: str, value: float) -> None:
    with pytest.raises(hm.ArgumentError, match=name):
        Speeds(**({"compress": 1.0, "decompress": 1.0, "add": 1.0} | {name: value}))


@pytest.mark.parametrize("name", ["position_compress_s", "position_decompress_s"])
@pytest.mark.parametrize("value", [-1e-9, math.inf, math.nan])
def test_positions_that_take_less_than_no_time_are_refused(name: str, value: float) -> None:
    with pytest.raises(hm.ArgumentError, match=name):
        Speeds(1.0, 1.0, 1.0, **{name: value})


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "broadcast"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_a_bound_grows_with_the_density_up_to_that_of_dense_data(kind: str, ranks: int) -> None:
    bounds = [
        hm.lower_bound(line(ranks), kind, ranks * BYTES, Conditions(density=density)).seconds
        for density in (0.001, 0.01, 0.1, 0.3, 0.6, 0.9, 1.0)
    ]
    assert bounds == sorted(bounds)
    assert bounds[-1] == hm.lower_bound(line(ranks), kind, ranks * BYTES).seconds


@pytest.mark.parametrize("contributions", [1, 2, 100])
def test_messages_without_zeros_take_their_plain_bytes(contributions: int) -> None:
    assert least_share(1.0, contributions) == 1.0


def test_where_half_of_the_elements_are_zero_each_place_takes_a_bit() -> None:
    # Given elements of 32 bits. Derivation: a place has an entropy of 1 bit, and half of the values go.
    assert least_share(0.5) == pytest.approx(1 / 2 + 1 / 32)
