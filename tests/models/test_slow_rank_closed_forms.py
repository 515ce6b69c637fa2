"""The weighted exchange under one slow rank takes exactly the time of OptCC's closed forms when simulated."""

from fractions import Fraction

import pytest

import hemiola as hm

BANDWIDTH = 10**9


def closed_form(rank_count: int, factor: Fraction, segments: int) -> Fraction:
    """Return time over N·β: l(k+1)/k for l >= 2, else 2(p-1)l/((p-2)l+2)·(k+l-1)/k [OptCC, Theorems 1, 6]."""
    if factor >= 2:
        return factor * Fraction(segments + 1, segments)
    bound = 2 * (rank_count - 1) * factor / ((rank_count - 2) * factor + 2)
    return bound * (segments + factor - 1) / segments


def one_port_cluster(rank_count: int) -> hm.Topology:
    """Every rank has one port to one switch, without latency."""
    links = [
        link
        for r in range(rank_count)
        for link in ((r, rank_count, 0.0, BANDWIDTH), (rank_count, r, 0.0, BANDWIDTH))
    ]
    return hm.Topology(rank_count, links, switch_count=1)


@pytest.mark.parametrize("rank_count", [3, 4, 5, 6, 8, 9, 16, 17, 32, 64])
@pytest.mark.parametrize(
    "factor", [Fraction(x) for x in ("1", "8/7", "4/3", "3/2", "7/4", "2", "5/2", "3", "4")], ids=str
)
def test_simulated_time_equals_the_closed_form(rank_count: int, factor: Fraction) -> None:
    for segments in (1, 2, 3, 5, 8):
        schedule = hm.algorithms.all_reduce_weighted_exchange(rank_count, {0: float(factor)}, segments)
        # Given sizes and times without remainders: a byte takes 1 ns, 8/7 ns at the slow rank, and so on.
        nbytes = int(sum(schedule.chunk_weights)) * 840
        conditions = hm.Conditions(slow={0: float(factor)})
        timeline = hm.simulate(
            schedule, one_port_cluster(rank_count), nbytes, conditions=conditions, network="fluid"
        )
        expected = closed_form(rank_count, factor, segments) * Fraction(nbytes, BANDWIDTH)
        assert timeline.seconds == pytest.approx(float(expected), rel=1e-12)
