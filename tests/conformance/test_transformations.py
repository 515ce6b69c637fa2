# SPDX-License-Identifier: Apache-2.0
"""Reverse, concatenate, relabel and repeat per slice keep the promise that the judge checks."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import copying_schedules
from small_patterns import (
    Pattern,
    binomial_broadcast,
    chain_reduce,
    custom_sum_of_two,
    direct_all_to_all,
    direct_scatter,
    doubling_all_reduce,
    relayed_gather,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)

import hemiola as hm
from hemiola.errors import ArgumentError

SETTINGS = settings(max_examples=150, deadline=None, print_blob=True)


def build(pattern: Pattern, weights: list[int] | None = None) -> hm.Schedule:
    """Make a schedule of a pattern."""
    return hm.Schedule.from_transfers(*pattern, weights)


def rows_of(schedule: hm.Schedule) -> list[tuple[int, int, int, int, bool]]:
    """Return the transfers as a list of tuples."""
    return [tuple(row) for row in schedule.transfers.tolist()]


# Reverse.

REVERSE_KIND = {
    "all_gather": "reduce_scatter",
    "reduce_scatter": "all_gather",
    "broadcast": "reduce",
    "reduce": "broadcast",
    "gather": "scatter",
    "scatter": "gather",
    "all_to_all": "all_to_all",
}


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_a_ring_reversed_is_a_ring_the_other_way(n: int) -> None:
    """Rank r sends chunk r - t in step t of n - 1 to r + 1; backwards r + 1 returns it, reduced, in step n - 2 - t."""
    collective, rows = ring_all_gather(n)
    expected = sorted((n - 2 - t, dst, src, chunk, True) for t, src, dst, chunk, _ in rows)
    reverse = hm.Schedule.from_transfers(collective, rows).reverse()
    assert reverse.collective == hm.Collective.make("reduce_scatter", n, n)
    assert rows_of(reverse) == expected
    assert hm.verify(reverse) == []


@pytest.mark.parametrize(
    "pattern",
    [ring_all_gather, ring_reduce_scatter, binomial_broadcast, chain_reduce, relayed_gather, direct_scatter],
    ids=lambda p: p.__name__,
)
def test_reversing_twice_gives_the_schedule_back(pattern) -> None:
    schedule = build(pattern(6))
    assert schedule.reverse().collective.kind == REVERSE_KIND[schedule.collective.kind]
    assert hm.verify(schedule.reverse()) == []
    assert schedule.reverse().reverse() == schedule


@SETTINGS
@given(copying_schedules())
def test_the_reverse_of_a_random_tree_is_right(schedule: hm.Schedule) -> None:
    assert hm.verify(schedule) == []
    reverse = schedule.reverse()
    assert reverse.collective.kind == REVERSE_KIND[schedule.collective.kind]
    assert hm.verify(reverse) == []
    assert hm.verify(reverse.reverse(), report_redundant=True) == []


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13])
def test_the_reverse_of_every_published_algorithm_is_right(n: int) -> None:
    reversed_kinds = set()
    for name in hm.algorithms.names():
        algorithm = getattr(hm.algorithms, name)
        try:
            schedule = algorithm(n)
        except (TypeError, ArgumentError):
            continue
        if schedule.collective.kind in REVERSE_KIND:
            assert hm.verify(schedule.reverse()) == [], name
            reversed_kinds.add(schedule.collective.kind)
    assert reversed_kinds == set(REVERSE_KIND)


def test_copies_in_a_reduce_scatter_reverse_too() -> None:
    """Rank 1 gives its part to the owner 2, and then only carries rank 0's part there: 1->2, 0->1 (copy), 1->2."""
    collective = hm.Collective.with_owners("reduce_scatter", 3, [2])
    schedule = hm.Schedule.from_transfers(
        collective, [(0, 1, 2, 0, True), (1, 0, 1, 0, False), (2, 1, 2, 0, True)]
    )
    assert hm.verify(schedule) == []
    reverse = schedule.reverse()
    assert rows_of(reverse) == [(0, 2, 1, 0, False), (1, 1, 0, 0, False), (2, 2, 1, 0, False)]
    assert hm.verify(reverse) == []


