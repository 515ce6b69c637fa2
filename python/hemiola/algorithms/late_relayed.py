# SPDX-License-Identifier: Apache-2.0
"""All-reduce for several ranks that are late together, as fast as their ports allow. Some of their parts go through
another late rank, which adds its own, and late ranks pass on some of the results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hemiola._core import Collective, Schedule
from hemiola._core.algorithms import Variant
from hemiola.algorithms.algorithm import Algorithm, Paper
from hemiola.algorithms.number_arrays import Integers
from hemiola.algorithms.perfect_matching import rounds_of
from hemiola.algorithms.slow_pipeline import LEAST_MADE, check_segments
from hemiola.algorithms.task import Task
from hemiola.arguments import typed
from hemiola.errors import ArgumentError

#: A segment's messages go in so many bodies: from late to late, late to owner, owner to all, late to the rest.
_STAGES = 4


@typed
def all_reduce_late_relayed(rank_count: int, late_ranks: Sequence[int], segments: int = 16) -> Schedule:
    """All-reduce with several late ranks that arrive at about the same time, all ports busy both ways.

    The ranks in time reduce-scatter while they wait. Then the buffer goes in segments, each in four stages, of which
    each overlaps the next one's segment. A late rank hands some of its parts to another late rank, which adds its own.
    Late ranks hand the owners their sums. Owners send complete chunks to all but a few ranks. A late rank passes them
    on to those few. So owners receive less and late ranks more, until all ports carry the same.

    Parameters
    ----------
    rank_count : int >= 3.
    late_ranks : list of distinct ranks, 1 … rank_count-2 of them.
    segments : int >= 1, pieces the buffer is pipelined in.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        If an argument is outside its range.

    Notes
    -----
    With k late ranks, bandwidth only: at most (n-1+k)/n · (segments+3)/segments · Nβ after the last arrival. Without
    the pipeline's filling that is the bound: the late ranks' parts and everybody's results fill all ports. Where more
    than three fifths of the ranks are late, the busiest port has up to a quarter more. The solver chooses among equal
    matchings. Own running time: some ms a body of up to n chunks per rank in time, for any number of segments. The
    construction is ours.
    """
    late = _checked(rank_count, late_ranks, segments)
    body = _body(rank_count - len(late), len(late))
    in_job = np.array([*(rank for rank in range(rank_count) if rank not in set(late)), *late])
    rows = np.concatenate([body.reduce_scatter(segments), *body.finish(segments)])
    rows[:, 1:3] = in_job[rows[:, 1:3]]
    owner = np.tile(in_job[body.owner], segments)
    return Schedule.from_transfers(Collective.with_owners("all_reduce", rank_count, owner.tolist()), rows)


@dataclass(frozen=True, eq=False)
class _Body:
    """One segment's messages, by the place of ranks: those in time first, then the late ones.

    Attributes
    ----------
    rank_count, in_time : int, of all and of those in time.
    owner : array of int, one place per chunk of a segment.
    messages : array of int, rows of stage, src, dst, chunk; what is handed in is added.
    """

    rank_count: int
    in_time: int
    owner: Integers
    messages: Integers

    @property
    def round_count(self) -> int:
        """How many messages the busiest port carries."""
        return max(int(np.bincount(self.messages[:, end]).max()) for end in (1, 2))

    def reduce_scatter(self, segments: int) -> Integers:
        """Return what ranks in time do while they wait, segment by segment: every other one adds to the owner's."""
        chunk = np.arange(len(self.owner) * segments)
        owner = np.tile(self.owner, segments)
        segment = chunk // len(self.owner)
        rows = [
            np.column_stack(
                [
                    segment * (self.in_time - 1) + turn - 1,
                    (owner + turn) % self.in_time,
                    owner,
                    chunk,
                    np.ones_like(chunk),
                ]
            )
            for turn in range(1, self.in_time)
        ]
        return np.concatenate(rows).astype(np.int64)

    def finish(self, segments: int) -> Iterator[Integers]:
        """Yield the rows of one body after the other, in each of which stage s is that of the s-th segment before."""
        step = segments * (self.in_time - 1)
        for body in range(segments + _STAGES - 1):
            stages = tuple(stage for stage in range(_STAGES) if 0 <= body - stage < segments)
            rows = _rounds(self, stages).copy()
            stage = rows[:, 4].copy()
            round_count = int(rows[:, 0].max()) + 1 if len(rows) else 0
            rows[:, 0] += step
            rows[:, 3] += (body - stage) * len(self.owner)
            rows[:, 4] = stage < 2
            yield rows
            step += round_count


