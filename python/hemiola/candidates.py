"""What could run a collective: the published algorithms, and those made for the conditions at hand.

Whoever adds a way to make schedules adds it here, and the planner considers it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hemiola import algorithms
from hemiola._core import Schedule, ScheduleParts
from hemiola.conditions import Conditions
from hemiola.port_speed import PortSpeed
from hemiola.slow_exchanges import open_shop_body, paced_body

#: Chunks of a late rank's finish and segments of a weighted exchange, at most.
_MOST_CHUNKS = 4096
#: Late ranks that need algorithms of their own, and how many must be in time to reduce meanwhile.
_SEVERAL, _LEAST_IN_TIME = 2, 2
#: Ranks, or hosts, of an open-shop exchange: beyond, making one takes longer than a plan may.
MOST_IN_OPEN_SHOP = 32
#: Fewer ranks have nobody to hand a broadcast's sections on to.
_LEAST_IN_BROADCAST = 3
SEGMENTS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Task:
    """What is to be run: a collective of `nbytes` over `rank_count` ranks whose ports have that speed."""

    kind: str
    rank_count: int
    nbytes: int
    speed: PortSpeed
    conditions: Conditions
    root: int = 0


@dataclass(frozen=True)
class Candidate:
    """An algorithm that could run: its formula's time, how big its schedule is, and how to make it.

    `name` is the algorithm's; `variant` says what was chosen for it, such as "12 chunks"; it is empty where
    nothing was. `parts` makes the same schedule rank by rank, where that is known how.
    """

    name: str
    variant: str
    formula_s: float
    transfer_count: int
    generate: Callable[[], Schedule]
    parts: Callable[[], ScheduleParts] | None = None

    @property
    def label(self) -> str:
        """Name and variant together, for tables."""
        return f"{self.name} ({self.variant})" if self.variant else self.name


def candidates(task: Task) -> list[Candidate]:
    """List what can run a task, cheapest by formula first; equal costs are ordered by name.

    Returns
    -------
    list of Candidate. Algorithms made for a late rank or for slow ranks are among them where there are
    such ranks.

    Raises
    ------
    ArgumentError
        for an unknown collective or a rank count below 1.
    """
    found = [*_published(task), *_for_late_rank(task), *_for_late_ranks(task), *_for_slow_ranks(task)]
    return sorted(found, key=lambda candidate: (candidate.formula_s, candidate.name, candidate.variant))


def _published(task: Task) -> Iterator[Candidate]:
    """Yield the registry's algorithms; their formulas know no conditions, so the delay is added in full."""
    cost = (task.rank_count, task.nbytes, task.speed.latency_s, task.speed.bandwidth)
    delay_s = max(task.conditions.late.values(), default=0.0)
    for name in algorithms.names(task.kind):
        algorithm = algorithms.get(name)
        if algorithm.needs or not algorithm.is_valid(task.rank_count):
            continue
        chunks = algorithm.best_chunk_count(*cost)
        generate = functools.partial(algorithm.generate, task.rank_count, root=task.root, chunk_count=chunks)
        yield Candidate(
            name=name,
            variant=f"{chunks} chunks" if chunks else "",
            formula_s=delay_s + algorithm.seconds(*cost, chunk_count=chunks),
            transfer_count=algorithm.transfer_count(task.rank_count, chunk_count=chunks),
            generate=generate,
        )


def _for_late_rank(task: Task) -> Iterator[Candidate]:
    """Yield the all-reduces in which the others work while they wait for one late rank [StragglAR].

    M chunks take M + ceil(log2 n) - 1 rounds after its arrival, or after the early ranks' reduce-scatter
    where that takes longer.
    """
    n = task.rank_count
    late = [rank for rank, delay_s in task.conditions.late.items() if delay_s > 0]
    if task.kind != "all_reduce" or len(late) != 1 or n < 3:
        return
    (late_rank,) = late
    latency_s, serial_s = task.speed.latency_s, task.nbytes / task.speed.bandwidth
    waiting_s = (n - 2) * (latency_s + serial_s / (n - 1))
    begin_s = max(task.conditions.late[late_rank], waiting_s)

    def finish_s(chunks: int) -> float:
        return begin_s + (chunks + _finish_extra(n)) * (latency_s + serial_s / chunks)

    for chunks in sorted({n - 1, _finish_chunks(task)}):
        yield Candidate(
            name="all_reduce_late",
            variant=f"{chunks} chunks",
            formula_s=finish_s(chunks),
            transfer_count=2 * chunks * (n - 1),
            generate=functools.partial(algorithms.all_reduce_late, n, late_rank, chunk_count=chunks),
        )
    if n >= 4 and n & (n - 1) == 0:
        yield Candidate(
            name="all_reduce_stragglar",
            variant="",
            formula_s=finish_s(n - 1),
            transfer_count=2 * (n - 1) ** 2,
            generate=functools.partial(algorithms.all_reduce_stragglar, n, late_rank),
        )


