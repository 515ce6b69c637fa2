# SPDX-License-Identifier: Apache-2.0
"""Deliberately broken schedules: each names the rule that must fire, and where.

A case takes a correct pattern, removes some rows and adds others. `at` is the place (step, rank, chunk) of
the violation; what is wrong in the end is placed at the schedule's step count."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from small_patterns import (
    Pattern,
    Row,
    binomial_broadcast,
    chain_reduce,
    custom_sum_of_two,
    direct_all_to_all,
    direct_reduce_scatter,
    direct_scatter,
    doubling_all_reduce,
    relayed_gather,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)

import hemiola as hm

COPY, REDUCE = False, True


@dataclass(frozen=True)
class Case:
    """A correct pattern, the violation that must be found, and what is done to the pattern."""

    pattern: Callable[[int], Pattern]
    n: int
    rule: str
    at: tuple[int, int, int]
    drop: tuple[Row, ...] = ()
    add: tuple[Row, ...] = ()
    root: int | None = None

    def schedule(self) -> hm.Schedule:
        """Build the broken schedule."""
        collective, rows = self.pattern(self.n)
        if self.root is not None:
            collective = hm.Collective.make(collective.kind, self.n, collective.chunk_count, self.root)
        for row in self.drop:
            rows.remove(row)
        return hm.Schedule.from_transfers(collective, rows + list(self.add))


CASES = {
    # Dropped. What the dropped transfer should have delivered is missing, or read before it is there.
    "the last hop of a ring all-gather is dropped": Case(
        ring_all_gather, 4, "missing_chunk", (3, 3, 0), drop=((2, 2, 3, 0, COPY),)
    ),
    "the first hop of a ring all-gather is dropped: the next rank forwards nothing": Case(
        ring_all_gather, 4, "read_before_defined", (1, 1, 0), drop=((0, 0, 1, 0, COPY),)
    ),
    "the first hop of a ring reduce-scatter is dropped: the first part is missing at the owner": Case(
        ring_reduce_scatter, 4, "missing_contribution", (3, 0, 0), drop=((0, 1, 2, 0, REDUCE),)
    ),
    "the last hop of a ring reduce-scatter is dropped: only the owner's own part is there": Case(
        ring_reduce_scatter, 4, "missing_contribution", (3, 0, 0), drop=((2, 3, 0, 0, REDUCE),)
    ),
    "the last gather hop of a ring all-reduce is dropped: the last rank keeps a partial sum": Case(
        ring_all_reduce, 4, "missing_contribution", (6, 3, 0), drop=((5, 2, 3, 0, COPY),)
    ),
    "a reduce hop of a ring all-reduce is dropped: every rank lacks what it carried": Case(
        ring_all_reduce, 4, "missing_contribution", (6, 2, 0), drop=((1, 2, 3, 0, REDUCE),)
    ),
    "one of n-1 reduces of one step is dropped": Case(
        direct_reduce_scatter, 5, "missing_contribution", (1, 2, 2), drop=((0, 4, 2, 2, REDUCE),)
    ),
    "one exchange of recursive doubling is dropped": Case(
        doubling_all_reduce, 4, "missing_contribution", (2, 3, 0), drop=((0, 2, 3, 0, REDUCE),)
    ),
    "a leaf of a broadcast is dropped": Case(
        binomial_broadcast, 8, "missing_chunk", (3, 7, 0), drop=((2, 3, 7, 0, COPY),)
    ),
    "one message of an all-to-all is dropped": Case(
        direct_all_to_all, 3, "missing_chunk", (1, 2, 1 * 3 + 2), drop=((0, 1, 2, 5, COPY),)
    ),
    "the last hop of a relayed gather is dropped: the chunk is left on the way": Case(
        relayed_gather, 4, "leftover", (1, 1, 3), drop=((2, 1, 0, 3, COPY),)
    ),
    "a chunk of a scatter is dropped": Case(
        direct_scatter, 4, "missing_chunk", (1, 2, 2), drop=((0, 0, 2, 2, COPY),)
    ),
    "the relay of a custom sum is dropped": Case(
        custom_sum_of_two, 4, "missing_chunk", (2, 3, 0), drop=((2, 2, 3, 0, COPY),)
    ),
    "nothing happens in a broadcast": Case(
        binomial_broadcast, 2, "missing_chunk", (0, 1, 0), drop=((0, 0, 1, 0, COPY),)
    ),
    # Duplicated.
    "a reduce is repeated in a later step": Case(
        ring_reduce_scatter, 4, "counted_twice", (3, 0, 0), add=((3, 3, 0, 0, REDUCE),)
    ),
    "a reduce is repeated in the same step": Case(
        direct_reduce_scatter, 4, "counted_twice", (0, 1, 1), add=((0, 2, 1, 1, REDUCE),)
    ),
    "a final sum is reduced into another final sum": Case(
        ring_all_reduce, 4, "counted_twice", (6, 1, 2), add=((6, 0, 1, 2, REDUCE),)
    ),
    "a contribution reaches the root over two paths: 3 -> 2 -> 1 -> 0 and 3 -> 0": Case(
        chain_reduce, 4, "counted_twice", (2, 0, 0), add=((0, 3, 0, 0, REDUCE),)
    ),
    "a copy is repeated in the same step": Case(
        binomial_broadcast, 4, "copy_conflict", (1, 3, 0), add=((1, 1, 3, 0, COPY),)
    ),
    "an exchange partner is met twice: each adds the other's sum again": Case(
        doubling_all_reduce, 4, "counted_twice", (2, 0, 0), add=((2, 1, 0, 0, REDUCE),)
    ),
    "a gathered chunk is sent again to a relay that has passed it on": Case(
        relayed_gather, 3, "leftover", (2, 1, 2), add=((2, 2, 1, 2, COPY),)
    ),
    # Swapped.
    "two hops of one chunk are swapped in time: the copy leaves before it arrives": Case(
        ring_all_gather,
        4,
        "read_before_defined",
        (1, 2, 0),
        drop=((1, 1, 2, 0, COPY), (2, 2, 3, 0, COPY)),
        add=((2, 1, 2, 0, COPY), (1, 2, 3, 0, COPY)),
    ),
    "two hops of a partial sum are swapped in time: the second leaves without the first's part": Case(
        ring_reduce_scatter,
        4,
        "missing_contribution",
        (3, 0, 0),
        drop=((0, 1, 2, 0, REDUCE), (1, 2, 3, 0, REDUCE)),
        add=((1, 1, 2, 0, REDUCE), (0, 2, 3, 0, REDUCE)),
    ),
    "source and destination are swapped": Case(
        binomial_broadcast,
        4,
        "read_before_defined",
        (0, 1, 0),
        drop=((0, 0, 1, 0, COPY),),
        add=((0, 1, 0, 0, COPY),),
    ),
    "the chunks of two messages are swapped": Case(
        direct_scatter,
        4,
        "missing_chunk",
        (1, 1, 1),
        drop=((0, 0, 1, 1, COPY), (0, 0, 2, 2, COPY)),
        add=((0, 0, 1, 2, COPY), (0, 0, 2, 1, COPY)),
    ),
    # Early, late.
    "a relay sends in the step in which it receives: reads come before writes": Case(
        relayed_gather,
        3,
        "read_before_defined",
        (0, 1, 2),
        drop=((1, 1, 0, 2, COPY),),
        add=((0, 1, 0, 2, COPY),),
    ),
    "the gather phase starts one step early and spreads a partial sum": Case(
        ring_all_reduce,
        3,
        "missing_contribution",
        (4, 1, 0),
        drop=((2, 0, 1, 0, COPY),),
        add=((1, 0, 1, 0, COPY),),
    ),
    "a part arrives at the relay after it has passed the sum on": Case(
        chain_reduce,
        4,
        "missing_contribution",
        (4, 0, 0),
        drop=((0, 3, 2, 0, REDUCE),),
        add=((3, 3, 2, 0, REDUCE),),
    ),
    "the late part is also a leftover where it arrives": Case(
        chain_reduce, 4, "leftover", (3, 2, 0), drop=((0, 3, 2, 0, REDUCE),), add=((3, 3, 2, 0, REDUCE),)
    ),
    # Wrong root, wrong rank.
    "a broadcast starts at a rank that is not the root": Case(
        binomial_broadcast, 4, "read_before_defined", (0, 0, 0), root=3
    ),
    "a reduce ends at a rank that is not the root": Case(
        chain_reduce, 4, "missing_contribution", (3, 2, 0), root=2
    ),
    "a gather ends at a rank that is not the root": Case(
        relayed_gather, 4, "missing_chunk", (3, 3, 1), root=3
    ),
    "a scatter starts at a rank that is not the root": Case(
        direct_scatter, 4, "read_before_defined", (0, 0, 2), root=1
    ),
    "a message of an all-to-all goes to the wrong rank": Case(
        direct_all_to_all, 3, "leftover", (0, 0, 5), drop=((0, 1, 2, 5, COPY),), add=((0, 1, 0, 5, COPY),)
    ),
    "a scattered chunk goes to a rank that does not own it as well": Case(
        direct_scatter, 4, "leftover", (0, 3, 1), add=((0, 0, 3, 1, COPY),)
    ),
    # Reduce instead of copy, copy instead of reduce.
    "a reduce where the collective only copies": Case(
        ring_all_gather,
        3,
        "reduce_not_allowed",
        (0, 1, 0),
        drop=((0, 0, 1, 0, COPY),),
        add=((0, 0, 1, 0, REDUCE),),
    ),
    "a reduce instead of a copy in the gather phase: the partial sum that was there counts again": Case(
        ring_all_reduce,
        4,
        "counted_twice",
        (4, 2, 0),
        drop=((4, 1, 2, 0, COPY),),
        add=((4, 1, 2, 0, REDUCE),),
    ),
    "a copy instead of a reduce destroys the owner's own part": Case(
        ring_reduce_scatter,
        4,
        "missing_contribution",
        (3, 0, 0),
        drop=((2, 3, 0, 0, REDUCE),),
        add=((2, 3, 0, 0, COPY),),
    ),
    "a copy instead of a reduce destroys a relay's part": Case(
        chain_reduce,
        4,
        "missing_contribution",
        (3, 0, 0),
        drop=((1, 2, 1, 0, REDUCE),),
        add=((1, 2, 1, 0, COPY),),
    ),
    "a reduce into a slot that holds nothing": Case(
        custom_sum_of_two,
        4,
        "reduce_into_undefined",
        (1, 2, 0),
        drop=((1, 1, 2, 0, COPY),),
        add=((1, 1, 2, 0, REDUCE),),
    ),
    "a final sum is overwritten by one rank's part": Case(
        doubling_all_reduce,
        4,
        "missing_contribution",
        (4, 1, 0),
        add=((2, 0, 1, 0, COPY), (3, 2, 1, 0, COPY)),
        drop=((1, 0, 2, 0, REDUCE),),
    ),
    # Two writers of one slot.
    "a copy and a reduce meet in one slot": Case(
        direct_reduce_scatter,
        4,
        "copy_reduce_conflict",
        (0, 1, 1),
        drop=((0, 3, 1, 1, REDUCE),),
        add=((0, 3, 1, 1, COPY),),
    ),
    "two copies of different sums meet in one slot": Case(
        ring_all_reduce, 4, "copy_conflict", (3, 1, 0), add=((3, 2, 1, 0, COPY),)
    ),
    # Wrong chunk.
    "a hop carries the chunk of another rank": Case(
        ring_all_gather, 4, "missing_chunk", (3, 3, 0), drop=((2, 2, 3, 0, COPY),), add=((2, 2, 3, 1, COPY),)
    ),
    "a reduce hop carries the wrong chunk, which comes back to its owner and counts twice": Case(
        ring_reduce_scatter,
        4,
        "counted_twice",
        (3, 3, 3),
        drop=((2, 3, 0, 0, REDUCE),),
        add=((2, 3, 0, 3, REDUCE), (3, 0, 3, 3, REDUCE)),
    ),
}


def places_of(case: Case) -> set[tuple[str, int, int, int]]:
    """Return rule, step, rank and chunk of all that the judge finds."""
    return {(v.rule, v.step, v.rank, v.chunk) for v in hm.verify(case.schedule(), max_violations=1000)}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_named_rule_fires_at_the_named_place(case: Case) -> None:
    assert (case.rule, *case.at) in places_of(case)


def test_there_are_at_least_thirty_broken_schedules() -> None:
    assert len(CASES) >= 30


def test_every_rule_of_the_promise_has_a_case() -> None:
    assert {case.rule for case in CASES.values()} == {
        "read_before_defined",
        "reduce_into_undefined",
        "reduce_not_allowed",
        "copy_conflict",
        "copy_reduce_conflict",
        "counted_twice",
        "missing_contribution",
        "missing_chunk",
        "leftover",
    }
