# SPDX-License-Identifier: Apache-2.0
"""Runs collectives on real buffers, again and again, with every element checked, for `run` and `bench`.

Repetitions follow one another as in nccl-tests, and one takes the ranks' average time. Where the ranks' order of coming
matters, they are spaced by barriers. Then a repetition begins when the first rank leaves the barrier and ends when the
last is done, read from CLOCK_MONOTONIC, which is the same for all processes of a machine. Data is checked before and
after the timed repetitions, in calls of their own."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule
from hemiola.arguments.names import Kind
from hemiola.communicator import Communicator
from hemiola.errors import ArgumentError
from hemiola.machine.capacity import memory_bytes
from hemiola.measure.pattern import REDUCING, ROOTED, Array, Pattern
from hemiola.measure.peers import Gloo
from hemiola.units import format_bytes


@dataclass(frozen=True)
class Trial:
    """One measurement of all ranks: a collective on known data, with a schedule, an algorithm, or the planner's
    choice."""

    pattern: Pattern
    schedule: Schedule | str | None
    in_place: bool = False
    spaced: bool = False
    warmups: int = 2
    repeats: int = 20


@dataclass(frozen=True)
class RankTimes:
    """One rank's part of a trial: when each repetition began and ended, in seconds, its wrong elements, and its
    messages where it records them."""

    begin_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    wrong: int
    transfers: NDArray[np.void] | None = None


@dataclass(frozen=True)
class Measured:
    """All ranks' result of a trial: how long each repetition took, and all wrong elements."""

    nbytes: int
    durations_s: NDArray[np.float64]
    wrong: int

    def percentile_s(self, percent: float) -> float:
        """Return the time in seconds that so many percent of the repetitions did not exceed."""
        return float(np.percentile(self.durations_s, percent))

    @property
    def p50_s(self) -> float:
        """The median time in seconds."""
        return self.percentile_s(50)

    @property
    def algbw(self) -> float:
        """Buffer size over median time, in bytes per second."""
        return self.nbytes / self.p50_s if self.p50_s > 0 else 0.0


def bus_factor(kind: Kind, rank_count: int) -> float:
    """Return the factor from size over time to the bandwidth of a port, as nccl-tests defines it (busbw / algbw).

    A rank's port must carry so much of the buffer with any algorithm, so busbw compares with the hardware's figure, for
    every number of ranks.
    """
    share = (rank_count - 1) / rank_count
    return {"all_reduce": 2 * share, "broadcast": 1.0, "reduce": 1.0}.get(kind, share)


def check_room(pattern: Pattern, ranks_here: int | None = None) -> None:
    """Raise ArgumentError where this machine's memory cannot hold even one buffer of each of its ranks that has a whole
    one; `ranks_here` None: all are here."""
    whole = 1 if pattern.kind in ("gather", "scatter") else ranks_here or pattern.rank_count
    total, _ = memory_bytes()
    if whole * pattern.nbytes > total:
        raise ArgumentError(
            f"{whole} times {format_bytes(pattern.nbytes)} does not fit into this machine's memory of "
            f"{format_bytes(total)}; take a smaller size or fewer ranks"
        )


def measure(comm: Communicator, trial: Trial, peer: Gloo | None = None) -> RankTimes:
    """Run a trial as one of the ranks, by a peer instead where there is one; all of them call this with the same
    trial."""
    before = comm.transfers()["operation"].max(initial=-1)
    buffers = _Buffers(comm, trial, peer)
    wrong = buffers.check()
    buffers.clear()
    for _ in range(trial.warmups):
        buffers.call()
    begin_s, end_s = np.empty(trial.repeats), np.empty(trial.repeats)
    for repeat in range(trial.repeats):
        if trial.spaced:
            comm.barrier()
        begin_s[repeat] = time.monotonic()
        buffers.call()
        end_s[repeat] = time.monotonic()
    wrong += buffers.check()
    kept = comm.transfers()
    return RankTimes(begin_s, end_s, wrong, kept[kept["operation"] > before] if len(kept) else None)


def combine(pattern: Pattern, ranks: Sequence[RankTimes], *, spaced: bool) -> Measured:
    """Combine the ranks' parts of one trial, spaced or not."""
    begin_s = np.array([rank.begin_s for rank in ranks])
    end_s = np.array([rank.end_s for rank in ranks])
    durations_s = end_s.max(axis=0) - begin_s.min(axis=0) if spaced else (end_s - begin_s).mean(axis=0)
    return Measured(pattern.nbytes, durations_s, sum(rank.wrong for rank in ranks))


class _Buffers:
    """One rank's arrays of a trial, and the call on them."""

    def __init__(self, comm: Communicator, trial: Trial, peer: Gloo | None) -> None:
        self._pattern = trial.pattern
        self._rank = comm.rank
        self._brought = trial.pattern.input_of(comm.rank)
        self._input, self._output = self._place(trial.in_place)
        #: Runs the collective once.
        self.call: Callable[[], object]
        if peer is not None:
            self.call = peer.call(trial.pattern, comm.rank, self._input, self._output)
            return
        options: dict[str, Any] = {"schedule": trial.schedule, "out": self._output, "sparse": False}
        if trial.pattern.kind in REDUCING:
            options["op"] = trial.pattern.op
        if trial.pattern.kind in ROOTED:
            options["root"] = trial.pattern.root
        self.call = functools.partial(getattr(comm, trial.pattern.kind), self._input, **options)

    def check(self) -> int:
        """Run once on the pattern's data and count wrong elements."""
        self.clear()
        self._input[:] = self._brought
        self.call()
        return self._pattern.wrong(self._rank, self._output[: self._pattern.output_size(self._rank)])

    def clear(self) -> None:
        """Set all to zero, so that repeating a sum in place stays zero."""
        self._output[:] = 0
        self._input[:] = 0

    def _place(self, in_place: bool) -> tuple[Array, Array]:
        """Return input and output: two arrays, or the same one, or the rank's own block of the larger one."""
        pattern, dtype = self._pattern, self._pattern.dtype
        takes, gives = self._brought.size, pattern.output_size(self._rank)
        if not in_place:
            return np.zeros(takes, dtype), np.zeros(gives, dtype)
        whole = np.zeros(max(takes, gives), dtype)
        if takes == gives or not takes or not gives:
            return whole[:takes], whole[:gives]
        begin, end = pattern.block_of(self._rank)
        return (whole, whole[begin:end]) if takes > gives else (whole[begin:end], whole)
