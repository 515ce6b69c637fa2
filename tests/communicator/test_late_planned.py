"""A rank that keeps coming late on a network that is not one switch: found, planned for, and forgotten again."""

from __future__ import annotations

import late_ranks as work
import pytest

import hemiola as hm
from hemiola.communicator.control_plane import meeting_at_an_address

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


def _changing(phases: list[tuple[int, int, float]], adapt: str | None = None) -> tuple[int, list[Seen]]:
    return work.changing_plans(SIZE, phases, adapt)


def changing(
    network: hm.Topology, phases: list[tuple[int, int, float]], adapt: str | None = None
) -> list[Seen]:
    """Return what was seen after each call, which must be the same on all ranks, with every element right."""
    runs = hm.launch(_changing, network.rank_count, phases, adapt, emulate=network, timeout_s=LIMIT_S)
    assert [wrong for wrong, _ in runs] == [0] * network.rank_count
    assert all(seen == runs[0][1] for _, seen in runs)
    return runs[0][1]


@pytest.mark.parametrize("name", NETWORKS)
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
GIVEN_PHASES = [(LATE_CALLS, 1, DELAY_S / 3), (9, 1, 0.0)]


def _given(topology: hm.Topology) -> tuple[int, list[Seen]]:
    return work.changing_plans(SIZE, GIVEN_PHASES, topology=topology)


def _given_and_told_by_messages(meeting: dict[str, str], topology: hm.Topology) -> tuple[int, list[Seen]]:
    found: tuple[int, list[Seen]] = work.by_messages(meeting, _changing, GIVEN_PHASES, topology=topology)
    return found


@pytest.mark.parametrize("by_messages", [False, True], ids=["by memory", "by messages"])
def test_a_job_with_a_topology_plans_for_whom_keeps_coming_late_too(by_messages: bool) -> None:
    ranks = GIVEN.rank_count
    if by_messages:
        meeting = meeting_at_an_address()
        runs = hm.launch(_given_and_told_by_messages, ranks, meeting, GIVEN, timeout_s=LIMIT_S)
    else:
        runs = hm.launch(_given, ranks, GIVEN, timeout_s=LIMIT_S)
    assert [wrong for wrong, _ in runs] == [0] * ranks
    seen = runs[0][1]
    assert all(others == seen for _, others in runs)
    plain = seen[0]
    assert seen[:7] == [plain] * 7
    assert plain[1:] == ((), False)
    assert seen[LATE_CALLS - 1] == (LATE, (1,), True)
    assert seen[-1] == plain


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
