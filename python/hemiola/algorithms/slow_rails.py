# SPDX-License-Identifier: Apache-2.0
"""All-reduces for ranks in rows and columns, some of them slow: every column runs an exchange in shares that suit its
own slow ranks, and columns with slow ranks carry less of the buffer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hemiola._core import Collective, Schedule
from hemiola._core.algorithms import Variant
from hemiola.algorithms import slow_shares
from hemiola.algorithms.algorithm import Algorithm, Paper
from hemiola.algorithms.number_arrays import Integers
from hemiola.algorithms.slow_exchanges import exchange_pattern, open_shop
from hemiola.algorithms.slow_pipeline import check_segments
from hemiola.algorithms.task import Task
from hemiola.arguments import typed
from hemiola.errors import ArgumentError

_WHERE = "all_reduce_uneven_rails"
_MOST_RANKS = 256
#: Shares of the buffer are cut into so many parts.
_PARTS = 1 << 20


@typed
def all_reduce_uneven_rails(dims: Sequence[int], slow: Mapping[int, float], segments: int = 16) -> Schedule:
    """All-reduce on a grid of two dimensions whose second one is the narrow one, with slow ranks.

    A row is the ranks that the first dimension joins, a column, or rail, those that the second one joins. Rows
    reduce-scatter over the rails, every rail runs the open-shop exchange among its ranks, and rows gather; the phases
    inside rows go one segment ahead of it and one behind. Each rail carries as much of the buffer as its slow ranks
    leave it time for.

    Parameters
    ----------
    dims : sequence of two ints >= 2, ranks of a row and rows; rank = row * dims[0] + rail. At most 256 ranks.
    slow : mapping of rank to float >= 1, the factors by which its ports are slower; relative to the fastest rank.
    segments : int >= 1, pieces the buffer is pipelined in.

    Returns
    -------
    Schedule, of chunks of several sizes.

    Raises
    ------
    ArgumentError
        A rank does not exist, a factor is below 1 or not finite, or a count is out of range.

    Notes
    -----
    Bandwidth only, where rows are fast: T·(segments+3)/segments · Nβ over a rail's port, for 1/T = Σ 1/T_r over the
    rails, where T_r is the time of all_reduce_open_shop_exchange for a segment. Own running time: that of an open shop
    for each rail. [OptCC] leaves one slow rank of several on a host open.
    """
    check_rows_and_columns(_WHERE, dims)
    check_segments(_WHERE, segments)
    return _Rails(_rails(dims, slow), dims[0], segments).schedule()


def check_rows_and_columns(where: str, dims: Sequence[int]) -> None:
    """Raise ArgumentError where ranks are in no two dimensions, or there are too many."""
    if not _are_rows_and_columns(dims):
        raise ArgumentError(
            f"{where}: expected two dims of at least 2, of {_MOST_RANKS} ranks at most, found {list(dims)}"
        )


def why_no_rows_and_columns(task: Task) -> str:
    """Say what a task's topology lacks; empty where its ranks are in two dimensions."""
    dims = () if task.grid is None else task.grid.dims
    if _are_rows_and_columns(dims):
        return ""
    return f"expected a grid of two dimensions and at most {_MOST_RANKS} ranks, found {list(dims)}"


def _are_rows_and_columns(dims: Sequence[int]) -> bool:
    return len(dims) == 2 and min(dims) >= 2 and math.prod(dims) <= _MOST_RANKS


@dataclass(frozen=True)
class _Rail:
    """What one rail does: units that each row owns, rows of slot, src, dst, unit, reduce, and its time per Nβ."""

    units: Integers
    pattern: Integers
    slot_count: int
    time: float

    @property
    def unit_count(self) -> int:
        return int(self.units.sum())


def _rails(dims: Sequence[int], slow: Mapping[int, float]) -> list[_Rail]:
    width, rows = dims
    factors = slow_shares.relative_factors(_WHERE, width * rows, slow).reshape(rows, width)
    rails = []
    for rail in range(width):
        of_rail = factors[:, rail]
        units, slots = open_shop(tuple(of_rail / of_rail.min()))
        time = slow_shares.one_port_time(units / units.sum(), of_rail)
        rails.append(_Rail(units, exchange_pattern(units, slots), len(slots), time))
    return rails


