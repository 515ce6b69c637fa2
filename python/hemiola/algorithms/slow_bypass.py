"""An all-reduce for ranks in rows and columns, one of them so slow that its row is better off without its port to
other rows: what the row has in the slow rank's column goes through its other columns, and a hop at the far end."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hemiola._core import Collective, Schedule
from hemiola._core.algorithms import Variant
from hemiola.algorithms import slow_shares
from hemiola.algorithms.algorithm import Algorithm, Paper
from hemiola.algorithms.open_shop import cut_into_slots
from hemiola.algorithms.slow_pipeline import pipelined
from hemiola.algorithms.slow_shares import Integers
from hemiola.algorithms.task import Task
from hemiola.arguments import typed
from hemiola.errors import ArgumentError

_WHERE = "all_reduce_bypassed_rail"
_MOST_SEGMENTS, _MOST_RANKS = 1 << 12, 256
#: Of what the planner considers, so that it can be simulated within a plan.
_MOST_TRANSFERS = 100_000
#: The smallest of the shares that rows own of a column is cut into so many units at most.
_MOST_UNITS = 8
_STAGES = 6
Message = tuple[int, int, int, int, bool]  #: stage, src, dst, unit, reduce


@typed
def all_reduce_bypassed_rail(dims: Sequence[int], slow: Mapping[int, float], segments: int = 16) -> Schedule:
    """All-reduce on a grid of two dimensions whose second one is the narrow one, with one slow rank, whose port between
    rows stays idle.

    A row is the ranks that the first dimension joins, a column those that the second one joins. Rows reduce-scatter
    over columns, columns exchange, and rows gather. In the slow rank's column the other rows exchange among themselves;
    what its own row has for them, and gets from them, goes through the other columns, and inside rows from there.

    Parameters
    ----------
    dims : sequence of two ints, ranks of a row, at least 2, and rows, at least 3; rank = row * dims[0] + column. At
        most 256 ranks.
    slow : mapping of rank to float >= 1, of which one is slower than the others.
    segments : int >= 1, pieces the buffer is pipelined in.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        An argument is out of range, no rank or several are slow, or the row's other ports could not do it: rows of two
        ranks, or few rows.

    Notes
    -----
    Bandwidth only, where rows are fast: at most T·(segments+5)/segments · Nβ, T = 2(R-1)/(RW-1) for R rows of W, up to
    rounding to whole units: all ports but the slow one are busy, 0.4 of the time of a buffer for 4 rows of 4. The
    construction is ours; [OptCC] leaves one slow rank of several on a host open.
    """
    if len(dims) != 2 or dims[0] < 2 or dims[1] < 3 or math.prod(dims) > _MOST_RANKS:
        raise ArgumentError(
            f"{_WHERE}: expected two dims, rows of 2 ranks and 3 rows at least, {_MOST_RANKS} ranks at most, "
            f"found {list(dims)}"
        )
    if not 1 <= segments <= _MOST_SEGMENTS:
        raise ArgumentError(f"{_WHERE}: expected segments in 1 … {_MOST_SEGMENTS}, found {segments}")
    factors = slow_shares.relative_factors(_WHERE, math.prod(dims), slow)
    if (factors > 1).sum() != 1:
        raise ArgumentError(f"{_WHERE}: expected one slow rank, found {int((factors > 1).sum())}")
    return _Bodies(dims[0], dims[1], int(factors.argmax())).schedule(segments)


def _shares(width: int, rows: int) -> tuple[float, float, float, float] | None:
    """Return T, and what a row owns of the buffer: the slow rank's in each other column, another there, and another in
    the slow rank's column for each column that brings it; None where that row has not enough ports.

    All ports but the slow one take T: of the slow row (R-1)(f+f0) = (W-1)T, of others 2(R-2)f + f+f0 = WT, and in
    the slow column 2(R-2)·b = T.
    """
    f = (width * (rows - 1) - (width - 1)) / (2 * (rows - 1) * (rows - 2))
    f0 = (width - 1) / (rows - 1) - f
    if f0 <= 0:
        return None
    time = 1 / ((rows - 1) * f + f0)
    b = 1 / (2 * (rows - 2))
    columns = width - 1
    return time, f0 * time / columns, (f - b) * time / columns, b * time / columns


def _times(width: int, rows: int) -> Integers:
    """Return how often each of the three kinds of share occurs."""
    return np.array([width - 1, (width - 1) * (rows - 1), (width - 1) * (rows - 1)])


def _units(shares: Sequence[float], width: int, rows: int) -> list[int]:
    """Return how many equal units come closest to the three shares, the smallest of which has a few at most."""
    found = []
    for least in range(1, _MOST_UNITS + 1):
        units = np.maximum(1, np.rint(np.array(shares) / min(shares) * least)).astype(int)
        error = np.abs(units / (units * _times(width, rows)).sum() / np.array(shares) - 1).max()
        found.append((round(float(error), 6), least, units.tolist()))
    chosen: list[int] = min(found)[2]
    return chosen


def _message_count(width: int, rows: int) -> int:
    """Return how many messages a segment has, without writing them; 0 where there is none."""
    shares = _shares(width, rows)
    if shares is None:
        return 0
    of_column = 2 * rows * (width - 1) + 2 * (rows - 1)
    of_kind = np.array([of_column, of_column, of_column + 1])  # the last ones take one way more
    return int((np.array(_units(shares[1:], width, rows)) * _times(width, rows) * of_kind).sum())


@dataclass(frozen=True)
class _Place:
    """Where ranks are: the slow rank's row and column are the first ones."""

    width: int
    rows: int
    slow_rank: int

    def rank(self, row: int, column: int) -> int:
        slow_row, slow_column = divmod(self.slow_rank, self.width)
        return (row + slow_row) % self.rows * self.width + (column + slow_column) % self.width


