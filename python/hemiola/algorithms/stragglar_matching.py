# SPDX-License-Identifier: Apache-2.0
"""StragglAR for even rank counts that are no powers of two: each round is a maximum-weight matching [StragglAR, §E]."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from hemiola._core import Collective, Schedule
from hemiola.algorithms.algorithm import Algorithm, Paper
from hemiola.algorithms.task import Task
from hemiola.arguments import typed
from hemiola.errors import ArgumentError

#: A pair's gain in the matching, and the random part that keeps the solver from pairing the same ranks again and again.
_GAIN, _NOISE = 1000, 400

Exchange = tuple[int, int, int, bool]  #: src, dst, chunk, reduce


@typed
def all_reduce_stragglar_matching(rank_count: int, late_rank: int, *, seeds: int = 4) -> Schedule:
    """All-reduce with one late rank, its rounds found by matching.

    Parameters
    ----------
    rank_count : int >= 4, even.
    late_rank : int, 0 … rank_count-1.
    seeds : int >= 1, how many random perturbations are tried; the schedule with the fewest rounds is kept.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        An argument is outside its range.

    Notes
    -----
    In round r < n - 1 rank r exchanges chunk r with the late rank; the others are matched by weight 2 where both ranks
    of a pair have a chunk that the other lacks, 1 where one has [StragglAR, §E]. The paper says neither which chunk is
    sent nor how ties are broken, and both decide the result: we send the newest and perturb the weights. At the lower
    bound of n + ceil(log2 n) - 2 rounds or a round or two above it; the finish on the circulant graph is at it for
    every n and takes milliseconds where this takes seconds. Deterministic.
    """
    if rank_count < 4 or rank_count % 2:
        raise ArgumentError(
            f"all_reduce_stragglar_matching: expected an even rank_count >= 4, found {rank_count}; "
            "names(needs='late') lists those for any"
        )
    if not 0 <= late_rank < rank_count:
        raise ArgumentError(
            f"all_reduce_stragglar_matching: expected late_rank in 0 … {rank_count - 1}, found {late_rank}"
        )
    if seeds < 1:
        raise ArgumentError(f"all_reduce_stragglar_matching: expected seeds >= 1, found {seeds}")
    rounds = min((_Rounds(rank_count, seed).run() for seed in range(seeds)), key=len)
    return _schedule(rank_count, late_rank, rounds)


@dataclass
class _Rounds:
    """The rounds after arrival; the late rank is numbered last."""

    rank_count: int
    seed: int
    final: list[set[int]] = field(init=False)

    def run(self) -> list[list[Exchange]]:
        self.final = [set() for _ in range(self.rank_count)]
        self._random = random.Random(self.seed)
        rounds: list[list[Exchange]] = []
        while any(len(chunks) < self.rank_count - 1 for chunks in self.final):
            rounds.append(self._round(len(rounds)))
        return rounds

    def _round(self, number: int) -> list[Exchange]:
        late = self.rank_count - 1
        free = set(range(self.rank_count))
        moves: list[Exchange] = []
        if number < late:
            moves += [(late, number, number, True), (number, late, number, True)]
            free -= {number, late}
        for a, b in self._match(sorted(free)):
            for src, dst in ((a, b), (b, a)):
                lacking = self.final[src] - self.final[dst]
                if lacking:
                    moves.append((src, dst, max(lacking), False))
        for _, dst, chunk, _ in moves:
            self.final[dst].add(chunk)
        return moves

    def _match(self, ranks: list[int]) -> set[tuple[int, int]]:
        import rustworkx as rx  # every rank imports this module, and hardly any matches

        self._random.shuffle(ranks)
        graph: rx.PyGraph[int, int] = rx.PyGraph(multigraph=False)
        graph.add_nodes_from(ranks)
        for i, a in enumerate(ranks):
            for j in range(i + 1, len(ranks)):
                b = ranks[j]
                gain = bool(self.final[a] - self.final[b]) + bool(self.final[b] - self.final[a])
                if gain:
                    graph.add_edge(i, j, gain * _GAIN + self._random.randrange(_NOISE))
        pairs = rx.max_weight_matching(graph, weight_fn=lambda weight: weight)
        return {(ranks[i], ranks[j]) for i, j in pairs}


def _schedule(rank_count: int, late_rank: int, rounds: list[list[Exchange]]) -> Schedule:
    """Put the early ranks' ring reduce-scatter before the rounds and number ranks as the job does."""
    early = rank_count - 1
    in_job = [r if r < late_rank else r + 1 for r in range(early)] + [late_rank]
    rows = [
        (hop, in_job[(owner + 1 + hop) % early], in_job[(owner + 2 + hop) % early], owner, True)
        for owner in range(early)
        for hop in range(early - 1)
    ]
    for number, moves in enumerate(rounds):
        rows += [(early - 1 + number, in_job[s], in_job[d], chunk, reduce) for s, d, chunk, reduce in moves]
    collective = Collective.with_owners("all_reduce", rank_count, in_job[:early])
    return Schedule.from_transfers(collective, rows)


def _unable(task: Task) -> str:
    n = task.rank_count
    return "" if n >= 4 and n % 2 == 0 else f"expected an even number of at least 4 ranks, found {n}"


ALGORITHMS = (
    Algorithm(
        name="all_reduce_stragglar_matching",
        kind="all_reduce",
        paper=Paper("StragglAR", "Devraj, Ding, Vijaya Kumar, Kleinberg, Singh 2025"),
        idea="StragglAR for other even counts, each round a maximum-weight matching.",
        sizes="even n ≥ 4",
        function=all_reduce_stragglar_matching,
        needs="late",
        chunks_formula="n-1",
        steps_formula="n-2+⌈log2 n⌉ after arrival, or a few more",
        unable=_unable,
    ),
)
