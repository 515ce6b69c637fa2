# SPDX-License-Identifier: Apache-2.0
"""The searches of a plan share one budget of counted operations, and a plan names those that it stopped."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola._core import spend
from hemiola.planner.budget import CHEAP, IN_RACE, SHARES, WORK, Searches
from hemiola.planner.outcome import NothingMadeError
from hemiola.progress import ProgressBar


def torus() -> hm.Topology:
    return hm.topologies.torus([4, 4], latency_s=1e-6, bandwidth=10e9)


def operations(source: str, later: bool = False) -> int:
    return round(SHARES[source][later] * WORK)


def test_a_search_takes_its_source_s_share_of_the_budget() -> None:
    searches, most = Searches(), operations("forest")
    searches.run("trees (1 pieces)", 1, lambda: spend(most - 1), "forest")
    assert searches.left == WORK - most + 1
    with pytest.raises(NothingMadeError, match=r"stopped after [\d,]+ operations: a budget of"):
        searches.run("chunks (1)", 1, lambda: spend(most + 1), "forest")


def test_a_search_stops_where_nothing_is_left_of_all() -> None:
    searches = Searches()
    searches.run("gather (1)", 1, lambda: spend(WORK - 10), "gather")
    with pytest.raises(NothingMadeError, match="stopped after"):
        searches.run("trees (1 pieces)", 1, lambda: spend(11), "forest")


def test_two_networks_share_what_one_would_have() -> None:
    half = operations("all_gather") // 2
    Searches().run("chunks (1)", 1, lambda: spend(half + 1), "all_gather")
    with pytest.raises(NothingMadeError, match="stopped after"):
        Searches().run("chunks (1)", 1, lambda: spend(half + 1), "all_gather", networks=2)


def test_effort_multiplies_the_budget() -> None:
    searches = Searches(4.0)
    searches.run("gather (1)", 1, lambda: spend(WORK + 1), "gather")
    assert searches.left == 3 * WORK - 1


def test_a_larger_search_is_not_begun_where_a_smaller_one_took_too_much() -> None:
    searches = Searches()
    searches.run("trees (1 pieces)", 1, lambda: spend(operations("forest") // 3), "forest")
    with pytest.raises(NothingMadeError, match="operations at least"):
        searches.run("trees (4 pieces)", 4, lambda: pytest.fail("begun"), "forest")
    searches.run("other trees (4 pieces)", 4, lambda: spend(1), "forest")


def test_of_a_search_of_several_trials_one_tells_how_long_a_larger_one_takes() -> None:
    searches = Searches()

    def search() -> None:
        spend(operations("forest") // 3)
        searches.repeated(4)

    searches.run("trees (1 pieces)", 1, search, "forest")
    searches.run("trees (4 pieces)", 4, lambda: spend(1), "forest")


def test_there_is_room_for_as_much_as_is_left() -> None:
    searches = Searches()
    searches.run("gather (1 pieces)", 1, lambda: spend(WORK // 8), "gather")
    # Seven times as many operations are left; a power of 3/2 of the size takes these.
    assert searches.room("gather (99 pieces)") == pytest.approx(7 ** (2 / 3))


def test_a_stopped_search_leaves_room_for_none_as_large() -> None:
    searches = Searches()
    with pytest.raises(NothingMadeError):
        searches.run("gather (1 pieces)", 1, lambda: spend(WORK), "gather")
    assert searches.room("gather (2 pieces)") == 0


def test_transfers_that_python_makes_are_paid_before_they_are_made() -> None:
    searches = Searches()
    with pytest.raises(NothingMadeError, match="operations at least"):
        searches.run("rails (4 pieces)", 4, lambda: pytest.fail("begun"), "late_hosts", in_arrays=WORK)
    before = searches.left
    searches.run("rails (4 pieces)", 4, lambda: None, "late_hosts", in_arrays=10)
    assert searches.left < before


def test_a_search_known_to_take_more_than_its_share_is_not_begun() -> None:
    with pytest.raises(NothingMadeError, match="operations at least, at most"):
        Searches().run("trees (4 pieces)", 4, lambda: pytest.fail("begun"), "forest", at_least=WORK)


def test_transfers_beyond_a_share_are_named_with_the_most_that_fit() -> None:
    most = operations("raced") // IN_RACE
    assert Searches().excess("raced", most) == ""
    assert Searches().excess("raced", most + 1) == f"{most + 1:,} transfers, at most {most:,}"
    assert Searches(2.0).excess("raced", most + 1) == ""


def test_a_bar_shows_the_share_of_the_budget_that_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[float] = []
    monkeypatch.setattr(ProgressBar, "_show", lambda bar, done, total, how_far: shown.append(done / total))
    with ProgressBar("planning") as bar:
        searches = Searches(1.0, bar)
        searches.run("gather (1)", 1, lambda: spend(WORK // 4), "gather")
        with searches.beside(WORK / 4):
            pass
        searches.run("trees (1 pieces)", 1, lambda: None, "forest")
    assert shown[-1] == 0.5


@pytest.mark.parametrize(("effort", "is_done"), [(1.0, True), (2.0, False)])
def test_a_family_ends_where_one_is_no_faster_than_the_one_before(effort: float, is_done: bool) -> None:
    searches = Searches(effort)
    for chunks, seconds in ((1, 3.0), (4, 2.0), (16, 2.0)):
        searches.run(f"chunks ({chunks} a rank)", chunks, lambda: None, "all_gather")
        searches.saw(f"chunks ({chunks} a rank)", seconds)
    dear = 2 * CHEAP * effort * WORK
    if not is_done:
        searches.run("chunks (64 a rank)", 64, lambda: None, "all_gather", at_least=dear)
        return
    with pytest.raises(NothingMadeError, match=r"chunks \(16 a rank\) is no faster"):
        searches.run("chunks (64 a rank)", 64, lambda: None, "all_gather", at_least=dear)


def test_a_cheap_search_is_made_although_the_one_before_was_no_faster() -> None:
    searches = Searches()
    for chunks in (1, 4):
        searches.run(f"chunks ({chunks} a rank)", chunks, lambda: None, "all_gather")
        searches.saw(f"chunks ({chunks} a rank)", 1.0)
    assert searches.run("chunks (8 a rank)", 8, lambda: "made", "all_gather") == "made"


def test_a_search_only_if_cheap_takes_no_more_than_a_cheap_one() -> None:
    searches, most = Searches(), CHEAP * WORK
    with pytest.raises(NothingMadeError, match="operations at least"):
        searches.run("a", 1, lambda: None, "all_gather", at_least=most, only_if_cheap=True)
    assert searches.run("b", 1, lambda: "made", "all_gather", at_least=most) == "made"


def test_a_plan_names_the_searches_that_it_stopped() -> None:
    network = hm.topologies.mesh([12, 12], latency_s=1e-6, bandwidth=10e9)
    plan = hm.plan(network, "all_to_all", 1 << 20, effort=0.1)
    reasons = {one.label: one.reason for one in plan.left_out}
    assert "stopped after" in reasons["synthesized (1 chunks a rank)"]


@pytest.mark.parametrize("kind", ["all_reduce", "broadcast", "all_to_all"])
def test_a_plan_is_the_same_whatever_was_planned_before(kind: str) -> None:
    warm = torus()
    hm.plan(warm, kind, 16 << 20)
    for effort in (0.001, 0.003, 0.01):
        plans = [hm.plan(one, kind, 16 << 20, effort=effort) for one in (torus(), warm)]
        assert plans[0] == plans[1]


def test_a_plan_with_little_effort_names_the_searches_that_it_did_not_begin() -> None:
    plan = hm.plan(torus(), "all_reduce", 16 << 20, effort=0.001)
    reasons = {one.label: one.reason for one in plan.left_out}
    assert "operations at least" in reasons["forest (8 pieces)"]
    assert "operations at least" in reasons["synthesized (16 chunks a rank)"]
    assert not hm.verify(plan.schedule)
    thorough = hm.plan(torus(), "all_reduce", 16 << 20, effort=20)
    assert thorough.seconds <= plan.seconds
    assert not any("operations" in one.reason for one in thorough.left_out)