def test_weights_and_the_pieces_of_an_all_to_all_follow_their_chunks() -> None:
    """Chunk (s, d) = 3 s + d weighs 10 s + d + 1 and comes back as chunk (d, s)."""
    weights = [10 * s + d + 1 for s in range(3) for d in range(3)]
    reverse = build(direct_all_to_all(3), weights).reverse()
    assert hm.verify(reverse) == []
    assert reverse.chunk_weights.tolist() == [10 * s + d + 1 for d in range(3) for s in range(3)]


def test_a_custom_sum_reverses_into_a_custom_copy() -> None:
    schedule = build(custom_sum_of_two(4))
    reverse = schedule.reverse()
    assert (reverse.collective.before, reverse.collective.after) == ([(3, 0)], [(0, 0), (1, 0)])
    assert hm.verify(reverse) == []
    assert reverse.reverse() == schedule


def test_a_relay_that_contributes_nothing_is_filled_by_a_copy() -> None:
    """0 -> 1, then 1 -> 2, then 1 -> 3; rank 1 wants nothing. Backwards 3 fills 1, 2 adds, 1 sends to 0."""
    relay = hm.Collective.custom(4, 1, [(0, 0)], [(0, 0), (2, 0), (3, 0)])
    reverse = hm.Schedule.from_transfers(relay, [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0)]).reverse()
    assert rows_of(reverse) == [(0, 3, 1, 0, False), (1, 2, 1, 0, True), (2, 1, 0, 0, True)]
    assert hm.verify(reverse) == []


def test_a_schedule_without_a_reverse_is_refused() -> None:
    with pytest.raises(ArgumentError, match="all_reduce has no reverse"):
        build(doubling_all_reduce(4)).reverse()
    two_sources = hm.Collective.custom(3, 1, [(0, 0), (1, 0)], [(2, 0)])
    with pytest.raises(ArgumentError, match="chunk 0 is so on several"):
        hm.Schedule.from_transfers(two_sources, [(0, 0, 2, 0)]).reverse()
    two_sums = hm.Collective.custom(2, 1, [(0, 0), (1, 0)], [(0, 0), (1, 0)], reducing=True)
    with pytest.raises(ArgumentError, match="wanted on one rank"):
        hm.Schedule.from_transfers(two_sums, []).reverse()
    relay = hm.Collective.custom(4, 1, [(0, 0)], [(2, 0), (3, 0)])
    with pytest.raises(
        ArgumentError, match="rank 1 contributes nothing to chunk 0 but would receive two parts"
    ):
        hm.Schedule.from_transfers(relay, [(0, 0, 1, 0), (1, 1, 2, 0), (1, 1, 3, 0)]).reverse()
    with pytest.raises(ArgumentError, match="rank 1 sends chunk 0, which it does not hold"):
        hm.Schedule.from_transfers(hm.Collective.make("broadcast", 3, 1), [(0, 1, 2, 0)]).reverse()


# Concatenate.


def test_a_reduce_scatter_and_an_all_gather_make_an_all_reduce() -> None:
    joined = build(ring_reduce_scatter(5)).concatenate(build(ring_all_gather(5)))
    assert joined == build(ring_all_reduce(5))


def test_owners_in_any_order_and_weights_survive() -> None:
    owners, weights = [2, 0, 0, 1], [4, 1, 1, 2]
    rows = [(0, r, owner, chunk, True) for chunk, owner in enumerate(owners) for r in range(3) if r != owner]
    reduce_scatter = hm.Schedule.from_transfers(
        hm.Collective.with_owners("reduce_scatter", 3, owners), rows, weights
    )
    joined = reduce_scatter.concatenate(reduce_scatter.reverse())
    assert joined.collective == hm.Collective.with_owners("all_reduce", 3, owners)
    assert joined.chunk_weights.tolist() == weights
    assert hm.verify(joined) == []


