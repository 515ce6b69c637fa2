# SPDX-License-Identifier: Apache-2.0
"""Collectives whose blocks may be of any sizes: an array for each rank, moved to the rank that it is for.

Each is a collective of the core, which knows the sizes: docs/decisions/0022-blocks-of-any-sizes.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hemiola._core import BlockTable, Complaint, PremulSum, Schedule, bytes_of_array
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.arguments.names import Op
from hemiola.communicator.arguments import seconds_of
from hemiola.communicator.block_agreement import (
    Words,
    agreed_sizes,
    not_for_blocks,
    words_count,
    words_of_blocks,
)
from hemiola.communicator.collectives import Collectives
from hemiola.communicator.handle import Handle
from hemiola.communicator.started_collectives import StartedCollectives
from hemiola.errors import ArgumentError
from hemiola.planner.communicator_plans import CommunicatorPlans

Arrays = Sequence[NDArray[Any]]


class _Agreement(NamedTuple):
    """What all ranks have told, and the sizes that follow from it."""

    told: bytes
    sizes: BlockSizes
    table: BlockTable


class BlockCollectives(Collectives, StartedCollectives):
    """The collectives of a communicator that take an array for each rank."""

    _plans: CommunicatorPlans
    _latest: _Agreement | None = None

    def all_to_all_blocks(
        self, x: Arrays, out: Arrays, *, schedule: Schedule | None = None, timeout_s: float | None = None
    ) -> Arrays:
        """Give each rank an array and get one of each, of any sizes, as MPI's alltoallv does.

        Parameters
        ----------
        x : list with an array to give to each rank; contiguous in C order, of one dtype, of 0 elements or more. NumPy's
            of any type but Python objects; or any memory that other collectives take.
        out : list with an array for the block of each rank; contiguous, of the same dtype, apart from `x`.
        schedule : Schedule of an all_to_all whose chunks' weights are bytes and add up to these blocks, the same on all
            ranks; such as that of `plan` for a table of sizes. None: the call chooses.
        timeout_s : float > 0, seconds, optional. How long agreeing, and then moving, may take; None: as `init` says.

        Returns
        -------
        `out`.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong.
        MismatchError
            on every rank, before anything moves: naming both ranks with both sizes or dtypes, where one gives another
            something else than that one expects; where schedules differ or are for other sizes; or another rank's
            arguments are wrong. The communicator can be used further.
        LostRankError, TimeoutError
            naming a rank that died or did not come in time. `out` may hold a part of the result.

        Notes
        -----
        Nothing is padded. Ranks tell each other all sizes first, by an all-gather of 16 bytes for each pair of ranks.
        Then blocks move by the planner's schedule for blocks that are all as long as the longest, mostly each from its
        rank to its rank. Where hosts have a NIC for each rank, and some NICs would have much more to do than others, a
        schedule for these sizes shares their work: ranks pass on blocks of their host's [FAST].
        """
        self._core.run(*self._exchanging("all_to_all_blocks", x, out, schedule, timeout_s))
        return out

    def start_all_to_all_blocks(
        self, x: Arrays, out: Arrays, *, schedule: Schedule | None = None, timeout_s: float | None = None
    ) -> Handle[Arrays]:
        """Agree on sizes, and then move the blocks in the background.

        Parameters, exceptions and notes are those of `all_to_all_blocks`.

        Returns
        -------
        Handle of `out`. Leave the arrays alone until it is done.
        """
        return Handle(
            self._core.start(*self._exchanging("start_all_to_all_blocks", x, out, schedule, timeout_s)), out
        )

    def all_gather_blocks(self, x: NDArray[Any], out: Arrays, *, timeout_s: float | None = None) -> Arrays:
        """Get every rank's array, of any size each, as MPI's allgatherv does.

        Parameters
        ----------
        x : array that this rank gives to all; contiguous in C order, of 0 elements or more.
        out : list with an array for the block of each rank, of the same sizes on all ranks; contiguous, of the same
            dtype, apart from `x`.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        `out`.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong, among them an `x` of another size than its block in `out`.
        MismatchError
            on every rank, when ranks disagree about sizes or dtypes, or another rank's arguments are wrong. Inputs are
            as they were, and nothing of that rank has come to others; `out` may hold a part of the result.
        LostRankError, TimeoutError
            on every rank, naming the rank that died or did not come in time.

        Notes
        -----
        One collective, by the planner's schedule for as many bytes in blocks of one size: `out` tells each rank all
        sizes, and ranks compare these as they compare all calls. A program for such sizes is compiled once, and kept.
        Types that collectives do not know, such as dates, are compared and moved as bytes.
        """
        self._core.run(*self._gathering(x, out, timeout_s))
        return out

    def start_all_gather_blocks(
        self, x: NDArray[Any], out: Arrays, *, timeout_s: float | None = None
    ) -> Handle[Arrays]:
        """Gather in the background.

        Parameters, exceptions and notes are those of `all_gather_blocks`.

        Returns
        -------
        Handle of `out`. Leave the arrays alone until it is done.
        """
        return Handle(self._core.start(*self._gathering(x, out, timeout_s)), out)

    def reduce_scatter_blocks(
        self,
        x: Arrays,
        op: Op | PremulSum = "sum",
        *,
        out: NDArray[Any],
        timeout_s: float | None = None,
    ) -> NDArray[Any]:
        """Combine all ranks' lists array by array; each rank gets the result that has its number.

        Parameters
        ----------
        x : list with an array for each rank, of any sizes that are the same on all ranks; contiguous in C order.
        op : str or PremulSum, as of `reduce_scatter`.
        out : array of the size and dtype of this rank's in `x`, where its result goes; apart from `x`.
        timeout_s : float > 0, seconds, optional. How long it may take; None: as `init` says.

        Returns
        -------
        `out`.

        Raises
        ------
        ArgumentError, MismatchError, LostRankError, TimeoutError
            as `all_gather_blocks`.

        Notes
        -----
        MPI calls it reduce_scatter, with counts. One collective, as `all_gather_blocks`.
        """
        self._core.run(*self._scattering(x, op, out, timeout_s))
        return out

    def start_reduce_scatter_blocks(
        self,
        x: Arrays,
        op: Op | PremulSum = "sum",
        *,
        out: NDArray[Any],
        timeout_s: float | None = None,
    ) -> Handle[NDArray[Any]]:
        """Combine all ranks' lists in the background.

        Parameters, exceptions and notes are those of `reduce_scatter_blocks`.

        Returns
        -------
        Handle of `out`. Leave the arrays alone until it is done.
        """
        return Handle(self._core.start(*self._scattering(x, op, out, timeout_s)), out)

    def _gathering(self, x: object, out: object, timeout_s: object) -> tuple[Any, ...]:
        """Return what the core takes."""
        limit_s = timeout_s if timeout_s is None else seconds_of(timeout_s)
        return "all_gather_blocks", _moved(x), _all_moved(out), "sum", 0, None, limit_s, None

    def _scattering(self, x: object, op: object, out: object, timeout_s: object) -> tuple[Any, ...]:
        """Return what the core takes."""
        limit_s = timeout_s if timeout_s is None else seconds_of(timeout_s)
        return "reduce_scatter_blocks", x, out, op, 0, None, limit_s, None

    def _exchanging(
        self, call: str, x: object, out: object, schedule: Schedule | None, timeout_s: float | None
    ) -> tuple[Any, ...]:
        """Agree with all ranks about blocks; return what the core takes."""
        n = self.rank_count
        told = not_for_blocks(schedule, n) or words_of_blocks(call, x, out, n, schedule)
        agreement = self._agreement(call, told, schedule, timeout_s)
        how: Schedule | BlockTable | None = schedule
        if how is None and agreement.sizes.total:
            how = self._plans.schedule_of_blocks(agreement.sizes)
        if how is None or not agreement.sizes.total:
            how = agreement.table
        limit_s = timeout_s if timeout_s is None else seconds_of(timeout_s)
        return "all_to_all_blocks", _all_moved(x), _all_moved(out), "sum", 0, how, limit_s, False

    def _agreement(
        self, call: str, told: Words | Complaint, schedule: Schedule | None, timeout_s: float | None
    ) -> _Agreement:
        """Tell all ranks what this one gives and expects, or what is wrong with it, and raise on all of them where that
        does not fit. Sizes that come again are judged once."""
        every = np.empty((self.rank_count, words_count(self.rank_count)), np.int64)
        self.all_gather(cast("Words", told), out=every, timeout_s=timeout_s)
        heard = every.tobytes()
        if self._latest is None or self._latest.told != heard or schedule is not None:
            sizes = agreed_sizes(call, every, schedule)
            self._latest = _Agreement(heard, sizes, BlockTable(sizes.table))
        return self._latest


#: Of NumPy's types, those that the core knows and finds quickly.
_KNOWN = frozenset("?bBhHiIlLqQefdFD")


def _all_moved(arrays: Any) -> Any:
    """Return a list as the core takes it, or what is wrong with it."""
    if not isinstance(arrays, (list, tuple)):
        return arrays
    moved = [_moved(array) for array in arrays]
    return next((one for one in moved if isinstance(one, Complaint)), moved)


def _moved(array: Any) -> Any:
    """Return what is only moved as the core takes it: an array whose type it does not know, as bytes."""
    if not isinstance(array, np.ndarray) or (array.dtype.char in _KNOWN and array.dtype.isnative):
        return array
    if array.dtype.hasobject:
        return Complaint(f"expected elements that are not Python objects, found {array.dtype}")
    try:
        bytes_of_array(array)
    except ArgumentError:
        return array.reshape(-1).view(np.uint8) if array.flags.c_contiguous else array
    return array
