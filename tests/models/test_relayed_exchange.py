# SPDX-License-Identifier: Apache-2.0
"""The exchange in which slow ranks relay for each other: its trees by hand and beside the best of all trees, its time
by simulation."""

import numpy as np
import pytest
from exact_optimum import one_port_all_reduce

import hemiola as hm
from hemiola.algorithms import slow_relayed, slow_shares
from hemiola.algorithms.slow_trees import NO_PARENT, relay_trees

BANDWIDTH = 1e9
NBYTES = 1 << 30
UNIT_S = NBYTES / BANDWIDTH

PROFILES = [
    (4, (4 / 3, 8 / 7)),
    (4, (2.0, 2.0)),
    (5, (2.0, 1.5, 1.2)),
    (6, (2.0, 4 / 3)),
    (8, (1.2,)),
    (8, (1.5, 1.5)),
    (8, (2.0, 2.0, 2.0)),
    (8, (4 / 3, 4 / 3, 4 / 3)),
    (8, (4.0, 2.0, 1.5)),
    (8, (1.1, 1.2, 1.3, 1.4, 1.5)),
    (16, (1.5, 1.5, 1.5)),
]


def of_ranks(rank_count: int, factors: tuple[float, ...]) -> np.ndarray:
    return np.array([*factors, *[1.0] * (rank_count - len(factors))])


def simulated(rank_count: int, slow: dict[int, float], segments: int) -> float:
    """Return the simulated time over N·β of a healthy port, without latencies."""
    cluster = hm.topologies.switch(rank_count, latency_s=0.0, bandwidth=BANDWIDTH)
    schedule = hm.algorithms.all_reduce_relayed_exchange(rank_count, slow, segments)
    return hm.simulate(schedule, cluster, NBYTES, hm.Conditions(slow=slow)).seconds / UNIT_S


def test_two_slow_ranks_of_eight_hang_on_each_other_in_two_of_three_trees() -> None:
    # Given p = 8 and l = 3/2 twice. With both on the root a tree takes 2·(5 + 2·3/2) = 16 of all eight ports, and as
    # much where one hangs on the other; so each has 2 at least. A slow port has 3/2 for its own edge, so it may relay
    # in a third of the trees: (2 - 3/2)/(3/2).
    trees = relay_trees(of_ranks(8, (1.5, 1.5)))
    assert trees.time == pytest.approx(2, rel=1e-12)
    relayed = [np.flatnonzero((tree[:2] != NO_PARENT) & (tree[:2] < 2)).tolist() for tree in trees.parent]
    count = len(relayed)
    assert [relayed.count(which) for which in ([], [0], [1])] == [count // 3] * 3
    # Every healthy rank is the root as often.
    assert np.bincount(trees.root, minlength=8).tolist() == [0, 0, *[count // 6] * 6]


def test_ranks_of_one_factor_that_own_nothing_share_the_ports_load() -> None:
    # Given m of p ranks slow by l, on a root or on each other: 2(p - 1 - m + ml)/p.
    for p, m, factor in ((8, 2, 2.0), (8, 3, 2.0), (5, 2, 1.5), (4, 2, 2.0)):
        time = relay_trees(of_ranks(p, (factor,) * m)).time
        assert time == pytest.approx(2 * (p - 1 - m + m * factor) / p, rel=1e-12)


@pytest.mark.parametrize(("rank_count", "factors"), PROFILES, ids=str)
def test_no_trees_have_a_busiest_port_with_much_less_to_do(
    rank_count: int, factors: tuple[float, ...]
) -> None:
    ranks = of_ranks(rank_count, factors)
    best = one_port_all_reduce(ranks)
    # Whole units cost a hundredth, where few ranks are healthy two.
    tolerance = 1.025 if rank_count < 2 * len(factors) else 1.01
    assert best * (1 - 1e-9) <= relay_trees(ranks).time <= best * tolerance


@pytest.mark.parametrize(("rank_count", "factors"), PROFILES, ids=str)
def test_it_is_right_and_ahead_of_the_open_shop(rank_count: int, factors: tuple[float, ...]) -> None:
    slow = dict(enumerate(factors))
    for segments in (1, 2, 5):
        assert hm.verify(hm.algorithms.all_reduce_relayed_exchange(rank_count, slow, segments)) == []
    ranks = of_ranks(rank_count, factors)
    assert relay_trees(ranks).time <= slow_shares.one_port_shares(ranks).time * (1 + 1e-3)


@pytest.mark.parametrize(("rank_count", "factors"), PROFILES, ids=str)
def test_it_takes_its_busiest_ports_time_and_is_above_the_bound(
    rank_count: int, factors: tuple[float, ...]
) -> None:
    slow, segments = dict(enumerate(factors)), 16
    load = relay_trees(of_ranks(rank_count, factors)).time
    time = simulated(rank_count, slow, segments)
    # Three bodies more fill and empty the pipeline; slots of whole units cost some percent.
    assert load * (1 - 1e-9) <= time <= load * (segments + 3) / segments * 1.03
    cluster = hm.topologies.switch(rank_count, latency_s=0.0, bandwidth=BANDWIDTH)
    bound = hm.lower_bound(cluster, "all_reduce", NBYTES, hm.Conditions(slow=slow), ports="one")
    assert time * UNIT_S >= bound.seconds


def test_two_slow_ranks_of_eight_reach_the_issues_target() -> None:
    # Given p = 8 and l = 1.5 twice: 2 over the fault-free ring's 2·7/8 is 1.143, and a body more fills the pipeline.
    ring = 2 * 7 / 8
    assert simulated(8, {0: 1.5, 1: 1.5}, 256) / ring <= 1.15
    assert simulated(8, {0: 1.5, 1: 1.5}, 256) <= 2 * 257 / 256 * (1 + 1e-6)


def test_in_a_step_every_port_carries_one_message() -> None:
    rows = hm.algorithms.all_reduce_relayed_exchange(7, {0: 3.0, 4: 1.5}, 2).transfers
    for end, other in (("src", "dst"), ("dst", "src")):
        partners = np.unique(np.stack([rows["step"], rows[end], rows[other]]), axis=1)
        _, counts = np.unique(partners[:2], axis=1, return_counts=True)
        assert counts.max() == 1


@pytest.mark.parametrize(("rank_count", "factors"), PROFILES, ids=str)
def test_between_two_ranks_what_is_furthest_on_its_way_goes_first(
    rank_count: int, factors: tuple[float, ...]
) -> None:
    pattern = slow_relayed._bodies(tuple(of_ranks(rank_count, factors)))._pattern
    for src, dst in np.unique(pattern[:, 1:3], axis=0):
        between = pattern[(pattern[:, 1:3] == (src, dst)).all(axis=1)]
        stages = between[np.argsort(between[:, 0], kind="stable"), 4]
        assert (np.diff(stages) <= 0).all()
