# SPDX-License-Identifier: Apache-2.0
"""Collectives whose blocks may be of any sizes: an array for each rank, moved to the rank that it is for.

Blocks go as messages between two ranks, or by a schedule that shares the work of a host's NICs:
docs/decisions/0022-blocks-of-any-sizes.md."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from time import monotonic_ns
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Complaint, PremulSum, Schedule, bytes_of_array
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.communicator.arguments import seconds_of
from hemiola.communicator.block_agreement import (
    Block,
    Words,
    agreed_sizes,
    blocks,
    not_for_blocks,
    words_count,
    words_of_blocks,
)
from hemiola.communicator.collectives import Collectives
from hemiola.communicator.handle import Handle, Pending
from hemiola.communicator.messages import RESERVED_TAGS, Messages
from hemiola.communicator.started_collectives import StartedCollectives
from hemiola.errors import ArgumentError, HemiolaError
from hemiola.planner.communicator_plans import CommunicatorPlans

Arrays = Sequence[NDArray[Any]]

#: Below it are the tags of monitored barriers.
_FIRST_TAG = RESERVED_TAGS + (1 << 61)


class BlockCollectives(Collectives, StartedCollectives, Messages):
    """The collectives of a communicator that take an array for each rank."""

    _block_calls = 0
    _plans: CommunicatorPlans

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
        Then each block goes from its rank to its rank: as a message, or by a schedule where hosts exchange much. Where
        hosts have a NIC for each rank and some NICs would have much more to do than others, the schedule shares their
        work: ranks pass on blocks of their host's [FAST].
        """
        given, taken, chosen = self._agreed_blocks("all_to_all_blocks", x, out, schedule, timeout_s)
        if chosen is None:
            self._messages(given, taken, timeout_s).wait()
        else:
            self._core.run(*_by_schedule(given, taken, chosen, timeout_s))
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
        given, taken, chosen = self._agreed_blocks("start_all_to_all_blocks", x, out, schedule, timeout_s)
        if chosen is None:
            return Handle(self._messages(given, taken, timeout_s), out)
        return Handle(self._core.start(*_by_schedule(given, taken, chosen, timeout_s)), out)

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
            as they were, and nothing has moved from or to that rank; `out` may hold blocks of others.
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
        op: str | PremulSum = "sum",
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
        op: str | PremulSum = "sum",
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
        into: Any = out
        if isinstance(out, (list, tuple)):
            into = [_moved(one) for one in out]
            into = next((one for one in into if isinstance(one, Complaint)), into)
        return "all_gather_blocks", _moved(x), into, "sum", 0, None, limit_s, None

    def _scattering(self, x: object, op: object, out: object, timeout_s: object) -> tuple[Any, ...]:
        """Return what the core takes."""
        limit_s = timeout_s if timeout_s is None else seconds_of(timeout_s)
        return "reduce_scatter_blocks", x, out, op, 0, None, limit_s, None

    def _messages(self, given: list[Block], taken: list[Block], timeout_s: float | None) -> PendingBlocks:
        """Begin to send blocks from their rank to their rank, each rank with the next one, so that no two ask the same
        one first."""
        tag = _FIRST_TAG + self._block_calls
        self._block_calls += 1
        others = [(self.rank + k) % self.rank_count for k in range(1, self.rank_count)]
        receiving = [r for r in reversed(others) if taken[r].size]
        sending = [r for r in others if given[r].size]
        parts: list[Pending] = [self._core.start_recv(taken[r].memory, r, tag, timeout_s) for r in receiving]
        parts += [self._core.start_send(given[r].memory, r, tag, timeout_s) for r in sending]
        taken[self.rank].memory[:] = given[self.rank].memory
        return PendingBlocks(parts)

    def _agreed_blocks(
        self, call: str, x: object, out: object, schedule: Schedule | None, timeout_s: float | None
    ) -> tuple[list[Block], list[Block], Schedule | None]:
        """Agree with all ranks about blocks; return what this rank gives, where what it gets goes, and the schedule by
        which blocks move, if any does."""
        n = self.rank_count
        given, taken = blocks("x", x, n), blocks("out", out, n)
        told = not_for_blocks(schedule, n) or words_of_blocks(call, given, taken, schedule)
        sizes = self._agreed_sizes(call, told, schedule, timeout_s)
        assert not isinstance(given, Complaint)
        assert not isinstance(taken, Complaint)
        if not sizes.total:
            return given, taken, None
        return given, taken, self._plans.schedule_of_blocks(sizes) if schedule is None else schedule

    def _agreed_sizes(
        self, call: str, told: Words | Complaint, schedule: Schedule | None, timeout_s: float | None
    ) -> BlockSizes:
        """Tell all ranks what this one gives and expects, or what is wrong with it, and raise on all of them where that
        does not fit; return the bytes of all blocks."""
        every = np.empty((self.rank_count, words_count(self.rank_count)), np.int64)
        self.all_gather(cast("Words", told), out=every, timeout_s=timeout_s)
        return agreed_sizes(call, every, schedule)


def _by_schedule(
    given: list[Block], taken: list[Block], schedule: Schedule, timeout_s: float | None
) -> tuple[Any, ...]:
    """Return what the core takes."""
    memory = [one.memory for one in given], [one.memory for one in taken]
    limit_s = timeout_s if timeout_s is None else seconds_of(timeout_s)
    return "all_to_all_blocks", *memory, "sum", 0, schedule, limit_s, False


class PendingBlocks:
    """Several operations that are under way together, for one Handle to wait for."""

    def __init__(self, parts: Sequence[Pending]) -> None:
        self._parts = parts
        self._began_ns, self._ended_ns = monotonic_ns(), 0

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for all, since nothing may move once this is over; then raise the first error."""
        deadline_s = None if timeout_s is None else monotonic_ns() / 1e9 + timeout_s
        first: HemiolaError | None = None
        for part in self._parts:
            try:
                left_s = None if deadline_s is None else max(0.0, deadline_s - monotonic_ns() / 1e9)
                if not part.wait(left_s):
                    return False
            except HemiolaError as error:
                first = first or error
        self._ended_ns = self._ended_ns or monotonic_ns()
        if first is not None:
            raise first
        return True

    def done(self) -> bool:
        """Say whether all are over."""
        if not all(part.done() for part in self._parts):
            return False
        self._ended_ns = self._ended_ns or monotonic_ns()
        return True

    @property
    def times_ns(self) -> tuple[int, int]:
        """When they began, and when it was seen that all were over, by time.monotonic_ns; 0: not yet."""
        return self._began_ns, self._ended_ns


#: Of NumPy's types, those that the core knows.
_KNOWN = frozenset("?bBhHiIlLqQefdFD")


def _moved(array: Any) -> Any:
    """Return what is only moved as the core takes it: an array whose type it does not know, as bytes."""
    if not isinstance(array, np.ndarray) or (array.dtype.char in _KNOWN and array.dtype.isnative):
        return array
    try:
        bytes_of_array(array)
    except ArgumentError:
        with suppress(ArgumentError):
            return Block.of(array).memory
    return array
