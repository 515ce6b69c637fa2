# SPDX-License-Identifier: Apache-2.0
"""What the judge returns: order, bounds, options, and its answer at the sizes it promises."""

import importlib

import pytest
from small_patterns import (
    binomial_broadcast,
    direct_scatter,
    relayed_gather,
    ring_all_gather,
    ring_all_reduce,
)

import hemiola as hm
from hemiola._core import Violation
from hemiola.errors import ArgumentError


def build(pattern: tuple[hm.Collective, list[tuple[int, int, int, int, bool]]]) -> hm.Schedule:
    """Make a schedule of a pattern."""
    return hm.Schedule.from_transfers(*pattern)


def broken_ring(n: int) -> hm.Schedule:
    """A ring all-gather without its first step: every rank lacks what step 0 brought."""
    collective, rows = ring_all_gather(n)
    return hm.Schedule.from_transfers(collective, [row for row in rows if row[0] > 0])


def test_one_rank_needs_no_transfer() -> None:
    for kind in (
        "all_gather",
        "reduce_scatter",
        "all_reduce",
        "broadcast",
        "reduce",
        "all_to_all",
        "gather",
        "scatter",
    ):
        assert hm.verify(hm.Schedule.from_transfers(hm.Collective.make(kind, 1, 1), [])) == []


def test_a_ring_of_1024_ranks_is_right() -> None:
    schedule = hm.algorithms.all_reduce_ring(1024)
    assert schedule.transfer_count == 2 * 1023 * 1024
    assert hm.verify(schedule) == []


def test_violations_come_in_the_order_of_step_chunk_and_rank() -> None:
    places = [(v.step, v.chunk, v.rank) for v in hm.verify(broken_ring(8), max_violations=1000)]
    assert places == sorted(places)
    assert len(places) > 7


@pytest.mark.parametrize("count", [1, 2, 9])
def test_a_bounded_list_holds_the_first_violations(count: int) -> None:
    everything = hm.verify(broken_ring(8), max_violations=1000)
    assert hm.verify(broken_ring(8), max_violations=count) == everything[:count]


def test_a_violation_says_rule_place_and_reason() -> None:
    [first] = hm.verify(broken_ring(4), max_violations=1)
    assert (first.rule, first.step, first.rank, first.chunk) == ("read_before_defined", 1, 1, 0)
    assert first.message == (
        "step 1: rank 1 sends chunk 0 to rank 2, which it does not hold and never receives"
    )
    assert repr(first) == f"Violation(rule='read_before_defined', step=1, rank=1, chunk=0: {first.message})"


def test_an_early_read_names_the_step_in_which_the_chunk_arrives() -> None:
    collective, rows = relayed_gather(3)
    rows[rows.index((1, 1, 0, 2, False))] = (0, 1, 0, 2, False)
    [first, *_] = hm.verify(hm.Schedule.from_transfers(collective, rows))
    assert first.message.endswith("which it first receives in step 0; a step reads before it writes")


def test_long_lists_of_ranks_are_cut() -> None:
    collective, rows = ring_all_reduce(16)
    [first] = hm.verify(
        hm.Schedule.from_transfers(collective, [row for row in rows if row[0] != 14]), max_violations=1
    )
    assert first.message.endswith("lacks the contribution of ranks 1, 2, 3, 4, 5, 6, … (15 of 16)")


def test_a_useless_copy_is_reported_only_on_request() -> None:
    collective, rows = binomial_broadcast(4)
    schedule = hm.Schedule.from_transfers(collective, [*rows, (2, 1, 0, 0, False)])
    assert hm.verify(schedule) == []
    [found] = hm.verify(schedule, report_redundant=True)
    assert (found.rule, found.step, found.rank, found.chunk) == ("redundant", 2, 0, 0)


@pytest.mark.parametrize("count", [0, -1, 2**40])
def test_a_senseless_bound_is_refused(count: int) -> None:
    with pytest.raises(ArgumentError):
        hm.verify(broken_ring(3), max_violations=count)


