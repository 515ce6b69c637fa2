"""A rank that keeps coming late on a network that is not one switch: found, planned for, and forgotten again."""

from __future__ import annotations

from functools import partial

import late_ranks as work
import pytest

import hemiola as hm

LIMIT_S = 200
SLOW_LINKS = {"latency_s": 1e-4, "bandwidth": 2e6}
SIZE = 32_000
#: Given 256 kB over links of 2 MB/s. Derivation: an all-reduce takes some 0.07 s on the DGX-1 (which has a whole one for
#: each of two links), 0.13 to 0.15 s on the others; with one late by as much, 0.04 to 0.09 s from its arrival on. So 0.2 s is
#: late enough for all, and without a late rank its plan costs half as much again.
DELAY_S = 0.2
NETWORKS = {
    "fully connected": hm.topologies.fully_connected(4, **SLOW_LINKS),
    "torus": hm.topologies.torus([2, 4], **SLOW_LINKS),
    "mesh": hm.topologies.mesh([2, 3], **SLOW_LINKS),
    "DGX-1": hm.topologies.dgx1(**SLOW_LINKS),
    "hosts": hm.topologies.hosts(3, 2, 1, **SLOW_LINKS, nic_latency_s=1e-4, nic_bandwidth=2e6),
}
LATE = "late_forest"


def _changing(phases: list[tuple[int, int, float]], adapt: str | None = None):  # type: ignore[no-untyped-def]
    return work.changing_plans(SIZE, phases, adapt)


@pytest.mark.parametrize("name", NETWORKS)
def test_all_run_the_schedule_for_whom_keeps_coming_late_from_the_same_call_on_and_leave_it_again(
    name: str,
) -> None:
    network, late = NETWORKS[name], 1
    runs = hm.launch(
        _changing, network.rank_count, [(10, late, DELAY_S), (9, late, 0.0)], emulate=network, timeout_s=LIMIT_S
    )
    assert [wrong for wrong, _ in runs] == [0] * network.rank_count
    seen = runs[0][1]
    assert all(other == seen for _, other in runs)
    assert all(name != LATE and not ranks and not expected for name, ranks, expected in seen[:7])
    assert seen[9][1:] == ((late,), True)
    assert seen[9][0].startswith("late_") or seen[9][0].startswith("all_reduce_late")
    assert seen[18] == seen[0]


def test_the_next_late_rank_takes_the_place_of_the_one_before() -> None:
    network = NETWORKS["fully connected"]
    phases = [(9, 1, DELAY_S), (9, 3, DELAY_S)]
    runs = hm.launch(_changing, 4, phases, emulate=network, timeout_s=LIMIT_S)
    assert [wrong for wrong, _ in runs] == [0] * 4
    assert runs[0][1][8] == (LATE, (1,), True)
    assert runs[0][1][17] == (LATE, (3,), True)


def test_nothing_is_planned_for_a_late_rank_where_that_is_forbidden() -> None:
    network = NETWORKS["fully connected"]
    runs = hm.launch(_changing, 4, [(9, 1, DELAY_S)], "slow", emulate=network, timeout_s=LIMIT_S)
    assert all(seen == runs[0][1][:1] * 9 for _, seen in runs)
    assert runs[0][1][0][0] != LATE


def test_calls_in_the_background_are_planned_anew_in_their_turn() -> None:
    network = NETWORKS["fully connected"]
    found = hm.launch(
        partial(work.plans_in_the_background, SIZE, 12, 2, DELAY_S), 4, emulate=network, timeout_s=LIMIT_S
    )
    assert found == [(0, LATE)] * 4
