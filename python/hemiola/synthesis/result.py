# SPDX-License-Identifier: Apache-2.0
"""The result of a search for a schedule, for every kind of search."""

from __future__ import annotations

from dataclasses import dataclass

from hemiola._core import Schedule

#: The buffer of a schedule where the caller names none. Only the links' latencies and bandwidths matter, beside each
#: other.
DEFAULT_NBYTES = 2**30


@dataclass(frozen=True)
class Synthesis:
    """The result of a search for a schedule.

    Attributes
    ----------
    schedule : Schedule.
    seconds : float, its duration in the model that the search used: the stated model of latency, the size
        of the largest chunk for all of them. For latency="pipelined" and chunks of one size,
        `hemiola.simulate(..., network="fifo")` gives the same time, or less for an all_reduce, whose
        second half starts where the first has ended before all of it has.
    bound_s : float, a time that no schedule with these chunks can beat: of the incoming links of the slowest rank.
    trials : int, the number of searches that were complete.
    stopped : bool, whether Ctrl-C or the time limit ended the search; the schedule is the best up to then.
    """

    schedule: Schedule
    seconds: float
    bound_s: float
    trials: int
    stopped: bool