def test_progress_is_told_and_may_stop_the_work() -> None:
    schedule = hm.algorithms.all_reduce_ring(1500)
    told: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        told.append((done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hm.verify(schedule, progress=stop)
    [(done, total)] = told
    assert 0 <= done < total == schedule.transfer_count


def test_a_transfer_without_a_link_is_found() -> None:
    ring = hm.Topology(4, [(r, (r + 1) % 4, 1e-6, 1e9) for r in range(4)])
    assert hm.verify(build(ring_all_gather(4)), topology=ring) == []
    found = hm.verify(build(direct_scatter(4)), topology=ring)
    assert [(v.rule, v.step, v.rank, v.chunk) for v in found] == [("no_link", 0, 0, 2), ("no_link", 0, 0, 3)]


def test_ranks_behind_switches_are_joined_but_not_through_other_ranks() -> None:
    """Ranks 0 and 1 hang on switch 4, next to switch 5 with rank 2, which alone leads to rank 3."""
    both = [(0, 4), (1, 4), (4, 5), (5, 2), (2, 3)]
    links = [(a, b, 1e-6, 1e9) for x, y in both for a, b in ((x, y), (y, x))]
    topology = hm.Topology(4, links, switch_count=2)
    found = hm.verify(build(direct_scatter(4)), topology=topology)
    assert [(v.rule, v.rank, v.chunk) for v in found] == [("no_link", 0, 3)]


def test_a_topology_of_another_size_is_refused() -> None:
    with pytest.raises(ArgumentError, match="4 ranks, the topology 2"):
        hm.verify(build(ring_all_gather(4)), topology=hm.Topology(2, [(0, 1, 0.0, 1e9)]))


def test_a_link_over_capacity_is_found() -> None:
    collective, rows = relayed_gather(3)
    rows[rows.index((1, 1, 0, 2, False))] = (2, 1, 0, 2, False)
    rows[rows.index((0, 1, 0, 1, False))] = (2, 1, 0, 1, False)
    schedule = hm.Schedule.from_transfers(collective, rows)
    assert hm.verify(schedule, link_capacity=2) == []
    [found] = hm.verify(schedule, link_capacity=1)
    assert (found.rule, found.step, found.rank, found.chunk) == ("over_capacity", 2, 1, 2)


def test_a_port_over_capacity_is_found_on_both_sides() -> None:
    """The root of a scatter sends three chunks in a step, each other rank receives one."""
    schedule = build(direct_scatter(4))
    assert hm.verify(schedule, port_capacity=3) == []
    [found] = hm.verify(schedule, port_capacity=2)
    assert (found.rule, found.step, found.rank, found.chunk) == ("over_capacity", 0, 0, 3)
    gather = hm.Schedule.from_transfers(
        hm.Collective.make("gather", 4, 4), [(0, r, 0, r, False) for r in range(1, 4)]
    )
    [found] = hm.verify(gather, port_capacity=2)
    assert (found.rule, found.step, found.rank, found.chunk) == ("over_capacity", 0, 0, 3)


@pytest.mark.parametrize("limits", [{"link_capacity": 0}, {"port_capacity": -1}])
def test_a_senseless_capacity_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="capacity >= 1"):
        hm.verify(build(ring_all_gather(3)), **limits)


def test_no_more_verdicts_are_kept_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    verifying = importlib.import_module("hemiola.verify")
    known: dict[str, Violation | None] = {}
    monkeypatch.setattr(verifying, "_known", known)
    monkeypatch.setattr(verifying, "_MOST_KNOWN", 2)
    kept = []
    for ranks in range(2, 7):
        assert verifying.first_violation(hm.algorithms.all_gather_ring(ranks)) is None
        kept.append(len(known))
    assert kept == [1, 2, 1, 2, 1]