def _finish_extra(rank_count: int) -> int:
    """Return by how many rounds the finish of a late rank's all-reduce is longer than it has chunks."""
    return math.ceil(math.log2(rank_count)) - 1


def _finish_chunks(task: Task) -> int:
    """Return in how many chunks the finish takes least: latency and serialization of the extra rounds in balance."""
    if task.speed.latency_s <= 0:
        return _MOST_CHUNKS
    serial_s = task.nbytes / task.speed.bandwidth
    balance = math.sqrt(_finish_extra(task.rank_count) * serial_s / task.speed.latency_s)
    return max(1, round(min(balance, _MOST_CHUNKS)))


def _for_late_ranks(task: Task) -> Iterator[Candidate]:
    """Yield the all-reduces for several late ranks: folded in one after the other, or all together.

    A fold takes about as long as the buffer through a port, and the finish starts when the last rank and the folds
    before it are there.
    """
    n = task.rank_count
    late = sorted((delay_s, rank) for rank, delay_s in task.conditions.late.items() if delay_s > 0)
    in_time = n - len(late)
    if task.kind != "all_reduce" or len(late) < _SEVERAL or in_time < _LEAST_IN_TIME:
        return
    ranks = [rank for _, rank in late]
    latency_s, serial_s = task.speed.latency_s, task.nbytes / task.speed.bandwidth
    reduced_s = (in_time - 1) * (latency_s + serial_s / in_time)
    chunks = _finish_chunks(task)
    folded_s = reduced_s
    for delay_s, _ in late[:-1]:
        folded_s = max(folded_s, delay_s) + serial_s + chunks * latency_s
    yield Candidate(
        name="all_reduce_late_several",
        variant=f"{chunks} chunks",
        formula_s=max(folded_s, late[-1][0]) + (chunks + _finish_extra(n)) * (latency_s + serial_s / chunks),
        transfer_count=2 * chunks * (n - 1),
        generate=functools.partial(algorithms.all_reduce_late_several, n, ranks, chunk_count=chunks),
    )
    turns = math.sqrt(serial_s / ((n - 1) * latency_s)) if latency_s > 0 else math.inf
    chunks = in_time * max(1, round(min(turns, _MOST_CHUNKS / in_time)))
    rounds = in_time + chunks // in_time * (n - 1)
    yield Candidate(
        name="all_reduce_late_together",
        variant=f"{chunks} chunks",
        formula_s=max(reduced_s, late[-1][0]) + rounds * (latency_s + serial_s / chunks),
        transfer_count=2 * chunks * (n - 1),
        generate=functools.partial(algorithms.all_reduce_late_together, n, ranks, chunk_count=chunks),
    )


def _for_slow_ranks(task: Task) -> Iterator[Candidate]:
    """Yield the all-reduces and broadcasts in which slow ranks own less [OptCC], in few numbers of segments."""
    n, slow = task.rank_count, task.conditions.slow
    factors = [slow.get(rank, 1.0) for rank in range(n)]
    if n < 2 or max(factors) == min(factors):
        return
    if task.kind == "all_reduce":
        yield from _weighted_all_reduces(task, factors)
        if sum(factor > min(factors) for factor in factors) > 1 and n <= MOST_IN_OPEN_SHOP:
            yield from _for_several_slow_ranks(task)
    elif task.kind == "broadcast" and n >= _LEAST_IN_BROADCAST:
        yield from _weighted_broadcasts(task, factors)


def _weighted_all_reduces(task: Task, factors: Sequence[float]) -> Iterator[Candidate]:
    n, slow = task.rank_count, dict(task.conditions.slow)
    load, owners = exchange_load(factors)
    time_s = _SegmentedTime(task, load / min(factors), n - 1, message=1 / owners)
    for segments in time_s.best_segments():
        yield Candidate(
            name="all_reduce_weighted_exchange",
            variant=f"{segments} segments",
            formula_s=time_s(segments),
            transfer_count=2 * segments * owners * (n - 1),
            generate=functools.partial(algorithms.all_reduce_weighted_exchange, n, slow, segments),
            parts=functools.partial(algorithms.all_reduce_weighted_exchange_parts, n, slow, segments),
        )


