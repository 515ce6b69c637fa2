# SPDX-License-Identifier: Apache-2.0
"""A rank that keeps coming late on a network that is not one switch: found, planned for, and forgotten again."""

from __future__ import annotations

from pathlib import Path

import late_ranks as work
import pytest

import hemiola as hm
from hemiola.communicator.control_plane import meeting_at_an_address
from hemiola.errors import FailedRankError

LIMIT_S = 200


def _links(bandwidth: float) -> dict[str, float]:
    return {"latency_s": 1e-4, "bandwidth": bandwidth}


SIZE = 16_000
#: Given 128 kB, sβ = 0.32 s on links of 400 kB/s and 1.28 s on those of 100. Derivation: an all-reduce moves 2(n-1)/n·s
#: in and out of each rank; over 3 links, 3 and 2, that is 0.16, 0.19 and 0.27 s at least, over the DGX-1's 6 0.37. A
#: rank 0.45 s late lets the others do everything meanwhile.
DELAY_S = 0.45
NETWORKS = {
    "fully connected": hm.topologies.fully_connected(4, **_links(4e5)),
    "torus": hm.topologies.torus([2, 4], **_links(4e5)),
    "mesh": hm.topologies.mesh([2, 3], **_links(4e5)),
    "DGX-1": hm.topologies.dgx1(**_links(1e5)),
}
#: Of calls to which a rank is late, more than the eight that are looked at: an interruption spoils some.
LATE_CALLS = 12
LATE = "late_forest"
Seen = tuple[str, tuple[int, ...], bool]
#: One network with equal links and one without are enough for a change; `make test-all` runs the others, which wait.
EACH_NETWORK = [
    pytest.param(name, marks=[pytest.mark.long] if name in ("torus", "DGX-1") else []) for name in NETWORKS
]

Phases = list[tuple[int, int | None, float]]


def _changing(phases: Phases, adapt: str | None = None) -> tuple[int, list[Seen]]:
    return work.changing_plans(SIZE, phases, adapt)


def changing(network: hm.Topology, phases: Phases, adapt: str | None = None) -> list[Seen]:
    """Return what was seen after each call, which must be the same on all ranks, with every element right."""
    runs = hm.launch(_changing, network.rank_count, phases, adapt, emulate=network, timeout_s=LIMIT_S)
    assert [wrong for wrong, _ in runs] == [0] * network.rank_count
    assert all(seen == runs[0][1] for _, seen in runs)
    return runs[0][1]


@pytest.mark.parametrize("name", EACH_NETWORK)
def test_all_run_the_schedule_for_whom_keeps_coming_late_from_the_same_call_on_and_leave_it_again(
    name: str,
) -> None:
    late = 1
    seen = changing(NETWORKS[name], [(LATE_CALLS, late, DELAY_S), (9, late, 0.0)])
    plain = seen[0][0]
    assert seen[:7] == [(plain, (), False)] * 7
    assert seen[LATE_CALLS - 1][1:] == ((late,), True)
    assert seen[LATE_CALLS - 1][0] not in (plain, "all_reduce_late")
    assert seen[-1] == (plain, (), False)


#: Given links three times as fast, and a third of the delay. Ranks of one memory are faster, but as late.
GIVEN = hm.topologies.torus([2, 4], **_links(1.2e6))


def _given(topology: hm.Topology, phases: Phases) -> tuple[int, list[Seen]]:
    return work.changing_plans(SIZE, phases, topology=topology)


def _given_and_told_by_messages(
    meeting: dict[str, str], topology: hm.Topology, phases: Phases
) -> tuple[int, list[Seen]]:
    found: tuple[int, list[Seen]] = work.by_messages(meeting, _changing, phases, topology=topology)
    return found


@pytest.mark.parametrize("late", [1, None], ids=["one rank", "each in its turn"])
@pytest.mark.parametrize("by_messages", [False, True], ids=["by memory", "by messages"])
def test_a_job_with_a_topology_plans_for_whom_keeps_coming_late_too(
    by_messages: bool, late: int | None
) -> None:
    ranks, phases = GIVEN.rank_count, [(LATE_CALLS, late, DELAY_S / 3), (9, late, 0.0)]
    if by_messages:
        meeting = meeting_at_an_address()
        runs = hm.launch(_given_and_told_by_messages, ranks, meeting, GIVEN, phases, timeout_s=LIMIT_S)
    else:
        runs = hm.launch(_given, ranks, GIVEN, phases, timeout_s=LIMIT_S)
    assert [wrong for wrong, _ in runs] == [0] * ranks
    seen = runs[0][1]
    assert all(others == seen for _, others in runs)
    plain = seen[0]
    assert seen[:7] == [plain] * 7
    assert plain[1:] == ((), False)
    # Of a rank that moves, the plan without one is named: the others are known to the ranks alone.
    assert seen[LATE_CALLS - 1] == ((plain[0], (), True) if late is None else (LATE, (late,), True))
    assert seen[-1] == plain


@pytest.mark.parametrize("name", EACH_NETWORK)
def test_ranks_that_come_late_in_turns_are_each_planned_for(name: str) -> None:
    seen = changing(NETWORKS[name], [(LATE_CALLS, None, DELAY_S), (9, None, 0.0)])
    plain = seen[0]
    assert seen[:7] == [plain] * 7
    assert plain[1:] == ((), False)
    assert seen[LATE_CALLS - 1] == (plain[0], (), True)
    assert seen[-1] == plain


def test_one_that_keeps_coming_late_after_others_have_is_planned_for_alone() -> None:
    seen = changing(NETWORKS["fully connected"], [(LATE_CALLS, None, DELAY_S), (LATE_CALLS, 3, DELAY_S)])
    assert seen[LATE_CALLS - 1][1:] == ((), True)
    assert seen[-1] == (LATE, (3,), True)


def test_inputs_stay_when_the_last_rank_dies_where_each_may_be_late(tmp_path: Path) -> None:
    network, victim = NETWORKS["fully connected"], 2
    args = (SIZE, LATE_CALLS, DELAY_S, victim, str(tmp_path))
    with pytest.raises(FailedRankError):
        hm.launch(work.dies_where_each_may_be_late, 4, *args, emulate=network, timeout_s=LIMIT_S)
    told = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert told == {str(rank): "True LostRankError True" for rank in range(4) if rank != victim}


def test_the_next_late_rank_takes_the_place_of_the_one_before() -> None:
    seen = changing(NETWORKS["fully connected"], [(LATE_CALLS, 1, DELAY_S), (LATE_CALLS, 3, DELAY_S)])
    assert seen[LATE_CALLS - 1] == (LATE, (1,), True)
    assert seen[-1] == (LATE, (3,), True)


def test_nothing_is_planned_for_a_late_rank_where_that_is_forbidden() -> None:
    seen = changing(NETWORKS["fully connected"], [(9, 1, DELAY_S)], "slow")
    assert seen == [seen[0]] * 9
    assert seen[0][1:] == ((), False)


def test_calls_in_the_background_are_planned_anew_in_their_turn() -> None:
    network = NETWORKS["fully connected"]
    found = hm.launch(
        work.plans_in_the_background, 4, SIZE, LATE_CALLS, 2, DELAY_S, emulate=network, timeout_s=LIMIT_S
    )
    assert found == [(0, LATE)] * 4
