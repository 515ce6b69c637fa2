# SPDX-License-Identifier: Apache-2.0
"""Noise: every transfer takes a little longer or shorter, by its seed."""

import numpy as np
import pytest
from networks import GBPS, KB, US, fully_connected, schedule, switch

import hemiola as hm

BOTH = pytest.mark.parametrize("network", ["fifo", "fluid"])


def durations(seed: int, noise: float, network: str) -> np.ndarray:
    """Return how long each of 4,000 transfers takes its link, in microseconds; alone they take 1."""
    rows = [(step, src, 1 - src, step) for step in range(2000) for src in (0, 1)]
    s = schedule(2, rows, 2000)
    timeline = hm.simulate(s, fully_connected(2, 0, GBPS), 2000 * KB, network=network, noise=noise, seed=seed)
    return (timeline.spans["end_s"] - timeline.spans["start_s"]) / US


@BOTH
def test_noise_has_the_given_deviation_and_no_bias(network: str) -> None:
    took = durations(7, 0.1, network)
    # Given 4,000 independent factors of deviation 0.1: their mean is within 4·0.1/sqrt(4000) of 1.
    assert abs(took.mean() - 1) < 0.0064
    assert took.std() == pytest.approx(0.1, rel=0.1)
    assert 0.7 - 1e-6 <= took.min() < 0.75
    assert 1.25 < took.max() <= 1.3 + 1e-6


@BOTH
def test_equal_seeds_give_equal_noise_and_others_do_not(network: str) -> None:
    assert np.array_equal(durations(3, 0.1, network), durations(3, 0.1, network))
    assert not np.array_equal(durations(3, 0.1, network), durations(4, 0.1, network))


def test_both_networks_have_the_same_noise() -> None:
    assert durations(5, 0.2, "fifo") == pytest.approx(durations(5, 0.2, "fluid"), abs=2e-6)


@BOTH
def test_without_noise_a_seed_changes_nothing(network: str) -> None:
    ring, cluster = hm.algorithms.all_reduce_ring(4), switch(4)
    plain = hm.simulate(ring, cluster, 4 * KB, network=network)
    assert hm.simulate(ring, cluster, 4 * KB, network=network, seed=9).seconds == plain.seconds


@pytest.mark.parametrize("noise", [-0.1, 0.31, float("nan"), float("inf")])
def test_rejects_noise_outside_its_range(noise: float) -> None:
    with pytest.raises(hm.errors.ArgumentError, match="noise"):
        hm.simulate(hm.algorithms.all_reduce_ring(4), switch(4), KB, noise=noise)


@pytest.mark.parametrize(("factor", "bound"), [(4 / 3, 2 * 15 * 4 / 3 / (14 * 4 / 3 + 2)), (2.0, 2.0)])
def test_with_ten_percent_noise_the_weighted_exchange_stays_within_1_12_of_the_bound(
    factor: float, bound: float
) -> None:
    # Given p = 16, k = 32, no latency; OptCC's Theorem 6 over N·β.
    nbytes, slow = 1 << 30, {0: factor}
    cluster = hm.topologies.switch(16, latency_s=0.0, bandwidth=1e9)
    exchange = hm.algorithms.all_reduce_weighted_exchange(16, slow, 32)
    for seed in range(3):
        timeline = hm.simulate(exchange, cluster, nbytes, hm.Conditions(slow=slow), noise=0.1, seed=seed)
        assert timeline.seconds <= 1.12 * bound * nbytes / 1e9
