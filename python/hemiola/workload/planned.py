# SPDX-License-Identifier: Apache-2.0
"""The times of Hemiola's collectives on a group's network, and their lower bounds.

A plan is made for a power of four of bytes, and serves all sizes within a factor of two. Its schedule is simulated at
each size."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, Topology
from hemiola.arguments.names import as_kind
from hemiola.bounds import lower_bound
from hemiola.conditions import Conditions
from hemiola.planner import Plan, plan
from hemiola.simulate import simulate
from hemiola.workload.compared import MOST_TRANSFERS
from hemiola.workload.rings import ring_time
from hemiola.workload.timed import Timed

#: Ranks of an exchange whose blocks are planned one by one where they differ.
_MOST_BLOCKS = 64
#: More ranks than these have plans of so much of the usual effort.
_EFFORTS = ((1024, 0.02), (256, 0.3))
#: Ranks up to which each size has a bound of its own.
_MANY_RANKS = 256
#: Ranks up to which a reduce-scatter is planned beside the all-gather that it is backwards.
_MOST_TWICE = 1024
#: Collectives whose least traffic is that of a ring.
_RINGS = ("all_reduce", "all_gather", "reduce_scatter")


def planned(
    topology: Topology,
    kind: str,
    nbytes: int,
    conditions: Conditions,
    skew: float = 1.0,
    effort: float = 1.0,
) -> Timed:
    """Return the time of Hemiola's plan for a collective.

    Parameters
    ----------
    topology : Topology of the ranks that run it.
    kind : str, a collective.
    nbytes : int >= 0, one rank's buffer.
    conditions : Conditions, in the topology's numbers; `late` counts in the time.
    skew : float >= 1, how many times the mean the fullest rank of an all-to-all receives.
    effort : float > 0, as for `hemiola.plan`.

    Returns
    -------
    Timed; without a schedule where that is too large to be simulated.

    Raises
    ------
    ArgumentError
        as `hemiola.plan`.
    """
    if topology.rank_count == 1 or nbytes == 0:
        return Timed(0.0, np.zeros(topology.link_count), "planned", "nothing to do")
    if conditions.density < 1 or conditions.late or (kind == "all_to_all" and skew > 1):
        return _as_asked(topology, kind, nbytes, conditions, skew, effort)
    anchor = _anchor(nbytes)
    made = _plan_at(topology, kind, anchor, conditions, effort)
    algorithm, schedule = made.alternatives[0].label, _small_schedule(made)
    if schedule is None:
        seconds = _scaled(made.seconds, nbytes / anchor, topology.rank_count, made)
        return Timed(seconds, _ring_busy(topology, kind, nbytes, seconds), "planned", algorithm)
    timeline = simulate(schedule, topology, nbytes, conditions, unchecked=True)
    alone = None if schedule.scratch_count else schedule  # its slots are not those of several groups
    return Timed(timeline.seconds, timeline.link_busy_s, "simulated", algorithm, alone)


def bounded(topology: Topology, kind: str, nbytes: int, conditions: Conditions, skew: float = 1.0) -> Timed:
    """Return the time that no schedule can beat; the parameters are those of `planned`. Links are free."""
    nothing = np.zeros(topology.link_count)
    if topology.rank_count == 1 or nbytes == 0:
        return Timed(0.0, nothing, "bound", "nothing to do")
    is_plain = conditions.density == 1 and not conditions.late and skew == 1
    if topology.rank_count > _MANY_RANKS and is_plain:
        anchor = _anchor(nbytes)
        made = _plan_at(topology, kind, anchor, conditions, 1.0)
        seconds = made.bound_s * min(1.0, nbytes / anchor)
        return Timed(seconds, nothing, "bound", made.bound.witness)
    size, _ = _sizes(topology.rank_count, kind, nbytes, skew)
    found = lower_bound(topology, as_kind(kind), size, conditions)
    return Timed(found.seconds, nothing, "bound", found.witness)


def _as_asked(
    topology: Topology, kind: str, nbytes: int, conditions: Conditions, skew: float, effort: float
) -> Timed:
    """Return the time of a plan for exactly this size."""
    size, times = _sizes(topology.rank_count, kind, nbytes, skew)
    made = plan(topology, as_kind(kind), size, conditions, effort=effort)
    seconds = made.seconds * times
    return Timed(seconds, _ring_busy(topology, kind, nbytes, seconds), "planned", made.alternatives[0].label)


@lru_cache(maxsize=128)
def _plan_at(topology: Topology, kind: str, nbytes: int, conditions: Conditions, effort: float) -> Plan:
    if kind == "reduce_scatter" and topology.rank_count > _MOST_TWICE and is_symmetric(topology):
        return _plan_at(topology, "all_gather", nbytes, conditions, effort)
    less = next((share for least, share in _EFFORTS if topology.rank_count > least), 1.0)
    return plan(topology, as_kind(kind), nbytes, conditions, effort=effort * less)


@lru_cache(maxsize=16)
def is_symmetric(topology: Topology) -> bool:
    """Say whether links lead both ways alike, so that a reduce-scatter is an all-gather run backwards."""
    links = np.asarray(topology.links)
    there = links[["src", "dst", "bandwidth", "latency_s"]]
    back = links[["dst", "src", "bandwidth", "latency_s"]]
    return sorted(there.tolist()) == sorted(back.tolist())


def _anchor(nbytes: int) -> int:
    """Return the power of four that is nearest to a size."""
    return int(4 ** round(math.log(nbytes, 4)))


def _scaled(seconds: float, times: float, rank_count: int, made: Plan) -> float:
    """Return the time of so many times the bytes: rounds of logarithmic number keep their latency."""
    latency_s = min(seconds, 2 * math.log2(rank_count) * made.speed.latency_s)
    return latency_s + (seconds - latency_s) * times


def _ring_busy(topology: Topology, kind: str, nbytes: int, seconds: float) -> NDArray[np.float64]:
    """Return the links' busy times of the least traffic, which a ring has."""
    ring = ring_time(topology, kind if kind in _RINGS else "all_gather", nbytes)
    return np.minimum(ring.busy_s, seconds)


def _small_schedule(made: Plan) -> Schedule | None:
    if made.alternatives[0].transfer_count > MOST_TRANSFERS:
        return None
    schedule = made.schedule
    return schedule if isinstance(schedule, Schedule) else None


def _sizes(n: int, kind: str, nbytes: int, skew: float) -> tuple[int | NDArray[np.int64], float]:
    """Return the buffer, or the blocks of an exchange that differ; and by what their time is multiplied."""
    if kind != "all_to_all" or skew == 1:
        return nbytes, 1.0
    if n > _MOST_BLOCKS:
        return nbytes, min(skew, float(n))
    fullest = min(skew / n, 1.0)
    rest = (1 - fullest) / (n - 1)
    shares = np.full((n, n), rest)
    shares[:, 0] = fullest
    return (shares * nbytes).astype(np.int64), 1.0
