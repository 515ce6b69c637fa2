# SPDX-License-Identifier: Apache-2.0
"""The word on the late rank of a device's all-reduce: every order of arrivals and deadlines of three ranks."""

from __future__ import annotations

import copy

from hemiola.torch.device_lateness import NOBODY, LateCount

RANKS, OPERATIONS = 3, 3


class World:
    """Ranks that come to one operation after the other, each once it has the word on the one before."""

    def __init__(self) -> None:
        self.count = LateCount(RANKS)
        self.come = [0] * RANKS
        self.words: list[int] = []

    def moves(self) -> list[int]:
        """Return what may happen next: a rank comes, or (-1) a deadline passes."""
        ranks = [
            rank
            for rank in range(RANKS)
            if self.come[rank] < OPERATIONS and self.come[rank] <= len(self.words)
        ]
        return ranks + ([-1] if self.count.deadline_s is not None else [])

    def move(self, what: int) -> None:
        if what < 0:
            word = self.count.due()
            missing = [rank for rank in range(RANKS) if self.come[rank] <= len(self.words)]
            assert [word] == missing, "the late rank is the one that has not come"
        else:
            came = self.count.come(what, self.come[what], 1.0, 0.0)
            self.come[what] += 1
            if came is None:
                return
            word = came
            assert word == NOBODY
            assert all(come > len(self.words) for come in self.come), "all have come in time"
        self.words.append(word)


def test_each_operation_has_one_word_in_every_order_and_no_rank_waits_for_ever() -> None:
    begun, ends, seen = [World()], 0, set()
    while begun:
        world = begun.pop()
        moves = world.moves()
        if not moves:
            assert world.come == [OPERATIONS] * RANKS
            assert len(world.words) == OPERATIONS
            seen.add(tuple(world.words))
            ends += 1
        for what in moves:
            following = copy.deepcopy(world)
            following.move(what)
            begun.append(following)
    assert len(seen) == (RANKS + 1) ** OPERATIONS, (
        "every rank, and nobody, is late to each operation in some order"
    )
    assert ends > len(seen)


def test_a_rank_that_is_several_operations_late_ends_no_wait_for_a_later_one() -> None:
    count = LateCount(3)
    for operation in range(2):
        assert count.come(0, operation, 1.0, 0.0) is None
        assert count.come(1, operation, 1.0, 5.0) is None
        assert count.deadline_s == 6.0
        if operation == 0:
            assert count.due() == 2
    assert count.come(2, 0, 1.0, 5.5) is None, "it comes to the first operation, of which all know"
    assert count.deadline_s == 6.0
    assert count.come(2, 1, 1.0, 5.7) == NOBODY
