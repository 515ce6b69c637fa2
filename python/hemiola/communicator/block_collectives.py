# SPDX-License-Identifier: Apache-2.0
"""Collectives whose blocks may be of any sizes: an array for each rank, moved to the rank that it is for.

Blocks go as messages between two ranks, or by a schedule that shares the work of a host's NICs:
docs/decisions/0022-blocks-of-any-sizes.md."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic_ns
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Complaint, PremulSum, Schedule, bytes_of_array
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.communicator.arguments import schedule_of
from hemiola.communicator.collectives import Collectives
from hemiola.communicator.handle import Handle, Pending
from hemiola.communicator.messages import RESERVED_TAGS, Messages
from hemiola.communicator.started_collectives import StartedCollectives
from hemiola.errors import ArgumentError, HemiolaError, MismatchError
from hemiola.planner.communicator_plans import CommunicatorPlans

Arrays = Sequence[NDArray[Any]]

#: Below it are the tags of monitored barriers.
_FIRST_TAG = RESERVED_TAGS + (1 << 61)
#: The core's name of an all-to-all whose blocks are as long as its schedule says.
_BY_SCHEDULE = "all_to_all_blocks"
#: Of a dtype's name, as ranks tell it each other.
_NAME_BYTES = 24


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
        return self._exchanging("all_to_all_blocks", x, out, timeout_s, schedule, may_relay=True).wait()

    def start_all_to_all_blocks(
        self, x: Arrays, out: Arrays, *, schedule: Schedule | None = None, timeout_s: float | None = None
    ) -> Handle[Arrays]:
        """Agree on sizes, and then move the blocks in the background.

        Parameters, exceptions and notes are those of `all_to_all_blocks`.

        Returns
        -------
        Handle of `out`. Leave the arrays alone until it is done.
        """
        return self._exchanging("start_all_to_all_blocks", x, out, timeout_s, schedule, may_relay=True)

    def all_gather_blocks(self, x: NDArray[Any], out: Arrays, *, timeout_s: float | None = None) -> Arrays:
        """Get every rank's array, of any size each, as MPI's allgatherv does.

        Parameters
        ----------
        x : array that this rank gives to all; contiguous in C order, of 0 elements or more.
        out, timeout_s : as of `all_to_all_blocks`.

        Returns
        -------
        `out`.

        Raises
        ------
        ArgumentError, MismatchError, LostRankError, TimeoutError
            as `all_to_all_blocks`.

        Notes
        -----
        As `all_to_all_blocks` with the same block for all: each rank sends (n-1) times its own, as messages. Where all
        are of one size, `all_gather` has schedules to choose from. Not on an emulated network, which has no messages.
        """
        return self._exchanging("all_gather_blocks", self._for_all(x), out, timeout_s).wait()

    def start_all_gather_blocks(
        self, x: NDArray[Any], out: Arrays, *, timeout_s: float | None = None
    ) -> Handle[Arrays]:
        """Agree on sizes, and then move the blocks in the background.

        Parameters, exceptions and notes are those of `all_gather_blocks`.

        Returns
        -------
        Handle of `out`. Leave the arrays alone until it is done.
        """
        return self._exchanging("start_all_gather_blocks", self._for_all(x), out, timeout_s)

    def _for_all(self, x: NDArray[Any]) -> Arrays | Complaint:
        return x if isinstance(x, Complaint) else [x] * self.rank_count

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
        out : array of the size and dtype of this rank's in `x`, where its result goes.
        timeout_s : float > 0, seconds, optional. How long each array may take; None: as `init` says.

        Returns
        -------
        `out`.

        Raises
        ------
        ArgumentError, MismatchError, LostRankError, TimeoutError
            as `reduce`. Arrays that ranks agree about are reduced nevertheless.

        Notes
        -----
        MPI calls it reduce_scatter, with counts: a `reduce` to each rank, one after the other. Where all are of one
        size, `reduce_scatter` takes fewer steps. Also on an emulated network.
        """
        return self.start_reduce_scatter_blocks(x, op, out=out, timeout_s=timeout_s).wait()

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
        n = self.rank_count
        wrong = x if isinstance(x, Complaint) else _not_a_list("x", x, n)
        parts: list[Pending] = []
        first: ArgumentError | None = None
        for root in range(n):  # all of them, also where one is wrong: the others call them, too
            own = out if root == self.rank else None
            try:
                call = self.start_reduce(wrong or x[root], op, root, out=own, timeout_s=timeout_s)  # type: ignore[arg-type]
                parts.append(call._pending)
            except ArgumentError as error:
                first = first or error
        pending = PendingBlocks(parts)
        if first is not None:
            with suppress(HemiolaError):
                pending.wait()
            raise first
        return Handle(pending, out)

    def _exchanging(
        self,
        call: str,
        x: Arrays | Complaint,
        out: Arrays | Complaint,
        timeout_s: float | None,
        schedule: Schedule | None = None,
        *,
        may_relay: bool = False,
    ) -> Handle[Arrays]:
        """Agree on sizes, and begin to move; messages of each rank with the next one, so that no two ask the same one
        first."""
        given, taken, sizes = self._agreed_blocks(call, x, out, schedule, timeout_s)
        assert not isinstance(out, Complaint)
        if may_relay and schedule is None:
            schedule = self._plans.schedule_of_blocks(sizes)
        if schedule is not None and sizes.total:
            memory = [one.memory for one in given], [one.memory for one in taken]
            return Handle(self._core.start(_BY_SCHEDULE, *memory, "sum", 0, schedule, timeout_s, False), out)
        tag = _FIRST_TAG + self._block_calls
        self._block_calls += 1
        others = [(self.rank + k) % self.rank_count for k in range(1, self.rank_count)]
        receiving = [r for r in reversed(others) if taken[r].size]
        sending = [r for r in others if given[r].size]
        parts: list[Pending] = [self._core.start_recv(taken[r].memory, r, tag, timeout_s) for r in receiving]
        parts += [self._core.start_send(given[r].memory, r, tag, timeout_s) for r in sending]
        taken[self.rank].memory[:] = given[self.rank].memory
        return Handle(PendingBlocks(parts), out)

    def _agreed_blocks(
        self,
        call: str,
        x: Arrays | Complaint,
        out: Arrays | Complaint,
        schedule: Schedule | None,
        timeout_s: float | None,
    ) -> tuple[list[_Block], list[_Block], BlockSizes]:
        """Tell all ranks what this one gives and expects, and raise on all of them where that does not fit; return what
        it gives, where what it gets goes, and the bytes of all blocks."""
        n = self.rank_count
        given, taken = _blocks("x", x, n), _blocks("out", out, n)
        every = np.empty((n, 2 * n + 2 + _NAME_BYTES // 8), np.int64)
        told: Any = _not_for_blocks(schedule, n) or _table(call, given, taken, schedule)
        self.all_gather(told, out=every, timeout_s=timeout_s)
        assert not isinstance(given, Complaint)
        assert not isinstance(taken, Complaint)
        gives, expects = every[:, :n], every[:, n : 2 * n]
        for giver, taker in np.argwhere(gives != expects.T):
            raise MismatchError(
                f"{call}: rank {giver} gives rank {taker} {gives[giver, taker]} elements, rank {taker} expects "
                f"{expects[taker, giver]} of rank {giver}; sizes must fit together"
            )
        names = [row.tobytes().rstrip(b"\0").decode() for row in every[:, 2 * n + 2 :]]
        for rank, name in enumerate(names):
            if name != names[0]:
                raise MismatchError(
                    f"{call}: rank 0 has blocks of {names[0]}, rank {rank} of {name}; dtypes must be equal"
                )
        sizes = BlockSizes.of(gives * int(every[:, 2 * n].max()), n)
        _check_schedules(call, every[:, 2 * n + 1], schedule, sizes)
        return given, taken, sizes


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


@dataclass(frozen=True)
class _Block:
    """An array's bytes, where they lie, whatever type lies there: what is only moved need not be known; how many
    elements it has, and the name of their type."""

    memory: NDArray[np.uint8]
    size: int
    dtype: str

    @classmethod
    def of(cls, array: object) -> _Block:
        """Show the memory of whatever other collectives take as an array, and of NumPy's arrays of any type.

        Raises ArgumentError for what is none, has gaps, or is of Python objects.
        """
        if not isinstance(array, np.ndarray):
            return cls(*bytes_of_array(array))
        if not array.flags.c_contiguous:
            raise ArgumentError("expected a contiguous array, found one that is not; pass a copy")
        if array.dtype.hasobject:
            raise ArgumentError(f"expected elements that are not Python objects, found {array.dtype}")
        return cls(array.reshape(-1).view(np.uint8), array.size, str(array.dtype))


def _blocks(name: str, arrays: Arrays | Complaint, n: int) -> list[_Block] | Complaint:
    """Return the memory of what should be a contiguous array for each rank, or what is wrong with it."""
    wrong = arrays if isinstance(arrays, Complaint) else _not_a_list(name, arrays, n)
    if wrong is not None:
        return wrong
    found = []
    for rank, array in enumerate(cast("Arrays", arrays)):
        try:
            found.append(_Block.of(array))
        except ArgumentError as error:
            return Complaint(f"{name} for rank {rank}: {error}")
    return found


def _table(
    call: str, given: list[_Block] | Complaint, taken: list[_Block] | Complaint, schedule: Schedule | None
) -> Any:
    """Return what this rank gives and expects, the bytes of an element, its schedule's hash, and the dtype; or what is
    wrong with that."""
    if isinstance(given, Complaint):
        return given
    if isinstance(taken, Complaint):
        return taken
    dtypes = {block.dtype for block in (*given, *taken)}
    if len(dtypes) > 1:
        return Complaint(f"{call}: expected blocks of one dtype, found {', '.join(sorted(dtypes))}")
    if any(not block.memory.flags.writeable for block in taken):
        return Complaint(f"{call}: expected arrays that can be written to as out, found one that cannot")
    told = next(iter(dtypes)).encode()[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0")
    sizes = [block.size for block in (*given, *taken)]
    sizes.append(max(block.memory.size // max(block.size, 1) for block in (*given, *taken)))
    sizes.append(0 if schedule is None else hash(schedule))
    return np.concatenate([np.array(sizes, np.int64), np.frombuffer(told, np.int64)])


def _not_for_blocks(schedule: object, n: int) -> Complaint | None:
    """Return why a schedule cannot move blocks, if so."""
    if schedule is None:
        return None
    if not isinstance(schedule, Schedule):
        return Complaint(f"expected a Schedule or None as schedule, found {type(schedule).__name__}")
    if schedule.collective.kind != "all_to_all" or schedule.rank_count != n:
        found = f"one of {schedule.rank_count} ranks' {schedule.collective.kind}"
        return Complaint(f"expected a schedule of an all_to_all of {n} ranks, found {found}")
    checked = schedule_of(schedule, False)
    return checked if isinstance(checked, Complaint) else None


def _check_schedules(call: str, hashes: NDArray[np.int64], own: Schedule | None, sizes: BlockSizes) -> None:
    """Raise on all ranks where their schedules differ, or do not have these blocks."""
    for rank in np.flatnonzero(hashes != hashes[0]):
        raise MismatchError(
            f"{call}: rank {rank} has another schedule than rank 0; pass the same on all ranks"
        )
    if own is None or not sizes.total:
        return
    has = np.asarray(own.chunk_weights).reshape(*sizes.table.shape, -1).sum(axis=2)
    for src, dst in np.argwhere(has != sizes.table):
        raise MismatchError(
            f"{call}: the schedule has {has[src, dst]} bytes from rank {src} to rank {dst}, the block there has "
            f"{sizes.table[src, dst]}; plan for the sizes of these blocks"
        )


def _not_a_list(name: str, arrays: object, n: int) -> Complaint | None:
    """Return that something is no list of n, if so."""
    if isinstance(arrays, (list, tuple)) and len(arrays) == n:
        return None
    found = f"{len(arrays)} of them" if isinstance(arrays, (list, tuple)) else repr(arrays)
    return Complaint(f"expected a list with an array for each of {n} ranks as {name}, found {found}")
