# SPDX-License-Identifier: Apache-2.0
"""Several slow ranks: the open-shop and the paced exchange, simulated, against the paper's form and the bounds."""

import math
from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
import pytest

import hemiola as hm
from hemiola.algorithms import slow_shares

BANDWIDTH = 1e9
NBYTES = 1 << 30
UNIT_S = NBYTES / BANDWIDTH
Exchange = Callable[[int, dict[int, float], int], hm.Schedule]

EXCHANGES: list[Exchange] = [
    hm.algorithms.all_reduce_open_shop_exchange,
    hm.algorithms.all_reduce_paced_exchange,
    hm.algorithms.all_reduce_relayed_exchange,
]

FACTORS = (8 / 7, 1.5, 2.0, 3.0)
PROFILES = [
    *[(factor,) for factor in FACTORS],
    *combinations_with_replacement(FACTORS, 2),
    (2.0, 2.0, 2.0),
    (4.0, 2.0, 1.5),
    (4 / 3, 4 / 3, 8 / 7),
]


def simulated(exchange: Exchange, rank_count: int, slow: dict[int, float], segments: int) -> float:
    """Return the simulated time over N·β of a healthy port, without latencies."""
    cluster = hm.topologies.switch(rank_count, latency_s=0.0, bandwidth=BANDWIDTH)
    schedule = exchange(rank_count, slow, segments)
    return hm.simulate(schedule, cluster, NBYTES, hm.Conditions(slow=slow)).seconds / UNIT_S


def papers_form(rank_count: int, factors: tuple[float, ...], segments: int) -> float:
    """Return OptCC's time for m slow ranks over N·β [OptCC, §D.3]."""
    m = len(factors)
    ring, chain = 2 * (rank_count - 1) / (rank_count - m), max(factors) + 2 * (m - 1) / (rank_count - m)
    return (ring if max(factors) < 2 else chain) * (segments + 4) / segments


def theorem_2(rank_count: int, factors: tuple[float, ...]) -> float:
    """Return the bound for shared ports over N·β [OptCC, Theorem 2]."""
    speeds = rank_count - len(factors) + sum(1 / factor for factor in factors)
    return max(2 * (rank_count - 1) / speeds, *factors)


@pytest.mark.parametrize("rank_count", [5, 8, 16])
@pytest.mark.parametrize("factors", PROFILES, ids=str)
def test_open_shop_is_never_worse_than_the_papers_form(rank_count: int, factors: tuple[float, ...]) -> None:
    slow = dict(enumerate(factors))
    for segments in (4, 16):
        time = simulated(hm.algorithms.all_reduce_open_shop_exchange, rank_count, slow, segments)
        assert time <= papers_form(rank_count, factors, segments)


@pytest.mark.parametrize("rank_count", [5, 8, 16])
@pytest.mark.parametrize("factors", PROFILES, ids=str)
def test_open_shop_takes_its_busiest_ports_time(rank_count: int, factors: tuple[float, ...]) -> None:
    slow = dict(enumerate(factors))
    relative = slow_shares.relative_factors("test", rank_count, slow)
    load = slow_shares.one_port_shares(relative).time
    time = simulated(hm.algorithms.all_reduce_open_shop_exchange, rank_count, slow, 16)
    # Given bodies of that load, of which the first and the last are part empty; slots in whole units cost some 1 %.
    assert load * (1 - 1e-9) <= time <= load * 17 / 16 * 1.012


@pytest.mark.parametrize("rank_count", [5, 8, 16])
@pytest.mark.parametrize("factors", [f for f in PROFILES if max(f) <= 2], ids=str)
def test_for_factors_up_to_two_the_rounds_take_the_closed_form(
    rank_count: int, factors: tuple[float, ...]
) -> None:
    # Given shares of (2 - l)/l: 2(p-1)/(p - 2m + 2·sum 1/l)·(k + l1 - 1)/k.
    m, k, slow = len(factors), 8, dict(enumerate(factors))
    limit = 2 * (rank_count - 1) / (rank_count - 2 * m + 2 * sum(1 / factor for factor in factors))
    expected = limit * (k + max(factors) - 1) / k
    assert simulated(hm.algorithms.all_reduce_weighted_exchange, rank_count, slow, k) <= expected * (1 + 1e-6)


@pytest.mark.parametrize("rank_count", [3, 5, 8, 16])
@pytest.mark.parametrize("factors", PROFILES, ids=str)
def test_paced_attains_theorem_2_on_shared_ports(rank_count: int, factors: tuple[float, ...]) -> None:
    if len(factors) >= rank_count:
        factors = factors[: rank_count - 1]
    slow = dict(enumerate(factors))
    time = simulated(hm.algorithms.all_reduce_paced_exchange, rank_count, slow, 16)
    bound = theorem_2(rank_count, factors)
    # Given a first and a last body that are part empty; shares in whole units cost up to 0.1 %.
    assert bound * (1 - 1e-9) <= time <= bound * 17 / 16 * 1.001


