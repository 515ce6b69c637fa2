# SPDX-License-Identifier: Apache-2.0
"""What follows from times, on made-up ones whose answer is known: costs, equal rates, shared NICs, slow NICs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemiola.calibration.fitting import (
    NodeRates,
    latency_and_message,
    levelled,
    nic_groups,
    step_between,
    unknown_pair,
)
from hemiola.calibration.nics import filled, first_slowdowns
from hemiola.calibration.rounds import Nodes
from hemiola.errors import ArgumentError


@given(
    st.floats(1e-7, 1e-2),
    st.floats(1e-6, 8),
    st.lists(st.integers(1, 40), min_size=2, max_size=6, unique=True),
)
def test_latency_and_message_are_those_that_the_times_were_made_of(
    latency_s: float, messages_share: float, counts: list[int]
) -> None:
    message_s = messages_share * latency_s / min(counts)
    taken_s = np.array([latency_s + count * message_s for count in counts])
    found = latency_and_message([1.0] * len(counts), [float(count) for count in counts], taken_s)
    assert found == pytest.approx((latency_s, message_s), rel=1e-6, abs=1e-9 * (latency_s + message_s))


def test_a_stream_tells_the_message_where_there_is_only_one_partner() -> None:
    # Given a message at a time: 60 µs; a message of a stream: 10 µs. Expect 50 µs and 10 µs.
    assert latency_and_message([1, 0], [1, 1], np.array([60e-6, 10e-6])) == pytest.approx((50e-6, 10e-6))


@pytest.mark.parametrize(
    ("taken_s", "expected"),
    [
        # Two messages take less time than one: no message costs less than nothing; 2/(1/3 + 1/2 …) is the nearest
        # latency.
        ([3e-6, 2e-6], ((1 / 3 + 1 / 2) / (1 / 9 + 1 / 4) * 1e-6, 0.0)),
        # Two take more than twice as long as one: a tenth of the shorter time is latency, and what is left of each,
        # 0.9 of it and 29/30, is messages, one and two.
        ([1e-6, 3e-6], (1e-7, (0.9 + 29 / 30 * 2 / 3) / (1 + 4 / 9) * 1e-6)),
        # As if a network took no time at all: the same tenth.
        ([1e-6, 2e-6], (1e-7, (0.9 + 19 / 20) / 2 * 1e-6)),
    ],
    ids=["falling", "rising steeply", "rising as if nothing were between"],
)
def test_no_message_costs_less_than_nothing_and_no_latency_less_than_was_seen(
    taken_s: list[float], expected: tuple[float, float]
) -> None:
    assert latency_and_message([1, 1], [1, 2], np.array(taken_s)) == pytest.approx(expected)


@given(
    st.floats(1e-7, 1e-2),
    st.floats(0, 1e-1),
    st.lists(st.floats(0.5, 2.0), min_size=2, max_size=3),
)
def test_whatever_disturbs_a_measurement_a_latency_stays_of_the_size_of_what_was_measured(
    latency_s: float, message_s: float, disturbed: list[float]
) -> None:
    counts = [float(count) for count in range(1, len(disturbed) + 1)]
    taken_s = np.array([latency_s + count * message_s for count in counts]) * disturbed
    found_s, found_message_s = latency_and_message([1.0] * len(counts), counts, taken_s)
    assert 0.1 * taken_s.min() * (1 - 1e-9) <= found_s <= taken_s.max() * (1 + 1e-9)
    assert 0 <= found_message_s <= taken_s.max()


def test_a_step_is_what_a_long_chain_takes_longer_than_a_short_one() -> None:
    # Given a beginning of 20 µs and steps of 10 µs: 60 µs for 4, 340 µs for 32.
    assert step_between(60e-6, 4, 340e-6, 32) == pytest.approx(10e-6)


def test_a_short_chain_that_was_disturbed_makes_no_step_next_to_nothing() -> None:
    # Given 4 steps that took longer than 32 of 10 µs did: of 340 µs at least two thirds are steps, 28 of them more.
    assert step_between(400e-6, 4, 340e-6, 32) == pytest.approx(340e-6 * 2 / 3 / 28)


def test_values_that_differ_by_noise_become_one() -> None:
    # Given 8 %: 100 takes in all up to 108, then 120 up to 129.6; 130 is the first of the next.
    found = levelled(np.array([104.0, 130.0, 100.0, 120.0, 108.0, 126.0]), 0.08)
    assert found.tolist() == pytest.approx([104.0, 130.0, 104.0, 123.0, 104.0, 123.0])
    assert levelled(np.empty(0), 0.08).size == 0
    # One that stands alone stays as it is, wherever it comes in the order.
    for alone in (10.0, 150.0, 1000.0):
        assert levelled(np.array([alone, 100.0, 104.0]), 0.08).tolist() == pytest.approx(
            [alone, 102.0, 102.0]
        )


def matrix(groups: list[list[int]], alone: float = 1.02, shared: float = 1.97) -> np.ndarray:
    """Return by what factors ranks slow each other down that share NICs like this."""
    nic = {rank: number for number, group in enumerate(groups) for rank in group}
    return np.array([[shared if nic[i] == nic[j] else alone for j in nic] for i in nic])


@pytest.mark.parametrize(
    "groups",
    [
        [[0]],
        [[0, 1]],
        [[0], [1]],
        [[0, 1, 2, 3]],
        [[0, 1], [2, 3], [4, 5], [6, 7]],
        [[0, 2, 4], [1, 3, 5]],
        [[0], [1, 2, 5], [3], [4, 6]],
    ],
    ids=str,
)
def test_ranks_that_slow_each_other_down_share_a_nic(groups: list[list[int]]) -> None:
    nic = {rank: number for number, group in enumerate(groups) for rank in group}
    slowdown = matrix([sorted(group) for group in groups])
    by_rank = np.array(
        [[slowdown[list(nic).index(i), list(nic).index(j)] for j in sorted(nic)] for i in sorted(nic)]
    )
    assert nic_groups(by_rank) == groups


def test_only_pairs_that_tell_something_new_are_measured() -> None:
    # Eight ranks, two to a NIC: each is compared with the first of every NIC until its own is found, the second of
    # NIC k with k + 1 of them, the first with k: 0+1 + 1+2 + 2+3 + 3+4 = 16 of 28 pairs.
    truth = matrix([[0, 1], [2, 3], [4, 5], [6, 7]])
    known = np.full((8, 8), np.nan)
    pairs = []
    while pair := unknown_pair(known):
        known[pair] = truth[pair]
        pairs.append(pair)
    assert nic_groups(known) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert len(set(pairs)) == len(pairs) == 16


def test_a_pair_that_was_not_measured_is_named() -> None:
    slowdown = matrix([[0, 1], [2]])
    slowdown[0, 2] = np.nan
    with pytest.raises(ArgumentError, match="ranks 0 and 2"):
        nic_groups(slowdown)


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        ([1.1, 1.0, 0.9, 1.2], [[0], [1], [2], [3]]),
        ([3.9, 4.1, 4.0, 3.2], [[0, 1, 2, 3]]),
        ([1.9, 2.0], [[0, 1]]),
        ([1.1, 1.2], [[0], [1]]),
        ([2.0, 1.9, 2.1, 2.0], None),
    ],
    ids=["own NICs", "one for all", "two share", "two do not", "two each"],
)
def test_all_together_tell_enough_where_all_share_one_nic_or_none(
    ratio: list[float], expected: list[list[int]] | None
) -> None:
    slowdown = first_slowdowns(np.array(ratio))
    if expected is None:
        assert unknown_pair(slowdown) == (0, 1)
    else:
        assert nic_groups(slowdown) == expected


def meet(rates: NodeRates, own: list[float], couples: list[tuple[int, int]]) -> None:
    """Let nodes meet: two have as much as the slower one."""
    for a, b in couples:
        rates.note(a, b, min(own[a], own[b]))


def test_a_nic_that_met_nobody_counts_as_the_others_of_its_node() -> None:
    # Nodes of one, two and two ranks; the second ranks of the last two have met nobody.
    best = filled(np.array([3.0, 5.0, 0.0, 7.0, 0.0]), Nodes.of([0, 1, 1, 2, 2]))
    assert best.tolist() == [3.0, 5.0, 5.0, 7.0, 7.0]


def test_a_slow_node_is_told_from_its_partner_by_their_meetings_with_others() -> None:
    own = [50.0, 100.0, 100.0, 100.0]
    rates = NodeRates(4)
    meet(rates, own, [(0, 1), (2, 3)])
    assert rates.rates().tolist() == [50, 50, 100, 100]
    # Either of 0 and 1 may be the slow one: each is to meet one that is fast.
    assert sorted(rates.unsettled()) == [(0, 2), (1, 3)]
    meet(rates, own, rates.unsettled())
    assert rates.rates().tolist() == own
    assert rates.unsettled() == []


@given(
    st.lists(st.sampled_from([25.0, 50.0, 100.0]), min_size=2, max_size=9), st.randoms(use_true_random=False)
)
def test_every_rate_is_found_in_a_few_rounds(own: list[float], random: object) -> None:
    own[0] = own[-1] = 100.0  # or nobody can tell how fast the fastest is
    rates = NodeRates(len(own))
    meet(rates, own, [(node, node + 1) for node in range(0, len(own) - 1, 2)])
    meet(rates, own, [(node, node + 1) for node in range(1, len(own) - 1, 2)])
    for _ in range(len(own)):
        meet(rates, own, rates.unsettled())
    fast = [node for node, rate in enumerate(own) if rate == 100.0]
    assert all(rates.rates()[node] <= own[node] for node in range(len(own)))
    assert all(rates.rates()[node] == 100.0 for node in fast if any(abs(node - other) == 1 for other in fast))
