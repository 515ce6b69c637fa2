# SPDX-License-Identifier: Apache-2.0
"""Candidates that one crowded link rules out are not simulated, and the plan says so."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola import _core


def mesh(*dims: int) -> hm.Topology:
    return hm.topologies.mesh(list(dims), latency_s=0.5e-6, bandwidth=50e9)


def test_the_busiest_link_of_a_line_carries_what_crosses_its_middle() -> None:
    # Given 4 ranks in a line and an all_to_all of blocks of 1 MB (the buffer is 4 of them), rank to rank. Derivation:
    # over the middle link go the blocks of 2 ranks for 2 others, 4 MB, at 50 GB/s 80 us. Expect 80 us.
    schedule = hm.algorithms.all_to_all_direct(4)
    assert _core.busiest_link_s(schedule, mesh(4), 4_000_000, {}) == pytest.approx(80e-6)
    # And where rank 1, at one end of that link, is 3 times slower: 240 us.
    assert _core.busiest_link_s(schedule, mesh(4), 4_000_000, {1: 3.0}) == pytest.approx(240e-6)


@pytest.mark.parametrize("name", ["all_reduce_ring", "all_reduce_direct", "all_reduce_recursive_doubling"])
@pytest.mark.parametrize("network", ["fluid", "fifo"])
def test_no_simulation_ends_before_the_busiest_link(name: str, network: str) -> None:
    schedule = hm.algorithms.get(name).generate(12)
    busiest_s = _core.busiest_link_s(schedule, mesh(3, 4), 1 << 20, {5: 2.0})
    timeline = hm.simulate(schedule, mesh(3, 4), 1 << 20, hm.Conditions(slow={5: 2.0}), network)
    assert busiest_s == pytest.approx(timeline.link_busy_s.max())
    assert busiest_s <= timeline.seconds


def test_on_a_large_mesh_crowded_candidates_are_ruled_out_without_a_simulation() -> None:
    plan = hm.plan(mesh(9, 9), "all_reduce", 1 << 26)
    ruled_out = [other for other in plan.alternatives if other.busiest_link_s is not None]
    assert "all_reduce_direct" in {other.name for other in ruled_out}
    assert all(other.simulated_s is None and other.busiest_link_s > plan.seconds for other in ruled_out)
    assert f"but {len(ruled_out)}, whose busiest links alone take longer" in plan.explain()


def test_small_candidates_are_all_simulated() -> None:
    plan = hm.plan(mesh(3, 3), "all_reduce", 1 << 26)
    small = [other for other in plan.alternatives if other.transfer_count <= 10_000]
    assert len(small) >= 10
    assert all(other.simulated_s is not None and other.busiest_link_s is None for other in small)
