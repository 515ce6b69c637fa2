# SPDX-License-Identifier: Apache-2.0
"""Plans where one switch stands beside direct links: a network of several paths, for which schedules are made."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.planner.question import is_uneven


def network(*, direct_Bps: float) -> hm.Topology:
    """Join four ranks by a switch of 10 GB/s a port, and by a ring of that bandwidth where it is not 0."""
    cables = [(rank, 4, 1e-6, 10e9) for rank in range(4)]
    if direct_Bps:
        cables += [(rank, (rank + 1) % 4, 1e-6, direct_Bps) for rank in range(4)]
    links = [(*way, *how) for a, b, *how in cables for way in ((a, b), (b, a))]
    return hm.Topology(4, links, switch_count=1)


def test_direct_links_beside_a_switch_make_a_network_uneven() -> None:
    assert is_uneven(network(direct_Bps=40e9))
    assert not is_uneven(network(direct_Bps=0))


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "broadcast"])
def test_schedules_made_for_both_come_nearer_to_the_bound(kind: str) -> None:
    """Given 1 MiB: published ones use one of the two at a time."""
    plan = hm.plan(network(direct_Bps=40e9), kind, 1 << 20)
    assert plan.name == "synthesized"
    assert plan.seconds <= 1.2 * plan.bound_s


def twice_cabled(ranks: int) -> hm.Topology:
    """Join ranks to one switch by two cables each, one half as fast."""
    cables = [(rank, ranks, 1e-6, rate) for rank in range(ranks) for rate in (10e9, 5e9)]
    return hm.Topology(
        ranks, [(*way, *how) for a, b, *how in cables for way in ((a, b), (b, a))], switch_count=1
    )


def test_two_cables_to_a_switch_are_several_paths() -> None:
    # Given 8 B and 2 us from rank to rank. Expect one latency, not those of a reduce-scatter and an all-gather.
    plan = hm.plan(twice_cabled(6), "all_reduce", 8)
    assert plan.name in ("one_shot", "all_reduce_recursive_multiplying")
    assert plan.seconds <= 1.01 * plan.bound_s
    assert hm.verify(plan.schedule) == []
