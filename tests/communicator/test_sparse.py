# SPDX-License-Identifier: Apache-2.0
"""Collectives whose messages leave zeros out: the same bits as the dense call of the same schedule."""

from __future__ import annotations

import pytest
import sparse_ranks as work
from rank_cases import COMPLEX, FLOATS, INTEGERS, REDUCING, dtypes_and_operations
from sparse_ranks import SparseCase

import hemiola as hm
from hemiola import algorithms

COPYING = ("all_gather", "gather", "scatter", "broadcast", "all_to_all")
NETWORK = hm.topologies.switch(3, latency_s=1e-5, bandwidth=10e6)
#: On which sparse sums go by two levels.
HOSTS = hm.topologies.hosts(2, 2, latency_s=1e-6, bandwidth=1e9, nic_latency_s=1e-5, nic_bandwidth=10e6)


def differences(ranks: int, cases: list[SparseCase], network: hm.Topology | None = None) -> list[str]:
    found = hm.launch(work.differing, ranks, cases, emulate=network, timeout_s=120)
    return [one for of_rank in found for one in of_rank]


@pytest.mark.parametrize("ranks", [1, 3])
def test_every_collective_gives_the_same_bits(ranks: int) -> None:
    cases = [
        SparseCase(kind, size, density=density, in_place=in_place)
        for kind in (*COPYING, *REDUCING)
        for size in (0, 1, 65, 3001)
        for density in (0, 0.02, 1)
        for in_place in (False, True)
    ]
    assert differences(ranks, cases) == []


def test_every_dtype_and_operation_gives_the_same_bits() -> None:
    cases = [
        SparseCase("all_reduce", 1001, dtype, op, density)
        for dtype, op in dtypes_and_operations()
        for density in (0.01, 0.3)
    ]
    cases += [SparseCase("all_gather", 1001, dtype) for dtype in (*FLOATS, *INTEGERS, *COMPLEX, "bool")]
    assert differences(3, cases) == []


def test_long_arrays_go_in_slices() -> None:
    cases = [
        SparseCase(kind, 700_001, density=0.03, in_place=in_place, clustered=not in_place)
        for kind in ("all_gather", "reduce_scatter", "all_reduce")
        for in_place in (False, True)
    ]
    assert differences(2, cases) == []


@pytest.mark.parametrize("ranks", [3, 4])
def test_every_published_algorithm_gives_the_same_bits(ranks: int) -> None:
    cases = [
        SparseCase(algorithms.get(name).kind, size, density=0.05, schedule=name)
        for name in algorithms.names()
        if algorithms.get(name).is_valid(ranks) and not algorithms.get(name).needs
        for size in (10, 20_003)
    ]
    assert len({case.schedule for case in cases}) > 20
    assert differences(ranks, cases) == []


def test_an_emulated_network_carries_fewer_bytes_and_the_same_bits() -> None:
    cases = [SparseCase(kind, 3001, density=0.02) for kind in (*COPYING, *REDUCING)]
    assert differences(3, cases, NETWORK) == []


def test_ranks_that_disagree_about_zeros_are_told_and_go_on() -> None:
    for raised, text, after in hm.launch(work.disagreeing, 3, 1, timeout_s=60):
        assert raised == "MismatchError"
        assert "sparse=True" in text
        assert "sparse=None" in text
        assert "\n" not in text
        assert after == 3.0


def test_a_wrong_sparse_is_told_in_one_line() -> None:
    wrong = [1, "yes", 0.5, "spccl"]
    told = [f"expected True, False or None as sparse, found {value!r}" for value in wrong]
    assert hm.launch(work.passing, 2, wrong, timeout_s=60) == [told] * 2


def test_a_late_rank_is_found_where_zeros_are_left_out() -> None:
    assert hm.launch(work.late, 4, 20_000, 2, timeout_s=60) == [[True] * 4] * 4


@pytest.mark.parametrize("network", [NETWORK, HOSTS], ids=["a switch", "hosts of two ranks"])
def test_unnamed_calls_give_the_same_bits_whatever_ranks_see_of_zeros(network: hm.Topology) -> None:
    for found in hm.launch(work.unnamed, network.rank_count, emulate=network, timeout_s=120):
        assert found == []


# Given three ranks and a ring: two values added on their way, two copied. On a slow link each takes its smallest form.
def test_each_phase_goes_in_the_smallest_form_of_its_data() -> None:
    size = 4 * 4096  # of a message
    for told in hm.launch(work.forms_sent, 3, "all_reduce", 3 * size, "all_reduce_ring", emulate=NETWORK):
        assert told == {form: ({form: 2}, {form: 2}) for form in told}
    for told in hm.launch(work.forms_sent, 3, "all_gather", size, "all_gather_ring", emulate=NETWORK):
        assert told == {form: ({}, {form: 2}) for form in told}


# Given a link that a message takes as long as 100 KB: the planner runs two rounds of halving, not three messages.
def test_the_planners_halving_reduce_scatter_leaves_zeros_out() -> None:
    network = hm.topologies.switch(4, latency_s=5e-5, bandwidth=100e6, message_s=1e-3)
    found = hm.launch(work.planned_reduce_scatter, 4, 1 << 16, emulate=network, timeout_s=60)
    for rank, (right, peers, added, copied) in enumerate(found):
        assert right
        assert len(peers) == 2
        assert (rank + 2) % 4 in peers
        forms = {form for form, count in added.items() if count}  # which, the measured speeds say
        assert forms
        assert forms <= {"ef", "hier", "pici"}
        assert not any(copied.values())


def test_a_thread_that_flushes_subnormals_gets_the_bits_of_the_dense_call() -> None:
    assert hm.launch(work.flushing, 2, 4096, timeout_s=60) == [[], []]


# Given a pause of some 60 calls between looks. Expect what a rank sends to follow the data one call late: a bit on
# messages says it, over shared memory, too.
def test_over_shared_memory_data_that_change_are_noticed_in_the_call_after() -> None:
    size = 6000
    for told in hm.launch(work.changing, 3, size, emulate=NETWORK, timeout_s=60):
        assert [is_coded for _, is_coded in told] == [False, False, False, True, True, True, False]
        dense = told[1][0]
        assert all(told[call][0] == dense for call in (2, 5))  # of the sixth every message goes plain
        assert all(told[call][0] < dense / 10 for call in (3, 4))
