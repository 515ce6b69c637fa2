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
from hemiola.slow_exchanges import open_shop_body

#: Chunks of a late rank's finish and segments of a weighted exchange, at most.
_MOST_CHUNKS = 4096
#: Late ranks that need algorithms of their own, and how many must be in time to reduce meanwhile.
_SEVERAL, _LEAST_IN_TIME = 2, 2
#: Ranks, or hosts, of an open-shop exchange: beyond, making one takes longer than a plan may.
MOST_IN_OPEN_SHOP = 32
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
    """Yield the all-reduces in which slow ranks own less [OptCC], in the best number of segments."""
    n, slow = task.rank_count, task.conditions.slow
    factors = [slow.get(rank, 1.0) for rank in range(n)]
    if task.kind != "all_reduce" or n < 2 or max(factors) == min(factors):
        return
    healthy = task.speed.bandwidth * max(factors)
    load, owners = exchange_load(factors)
    delay_s = max(task.conditions.late.values(), default=0.0)

    def time_s(segments: int) -> float:
        bodies = segments + 1
        return bodies * ((n - 1) * task.speed.latency_s + load * task.nbytes / healthy / segments)

    segments = min(SEGMENTS, key=time_s)
    yield Candidate(
        name="all_reduce_weighted_exchange",
        variant=f"{segments} segments",
        formula_s=delay_s + time_s(segments),
        transfer_count=2 * segments * owners * (n - 1),
        generate=functools.partial(algorithms.all_reduce_weighted_exchange, n, dict(slow), segments),
        parts=functools.partial(algorithms.all_reduce_weighted_exchange_parts, n, dict(slow), segments),
    )
    if sum(factor > min(factors) for factor in factors) > 1 and n <= MOST_IN_OPEN_SHOP:
        yield _open_shop(task, healthy / min(factors), delay_s)


def exchange_load(factors: Sequence[float]) -> tuple[float, int]:
    """Return a weighted exchange's time per body, over N·β of a port of factor 1, and how many own a section.

    A port of factor l owns a share w in proportion to max(0, 2/l - 1). It carries what it sends away of its own part,
    1 - w, and what it hands out, (n - 1)·w; the slowest port sets the pace.
    """
    spare = [max(0.0, 2 * min(factors) / factor - 1) for factor in factors]
    total, others = sum(spare), len(factors) - 2
    load = max(factor * (1 + others * mine / total) for factor, mine in zip(factors, spare, strict=True))
    return load, sum(mine > 0 for mine in spare)


def _open_shop(task: Task, healthy: float, delay_s: float) -> Candidate:
    """Return the exchange for several slow ranks, where rounds keep ports waiting, in the best number of segments."""
    body = open_shop_body(task.rank_count, task.conditions.slow)

    def time_s(segments: int) -> float:
        return (segments + 1) * (
            body.slots * task.speed.latency_s + body.load * task.nbytes / healthy / segments
        )

    segments = min(SEGMENTS, key=time_s)
    return Candidate(
        name="all_reduce_open_shop_exchange",
        variant=f"{segments} segments",
        formula_s=delay_s + time_s(segments),
        transfer_count=segments * body.transfers,
        generate=functools.partial(
            algorithms.all_reduce_open_shop_exchange, task.rank_count, dict(task.conditions.slow), segments
        ),
    )
