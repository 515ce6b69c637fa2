# SPDX-License-Identifier: Apache-2.0
"""Finds ranks that come late of their own doing, and whether such a rank is alone with that or shares it with its
host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hemiola.diagnosis.evidence import Evidence, Floats

#: Operations are looked at in so many stretches, of at least so many operations each; a single event, such as a core
#: taken away, then shows in one of them.
_STRETCHES, _LEAST_OPERATIONS = 8, 2
#: A late rank is late by this share of a step, in this share of the stretches, and by so many times its variation.
_LEAST_OF_STEP, _LEAST_OF_STRETCHES, _LEAST_OF_SPREAD = 0.1, 0.75, 2.0
#: And by this share of the median rank's wait for a core in a step, as far as that is in its own time.
_LEAST_OF_WAITED = 0.5
_MEDIAN_DEVIATION = 1.4826  # of a normal distribution, to its standard deviation
#: A slow host takes so many times longer for the same work, and comes no later than so many times the lag that this
#: explains.
_SLOW_HOST, _MOST_OF_EXPLAINED = 1.2, 3.0
#: A rank that is late because it waits for a core does so for this share of its lag, and for this share of a step;
#: and so many times as long as the median rank.
_WAITED_OF_LATE, _WAITED_OF_STEP, _WAITED_OF_OTHERS = 0.5, 0.2, 2.0


@dataclass(frozen=True)
class SlowHost:
    """Why a host is slow: how many times longer it takes for the same work, 1 where nobody knows; whether its ranks
    wait for cores."""

    factor: float = 1.0
    waits: bool = False


def late_ranks(evidence: Evidence) -> dict[int, float]:
    """Say which ranks keep coming late of their own doing, and by how many seconds an operation.

    Compared with the median rank of the same stretch of operations, so that a step in which all compute for longer
    makes nobody late, and less than half of the ranks can be.
    """
    stretches = min(_STRETCHES, len(evidence.own_s) // _LEAST_OPERATIONS)
    if evidence.rank_count < 2 or stretches < 3:
        return {}
    own_s = _by_stretch(evidence.own_s, stretches)
    middle = (evidence.rank_count - 1) // 2
    excess_s = own_s - np.partition(own_s, middle, axis=1)[:, middle : middle + 1]
    typical_s = np.median(excess_s, axis=0)
    spread_s = _MEDIAN_DEVIATION * np.median(np.abs(excess_s - typical_s), axis=0)
    steady = (excess_s > 0.5 * typical_s).mean(axis=0) >= _LEAST_OF_STRETCHES
    # Where all wait for cores, whose turn comes later is chance.
    usual_s = float(np.median(evidence.waited_s))
    chance_s = min(usual_s, float(np.median(own_s)))
    of_all_s = max(_LEAST_OF_STEP * evidence.step_s, _LEAST_OF_WAITED * chance_s)
    least_s = np.maximum(of_all_s, _LEAST_OF_SPREAD * spread_s)
    late = {int(rank): float(typical_s[rank]) for rank in np.flatnonzero((typical_s > least_s) & steady)}
    return {
        rank: seconds
        for rank, seconds in late.items()
        if _waits_of(evidence, rank, seconds, usual_s) != _CHANCE
    }


_OWN, _CHANCE, _BUSY = "own", "chance", "busy"


def _waits_of(evidence: Evidence, rank: int, late_s: float, usual_s: float) -> str:
    """Say why a rank is late: of its own doing, because its host is busy, or by chance, where all wait for cores."""
    waited_s = float(evidence.waited_s[rank])
    if waited_s - usual_s < _WAITED_OF_LATE * late_s:
        return _OWN
    is_busy = waited_s >= max(_WAITED_OF_STEP * evidence.step_s, _WAITED_OF_OTHERS * usual_s)
    return _BUSY if is_busy else _CHANCE


def slow_hosts(evidence: Evidence, late_s: Mapping[int, float]) -> dict[int, SlowHost]:
    """Say which hosts are slow, and why.

    All ranks of a slow host are late. Where the host has several ranks, that tells it from late ranks. Where it has
    one, a fixed piece of work does: it takes the host's processor longer than the others', by a factor that explains
    how late the rank comes. A processor that is a quarter slower does not make a rank that computes for a millisecond
    late by forty. A host is also slow where all its ranks are late because they wait for its cores.
    """
    usual_waited_s = float(np.median(evidence.waited_s))
    usual_own_s = float(np.median(evidence.own_s)) if len(evidence.own_s) else 0.0
    work_s = {host: float(np.median(evidence.work_s[list(ranks)])) for host, ranks in evidence.hosts.items()}
    known_s = sorted(seconds for seconds in work_s.values() if np.isfinite(seconds))
    usual_s = known_s[(len(known_s) - 1) // 2] if known_s else np.nan
    found = {}
    for host, ranks in evidence.hosts.items():
        if len(evidence.hosts) < 2 or not all(rank in late_s for rank in ranks):
            continue
        factor = work_s[host] / usual_s
        explained_s = _MOST_OF_EXPLAINED * (factor - 1) * usual_own_s
        is_slow = factor >= _SLOW_HOST and min(late_s[rank] for rank in ranks) <= explained_s
        waits = all(_waits_of(evidence, rank, late_s[rank], usual_waited_s) == _BUSY for rank in ranks)
        if is_slow or waits or len(ranks) > 1:
            found[host] = SlowHost(float(factor) if is_slow else 1.0, waits)
    return found


def _by_stretch(own_s: Floats, stretches: int) -> Floats:
    """Return the mean of each stretch of operations, by rank."""
    return np.stack([part.mean(axis=0) for part in np.array_split(own_s, stretches)])
