# SPDX-License-Identifier: Apache-2.0
"""The pairs of sender and receiver in a round: shifts inside nodes and between them.

In a round every rank that takes part sends to one other and receives from one, so that no port works for two."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

#: The sender, and the receiver.
Pair = tuple[int, int]


@dataclass(frozen=True)
class Nodes:
    """The ranks of each node, in order; a rank's place is its index among those of its node."""

    ranks: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, nodes: Sequence[int]) -> Nodes:
        """Make it from the node of each rank; nodes without ranks are left out."""
        return cls(
            tuple(tuple(rank for rank, own in enumerate(nodes) if own == node) for node in sorted(set(nodes)))
        )

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return len(self.ranks)

    @property
    def rank_count(self) -> int:
        """How many ranks there are."""
        return sum(map(len, self.ranks))

    @property
    def most_ranks(self) -> int:
        """How many ranks the largest node has."""
        return max(map(len, self.ranks))

    def inside(self, shift: int) -> list[Pair]:
        """Let every rank send to the one `shift` places up in its node, round the end; smaller nodes rest."""
        return [
            (rank, ranks[(place + shift) % len(ranks)])
            for ranks in self.ranks
            if len(ranks) > shift
            for place, rank in enumerate(ranks)
        ]

    def between(self, shift: int, places: Collection[int] | None = None, *, up: int = 0) -> list[Pair]:
        """Let ranks send to the node `shift` up, round the end, each to the place that is `up` higher than its own.

        Parameters
        ----------
        shift : int, 1 … count-1.
        places : those of the ranks that send; None: all.
        up : int, 0 … most_ranks-1, round the end of the largest node. A rank without a partner at its place in the
            other node rests.
        """
        pairs = []
        for node, ranks in enumerate(self.ranks):
            others = self.ranks[(node + shift) % self.count]
            for place, rank in enumerate(ranks):
                there = (place + up) % self.most_ranks
                if there < len(others) and (places is None or place in places):
                    pairs.append((rank, others[there]))
        return pairs

    def both_ways(
        self, couples: Iterable[tuple[int, int]], places: Collection[int] | None = None
    ) -> list[Pair]:
        """Let ranks of two nodes each send to the one at their place in the other node; `places`: only these."""
        return [
            pair
            for a, b in couples
            for place, (first, second) in enumerate(zip(self.ranks[a], self.ranks[b], strict=False))
            if places is None or place in places
            for pair in ((first, second), (second, first))
        ]

    def rounds_inside(self) -> list[list[Pair]]:
        """Every round inside nodes: in them each rank sends to every other of its node once."""
        return [self.inside(shift) for shift in range(1, self.most_ranks)]

    def rounds_between(self, places: Collection[int] | None = None) -> list[list[Pair]]:
        """Rounds between nodes, in which each rank sends to others of other nodes, first those of its own place.

        With `places`, of these ranks alone, so that nobody else receives either.
        """
        ups = range(self.most_ranks) if places is None else (0,)
        return [self.between(shift, places, up=up) for up in ups for shift in range(1, self.count)]


def matchings(count: int) -> list[list[tuple[int, int]]]:
    """Return rounds of couples in which each of `count` nodes meets each other once, and has one partner at a time.

    The circle method of tournaments: one node stays where it is, the others go round. Of an odd number one rests.
    """
    around = count - 1 + count % 2
    rounds = []
    for turn in range(around):
        couples = [((turn + step) % around, (turn - step) % around) for step in range(1, (around + 1) // 2)]
        rounds.append([*([] if count % 2 else [(turn, around)]), *couples])
    return rounds if count > 1 else []