def pieces(n: int) -> dict[str, hm.Schedule]:
    """Return one schedule of every kind that can be joined, of n ranks and chunks, with root n - 1."""
    to_root = [(0, r, n - 1, c) for c in range(n) for r in range(n - 1)]
    return {
        "reduce_scatter": build(ring_reduce_scatter(n)),
        "all_gather": build(ring_all_gather(n)),
        "broadcast": hm.Schedule.from_transfers(
            hm.Collective.make("broadcast", n, n, n - 1), [(t, dst, src, c) for t, src, dst, c in to_root]
        ),
        "reduce": hm.Schedule.from_transfers(
            hm.Collective.make("reduce", n, n, n - 1), [(*row, True) for row in to_root]
        ),
        "gather": hm.Schedule.from_transfers(
            hm.Collective.make("gather", n, n, n - 1), [(0, r, n - 1, r) for r in range(n - 1)]
        ),
        "scatter": hm.Schedule.from_transfers(
            hm.Collective.make("scatter", n, n, n - 1), [(0, n - 1, r, r) for r in range(n - 1)]
        ),
    }


JOINED = {
    ("reduce_scatter", "all_gather"): "all_reduce",
    ("reduce", "broadcast"): "all_reduce",
    ("reduce", "scatter"): "reduce_scatter",
    ("reduce_scatter", "gather"): "reduce",
    ("scatter", "all_gather"): "broadcast",
    ("scatter", "gather"): "custom",
    ("gather", "broadcast"): "all_gather",
    ("gather", "scatter"): "custom",
    ("all_gather", "all_gather"): "custom",
    ("all_gather", "broadcast"): "custom",
    ("all_gather", "gather"): "custom",
    ("all_gather", "scatter"): "custom",
    ("broadcast", "broadcast"): "custom",
    ("broadcast", "all_gather"): "custom",
    ("broadcast", "gather"): "custom",
    ("broadcast", "scatter"): "custom",
}


@pytest.mark.parametrize("n", [1, 2, 4])
def test_pairs_that_fit_keep_the_joint_promise_and_others_are_refused(n: int) -> None:
    """With one rank every rank is the root and the owner, so all pairs whose second copies fit."""
    for (name, first), (other, second) in itertools.product(pieces(n).items(), repeat=2):
        if (name, other) in JOINED or (n == 1 and not second.collective.is_reducing):
            joined = first.concatenate(second)
            assert joined.collective.kind == JOINED.get((name, other), "custom")
            assert joined.step_count == first.step_count + second.step_count
            assert [v for v in hm.verify(joined) if v.rule != "leftover"] == []
        else:
            with pytest.raises(ArgumentError, match="concatenate: "):
                first.concatenate(second)


def test_schedules_that_do_not_match_say_what_does_not() -> None:
    scatter = build(ring_reduce_scatter(3))
    with pytest.raises(ArgumentError, match="same rank count, found 3 and 4"):
        scatter.concatenate(build(ring_all_gather(4)))
    with pytest.raises(ArgumentError, match="same chunk count, found 3 and 6"):
        scatter.concatenate(hm.Schedule.from_transfers(hm.Collective.make("all_gather", 3, 6), []))
    with pytest.raises(ArgumentError, match="same chunk weights"):
        scatter.concatenate(build(ring_all_gather(3), [1, 1, 2]))
    with pytest.raises(
        ArgumentError, match="starts with chunk 0 on rank 2, where the reduce_scatter does not leave it"
    ):
        scatter.concatenate(
            hm.Schedule.from_transfers(hm.Collective.with_owners("all_gather", 3, [2, 1, 0]), [])
        )
    with pytest.raises(ArgumentError, match="only copies, found a reduce_scatter"):
        scatter.concatenate(scatter)


@SETTINGS
@given(copying_schedules(("all_gather",)))
def test_a_random_all_gather_after_its_reverse_is_an_all_reduce(schedule: hm.Schedule) -> None:
    joined = schedule.reverse().concatenate(schedule)
    assert joined.collective.kind == "all_reduce"
    assert hm.verify(joined) == []


# Relabel.


