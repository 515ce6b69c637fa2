# SPDX-License-Identifier: Apache-2.0
"""Every published algorithm keeps its promise for every rank count and several roots, as hm.verify judges."""

import pytest

import hemiola as hm

RANK_COUNTS = [*range(1, 65), 100, 127]
ALGORITHMS = [hm.algorithms.get(name) for name in hm.algorithms.names()]
PIPELINED = [algorithm for algorithm in ALGORITHMS if algorithm.is_pipelined]


def name_of(algorithm: hm.algorithms.Algorithm) -> str:
    return algorithm.name


def roots(algorithm: hm.algorithms.Algorithm, n: int) -> list[int]:
    """Return the first, a middle and the last rank for rooted collectives; 0 for others."""
    return sorted({0, n // 3, n - 1}) if algorithm.is_rooted else [0]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name_of)
def test_every_rank_count_and_root_is_correct_and_nothing_is_sent_in_vain(
    algorithm: hm.algorithms.Algorithm,
) -> None:
    for n in RANK_COUNTS:
        for root in roots(algorithm, n):
            schedule = algorithm.generate(n, root)
            assert schedule.collective.kind == algorithm.kind
            assert schedule.rank_count == n
            assert schedule.collective.root == (root if algorithm.is_rooted else None)
            assert hm.verify(schedule, report_redundant=True) == [], f"{n} ranks, root {root}"


@pytest.mark.parametrize("chunk_count", [2, 4, 10, 64])
@pytest.mark.parametrize("algorithm", PIPELINED, ids=name_of)
def test_every_chunk_count_is_correct(algorithm: hm.algorithms.Algorithm, chunk_count: int) -> None:
    for n in [1, 2, 3, 4, 5, 8, 13, 32, 33]:
        schedule = algorithm.generate(n, chunk_count=chunk_count)
        assert schedule.chunk_count == chunk_count
        assert hm.verify(schedule, report_redundant=True) == [], f"{n} ranks"


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name_of)
def test_one_rank_has_nothing_to_do(algorithm: hm.algorithms.Algorithm) -> None:
    assert algorithm.generate(1).step_count == 0
    assert algorithm.step_count(1) == 0
    assert algorithm.bytes_per_rank(1, 1000) == 0
    assert algorithm.seconds(1, 1000, 1e-6, 1e9) == 0


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name_of)
def test_the_function_of_the_same_name_makes_the_same_schedule(algorithm: hm.algorithms.Algorithm) -> None:
    function = getattr(hm.algorithms, algorithm.name)
    keywords = {"root": 2} if algorithm.is_rooted else {}
    if algorithm.is_pipelined:
        keywords["chunk_count"] = 6
    assert function(5, **keywords) == algorithm.generate(5, **keywords)


def test_ring_sends_up_the_ranks() -> None:
    """One direction everywhere: to rank + 1."""
    for name in ["all_gather_ring", "reduce_scatter_ring", "all_reduce_ring"]:
        transfers = hm.algorithms.get(name).generate(5).transfers
        assert ((transfers["src"] + 1) % 5 == transfers["dst"]).all()


def test_two_way_ring_uses_both_directions_for_half_of_the_buffer_each() -> None:
    transfers = hm.algorithms.all_reduce_ring_two_way(5).transfers
    up = (transfers["src"] + 1) % 5 == transfers["dst"]
    assert ((transfers["chunk"] % 2 == 0) == up).all()
    assert up.sum() * 2 == len(transfers)
