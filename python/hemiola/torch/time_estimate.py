# SPDX-License-Identifier: Apache-2.0
"""The simulated time of collectives for PyTorch's `_time_estimator`, in which nothing runs."""

from __future__ import annotations

from collections.abc import Sequence

from hemiola._core import Complaint
from hemiola.arguments.names import as_kind
from hemiola.communicator import Communicator
from hemiola.simulate import simulate
from hemiola.torch.call import Call
from hemiola.torch.errors import GroupArgumentError

#: Where the root stands among a call's arguments.
_ROOT_AT = {"broadcast": 1, "reduce": 2, "gather": 1, "scatter": 1}
#: Its input is a part of the buffer that a plan is made for.
_OF_PARTS = ("all_gather", "gather")
_BARRIER_BYTES = 1


class TimeEstimate:
    """The predicted time of calls of a communicator, one after the other.

    Parameters
    ----------
    comm : Communicator, whose plans are simulated on its own topology. No other rank is asked.
    """

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        #: The sum so far, in microseconds, as NCCL tells it.
        self.microseconds = 0.0

    def add(self, calls: Sequence[Call]) -> None:
        """Add calls as the group would have made them.

        Raises
        ------
        GroupArgumentError
            for one that is not planned.
        """
        self.microseconds += 1e6 * sum(map(self._seconds, calls))

    def _seconds(self, call: Call) -> float:
        kind, nbytes, root = self._asked(call)
        if nbytes == 0 or self._comm.rank_count == 1:
            return 0.0
        plan = self._comm.plan(as_kind(kind), nbytes, root)
        return simulate(
            plan.schedule, self._comm.topology, nbytes, conditions=plan.conditions, network=plan.network
        ).seconds

    def _asked(self, call: Call) -> tuple[str, int, int]:
        """Return collective, bytes and root; a barrier moves as little as an all-reduce can."""
        kind = call.name
        if kind == "barrier":
            return "all_reduce", _BARRIER_BYTES, 0
        if kind.endswith("_blocks"):
            raise not_estimated("blocks of different sizes")
        array = call.arguments[0]
        if isinstance(array, Complaint):
            raise GroupArgumentError(array.text)
        root = call.arguments[_ROOT_AT[kind]] if kind in _ROOT_AT else 0
        if array is None:  # of a scatter, elsewhere than at the root
            return kind, call.options["out"].nbytes * self._comm.rank_count, root
        nbytes = sum(one.nbytes for one in array) if isinstance(array, list) else array.nbytes
        return kind, nbytes * (self._comm.rank_count if kind in _OF_PARTS else 1), root


def not_estimated(what: str) -> GroupArgumentError:
    """Return the error for an operation without a plan to simulate."""
    return GroupArgumentError(
        f"time estimate: expected collectives that are planned, found {what}; leave the estimate before it"
    )