def test_ranks_are_renamed_in_transfers_owners_and_root() -> None:
    schedule = hm.Schedule.from_transfers(
        hm.Collective.with_owners("scatter", 3, [0, 2, 1], root=1), [(0, 1, 0, 0), (0, 1, 2, 1)], [5, 6, 7]
    )
    renamed = schedule.relabel(ranks=[2, 0, 1])
    assert renamed.collective == hm.Collective.with_owners("scatter", 3, [2, 1, 0], root=0)
    assert rows_of(renamed) == [(0, 0, 1, 1, False), (0, 0, 2, 0, False)]
    assert renamed.chunk_weights.tolist() == [5, 6, 7]


def test_chunks_are_renamed_with_owner_and_weight() -> None:
    schedule = hm.Schedule.from_transfers(
        hm.Collective.with_owners("all_gather", 2, [0, 1, 1]),
        [(0, 0, 1, 0), (0, 1, 0, 1), (0, 1, 0, 2)],
        [5, 6, 7],
    )
    renamed = schedule.relabel(chunks=[1, 2, 0])
    assert renamed.collective == hm.Collective.with_owners("all_gather", 2, [1, 0, 1])
    assert renamed.chunk_weights.tolist() == [7, 5, 6]
    assert hm.verify(renamed) == []


def test_a_ring_with_ranks_and_chunks_renamed_alike_has_block_wise_owners() -> None:
    order = [3, 1, 0, 2]
    renamed = build(ring_all_gather(4)).relabel(ranks=order, chunks=order)
    assert renamed.collective == hm.Collective.make("all_gather", 4, 4)
    assert hm.verify(renamed) == []


@SETTINGS
@given(copying_schedules(), st.randoms(use_true_random=False))
def test_renaming_keeps_the_promise_and_can_be_undone(schedule: hm.Schedule, random) -> None:
    ranks = random.sample(range(schedule.rank_count), schedule.rank_count)
    renamed = schedule.relabel(ranks=ranks)
    assert hm.verify(renamed) == []
    assert renamed.relabel(ranks=np.argsort(ranks).tolist()) == schedule
    if schedule.collective.kind != "all_to_all":
        chunks = random.sample(range(schedule.chunk_count), schedule.chunk_count)
        moved = schedule.relabel(chunks=chunks)
        assert hm.verify(moved) == []
        assert moved.relabel(chunks=np.argsort(chunks).tolist()) == schedule


def test_what_is_no_permutation_is_refused() -> None:
    schedule = build(ring_all_gather(3))
    for ranks, found in (([0, 1], "found 2 numbers"), ([0, 1, 1], "found 1 twice"), ([0, 1, 3], "found 3")):
        with pytest.raises(ArgumentError, match=f"permutation of 3 ranks, {found}"):
            schedule.relabel(ranks=ranks)
        with pytest.raises(ArgumentError, match=f"permutation of 3 chunks, {found}"):
            schedule.relabel(chunks=ranks)
    with pytest.raises(ArgumentError, match="chunk 0 of an all_to_all must stay between rank 0 and rank 0"):
        build(direct_all_to_all(2)).relabel(chunks=[1, 0, 2, 3])


# Repeat per slice.


def test_slices_run_one_step_after_another() -> None:
    """A chain 0 -> 1 -> 2 of one chunk in two slices, one step apart: slice 0 in steps 0, 1, slice 1 in steps 1, 2."""
    chain = hm.Schedule.from_transfers(hm.Collective.make("broadcast", 3, 1), [(0, 0, 1, 0), (1, 1, 2, 0)])
    assert rows_of(chain.repeat_per_slice(2, stagger=1)) == [
        (0, 0, 1, 0, False),
        (1, 0, 1, 1, False),
        (1, 1, 2, 0, False),
        (2, 1, 2, 1, False),
    ]


@SETTINGS
@given(copying_schedules(), st.integers(1, 4), st.integers(0, 3))
def test_slices_keep_the_promise(schedule: hm.Schedule, slices: int, stagger: int) -> None:
    sliced = schedule.repeat_per_slice(slices, stagger=stagger)
    assert sliced.chunk_count == slices * schedule.chunk_count
    assert sliced.transfer_count == slices * schedule.transfer_count
    if schedule.transfer_count > 0:
        assert sliced.step_count == schedule.step_count + (slices - 1) * stagger
    assert hm.verify(sliced) == []


