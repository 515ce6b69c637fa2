# SPDX-License-Identifier: Apache-2.0
"""Quantized all-reduces over an emulated network of 100 Mbit/s, where eight bits pay, and between processes."""

from __future__ import annotations

import pytest
import quantizer_ranks as work

import hemiola as hm
from hemiola.demo.training import Digits, Task, train_alone

SLOW = {n: hm.topologies.switch(n, latency_s=20e-6, bandwidth=12.5e6) for n in (2, 3, 4)}
SIZES = [1, 255, 257, 20_000, 70_001]


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_results_are_equal_on_all_ranks_and_within_their_roundings_and_nothing_is_lost(ranks: int) -> None:
    every = hm.launch(work.sums, ranks, SIZES, 4, emulate=SLOW[ranks], timeout_s=200)
    for size, op, seen, worst, drift in every[0]:
        case = f"{size} elements, {op}"
        for other in every[1:]:
            assert seen in [row[2] for row in other], case
        # Given blocks whose largest magnitude is m on any rank. Derivation: each of the other ranks sends half a step
        # of m / 127 off, and the owner half a step of a sum of at most n·m. Expect (n - 1 + n) / 254 at most.
        assert worst <= (2 * ranks - 1) / 254 * 1.001, case
        # float32 adds some 24 bits' worth for each step and rank
        assert drift < 1e-5, case
    assert [row for row in every[0] if row[3] > 1e-4], "expected large arrays to be rounded"


@pytest.mark.parametrize(("hosts", "per_host"), [(2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize("inside_is_slow", [False, True], ids=["plain_inside", "rounded_inside"])
def test_hosts_round_between_each_other_and_inside_only_where_that_is_slow(
    hosts: int, per_host: int, inside_is_slow: bool
) -> None:
    inside_Bps = 20e6 if inside_is_slow else 200e9  # a core rounds some 10 GB/s
    network = hm.topologies.hosts(
        hosts, per_host, latency_s=5e-6, bandwidth=inside_Bps, nic_latency_s=20e-6, nic_bandwidth=12.5e6
    )
    size, ranks = 40_001, hosts * per_host
    every = hm.launch(work.on_two_levels, ranks, size, 3, emulate=network, timeout_s=200)
    # Given a block's largest magnitude m on any rank. Derivation: a host's sum is at most p·m, and that of all h hosts
    # h·p·m. Each of the other hosts sends half a step of its sum off, and the owner half a step of the whole one:
    # (h - 1)·p + h·p halves of m / 127. Where hosts round inside, each host's sum is (p - 1) halves off before.
    halves = (2 * hosts - 1) * per_host + hosts * (per_host - 1) * inside_is_slow
    for rank, found in enumerate(every):
        assert found["bits"] == every[0]["bits"]
        assert 1e-4 < found["worst"] <= halves / 254 * 1.02  # 1.02: rounded sums are a bit larger than p·m
        neighbours = [other // per_host == rank // per_host for other in range(ranks)]
        assert found["rounds to"] == [not inside or inside_is_slow for inside in neighbours]
        # A rank sends the p-th of its host's sum that it has added. Where sums inside are plain it rounds nothing else.
        assert found["owed"] <= (1 if inside_is_slow else 1 / per_host + 0.01)
        assert found["owed"] > 0.9 * (1 if inside_is_slow else 1 / per_host)


@pytest.fixture(scope="module")
def odd() -> list[dict[str, object]]:
    return hm.launch(work.odd, 3, emulate=SLOW[3], timeout_s=100)


def test_an_infinity_makes_its_block_nan_and_the_next_call_is_clean(odd: list[dict[str, object]]) -> None:
    for found in odd:
        assert found["nan in"] == [256, 0]
        assert found["clean"] == pytest.approx([1, 1], abs=3 / 254)


def test_zeros_stay_zeros_and_keep_their_shape(odd: list[dict[str, object]]) -> None:
    assert all(found["zeros"] == [(2, 1 << 15), False] for found in odd)


def test_the_average_of_the_largest_floats_is_finite_and_in_place(odd: list[dict[str, object]]) -> None:
    for found in odd:
        assert found["in place"]
        assert found["average"] == pytest.approx(1, abs=3 / 254)


def test_blocks_below_the_least_scale_wait_in_the_residual(odd: list[dict[str, object]]) -> None:
    # 1e-37 / 127 is below the least normal float32, 1.2e-38: not sent by the others, and neither is the owner's own.
    assert all(found["waits"] == pytest.approx([0, 1e-37]) for found in odd)


def test_least_squares_comes_within_a_ten_thousandth_of_the_optimum() -> None:
    assert max(hm.launch(work.trained, 4, 400, emulate=SLOW[4], timeout_s=200)) <= 1e-4


def test_digits_are_named_as_well_as_with_plain_gradients() -> None:
    # Given two networks and 360 held-out images. Expect at most 0.3 points less: 2 images of all 720.
    tasks = [Task(widths=(64, 256, 10), epochs=10, seed=seed) for seed in range(2)]
    digits = Digits.load()
    plain = sum(train_alone(task, digits, lambda: None).accuracy for task in tasks)
    every = hm.launch(work.trained_on_digits, 4, tasks, emulate=SLOW[4], timeout_s=200)
    assert every.count(every[0]) == 4
    assert plain > 0.9 * len(tasks)
    assert sum(every[0]) >= plain - 0.003 * len(tasks)


def test_wrong_arguments_are_refused_by_name_on_every_rank() -> None:
    found = hm.launch(work.refused, 2, timeout_s=100)
    for rank, (integers, op, shape, gaps, one, out, residual) in enumerate(found):
        assert integers.startswith("ArgumentError")
        assert "float32" in integers
        assert "int32" in integers
        assert op.startswith("ArgumentError")
        assert "'max'" in op
        assert shape.startswith("ArgumentError")
        assert "the residual, (3,)" in shape
        assert gaps.startswith("ArgumentError")
        assert "in C order" in gaps
        assert one.startswith("ArgumentError" if rank == 1 else "MismatchError")
        assert out.startswith("ArgumentError: out: expected float32")
        assert "int64" in out
        assert residual.startswith("ArgumentError")
        assert "the residual, (4,) of int32" in residual


@pytest.mark.parametrize(
    ("eight_bits", "inside"), [(True, False), (True, True), (False, False)], ids=["before", "inside", "plain"]
)
def test_a_call_that_fails_leaves_residual_and_input_as_they_were(eight_bits: bool, inside: bool) -> None:
    found = hm.launch(work.dead_peer, 3, eight_bits, inside, timeout_s=100, on_failure="continue")
    for said, residual, x in found[:-1]:
        assert said.startswith("LostRankError")
        assert "rank 2" in said
        assert (residual, x) == (True, True)


def test_between_processes_of_one_machine_nothing_is_rounded() -> None:
    assert hm.launch(work.dense, 2, timeout_s=100) == [(True, True, True)] * 2
