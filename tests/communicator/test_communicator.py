# SPDX-License-Identifier: Apache-2.0
"""What a communicator promises beyond the values: shapes, order, bits, groups, and the network it emulates."""

from __future__ import annotations

from pathlib import Path

import communicator_ranks as work
import numpy as np
import pytest

import hemiola as hm

LIMIT_S = 90


def test_results_are_shaped_like_parts_and_wholes_along_the_first_axis() -> None:
    n = 3
    for rank, found in enumerate(hm.launch(work.result_shapes, n, timeout_s=LIMIT_S)):
        part, whole, same = ((2, 3), "int16"), ((6 * n, 3), "int16"), ((2 * n, 3), "int16")
        assert found["all_gather"] == whole
        assert found["all_gather of a scalar"] == ((n,), "float64")
        assert found["reduce_scatter"] == found["scatter"] == part
        assert found["all_to_all"] == found["broadcast"] == same
        assert found["gather"] == (whole if rank == n - 1 else None)
        assert found["reduce"] == (same if rank == n - 1 else None)
        assert found["all_reduce returns its argument"]


def test_ranks_agree_on_size_and_dtype_and_each_has_its_own_shape() -> None:
    rows = np.arange(24.0)
    found = hm.launch(work.shapes_of_one_size, 3, timeout_s=LIMIT_S)
    for rank, (seen, shape) in enumerate(zip(found, [(4, 6), (24,), (2, 1, 3, 1, 2, 1, 2)], strict=True)):
        assert seen["all_gather"] == [*rows, *(rows + 1), *(rows + 2)]
        assert seen["broadcast"] == (rows + 1).reshape(shape).tolist()
        assert seen["all_reduce"] == (3 * rows + 3).reshape(shape).tolist()
        assert "rank 0" in seen["another size"]
        assert "float64[1, 6]" in seen["another size"]
        other = {0: ("float64[24]", "float64[2, 1, 3, 1, 2, …]"), 1: ("float64[24]",)}
        assert any(text in seen["another size"] for text in other.get(rank, ("float64[2, 1, 3, 1, 2, …]",)))
        assert seen["afterwards"] == ([3.0] if rank else 3.0)


def test_background_operations_run_in_order_and_before_a_later_blocking_one() -> None:
    for values, done in hm.launch(work.background_order, 3, 20, timeout_s=LIMIT_S):
        assert values == [3.0**20, 3.0**20, 3.0]
        assert done


def test_waiting_may_be_given_up_without_giving_up_the_operation(tmp_path: Path) -> None:
    assert (
        hm.launch(work.waiting_has_limits, 2, str(tmp_path), timeout_s=LIMIT_S) == [("TimeoutError", 2.0)] * 2
    )


def test_mistakes_in_the_background_are_told_in_their_turn() -> None:
    for rank, seen in enumerate(hm.launch(work.mistakes_in_the_background, 2, timeout_s=LIMIT_S)):
        expected = ["MismatchError", "MismatchError", "", ""]
        expected[rank] = "ArgumentError"
        assert seen == expected


def test_groups_run_beside_each_other() -> None:
    rounds = 30
    for rank, (number, count, total) in enumerate(
        hm.launch(work.groups_at_once, 4, rounds, timeout_s=LIMIT_S)
    ):
        assert (number, count) == (rank // 2, 2)
        like_me = sum(other for other in range(4) if other % 2 == rank % 2)
        assert total == sum(2 * r + 4 + like_me for r in range(rounds))


def test_a_group_must_name_existing_ranks_once_and_this_one() -> None:
    assert hm.launch(work.group_mistakes, 2, timeout_s=LIMIT_S) == [["ArgumentError"] * 4] * 2


@pytest.mark.parametrize(
    "algorithm", ["all_reduce_ring", "all_reduce_direct", "all_reduce_recursive_doubling"]
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_results_are_the_same_bits_on_every_rank_and_in_every_run(algorithm: str, dtype: str) -> None:
    runs = hm.launch(work.bits, 4, algorithm, dtype, 60_001, timeout_s=LIMIT_S)
    assert len({found for rank in runs for found in rank}) == 1


def test_a_custom_collective_runs() -> None:
    # Given 2 ranks and 3 chunks of 2 elements; rank 1 wants rank 0's chunk 0, rank 0 wants rank 1's chunk 2.
    collective = hm.Collective.custom(2, 3, [(0, 0), (1, 2), (0, 1)], [(1, 0), (0, 2)], reducing=False)
    schedule = hm.Schedule.from_transfers(collective, [(0, 0, 1, 0, False), (0, 1, 0, 2, False)])
    first, second = hm.launch(work.own_schedule, 2, schedule, timeout_s=LIMIT_S)
    assert first == [0, 1, 2, 3, 14, 15]
    assert second == [0, 1, 12, 13, 14, 15]


def test_arrivals_show_who_was_late() -> None:
    for rows in hm.launch(work.arrivals, 3, 1, timeout_s=LIMIT_S):
        for row in rows:
            assert min(row) == 0
            assert row[1] == max(row)


def test_the_log_of_arrivals_is_bounded() -> None:
    assert hm.launch(work.more_operations_than_the_log_holds, 2, timeout_s=LIMIT_S) == [(512, 2.0)] * 2


def test_closing_aborts_what_runs_in_the_background_and_the_others_are_told(tmp_path: Path) -> None:
    assert hm.launch(work.closes_with_work_left, 2, str(tmp_path), timeout_s=LIMIT_S) == ["LostRankError"] * 2


@pytest.mark.parametrize(
    "algorithm", ["all_reduce_ring", "all_reduce_direct", "all_reduce_double_binary_tree"]
)
def test_an_emulated_network_is_never_faster_than_its_simulation(algorithm: str) -> None:
    nbytes = 2_000_000
    network = hm.topologies.switch(4, latency_s=5e-6, bandwidth=100e6)
    conditions = hm.Conditions(slow={1: 2.0})
    found = hm.launch(
        work.emulated_seconds, 4, nbytes, algorithm, emulate=network, conditions=conditions, timeout_s=LIMIT_S
    )
    entry = hm.algorithms.get(algorithm)
    chunks = entry.best_chunk_count(4, 1 << 21, 1e-5, 50e6)
    schedule = entry.generate(4, chunk_count=chunks)
    simulated_s = hm.simulate(schedule, network, nbytes, conditions).seconds
    assert all(right for _, right in found)
    assert max(seconds for seconds, _ in found) >= 0.99 * simulated_s


def test_a_mesh_is_emulated_with_a_port_per_link() -> None:
    network = hm.topologies.mesh([2, 3], latency_s=1e-6, bandwidth=100e6)
    found = hm.launch(
        work.emulated_seconds, 6, 600_000, "all_reduce_ring", emulate=network, timeout_s=LIMIT_S
    )
    simulated_s = hm.simulate(hm.algorithms.all_reduce_ring(6), network, 600_000).seconds
    assert all(right for _, right in found)
    assert max(seconds for seconds, _ in found) >= 0.99 * simulated_s


def test_ranks_that_disagree_over_an_emulated_network_go_on() -> None:
    network = hm.topologies.switch(3, latency_s=1e-5, bandwidth=100e6)
    found = hm.launch(work.disagreement_over_an_emulated_network, 3, emulate=network, timeout_s=LIMIT_S)
    assert found == [("MismatchError", 3.0)] * 3
