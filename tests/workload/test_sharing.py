# SPDX-License-Identifier: Apache-2.0
"""Collectives that share links: progressive filling, against rules and against simulations of both at once."""

from __future__ import annotations

import random
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hemiola as hm
from hemiola.workload.running import Cost, run
from hemiola.workload.sharing import shared_rates
from hemiola.workload.task import Call, Step, Task

MIB = 1 << 20
NETWORKS = (
    hm.topologies.switch(8, latency_s=2e-6, bandwidth=25e9),
    hm.topologies.torus([2, 4], latency_s=0.5e-6, bandwidth=50e9),
    hm.topologies.ring(6, latency_s=0.5e-6, bandwidth=50e9),
    hm.topologies.hosts(2, 4, 1, latency_s=1e-6, bandwidth=150e9, nic_latency_s=3e-6, nic_bandwidth=25e9),
)
RINGS = ("all_reduce_ring", "all_reduce_ring_two_way", "all_gather_ring", "reduce_scatter_ring")
#: Where every two ranks are as near: over several hops phases of one collective use links unevenly.
DIRECT = ("all_reduce_direct", "all_gather_direct", "reduce_scatter_direct")


@settings(max_examples=100, deadline=None)
@given(uses=st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=5))
def test_no_link_carries_more_than_it_can_and_nobody_could_be_faster(uses: list[list[float]]) -> None:
    loads = [np.array(use) for use in uses]
    rates = shared_rates(loads)
    carried = sum(rate * load for rate, load in zip(rates, loads, strict=True))
    assert np.all(carried <= 1 + 1e-6)
    for rate, load in zip(rates, loads, strict=True):
        is_held_up = np.any((load > 1e-9) & (carried > 1 - 1e-6))
        assert rate == pytest.approx(1.0) or is_held_up


@lru_cache(maxsize=64)
def alone(place: int, name: str) -> hm.Schedule:
    return hm.algorithms.get(name).generate(NETWORKS[place].rank_count)


def both_at_once(
    first: tuple[hm.Schedule, int], second: tuple[hm.Schedule, int], network: hm.Topology
) -> float:
    """Simulate two collectives as one schedule with chunks of both."""
    rows, weights, chunks = [], [], 0
    for schedule, nbytes in (first, second):
        told = np.asarray(schedule.transfers)
        columns = (told["step"], told["src"], told["dst"], told["chunk"] + chunks, told["reduce"])
        rows.append(np.stack([np.asarray(one, dtype=np.int64) for one in columns], axis=1))
        weights += [round(nbytes / schedule.chunk_count)] * schedule.chunk_count
        chunks += schedule.chunk_count
    n = network.rank_count
    whole = hm.Collective.with_owners("all_reduce", n, [chunk % n for chunk in range(chunks)])
    merged = hm.Schedule.from_transfers(whole, np.concatenate(rows), weights)
    return hm.simulate(merged, network, sum(weights), unchecked=True).seconds


def test_a_hundred_random_pairs_take_what_a_simulation_of_both_says() -> None:
    """Given: 100 pairs of 64 to 256 MiB on four networks. Expect: within 2 % of one simulation of both."""
    dice = random.Random(7)
    for _ in range(100):
        place = dice.randrange(len(NETWORKS))
        network = NETWORKS[place]
        patterns = RINGS + DIRECT if network.switch_count else RINGS
        pair = [(alone(place, dice.choice(patterns)), dice.choice([64, 128, 256]) * MIB) for _ in range(2)]
        costs = {}
        for label, (schedule, nbytes) in zip("ab", pair, strict=True):
            timeline = hm.simulate(schedule, network, nbytes)
            costs[label] = Cost(timeline.seconds, timeline.link_busy_s / timeline.seconds)
        tasks = tuple(Task(("all",), label, (), 0.0, Call("all_reduce", 1, label)) for label in costs)
        shared = run(Step("pair", tasks, ("all",)), lambda call, _, costs=costs: costs[call.group])
        assert shared.seconds == pytest.approx(both_at_once(*pair, network), rel=0.02), pair