def _pieces(in_time: int, late_count: int) -> int:
    """Return how many chunks of a segment each rank in time owns, so that ports can be given equal shares."""
    n = in_time + late_count
    return n // math.gcd(n, late_count * (in_time + 1))


@lru_cache(maxsize=16)
def _body(in_time: int, late_count: int) -> _Body:
    """Share a segment's messages among the ports so that each carries as many.

    With m ranks in time and k late ones, a chunk's owner must hear k(m+1)/n of the late ranks itself, on average.
    """
    n = in_time + late_count
    pieces = _pieces(in_time, late_count)
    heard = _spread(late_count * (in_time + 1) * pieces // n, pieces)
    passed = _spread(late_count * (late_count - 1) * pieces // n, pieces)
    handing, passing = _Shares(in_time, late_count), _Shares(in_time, late_count)
    owners: list[int] = []
    messages: list[tuple[int, int, int, int]] = []
    for piece in range(pieces):
        for owner in range(in_time):
            chunk = len(owners)
            owners.append(owner)
            messages += [(*hop, chunk) for hop in _handed_in(handing, owner, heard[piece])]
            messages += [(*hop, chunk) for hop in _handed_out(passing, owner, passed[piece], n)]
    return _Body(n, in_time, np.array(owners), np.array(messages, np.int64))


def _spread(total: int, count: int) -> list[int]:
    """Return whole numbers that differ by one at most and have that sum."""
    return [total * (i + 1) // count - total * i // count for i in range(count)]


class _Shares:
    """Gives late ranks, whose places follow those in time, equal shares of what one of them must do."""

    def __init__(self, in_time: int, late_count: int) -> None:
        self._used = dict.fromkeys(range(in_time, in_time + late_count), 0)
        self._turn = 0

    def late_ranks(self) -> list[int]:
        """Return the late ranks, those first that have done least; equals take turns."""
        self._turn += 1
        late = list(self._used)
        turned = late[self._turn % len(late) :] + late[: self._turn % len(late)]
        return sorted(turned, key=self._used.__getitem__)

    def use(self, late: int) -> None:
        self._used[late] += 1


def _handed_in(shares: _Shares, owner: int, heard: int) -> Iterator[tuple[int, int, int]]:
    """Yield stage, src, dst of the late parts of a chunk whose owner hears so many late ranks itself."""
    late = shares.late_ranks()
    relayed = len(late) - heard
    through = late[: min(heard, relayed)]
    for number, src in enumerate(late[heard:]):
        relay = through[number % len(through)]
        shares.use(relay)
        yield 0, src, relay
    for src in late[:heard]:
        yield 1, src, owner


def _handed_out(shares: _Shares, owner: int, passed: int, rank_count: int) -> Iterator[tuple[int, int, int]]:
    """Yield stage, src, dst of a complete chunk that reaches so many ranks through late ones."""
    late = shares.late_ranks()
    through = late[: min(passed, rank_count - 1 - passed)]
    first = owner + 1 + late[0]
    others = [(first + i) % rank_count for i in range(rank_count)]
    served = [rank for rank in others if rank != owner and rank not in through][:passed]
    for number, dst in enumerate(served):
        relay = through[number % len(through)]
        shares.use(relay)
        yield 3, relay, dst
    for dst in range(rank_count):
        if dst != owner and dst not in served:
            yield 2, owner, dst


@lru_cache(maxsize=64)
def _rounds(body: _Body, stages: tuple[int, ...]) -> Integers:
    """Return rows of round, src, dst, chunk, stage: the messages of these stages, one a port and round each way."""
    waiting: dict[tuple[int, int], list[tuple[int, int]]] = {}
    # The furthest message comes first: others wait for it longest.
    for stage, src, dst, chunk in sorted(body.messages.tolist(), key=lambda message: -message[0]):
        if stage in stages:
            waiting.setdefault((src, dst), []).append((chunk, stage))
    count = np.zeros((body.rank_count, body.rank_count), np.int64)
    for pair, queue in waiting.items():
        count[pair] = len(queue)
    rows = [
        (number, src, dst, *waiting[src, dst].pop(0))
        for number, pairs in enumerate(rounds_of(count))
        for src, dst in pairs
    ]
    return np.array(rows, np.int64).reshape(-1, 5)


def _checked(rank_count: int, late_ranks: Sequence[int], segments: int) -> list[int]:
    where, late = "all_reduce_late_relayed", list(late_ranks)
    if rank_count < 3:
        raise ArgumentError(f"{where}: expected at least 3 ranks, found {rank_count}")
    if not late:
        raise ArgumentError(f"{where}: expected at least one late rank, found none")
    for rank in late:
        if not 0 <= rank < rank_count:
            raise ArgumentError(f"{where}: expected a late rank in 0 … {rank_count - 1}, found {rank}")
    if len(set(late)) < len(late):
        raise ArgumentError(f"{where}: expected distinct late ranks, found {late}")
    if rank_count - len(late) < 2:
        raise ArgumentError(
            f"{where}: expected at least 2 of {rank_count} ranks in time, found {len(late)} late ones"
        )
    check_segments(where, segments)
    return late


def _unable(task: Task) -> str:
    late = len(task.late_ranks)
    if task.rank_count - late >= 2:
        return ""
    return f"expected at least 2 of {task.rank_count} ranks in time, found {late} late ones"


def _variants(task: Task) -> list[Variant]:
    """Return the number of segments that balances a latency a message with filling the pipeline; and three times as
    many, the better choice where latencies overlap, as in simulated networks."""
    n, late = task.rank_count, len(task.late_ranks)
    if late < 2 or task.nbytes == 0:
        return []
    chunks = _pieces(n - late, late) * (n - late)
    most = task.core.most_transfers // (2 * (n - 1) * chunks)
    if most < LEAST_MADE:
        return []
    body = _body(n - late, late)
    serial_s = task.nbytes / task.speed.bandwidth
    latency_s = max(task.speed.latency_s, serial_s / 1e9)
    balance = math.sqrt((_STAGES - 1) * serial_s / (chunks * latency_s))
    choices = {min(round(balance * times), most) for times in (1, 3)}
    return [_variant(task, body, segments) for segments in sorted(choices) if segments >= 1]


def _variant(task: Task, body: _Body, segments: int) -> Variant:
    serial_s, latency_s, chunks = task.nbytes / task.speed.bandwidth, task.speed.latency_s, len(body.owner)
    reduced_s = (body.in_time - 1) * (segments * latency_s + serial_s / body.in_time)
    rounds = body.round_count * (segments + _STAGES - 1)
    seconds = max(task.delay_s, reduced_s) + rounds * (latency_s + serial_s / (chunks * segments))
    return Variant(seconds, 2 * (body.rank_count - 1) * chunks * segments, "segments", segments)


ALGORITHMS = (
    Algorithm(
        name="all_reduce_late_relayed",
        kind="all_reduce",
        paper=Paper("StragglAR", "Devraj, Ding, Vijaya Kumar, Kleinberg, Singh 2025"),
        idea="The ranks in time reduce-scatter; then late ranks, who come together, hand in some of their parts "
        "through each other and pass on some of the results, so that all ports carry the same.",
        sizes="any n ≥ 3, two in time",
        function=all_reduce_late_relayed,
        needs="late",
        formula="(n-1+k)/n·(S+3)/S·N·β after the last of k arrivals in S segments, bandwidth only",
        unable=_unable,
        variants=_variants,
    ),
)