def _weighted_broadcasts(task: Task, factors: Sequence[float]) -> Iterator[Candidate]:
    """Yield the broadcast that hands a slow rank less to hand on; its port then only has to take the buffer in."""
    n, slow = task.rank_count, dict(task.conditions.slow)
    time_s = _SegmentedTime(task, max(factors) / min(factors), n - 1, message=1 / (n - 1))
    for segments in time_s.best_segments():
        yield Candidate(
            name="broadcast_weighted_exchange",
            variant=f"{segments} segments",
            formula_s=time_s(segments),
            transfer_count=segments * (n - 1) ** 2,
            generate=functools.partial(
                algorithms.broadcast_weighted_exchange, n, slow, segments, root=task.root
            ),
        )


@dataclass(frozen=True)
class _SegmentedTime:
    """The time of an exchange in segments: k + 1 bodies of so many rounds, in which the busiest port carries `load`.

    `load` is over N·β of the fastest rank's port; a message is that share of a segment.
    """

    task: Task
    load: float
    rounds: int
    message: float

    def __call__(self, segments: int, rounds: int | None = None) -> float:
        """Return seconds where each round, or so many in a body, waits for a latency."""
        waiting_s = (self.rounds if rounds is None else rounds) * self.task.speed.latency_s
        delay_s = max(self.task.conditions.late.values(), default=0.0)
        return delay_s + (segments + 1) * (waiting_s + self.load * self._serial_s() / segments)

    def measurable(self) -> list[int]:
        """Return numbers of segments whose messages take ports at least as long as a latency.

        Of smaller ones nobody can tell whether a port is slow, or has recovered.
        """
        carried_s, latency_s = self.message * self._serial_s(), self.task.speed.latency_s
        return [segments for segments in SEGMENTS if carried_s >= segments * latency_s]

    def best_segments(self) -> list[int]:
        """Return the best number if every round waits for its latency, and of those measurable if only bodies do.

        Which of the two a network is like, its simulation tells.
        """
        best = {min(SEGMENTS, key=self)}
        if measurable := self.measurable():
            best.add(min(measurable, key=lambda segments: self(segments, rounds=1)))
        return sorted(best)

    def _serial_s(self) -> float:
        """Return how long the buffer takes through the fastest rank's port."""
        factors = [self.task.conditions.slow.get(rank, 1.0) for rank in range(self.task.rank_count)]
        return self.task.nbytes / self.task.speed.bandwidth * min(factors) / max(factors)


def exchange_load(factors: Sequence[float]) -> tuple[float, int]:
    """Return a weighted exchange's time per body, over N·β of a port of factor 1, and how many own a section.

    A port of factor l owns a share w in proportion to max(0, 2/l - 1). It carries what it sends away of its own part,
    1 - w, and what it hands out, (n - 1)·w; the slowest port sets the pace.
    """
    spare = [max(0.0, 2 * min(factors) / factor - 1) for factor in factors]
    total, others = sum(spare), len(factors) - 2
    load = max(factor * (1 + others * mine / total) for factor, mine in zip(factors, spare, strict=True))
    return load, sum(mine > 0 for mine in spare)


def _for_several_slow_ranks(task: Task) -> Iterator[Candidate]:
    """Yield the exchanges for several slow ranks, where rounds of equal messages keep ports waiting.

    They send many small messages. Of these, one after the other is what a port is planned to carry: hosts, too, take
    time for each, which no simulation counts.
    """
    n, slow = task.rank_count, dict(task.conditions.slow)
    for name, body, make in (
        ("all_reduce_open_shop_exchange", open_shop_body(n, slow), algorithms.all_reduce_open_shop_exchange),
        ("all_reduce_paced_exchange", paced_body(n, slow), algorithms.all_reduce_paced_exchange),
    ):
        unit = 2 * (n - 1) / body.transfers
        time_s = _SegmentedTime(task, body.load, body.rounds, message=unit)
        segments = min(time_s.measurable(), key=time_s, default=0)
        if segments == 0:
            continue
        yield Candidate(
            name=name,
            variant=f"{segments} segments",
            formula_s=time_s(segments),
            transfer_count=segments * body.transfers,
            generate=functools.partial(make, n, slow, segments),
        )