def test_two_slow_hosts_of_eight_reach_the_issues_targets() -> None:
    # Given p = 8 and l = 1.5 twice, over the fault-free ring's 2·7/8. The paper: 2·7/6, which is 1.333.
    ring, slow = 2 * 7 / 8, {0: 1.5, 1: 1.5}
    one_port = simulated(hm.algorithms.all_reduce_open_shop_exchange, 8, slow, 128) / ring
    assert one_port <= 1.195
    assert simulated(hm.algorithms.all_reduce_paced_exchange, 8, slow, 512) / ring <= 1.0920


@pytest.mark.parametrize("rank_count", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("slow", [{}, {1: 1.5}, {0: 4.0}, {0: 1.5, 1: 4 / 3}, {0: 3.0, 1: 1.1}], ids=str)
def test_all_exchanges_are_right(rank_count: int, slow: dict[int, float]) -> None:
    for segments in (1, 2, 5):
        for exchange in EXCHANGES:
            assert hm.verify(exchange(rank_count, slow, segments)) == []


@pytest.mark.parametrize("rank_count", [2, 3, 4, 7])
@pytest.mark.parametrize(
    "slow",
    [
        {0: 1e9},
        {0: 1e9, 1: 1.000000001},
        {0: 1.7e308, 1: 1e300},
        {0: 1 + 1e-12},
        {0: 1.000000001, 1: 1.000000002, 2: 1.000000003, 3: 1.000000004},
        {0: math.pi, 1: math.e, 2: math.sqrt(2)},
    ],
    ids=str,
)
@pytest.mark.parametrize("exchange", EXCHANGES)
def test_factors_of_any_size_and_however_near_each_other_have_an_exchange(
    exchange: Exchange, rank_count: int, slow: dict[int, float]
) -> None:
    slow = {rank: factor for rank, factor in slow.items() if rank < rank_count}
    schedule = exchange(rank_count, slow, 2)
    assert hm.verify(schedule) == []
    if max(slow.values()) <= 1e9:
        cluster, now = (
            hm.topologies.switch(rank_count, latency_s=0.0, bandwidth=1e12),
            hm.Conditions(slow=slow),
        )
        time = hm.simulate(schedule, cluster, 1 << 20, now).seconds
        bound = hm.lower_bound(cluster, "all_reduce", 1 << 20, now).seconds
        # Given two segments: at most 3/2 of the busiest port's time, which is the bound but for several slow ranks;
        # where they relay for each other, 5/2.
        filled = 2.5 if exchange is hm.algorithms.all_reduce_relayed_exchange else 1.5
        assert bound * (1 - 1e-6) <= time <= filled * 1.2 * bound


def test_in_a_slot_of_the_open_shop_every_rank_has_one_partner() -> None:
    rows = hm.algorithms.all_reduce_open_shop_exchange(7, {0: 3.0, 4: 1.5}, 2).transfers
    for end, other in (("src", "dst"), ("dst", "src")):
        partners = np.unique(np.stack([rows["step"], rows[end], rows[other]]), axis=1)
        _, counts = np.unique(partners[:2], axis=1, return_counts=True)
        assert counts.max() == 1


def test_on_shared_ports_shares_make_every_port_equally_long() -> None:
    # Given p = 8, l = 3/2 twice: T = 14/(6 + 4/3) = 21/11; f = (T/l - 1)/6 = 3/66 for a slow, 10/66 for a healthy rank.
    shares = slow_shares.shared_port_shares(np.array([1.5, 1.5, 1, 1, 1, 1, 1, 1]))
    assert shares.units.tolist() == [3, 3, 10, 10, 10, 10, 10, 10]
    assert shares.time == pytest.approx(21 / 11, rel=1e-12)


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_when_every_rank_is_equally_slow_nobody_is(exchange: Exchange) -> None:
    assert exchange(4, dict.fromkeys(range(4), 3.0), 2) == exchange(4, {}, 2)


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize(
    ("rank_count", "slow", "segments", "named"),
    [
        (4, {0: 0.5}, 2, "0.5"),
        (4, {0: math.nan}, 2, "nan"),
        (4, {0: math.inf}, 2, "inf"),
        (4, {4: 2.0}, 2, "rank 4"),
        (4, {-1: 2.0}, 2, "rank -1"),
        (4, {}, 0, "segments"),
        (1, {}, 2, "2 ranks"),
    ],
)
def test_rejects_what_cannot_be(
    exchange: Exchange, rank_count: int, slow: dict[int, float], segments: int, named: str
) -> None:
    with pytest.raises(hm.errors.ArgumentError, match=named):
        exchange(rank_count, slow, segments)
