# SPDX-License-Identifier: Apache-2.0
"""A short measurement that ranks of one memory make at start-up: how fast messages, copies and additions are, and the
cost of a message beside its bytes where ranks share cores."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola import algorithms
from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import Schedule
from hemiola.machine.capacity import MOST_CORES, allowed_cores, core_quota
from hemiola.planner.core_rates import core_rates
from hemiola.planner.machine_model import EngineCosts, WorkRates
from hemiola.topology.port_speed import PortSpeed

_REPETITIONS = 8
_SMALL_BYTES, _LARGE_BYTES = 64, 1 << 20
#: How often all repetitions are timed where one is not enough, and the best of them counts.
_ROUNDS = 4
#: A hop's share of an exchange in which all send to all; its messages have the rest. Times of several schedules say
#: 0.3 to 0.4, for 4 and 8 ranks on two cores, and now and then nothing or all.
_SHARE_OF_HOP = 0.5
#: Sets of processes whose speeds are kept.
_MOST_REMEMBERED = 256


@dataclass(frozen=True)
class MemorySpeeds:
    """The measurement of processes that share memory; the same on all of them.

    Parameters
    ----------
    latency_s, bandwidth : of a port, where every rank sends and receives at once: seconds, bytes per second.
    combined, copied : bytes per second of one core in its cache.
    cores : how many all ranks together may use.
    hop_s, message_s : seconds of a hop and of a message of next to nothing; 0 where every rank has a core.
    """

    latency_s: float
    bandwidth: float
    combined: float
    copied: float
    cores: float
    hop_s: float
    message_s: float

    @property
    def port(self) -> PortSpeed:
        """A port's speed."""
        return PortSpeed(self.latency_s, self.bandwidth)

    def engine_costs(self, rank_count: int) -> EngineCosts | None:
        """Return the engine's costs for so many of the ranks where they share cores; None where each has one."""
        if rank_count <= self.cores:
            return None
        # All ranks' ports together are the cores' rate; a combination is a read and an addition.
        copied = self.bandwidth * rank_count
        combined = 1 / (1 / copied + 1 / (self.combined * self.cores))
        together = WorkRates(copied, combined)
        alone = WorkRates(copied / self.cores, combined / self.cores)
        return EngineCosts(0.0, self.hop_s, self.message_s, alone, together)


def speeds_of_processes(core: CoreCommunicator) -> MemorySpeeds:
    """Measure between processes that share memory; collective. That is done when these very ones are together for the
    first time, since jobs make many groups."""
    own, together = np.array([os.getpid()], np.int64), np.empty(core.rank_count, np.int64)
    _gather(core, own, together)
    processes = tuple(together.tolist())
    # Rank 0's memory decides for all: others may be new under an old number.
    known = _remembered.get(processes)
    if not agreed(core, [float(known is not None)])[0]:
        known = _measured(core)
    found = MemorySpeeds(*agreed(core, astuple(known) if known is not None else [0.0] * 7))
    _remembered[processes] = found
    for oldest in list(_remembered)[:-_MOST_REMEMBERED]:
        _remembered.pop(oldest, None)
    return found


#: By the processes, in order: the measurement between them.
_remembered: dict[tuple[int, ...], MemorySpeeds] = {}


def agreed(core: CoreCommunicator, found: Sequence[float]) -> list[float]:
    """Return rank 0's measurement; collective."""
    numbers = np.array(found)
    schedule = algorithms.get("broadcast_binomial").generate(core.rank_count, root=0)
    core.run("broadcast", numbers if core.rank == 0 else None, numbers, "sum", 0, schedule, None)
    told: list[float] = numbers.tolist()
    return told


def _measured(core: CoreCommunicator) -> MemorySpeeds:
    """Time a ring, in which every rank sends and receives in every step, with small and large blocks, and what costs
    hops and messages where there are fewer cores than ranks."""
    ring = algorithms.all_gather_ring(core.rank_count)
    steps = core.rank_count - 1
    latency_s = min(_times_s(core, ring, _SMALL_BYTES)) / steps
    large_s = min(_times_s(core, ring, _LARGE_BYTES)) / steps
    bandwidth = _LARGE_BYTES / max(large_s - latency_s, 1e-9)
    cores = cores_of_all(core)
    small_s = _small_s(core) if core.rank_count > cores else 0.0
    hop_s = _SHARE_OF_HOP * small_s
    message_s = (small_s - hop_s) / max(1, 2 * steps)  # of which each sends as many as it receives
    return MemorySpeeds(latency_s, bandwidth, *core_rates(), cores, hop_s, message_s)


def _small_s(core: CoreCommunicator) -> float:
    """Return what an exchange of next to nothing takes in which all ranks send to all.

    Who comes last finds all there and is done at once, so that only many in a row say what one takes."""
    direct = algorithms.get("all_gather_direct").generate(core.rank_count)
    rounds_s = [sum(_times_s(core, direct, _SMALL_BYTES)) for _ in range(_ROUNDS)]
    return min(rounds_s) / _REPETITIONS


def _times_s(core: CoreCommunicator, schedule: Schedule, block_bytes: int) -> list[float]:
    """Time an all-gather of such blocks a few times."""
    block = np.ones(block_bytes, np.uint8)  # pages that were never written are all one
    whole = np.ones(block_bytes * core.rank_count, np.uint8)
    times = []
    for _ in range(_REPETITIONS):
        begin = time.perf_counter()
        core.run("all_gather", block, whole, "sum", 0, schedule, None)
        times.append(time.perf_counter() - begin)
    return times


def cores_of_all(core: CoreCommunicator) -> int:
    """Count the cores that all ranks together may use, of which launchers may have kept each to some; collective, and
    the same on all ranks."""
    own = np.zeros(MOST_CORES, np.uint8)
    own[[number for number in allowed_cores() if number < MOST_CORES]] = 1
    whole = np.empty(MOST_CORES * core.rank_count, np.uint8)
    _gather(core, own, whole)
    used = int(np.count_nonzero(whole.reshape(core.rank_count, -1).any(axis=0)))
    return min(used, int(agreed(core, [core_quota()])[0]))


def _gather(core: CoreCommunicator, own: NDArray[np.generic], whole: NDArray[np.generic]) -> None:
    core.run("all_gather", own, whole, "sum", 0, algorithms.all_gather_ring(core.rank_count), None)