def test_slices_keep_owners_weights_places_and_sums() -> None:
    sliced = build(ring_all_reduce(3), [1, 2, 3]).repeat_per_slice(2)
    assert sliced.collective.owner.tolist() == [0, 0, 1, 1, 2, 2]
    assert sliced.chunk_weights.tolist() == [1, 1, 2, 2, 3, 3]
    assert hm.verify(sliced) == []
    custom = build(custom_sum_of_two(3)).repeat_per_slice(2, stagger=5)
    assert custom.collective.after == [(2, 0), (2, 1)]
    assert hm.verify(custom) == []


@pytest.mark.parametrize(
    ("slices", "stagger"), [(0, 0), (-1, 0), (2**27, 0), (2**62, 0), (2, -1), (2, 2**24), (3, 2**62)]
)
def test_senseless_slices_are_refused(slices: int, stagger: int) -> None:
    with pytest.raises(ArgumentError, match="repeat_per_slice: expected"):
        build(ring_all_gather(3)).repeat_per_slice(slices, stagger=stagger)


# One shot.


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("gather", ["ring", "ring_two_way", "direct", "bruck"])
def test_an_all_gather_makes_an_all_reduce_in_one_shot(gather: str, n: int) -> None:
    """Derivation: of k chunks a rank, n copies aside, (n-1)n copies, (n-1)n additions and n copies back for each."""
    all_gather = getattr(hm.algorithms, f"all_gather_{gather}")(n)
    k = all_gather.chunk_count // n
    schedule = all_gather.one_shot_all_reduce()
    assert (schedule.collective.kind, schedule.chunk_count) == ("all_reduce", k)
    assert hm.verify(schedule) == []
    if n > 1:
        assert schedule.scratch_count == n
        assert schedule.step_count == all_gather.step_count + 3
        assert schedule.transfer_count == k * (n + (n - 1) * n + (n - 1) * n + n)


def test_what_is_no_plain_all_gather_makes_nothing_in_one_shot() -> None:
    uneven = hm.Collective.with_owners("all_gather", 2, [0, 0, 1])
    rows = [(0, 0, 1, 0), (0, 0, 1, 1), (0, 1, 0, 2)]
    for schedule, found in (
        (build(ring_all_reduce(3)), "expected an all_gather, found a all_reduce"),
        (build(ring_all_gather(3), [1, 2, 3]), "expected chunks of equal weights"),
        (hm.Schedule.from_transfers(uneven, rows), "equally many chunks of each rank"),
        (build(ring_all_gather(3)).one_shot_all_reduce(), "without scratch slots, found one with 3"),
    ):
        with pytest.raises(ArgumentError, match=f"one_shot_all_reduce: .*{found}"):
            schedule.one_shot_all_reduce()


def test_scratch_slots_go_with_ranks_chunks_and_slices_but_not_backwards() -> None:
    schedule = build(ring_all_gather(3)).one_shot_all_reduce()
    renamed = schedule.relabel(ranks=[2, 0, 1])
    assert renamed != schedule
    assert hm.verify(renamed) == []
    sliced = schedule.repeat_per_slice(3, stagger=1)
    assert (sliced.scratch_count, sliced.transfer_count) == (3, 3 * schedule.transfer_count)
    assert hm.verify(sliced) == []
    with pytest.raises(ArgumentError, match="reverse: expected a schedule without scratch slots"):
        hm.Schedule.from_transfers(
            hm.Collective.make("broadcast", 2, 1), [(0, 0, 0, 0, False, 0, 1), (1, 0, 1, 0, False, 1, 0)]
        ).reverse()


def test_a_broken_one_shot_names_the_slot() -> None:
    """Rank 1 never gets rank 0's part, into which it would add its own."""
    schedule = build(ring_all_gather(2)).one_shot_all_reduce()
    rows = [row for row in schedule.transfers.tolist() if row[:2] != (1, 0)]
    first, *_ = hm.verify(hm.Schedule.from_transfers(schedule.collective, rows))
    assert (first.rule, first.step, first.rank, first.chunk) == ("reduce_into_undefined", 2, 1, 0)
    assert "scratch slot 2 of rank 1 reduces chunk 0 into scratch slot 1 of rank 1" in first.message
