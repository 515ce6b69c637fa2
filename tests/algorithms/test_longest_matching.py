# SPDX-License-Identifier: Apache-2.0
"""The matchings of an open shop against all permutations, where those can be counted."""

import itertools

import numpy as np
import pytest

from hemiola.algorithms.open_shop import _longest_matching, _matchings


def longest_by_trying(left):
    ranks = range(len(left))
    return max(min(left[r, p] for r, p in enumerate(partner)) for partner in itertools.permutations(ranks))


@pytest.mark.parametrize("seed", range(20))
def test_no_permutation_has_a_longer_shortest_message(seed):
    left = np.random.default_rng(seed).integers(1, 9, (5, 5)).astype(np.int64)
    for most in (longest_by_trying(left), int(left.max())):
        partner = _longest_matching(left, most)
        assert sorted(partner) == list(range(5))
        assert left[np.arange(5), partner].min() == longest_by_trying(left)


@pytest.mark.parametrize("seed", range(5))
def test_matchings_get_shorter_and_add_up_to_the_busiest_port(seed):
    demand = np.random.default_rng(seed).integers(1, 9, (6, 6)).astype(np.int64) * 10**9
    demand += demand.T
    np.fill_diagonal(demand, 0)
    durations = [duration for _, duration in _matchings(demand)]
    assert durations == sorted(durations, reverse=True)
    assert sum(durations) == demand.sum(axis=1).max()
