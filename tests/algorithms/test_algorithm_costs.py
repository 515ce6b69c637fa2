# SPDX-License-Identifier: Apache-2.0
"""Costs in the registry, as numbers and as formulas, against what the transfers themselves say."""

from fractions import Fraction

import pytest
from cost_formula import evaluate
from schedule_cost import count

import hemiola as hm

ALGORITHMS = [hm.algorithms.get(name) for name in hm.algorithms.names()]
CHUNK_COUNTS = [None, 2, 12]


def name_of(algorithm: hm.algorithms.Algorithm) -> str:
    return algorithm.name


def schedules(
    algorithm: hm.algorithms.Algorithm, rank_counts: range
) -> list[tuple[int, int | None, hm.Schedule]]:
    """Return (rank count, chosen chunk count, schedule), the last rank being the root."""
    chosen = CHUNK_COUNTS if algorithm.is_pipelined else [None]
    return [
        (n, k, algorithm.generate(n, n - 1 if algorithm.is_rooted else 0, chunk_count=k))
        for n in rank_counts
        for k in chosen
    ]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name_of)
def test_registered_numbers_are_those_of_the_transfers(algorithm: hm.algorithms.Algorithm) -> None:
    for n, k, schedule in schedules(algorithm, range(1, 65)):
        counted = count(schedule)
        nbytes = 3 * n * schedule.chunk_count  # divides into the chunks of every algorithm
        where = f"{n} ranks, chunk_count {k}"
        assert algorithm.step_count(n, chunk_count=k) == counted.steps, where
        assert algorithm.bytes_per_rank(n, nbytes, chunk_count=k) == counted.sent * nbytes, where
        # Latency 5 s and 1/4 B/s: small integers, so that floats are exact.
        seconds = algorithm.seconds(n, nbytes, 5.0, 0.25, chunk_count=k)
        assert seconds == 5 * counted.steps + 4 * counted.serialized * nbytes, where
        costly = algorithm.seconds(n, nbytes, 5.0, 0.25, chunk_count=k, message_s=2.0)
        assert costly == seconds + 2 * counted.further_messages, where


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name_of)
def test_printed_formulas_are_those_of_the_transfers(algorithm: hm.algorithms.Algorithm) -> None:
    alpha, beta, nbytes = Fraction(7), Fraction(1, 11), Fraction(1000)
    for n, k, schedule in schedules(algorithm, range(2, 65)):
        counted = count(schedule)
        chunks = schedule.chunk_count
        where = f"{n} ranks, chunk_count {k}"
        assert evaluate(algorithm.steps_formula, n, chunks) == counted.steps, where
        assert evaluate(algorithm.bytes_formula, n, chunks, N=nbytes) == counted.sent * nbytes, where
        seconds = evaluate(algorithm.formula, n, chunks, N=nbytes, alpha=alpha, beta=beta)
        assert seconds == counted.steps * alpha + counted.serialized * nbytes * beta, where
        if k is None:
            assert evaluate(algorithm.chunks_formula.split("by default ")[-1], n) == chunks, where


def test_bytes_of_a_ring_all_reduce() -> None:
    """Given 4 ranks, 100 bytes. Derivation: 2·3 chunks of 25. Expect 150; of 101 bytes 151.5, rounded up."""
    ring = hm.algorithms.get("all_reduce_ring")
    assert ring.bytes_per_rank(4, 100) == 150
    assert ring.bytes_per_rank(4, 101) == 152
    assert ring.bytes_per_rank(4, 0) == 0


def test_seconds_of_a_ring_all_reduce() -> None:
    """Given 8 ranks, 8 MB, 2 µs, 1 GB/s. Derivation: 14·2 µs + 14·1 MB / 1 GB/s. Expect 14.028 ms."""
    seconds = hm.algorithms.get("all_reduce_ring").seconds(8, 8_000_000, 2e-6, 1e9)
    assert seconds == pytest.approx(14.028e-3, rel=1e-12)


def test_logarithmic_all_reduces_move_no_more_than_the_ring() -> None:
    """Expect 2(n-1)/n of the buffer: of halving and doubling for powers of two, of Bruck always."""
    for n in range(1, 65):
        nbytes = 64 * n
        assert hm.algorithms.get("all_reduce_bruck").bytes_per_rank(n, nbytes) == 2 * 64 * (n - 1)
        if n.bit_count() == 1:
            halving_doubling = hm.algorithms.get("all_reduce_recursive_halving_doubling")
            assert halving_doubling.bytes_per_rank(n, nbytes) == 2 * 64 * (n - 1)


@pytest.mark.parametrize("name", [a.name for a in ALGORITHMS if a.is_pipelined])
def test_best_chunk_count_is_the_cheapest_of_all(name: str) -> None:
    algorithm = hm.algorithms.get(name)
    for n, nbytes in [(2, 1000), (5, 1 << 20), (16, 1 << 16), (33, 10)]:
        best = algorithm.best_chunk_count(n, nbytes, 1e-6, 1e9)
        assert best is not None
        times = {
            k: algorithm.seconds(n, nbytes, 1e-6, 1e9, chunk_count=k)
            for k in range(algorithm.chunk_count_multiple, 4097, algorithm.chunk_count_multiple)
        }
        assert times[best] == pytest.approx(min(times.values()), rel=1e-12)


def test_best_chunk_count_of_a_chain() -> None:
    """Given n = 6, N = 10^6, α = 1 µs, β = 1 ns. Derivation: (n-2+K)(α + N/K·β) is least at
    K = √((n-2)·N·β/α) = √4000 = 63.2; it is 67·(1 + 1000/63) = 1130.49 µs for K = 63 and
    68·(1 + 1000/64) = 1130.50 µs for K = 64. Expect 63."""
    chain = hm.algorithms.get("broadcast_chain")
    assert chain.best_chunk_count(6, 1_000_000, 1e-6, 1e9) == 63


def test_algorithms_that_are_not_pipelined_have_no_best_chunk_count() -> None:
    assert hm.algorithms.get("all_reduce_ring").best_chunk_count(6, 1000, 1e-6, 1e9) is None
