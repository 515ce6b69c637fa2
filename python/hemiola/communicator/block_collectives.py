"""Collectives whose blocks may be of any sizes: an array for each rank, moved from where it lies to where it belongs.

What is only moved goes as messages between two ranks, not by a schedule: docs/design/0022-blocks-of-any-sizes.md."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from time import monotonic_ns
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Complaint, PremulSum
from hemiola.communicator.collectives import Collectives
from hemiola.communicator.handle import Handle, Pending
from hemiola.communicator.messages import RESERVED_TAGS, Messages
from hemiola.errors import ArgumentError, HemiolaError, MismatchError

Arrays = Sequence[NDArray[Any]]

#: Below it are the tags of monitored barriers.
_FIRST_TAG = RESERVED_TAGS + (1 << 61)
#: Of a dtype's name, as ranks tell it each other.
_NAME_BYTES = 24


class BlockCollectives(Collectives, Messages):
    """The collectives of a communicator that take an array for each rank."""

    _block_calls = 0

    @overload
    def all_to_all_blocks(
        self, x: Arrays, out: Arrays, *, wait: Literal[True] = ..., timeout_s: float | None = ...
    ) -> Arrays: ...
    @overload
    def all_to_all_blocks(
        self, x: Arrays, out: Arrays, *, wait: bool, timeout_s: float | None = ...
    ) -> Arrays | Handle[Arrays]: ...
    def all_to_all_blocks(
        self, x: Arrays, out: Arrays, *, wait: bool = True, timeout_s: float | None = None
    ) -> Arrays | Handle[Arrays]:
        """Give each rank an array and get one of each, of any sizes: what MPI calls alltoallv.

        Parameters
        ----------
        x : list with an array for each rank, what it is given; contiguous in C order, of one dtype, of 0 elements or
            more.
        out : list with an array for each rank, where what it gives goes; contiguous, of the same dtype, apart from `x`.
        wait : bool. With False move the blocks in the background, once the ranks have agreed on sizes, and return a
            Handle; the arrays must not be touched until it is done.
        timeout_s : float > 0, seconds, optional. How long agreeing, and then moving, may take; None: as `init` says.

        Returns
        -------
        `out`; or a Handle of it.

        Raises
        ------
        ArgumentError
            on this rank, when its arguments are wrong.
        MismatchError
            on every rank, before anything moves: naming both ranks with both sizes or dtypes, where one gives another
            something else than that one expects; or another rank's arguments are wrong. The communicator can be used
            further.
        LostRankError, TimeoutError
            naming a rank that died or did not come in time. `out` may hold a part of the result.

        Notes
        -----
        Nothing is padded, or copied on the way: a rank sends what others are given, no more. Ranks tell each other all
        sizes first, by an all-gather of 16 bytes for each pair of ranks. Not on an emulated network, which has no
        messages.
        """
        return self._exchanged("all_to_all_blocks", x, out, wait, timeout_s)

    @overload
    def all_gather_blocks(
        self, x: NDArray[Any], out: Arrays, *, wait: Literal[True] = ..., timeout_s: float | None = ...
    ) -> Arrays: ...
    @overload
    def all_gather_blocks(
        self, x: NDArray[Any], out: Arrays, *, wait: bool, timeout_s: float | None = ...
    ) -> Arrays | Handle[Arrays]: ...
    def all_gather_blocks(
        self, x: NDArray[Any], out: Arrays, *, wait: bool = True, timeout_s: float | None = None
    ) -> Arrays | Handle[Arrays]:
        """Get every rank's array, of any size each: what MPI calls allgatherv.

        Parameters
        ----------
        x : array, what this rank gives to all; contiguous in C order, of 0 elements or more.
        out, wait, timeout_s : as of `all_to_all_blocks`.

        Returns
        -------
        `out`; or a Handle of it.

        Raises
        ------
        ArgumentError, MismatchError, LostRankError, TimeoutError
            as `all_to_all_blocks`.

        Notes
        -----
        As `all_to_all_blocks` with the same block for all: each rank sends (n-1) times its own. Where all are of one
        size, `all_gather` has schedules to choose from.
        """
        blocks = x if isinstance(x, Complaint) else [x] * self.rank_count
        return self._exchanged("all_gather_blocks", blocks, out, wait, timeout_s)

    @overload
    def reduce_scatter_blocks(
        self,
        x: Arrays,
        op: str | PremulSum = ...,
        *,
        out: NDArray[Any],
        wait: Literal[True] = ...,
        timeout_s: float | None = ...,
    ) -> NDArray[Any]: ...
    @overload
    def reduce_scatter_blocks(
        self,
        x: Arrays,
        op: str | PremulSum = ...,
        *,
        out: NDArray[Any],
        wait: bool,
        timeout_s: float | None = ...,
    ) -> NDArray[Any] | Handle[NDArray[Any]]: ...
    def reduce_scatter_blocks(
        self,
        x: Arrays,
        op: str | PremulSum = "sum",
        *,
        out: NDArray[Any],
        wait: bool = True,
        timeout_s: float | None = None,
    ) -> NDArray[Any] | Handle[NDArray[Any]]:
        """Combine all ranks' lists array by array; each rank gets the result that has its number.

        Parameters
        ----------
        x : list with an array for each rank, of any sizes that are the same on all ranks; contiguous in C order.
        op : str or PremulSum, as of `reduce_scatter`.
        out : array of the size and dtype of this rank's in `x`, where its result goes.
        wait : bool. With False run in the background, and return a Handle at once.
        timeout_s : float > 0, seconds, optional. How long each array may take; None: as `init` says.

        Returns
        -------
        `out`; or a Handle of it.

        Raises
        ------
        ArgumentError, MismatchError, LostRankError, TimeoutError
            as `reduce`. Arrays that ranks agree about are reduced nevertheless.

        Notes
        -----
        What MPI calls reduce_scatter, with counts: a `reduce` to each rank, one after the other. Where all are of one
        size, `reduce_scatter` takes fewer steps. Also on an emulated network.
        """
        n = self.rank_count
        wrong = x if isinstance(x, Complaint) else _not_a_list("x", x, n)
        parts: list[Pending] = []
        first: ArgumentError | None = None
        for root in range(n):  # all of them, also where one is wrong: the others call them, too
            own = out if root == self.rank else None
            try:
                call = self.reduce(wrong or x[root], op, root, out=own, wait=False, timeout_s=timeout_s)  # type: ignore[arg-type]
                assert isinstance(call, Handle)
                parts.append(call._pending)
            except ArgumentError as error:
                first = first or error
        if not isinstance(wait, bool):
            first = first or ArgumentError(
                f"reduce_scatter_blocks: expected True or False as wait, found {wait!r}"
            )
        pending = PendingBlocks(parts)
        if first is not None:
            with suppress(HemiolaError):
                pending.wait()
            raise first
        moving = Handle(pending, out)
        return moving.wait() if wait else moving

    def _exchanged(
        self, call: str, x: Arrays | Complaint, out: Arrays | Complaint, wait: bool, timeout_s: float | None
    ) -> Arrays | Handle[Arrays]:
        """Run an exchange, or begin it."""
        pending = self._begun(call, x, out, wait, timeout_s)
        assert not isinstance(out, Complaint)
        moving = Handle(pending, out)
        return moving.wait() if wait else moving

    def _begun(
        self, call: str, x: Arrays | Complaint, out: Arrays | Complaint, wait: object, timeout_s: float | None
    ) -> PendingBlocks:
        """Agree on sizes, and begin to move; each rank with the next one, so that no two ask the same one first."""
        self._check_blocks(call, x, out, wait, timeout_s)
        assert not isinstance(x, Complaint)
        assert not isinstance(out, Complaint)
        tag = _FIRST_TAG + self._block_calls
        self._block_calls += 1
        others = [(self.rank + k) % self.rank_count for k in range(1, self.rank_count)]
        receiving = [r for r in reversed(others) if out[r].size]
        sending = [r for r in others if x[r].size]
        parts: list[Pending] = [
            self._core.start_recv(_bytes_of(out[r]), r, tag, timeout_s) for r in receiving
        ]
        parts += [self._core.start_send(_bytes_of(x[r]), r, tag, timeout_s) for r in sending]
        out[self.rank].reshape(-1)[:] = x[self.rank].reshape(-1)
        return PendingBlocks(parts)

    def _check_blocks(
        self, call: str, x: Arrays | Complaint, out: Arrays | Complaint, wait: object, timeout_s: float | None
    ) -> None:
        """Tell all ranks what this one gives and expects, and raise on all of them where that does not fit."""
        n = self.rank_count
        every = np.empty((n, 2 * n + _NAME_BYTES // 8), np.int64)
        table = _table(call, x, out, n)
        if not isinstance(wait, bool):
            table = Complaint(f"{call}: expected True or False as wait, found {wait!r}")
        self.all_gather(table, out=every, timeout_s=timeout_s)
        given, expected = every[:, :n], every[:, n : 2 * n]
        for giver, taker in np.argwhere(given != expected.T):
            raise MismatchError(
                f"{call}: rank {giver} gives rank {taker} {given[giver, taker]} elements, rank {taker} expects "
                f"{expected[taker, giver]} of rank {giver}; sizes must fit together"
            )
        names = [row.tobytes().rstrip(b"\0").decode() for row in every[:, 2 * n :]]
        for rank, name in enumerate(names):
            if name != names[0]:
                raise MismatchError(
                    f"{call}: rank 0 has blocks of {names[0]}, rank {rank} of {name}; dtypes must be equal"
                )


class PendingBlocks:
    """What is under way together, as a Handle waits for them; made of what waits for each."""

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


def _table(call: str, x: Arrays | Complaint, out: Arrays | Complaint, n: int) -> Any:
    """Return what this rank gives and expects, and the dtype; or what is wrong with that."""
    for name, arrays in (("x", x), ("out", out)):
        wrong = arrays if isinstance(arrays, Complaint) else _wrong(name, arrays, n)
        if wrong is not None:
            return wrong
    assert not isinstance(x, Complaint)
    assert not isinstance(out, Complaint)
    dtypes = {array.dtype for array in (*x, *out)}
    if len(dtypes) > 1:
        return Complaint(f"{call}: expected blocks of one dtype, found {', '.join(sorted(map(str, dtypes)))}")
    (dtype,) = dtypes
    if dtype.hasobject:
        return Complaint(f"{call}: expected elements that are not Python objects, found {dtype}")
    if any(not array.flags.writeable for array in out):
        return Complaint(f"{call}: expected arrays that can be written to as out, found one that cannot")
    told = str(dtype).encode()[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0")
    sizes = [array.size for array in (*x, *out)]
    return np.concatenate([np.array(sizes, np.int64), np.frombuffer(told, np.int64)])


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return its memory, whatever type lies there: what is only moved need not be known."""
    return array.reshape(-1).view(np.uint8)


def _wrong(name: str, arrays: object, n: int) -> Complaint | None:
    """Return what is wrong with what should be a contiguous array for each rank."""
    if wrong := _not_a_list(name, arrays, n):
        return wrong
    assert isinstance(arrays, (list, tuple))
    for rank, array in enumerate(arrays):
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            found = "one that is not" if isinstance(array, np.ndarray) else repr(array)
            return Complaint(
                f"expected contiguous NumPy arrays as {name}, found {found} for rank {rank}; pass a copy"
            )
    return None


def _not_a_list(name: str, arrays: object, n: int) -> Complaint | None:
    """Return that something is no list of n, if so."""
    if isinstance(arrays, (list, tuple)) and len(arrays) == n:
        return None
    found = f"{len(arrays)} of them" if isinstance(arrays, (list, tuple)) else repr(arrays)
    return Complaint(f"expected a list with an array for each of {n} ranks as {name}, found {found}")
