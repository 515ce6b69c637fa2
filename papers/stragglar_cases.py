# SPDX-License-Identifier: Apache-2.0
"""The simulated cases of StragglAR's figures: an all-reduce whose last rank is late, by the schedules that they
compare.

Times are *exposed*: from the late rank's arrival to the end. The network is the paper's: every rank one port to one
switch, 3 µs [StragglAR, §4.3]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from hemiola import algorithms, topologies
from hemiola._core import Schedule, Topology
from hemiola.bounds import lower_bound
from hemiola.conditions import Conditions
from hemiola.simulate import simulate

LATENCY_S = 3e-6
H100, A100 = 450e9, 300e9
MIB, GIB = 1 << 20, 1 << 30
#: The matching for even counts takes seconds from here on.
_MATCHING_RANKS = 64


@dataclass(frozen=True)
class Case:
    """One all-reduce: the last rank is late by `delay_s`, or by just as long as the others' reduce-scatter takes."""

    rank_count: int
    nbytes: int
    bandwidth: float = H100
    delay_s: float | None = None

    @property
    def late_rank(self) -> int:
        return self.rank_count - 1

    @property
    def cluster(self) -> Topology:
        return topologies.switch(self.rank_count, latency_s=LATENCY_S, bandwidth=self.bandwidth)

    @property
    def delay(self) -> float:
        return reduce_scatter_seconds(self) if self.delay_s is None else self.delay_s

    def exposed(self, schedule: Schedule) -> float:
        """Simulate, and return the seconds after the late rank's arrival."""
        late = Conditions(late={self.late_rank: self.delay} if self.delay else {})
        return simulate(schedule, self.cluster, self.nbytes, conditions=late).seconds - self.delay


def reduce_scatter_seconds(case: Case) -> float:
    """Return (n-2)α + (n-2)/(n-1)·sβ, the ring reduce-scatter of the n-1 early ranks [StragglAR, §B]."""
    n = case.rank_count
    return (n - 2) * LATENCY_S + (n - 2) / (n - 1) * case.nbytes / case.bandwidth


@lru_cache(maxsize=64)
def late_schedule(rank_count: int, chunk_count: int) -> Schedule:
    return algorithms.all_reduce_late(rank_count, rank_count - 1, chunk_count)


def late_chunk_counts(case: Case) -> list[int]:
    """Return the chunk counts worth trying: around M* = sqrt((q-1)·sβ/α), multiples or whole parts of n-1."""
    early, q = case.rank_count - 1, math.ceil(math.log2(case.rank_count))
    best = math.sqrt(max(q - 1, 1) * case.nbytes / case.bandwidth / LATENCY_S)
    if best >= early:
        return [early * round(best / early), early * (round(best / early) + 1)]
    parts = round(early / best)
    return sorted({max(1, early // p) for p in (parts, parts + 1, max(1, parts - 1))})


def late_exposed(case: Case) -> float:
    """Return the exposed time of `all_reduce_late` with the best of a few chunk counts."""
    return min(case.exposed(late_schedule(case.rank_count, chunks)) for chunks in late_chunk_counts(case))


def segmented_exposed(case: Case, segments: int = 8) -> float:
    """Return the exposed time when the segments reduced by the late rank's arrival get the short finish."""
    n = case.rank_count
    share = case.delay / reduce_scatter_seconds(case)
    reduced = min(segments, math.floor(share * segments + 1e-9))
    best = round(math.sqrt(math.log2(n) * case.nbytes / case.bandwidth / LATENCY_S) / (n - 1) / segments)
    return min(
        case.exposed(
            algorithms.all_reduce_late_segmented(
                n, case.late_rank, segments=segments, reduced=reduced, chunks_per_owner=per_owner
            )
        )
        for per_owner in sorted({1, max(1, best)})
    )


def bound_exposed(case: Case) -> float:
    """Return the lower bound on the exposed time."""
    late = Conditions(late={case.late_rank: case.delay} if case.delay else {})
    return lower_bound(case.cluster, "all_reduce", case.nbytes, conditions=late).seconds - case.delay


@lru_cache(maxsize=16)
def baselines(rank_count: int) -> dict[str, Schedule]:
    found = {
        "ring": algorithms.all_reduce_ring(rank_count),
        "rhd": algorithms.all_reduce_recursive_halving_doubling(rank_count),
        "allpairs": algorithms.all_reduce_direct(rank_count),
    }
    if rank_count & (rank_count - 1) == 0:
        found["stragglar"] = algorithms.all_reduce_stragglar(rank_count, rank_count - 1)
    elif rank_count % 2 == 0 and rank_count <= _MATCHING_RANKS:
        found["stragglar"] = algorithms.all_reduce_stragglar_matching(rank_count, rank_count - 1)
    return found