class _Bodies:
    """Writes the schedule."""

    def __init__(self, width: int, rows: int, slow_rank: int) -> None:
        shares = _shares(width, rows)
        if shares is None:
            raise ArgumentError(
                f"{_WHERE}: {rows} rows of {width} ranks leave the slow rank's row too few ports"
            )
        self.time, *parts = shares
        self._at = _Place(width, rows, slow_rank)
        own, other, bypassed = _units(parts, width, rows)
        self.owner: list[int] = []
        messages: list[Message] = []
        for column in range(1, width):
            for row in range(rows):
                for _ in range(other if row else own):
                    messages += self._of_column(row, column, len(self.owner))
                    self.owner.append(self._at.rank(row, column))
            for row in range(1, rows):
                for _ in range(bypassed):
                    messages += self._bypassing(row, column, len(self.owner))
                    self.owner.append(self._at.rank(row, 0))
        self.pattern, self.steps = self._in_steps(messages)

    def _of_column(self, owner: int, column: int, unit: int) -> Iterator[Message]:
        at = self._at
        for row in range(at.rows):
            mine = at.rank(row, column)
            yield from self._inside(0, row, column, unit, gathers=False)
            if row != owner:
                yield 1, mine, at.rank(owner, column), unit, True
                yield 2, at.rank(owner, column), mine, unit, False
            yield from self._inside(3, row, column, unit, gathers=True)

    def _bypassing(self, owner: int, through: int, unit: int) -> Iterator[Message]:
        """Of the slow rank's column: the first row's part comes to the owner's row in another, and returns there."""
        at = self._at
        home, beside, far = at.rank(owner, 0), at.rank(owner, through), at.rank(0, through)
        yield from self._inside(0, 0, through, unit, gathers=False)
        # What `beside` has of its own is already at home.
        yield 1, far, beside, unit, False
        yield 2, beside, home, unit, True
        yield 3, home, beside, unit, False
        yield 4, beside, far, unit, False
        yield from self._inside(5, 0, through, unit, gathers=True)
        for row in range(1, at.rows):
            yield from self._inside(0, row, 0, unit, gathers=False)
            if row != owner:
                yield 1, at.rank(row, 0), home, unit, True
                yield 3, home, at.rank(row, 0), unit, False
            has_it = through if row == owner else None
            yield from self._inside(4, row, 0, unit, gathers=True, but=has_it)

    def _inside(
        self, stage: int, row: int, column: int, unit: int, *, gathers: bool, but: int | None = None
    ) -> Iterator[Message]:
        mine = self._at.rank(row, column)
        for other in range(self._at.width):
            if other not in (column, but):
                theirs = self._at.rank(row, other)
                yield (stage, mine, theirs, unit, False) if gathers else (stage, theirs, mine, unit, True)

    def _in_steps(self, messages: list[Message]) -> tuple[Integers, int]:
        """Return rows of step, src, dst, unit, reduce, stage, and how many steps a body has.

        A column's messages are an open shop; in a row everybody sends to the next first."""
        width, rows = self._at.width, self._at.rows
        between = [deque[Message]() for _ in range((width * rows) ** 2)]
        found = []
        demand = np.zeros((width, rows, rows), np.int64)
        for message in sorted(messages, key=lambda one: -one[0]):
            stage, src, dst, unit, reduce = message
            if src // width == dst // width:
                found.append(((dst - src) % width - 1, src, dst, unit, int(reduce), stage))
            else:
                demand[src % width, src // width, dst // width] += 1
                between[src * width * rows + dst].append(message)
        steps = width - 1
        for column in range(width):
            _, slots = cut_into_slots(np.ones(rows), demand[column], 1)
            steps = max(steps, len(slots))
            for number, slot in enumerate(slots):
                for a, b in np.argwhere(slot > 0).tolist():
                    src, dst = a * width + column, b * width + column
                    for _ in range(slot[a, b]):
                        stage, _, _, unit, reduce = between[src * width * rows + dst].popleft()
                        found.append((number, src, dst, unit, int(reduce), stage))
        return np.array(found, np.int64), steps

    def schedule(self, segments: int) -> Schedule:
        rows = pipelined(
            self.pattern[:, :5],
            self.pattern[:, 5],
            segments=segments,
            steps=self.steps,
            chunks=len(self.owner),
        )
        collective = Collective.with_owners(
            "all_reduce", self._at.width * self._at.rows, self.owner * segments
        )
        return Schedule.from_transfers(collective, rows)


def _unable(task: Task) -> str:
    dims = () if task.grid is None else task.grid.dims
    slow = task.conditions.slow_ranks
    factors = [slow.get(rank, 1.0) for rank in range(task.rank_count)]
    slow_count = sum(factor > min(factors) for factor in factors)
    if len(dims) != 2 or dims[0] < 2 or dims[1] < 3 or math.prod(dims) > _MOST_RANKS:
        return f"expected a grid of two dimensions and at most {_MOST_RANKS} ranks, found {list(dims)}"
    if slow_count != 1:
        return f"expected one slow rank, found {slow_count}"
    if _shares(*dims) is None:
        return f"{dims[1]} rows of {dims[0]} ranks leave the slow rank's row too few ports"
    return ""


def _variants(task: Task) -> list[Variant]:
    """Return the number of segments that balances a latency a message with filling the pipeline, and twice as many,
    where both dimensions are switches or all pairs and the second is the narrow one."""
    grid = task.grid
    if grid is None or set(grid.wires) - {"switch", "all"} or task.nbytes == 0:
        return []
    inside, between = grid.bandwidth
    if inside <= 2 * between:
        return []
    width, rows = grid.dims
    if not 0 < _message_count(width, rows) <= _MOST_TRANSFERS:
        return []  # writing them alone would take as long as a plan may
    bodies = _Bodies(width, rows, 0)
    serial_s, latency_s = task.nbytes / between, max(grid.latency_s[1], 1e-12)
    most = min(_MOST_SEGMENTS, _MOST_TRANSFERS // len(bodies.pattern))
    balance = math.sqrt((_STAGES - 1) * bodies.time * serial_s / (bodies.steps * latency_s))
    found = []
    for segments in sorted({min(round(balance * times), most) for times in (1, 2)} - {0}):
        seconds = (segments + _STAGES - 1) * (bodies.time * serial_s / segments + bodies.steps * latency_s)
        found.append(Variant(seconds, len(bodies.pattern) * segments, "segments", segments))
    return found


ALGORITHMS = (
    Algorithm(
        name=_WHERE,
        kind="all_reduce",
        paper=Paper("OptCC", "Chen, Jiang, Yu, Wang, Xiong, Wang, Liu 2026"),
        idea="On a grid of two dimensions with one slow rank its port between rows stays idle: what its row has in its "
        "column goes through the row's other ranks.",
        sizes="grids of two dimensions",
        function=all_reduce_bypassed_rail,
        needs="slow",
        formula="2(R-1)/(RW-1)·(K+5)/K·N·β for R rows of W, bandwidth only",
        unable=_unable,
        variants=_variants,
    ),
)
