# SPDX-License-Identifier: Apache-2.0
"""The monitored barrier of torch.distributed: a communicator's roll call, in the words of PyTorch's own."""

from __future__ import annotations

import time

import numpy as np

from hemiola.communicator import Communicator
from hemiola.communicator.monitored_barrier import CAME, LOST
from hemiola.errors import Cause, LostRankError
from hemiola.torch.errors import GroupTimeoutError

#: The meaning of a timeout of 0: only ranks that have come count.
_AT_ONCE_S = 1e-3


class MonitoredBarrier:
    """The barriers of this kind of one group."""

    def __init__(self, comm: Communicator) -> None:
        self._rank, self._ranks = comm.rank, comm._ranks
        self._roll_call = comm._roll_call

    def wait(self, timeout_s: float, wait_all_ranks: bool) -> None:
        """Wait for all ranks.

        Parameters
        ----------
        timeout_s : float >= 0, seconds. The others wait up to twice as long for rank 0, since it may come last.
        wait_all_ranks : bool. Whether all ranks that are missing are named, or the first one alone.

        Raises
        ------
        GroupTimeoutError
            on all that have come, naming ranks that have not.
        LostRankError
            where these have died or closed their group, or the group is over.

        Notes
        -----
        A rank that has missed barriers goes on with the others' next one.
        """
        limit_s = max(timeout_s, _AT_ONCE_S)
        found = self._roll_call.found_together(limit_s, 2 * limit_s)
        absent = [int(rank) for rank in np.flatnonzero(found != CAME)]
        if not absent:
            return
        named = absent if wait_all_ranks else absent[:1]
        verdict = _verdict(named, timeout_s)
        if self._rank != 0:
            says = "it has said nothing" if found[0] != CAME else f"which says: {verdict}"
            verdict = (
                f"Rank {self._rank} successfully reached monitoredBarrier, but received errors while waiting for "
                f"send/recv from rank 0, {says}"
            )
        lost = [rank for rank in named if found[rank] == LOST]
        failure: LostRankError | GroupTimeoutError = GroupTimeoutError(verdict)
        first, what = named[0], f"did not come within {limit_s:g} s"
        if lost:
            who, first, what = ", ".join(map(str, lost)), lost[0], "has died or closed its group"
            failure = LostRankError(f"{verdict}; rank {who} {what}", first, self._ranks[first])
        failure.cause = Cause(self._ranks[first], what, time.monotonic())
        raise failure


def _verdict(missing: list[int], timeout_s: float) -> str:
    if timeout_s == 0:
        return f"Rank 0 timed out in monitoredBarrier after 0 ms: ranks {missing} had not come"
    who = f"Rank {missing[0]}" if len(missing) == 1 else "Ranks " + ", ".join(map(str, missing))
    return f"{who} failed to pass monitoredBarrier in {round(timeout_s * 1e3)} ms"
