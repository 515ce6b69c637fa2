# SPDX-License-Identifier: Apache-2.0
"""Groups: their ranks are numbered in the order given, and they give back what they held."""

from __future__ import annotations

import grouping_ranks as work
import pytest

import hemiola as hm

LIMIT_S = 90


@pytest.mark.parametrize("order", [[2, 0, 3], [3, 2, 1, 0], [0, 1]])
def test_rank_i_of_a_group_is_the_ith_that_was_given(order: list[int]) -> None:
    found = hm.launch(work.in_an_order, 4, order, timeout_s=LIMIT_S)
    assert [seen is None for seen in found] == [rank not in order for rank in range(4)]
    for number, rank in enumerate(order):
        assert found[rank] == {
            "number": number,
            "gathered": order,
            "broadcast": [order[0]],
            "scattered": [number],
            "source": True,
            "heard": [order[number - 1]],
            "reversed again": order[::-1],
            "diagnosed": "Diagnosis",
        }


def test_ranks_that_give_different_orders_are_all_told_who_and_which() -> None:
    for rank, (seen, total) in enumerate(hm.launch(work.in_different_orders, 3, timeout_s=LIMIT_S)):
        of_three = "rank 0 makes a communicator of ranks 0, 1 and 2, rank 2 one of ranks 2, 0 and 1"
        of_two = "rank 0 makes a communicator of ranks 1 and 0, rank 1 one of ranks 0 and 1"
        assert [kind for kind, _ in seen] == ["MismatchError"] * (1 if rank == 2 else 2)
        for (_, message), words in zip(seen, (of_three, of_two), strict=False):
            assert words in message
        assert total == 3


def test_a_lost_rank_is_named_by_its_number_in_the_group_and_the_rest_keep_their_order() -> None:
    found = hm.launch(work.one_is_lost, 4, [3, 1, 0, 2], 0, timeout_s=LIMIT_S, on_failure="continue")
    assert found[1:] == [(2, 0, [3, 1, 2])] * 3


def test_an_emulated_network_is_numbered_as_the_group_is() -> None:
    # Given a ring 0 - 1 - 2 - 3 - 0 whose link from 0 to 1 alone is twice as fast, and the order 1, 3, 0, 2.
    # Expect links where neighbours are: the fast one goes from number 2 (rank 0) to number 0 (rank 1).
    one, two = 50e6, 100e6
    rows = [
        (a, b, 1e-6, two if (a, b) == (0, 1) else one) for a in range(4) for b in ((a + 1) % 4, (a - 1) % 4)
    ]
    network = hm.Topology(4, rows)
    found = hm.launch(work.on_an_emulated_network, 4, [1, 3, 0, 2], emulate=network, timeout_s=LIMIT_S)
    assert found == [([[0, 0, one, one], [0, 0, one, one], [two, one, 0, 0], [one, one, 0, 0]], True)] * 4


def test_closed_groups_leave_no_descriptor_thread_mapping_or_memory_behind() -> None:
    for seen, open_kib in hm.launch(work.many_at_once, 3, 6, 24, timeout_s=LIMIT_S):
        second, last = seen[1], seen[-1]
        kib = last.pop("KiB") - second.pop("KiB")
        # Threads are the job's: one more, with its stack and heap, comes where all are taken at that moment.
        more = last["threads"] - second["threads"]
        assert last["threads"] < 12
        # Python takes memory for its own objects 1 MiB at a time; 96 groups that left a mapping each would be 96.
        assert last["mappings"] <= second["mappings"] + 4 * more + 4
        assert last["descriptors"] == second["descriptors"]
        # As many groups have been closed in between as would have taken four times what the first did, had they stayed.
        assert kib < 4 * open_kib / 10
