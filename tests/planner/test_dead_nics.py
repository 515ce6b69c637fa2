# SPDX-License-Identifier: Apache-2.0
"""Hosts with a dead NIC: the others of the host carry for it, and all-reduces take little longer."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError

NBYTES = 256 << 20
DEAD = hm.Conditions(slow={"nic:0/nic1": math.inf})


def cluster(hosts: int, ranks: int, nics: int) -> hm.Topology:
    return hm.topologies.hosts(
        hosts,
        ranks,
        nics,
        latency_s=2e-6,
        bandwidth=100e9 if nics == 4 else 200e9,
        nic_latency_s=5e-6,
        nic_bandwidth=25e9,
    )


@pytest.mark.parametrize("shape", [(4, 8, 4), (8, 8, 8), (4, 8, 8), (8, 4, 4), (2, 8, 8)])
def test_a_dead_nic_costs_a_ninth_at_most(shape: tuple[int, int, int]) -> None:
    network = cluster(*shape)
    healthy, plan = hm.plan(network, "all_reduce", NBYTES), hm.plan(network, "all_reduce", NBYTES, DEAD)
    assert plan.name == "all_reduce_pooled_exchange"
    taken = hm.simulate(plan.schedule, network, NBYTES, DEAD).seconds
    assert plan.bound_s <= taken <= 1.11 * healthy.seconds
    assert taken <= plan.seconds * (1 + 1e-9), "a plan's estimate may be high, not low"


def test_a_dead_nic_carries_nothing_and_the_others_of_its_host_carry_the_same() -> None:
    # Given 3 hosts of 4 ranks, rank 1's NIC dead. Expect that ranks 0, 2 and 3 send alike to other hosts.
    schedule = hm.algorithms.all_reduce_pooled_exchange(3, 4, {1: 0.0}, 2)
    rows, weights = schedule.transfers, schedule.chunk_weights
    leaves = (rows["src"] // 4 == 0) & (rows["dst"] // 4 != 0)
    sent = [
        sum(weights[chunk] for chunk in rows["chunk"][leaves & (rows["src"] == rank)]) for rank in range(4)
    ]
    assert sent[1] == 0
    assert sent[0] == pytest.approx(sent[2], rel=1e-4)
    assert sent[0] == pytest.approx(sent[3], rel=1e-4)


@pytest.mark.parametrize(
    "rates",
    [{1: 0.0}, {0: 0.5}, {0: 0.0, 5: 0.25}, {0: 0.0, 4: 0.0, 8: 0.0}, {0: 0.0, 1: 0.0, 2: 0.0}, {}],
    ids=str,
)
@pytest.mark.parametrize("segments", [1, 3])
def test_pooled_exchanges_are_right(rates: dict[int, float], segments: int) -> None:
    assert hm.verify(hm.algorithms.all_reduce_pooled_exchange(3, 4, rates, segments)) == []


@pytest.mark.parametrize(
    ("hosts", "ranks", "rates", "segments", "message"),
    [
        (1, 4, {}, 1, "hosts"),
        (3, 1, {}, 1, "ranks per host"),
        (3, 4, {12: 0.5}, 1, "0 … 11"),
        (3, 4, {0: math.nan}, 1, r"\[0, 1\]"),
        (3, 4, {0: 1.5}, 1, r"\[0, 1\]"),
        (3, 4, dict.fromkeys(range(4, 8), 0.0), 1, "host 1"),
        (3, 4, {0: 0.5}, 0, "segments"),
    ],
)
def test_what_cannot_be_pooled_is_refused(
    hosts: int, ranks: int, rates: dict[int, float], segments: int, message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        hm.algorithms.all_reduce_pooled_exchange(hosts, ranks, rates, segments)


@pytest.mark.parametrize("factor", [math.nan, -1.0, 0.5, -math.inf])
def test_a_nics_factor_is_at_least_one(factor: float) -> None:
    with pytest.raises(ArgumentError, match="nic:0/nic1"):
        hm.Conditions(slow={"nic:0/nic1": factor})


def test_a_rank_cannot_be_dead() -> None:
    with pytest.raises(ArgumentError, match="without_ranks"):
        hm.Conditions(slow={0: math.inf})


@pytest.mark.parametrize("call", [hm.plan, hm.lower_bound])
def test_a_host_without_nics_is_refused(call: Callable[..., object]) -> None:
    lost = hm.Conditions(slow={f"nic:1/nic{nic}": math.inf for nic in range(4)})
    with pytest.raises(ArgumentError, match="host 1"):
        call(cluster(4, 8, 4), "all_reduce", NBYTES, lost)


def summed() -> list[bool]:
    """All-reduce by the plan and by name; return whether every element is the exact sum."""
    comm = hm.init()
    right = []
    for schedule in (None, hm.algorithms.all_reduce_pooled_exchange(3, 2, {1: 0.0}, 4)):
        data = np.arange(1 << 18, dtype=np.int64) + comm.rank
        comm.all_reduce(data, schedule=schedule)
        right.append(bool((data == 6 * np.arange(1 << 18) + 15).all()))
    return right


def test_a_dead_nic_is_done_without_on_the_emulated_wire() -> None:
    network = hm.topologies.hosts(
        3, 2, 2, latency_s=1e-6, bandwidth=4e9, nic_latency_s=5e-6, nic_bandwidth=0.25e9
    )
    assert hm.launch(summed, 6, emulate=network, conditions=DEAD) == [[True, True]] * 6