class _Rails:
    """Writes the schedule. Body b reduce-scatters segment b inside rows, exchanges b - 1 and b - 2 on the rails, and
    gathers b - 3 inside; segment, rail and unit number the chunks."""

    def __init__(self, rails: Sequence[_Rail], width: int, segments: int) -> None:
        self._rails = rails
        self._width = width
        self._segments = segments
        counts = np.array([rail.unit_count for rail in rails])
        self._first_chunk = np.cumsum(counts) - counts
        self._chunk_count = int(counts.sum())
        self._steps = max(width - 1, *(rail.slot_count for rail in rails))

    def schedule(self) -> Schedule:
        rates = np.array([1 / rail.time for rail in self._rails])
        weights, owner = [], []
        for number, rail in enumerate(self._rails):
            part = _PARTS * rates[number] / rates.sum() / rail.unit_count
            weights += [max(1, round(part))] * rail.unit_count
            rows = np.repeat(np.arange(len(rail.units)), rail.units)
            owner += (rows * self._width + number).tolist()
        ranks = self._width * len(self._rails[0].units)
        collective = Collective.with_owners("all_reduce", ranks, owner * self._segments)
        rows = np.concatenate([rows for body in range(self._segments + 3) for rows in self._body(body)])
        return Schedule.from_transfers(collective, rows, chunk_weights=weights * self._segments)

    def _body(self, body: int) -> Iterator[Integers]:
        for number, rail in enumerate(self._rails):
            segment = np.where(rail.pattern[:, 4] == 1, body - 1, body - 2)
            between = rail.pattern.copy()
            between[:, 0] += body * self._steps
            between[:, 1:3] = between[:, 1:3] * self._width + number
            between[:, 3] += segment * self._chunk_count + self._first_chunk[number]
            yield between[(segment >= 0) & (segment < self._segments)]
            for segment_inside, is_raw in ((body, True), (body - 3, False)):
                if 0 <= segment_inside < self._segments:
                    yield self._inside(body, number, segment_inside, is_raw=is_raw)

    def _inside(self, body: int, number: int, segment: int, *, is_raw: bool) -> Integers:
        """Return what the others of every row hand to its rank on a rail, or get from it."""
        rail = self._rails[number]
        turn, row, unit = (
            grid.ravel()
            for grid in np.meshgrid(
                np.arange(1, self._width),
                np.arange(len(rail.units)),
                np.arange(rail.unit_count),
                indexing="ij",
            )
        )
        mine = row * self._width + number
        other = row * self._width + (number + (-turn if is_raw else turn)) % self._width
        src, dst = (other, mine) if is_raw else (mine, other)
        chunk = segment * self._chunk_count + self._first_chunk[number] + unit
        step = body * self._steps + turn - 1
        return np.column_stack([step, src, dst, chunk, np.full_like(step, is_raw)]).astype(np.int64)


def _variants(task: Task) -> list[Variant]:
    """Return the number of segments that balances a latency a message with filling the pipeline, and twice as many,
    where both dimensions are switches or all pairs and the second is the narrow one."""
    grid, slow = task.grid, task.conditions.slow_ranks
    if grid is None or set(grid.wires) - {"switch", "all"} or not max(slow.values()) > 1 or task.nbytes == 0:
        return []
    inside, between = grid.bandwidth
    if inside <= 2 * between:
        return []
    rails = _rails(grid.dims, slow)
    load, slots = 1 / sum(1 / rail.time for rail in rails), max(rail.slot_count for rail in rails)
    serial_s, latency_s = task.nbytes / between, max(grid.latency_s[1], 1e-12)
    transfers = 2 * (task.rank_count - 1) * sum(rail.unit_count for rail in rails)
    most = task.core.most_transfers // transfers
    balance = math.sqrt(3 * load * serial_s / (slots * latency_s))
    found = []
    for segments in sorted({min(round(balance * times), most) for times in (1, 2)} - {0}):
        seconds = (segments + 3) * (load * serial_s / segments + slots * latency_s)
        found.append(Variant(seconds, transfers * segments, "segments", segments))
    return found


ALGORITHMS = (
    Algorithm(
        name=_WHERE,
        kind="all_reduce",
        paper=Paper("OptCC", "Chen, Jiang, Yu, Wang, Xiong, Wang, Liu 2026"),
        idea="On a grid of two dimensions rows reduce-scatter and gather, and columns run the open-shop exchange, each "
        "with as much of the buffer as its slow ranks leave it time for.",
        sizes="grids of two dimensions",
        function=all_reduce_uneven_rails,
        needs="slow",
        formula="T(K+3)/K·N·β for 1/T = Σ 1/T over the columns, bandwidth only",
        unable=why_no_rows_and_columns,
        variants=_variants,
    ),
)
