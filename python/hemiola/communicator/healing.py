# SPDX-License-Identifier: Apache-2.0
"""How ranks bring a program's state to that of the first rank: only what differs moves, from all ranks that have it."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Complaint, bytes_of_array, digests_of
from hemiola.arguments import typed
from hemiola.communicator.collectives import Collectives
from hemiola.communicator.handle import Handle
from hemiola.communicator.messages import RESERVED_TAGS
from hemiola.errors import ArgumentError, MismatchError

#: The bytes that are compared, and moved, as one.
PART_BYTES = 4 << 20
#: Parts that a rank sends at once.
_MOST_UNDER_WAY = 4
_TAG = RESERVED_TAGS + (1 << 40)


class Healing(Collectives):
    """The part of a communicator that brings states together."""

    if TYPE_CHECKING:

        def _hosts(self) -> Sequence[int]: ...
        def _note_healed(self, nbytes: int, seconds: float) -> None: ...

    @typed
    def heal(self, state: object, *, timeout_s: float | None = None) -> int:
        """Bring this rank's state to that of rank 0; all ranks call this, with arrays of the same names and sizes.

        Parameters
        ----------
        state : an array, or a sequence or mapping of arrays: contiguous in C order and writable, of any dtype that
            collectives take. A mapping's order does not matter. A number that is part of the state, such as a step, is
            an array of shape ().
        timeout_s : float > 0, seconds, optional; as of a collective.

        Returns
        -------
        int, how many bytes came from other ranks; 0 where nothing differed.

        Raises
        ------
        ArgumentError
            where an array cannot be used; MismatchError on all other ranks.
        MismatchError
            on all ranks, naming the first that has other arrays than rank 0, before anything moves; or where a rank
            wrote to its state meanwhile.
        LostRankError, TimeoutError
            naming a rank that died or did not come. A state may be changed in part: call `grow`, and heal again.

        Notes
        -----
        Rank 0 of a grown communicator is its oldest rank, so newcomers get what the others have. Ranks compare digests
        of 4 MiB parts, and each part goes from the ranks that have it as rank 0 does: from one on the same host where
        there is one, and from each about as much. So one newcomer costs the state's bytes over its NIC, and the
        comparison reads all memory once. Digests guard against accidents, not against an adversary (XXH3, 128 bits).
        A state has more than parameters: optimizer moments, counters, and the residuals of a pruner or a quantizer.
        """
        begin_s = time.monotonic()
        told = _State.of(state)
        found = self._agreed(told, timeout_s)
        own = np.frombuffer(b"".join(digests_of(one, PART_BYTES) for one in found.memory), np.uint64)
        every = np.empty((self.rank_count, len(own)), np.uint64)
        self.all_gather(own, out=every, timeout_s=timeout_s)
        digests = every.reshape(self.rank_count, -1, 2)
        moves = _moves((digests == digests[0]).all(axis=2), self._hosts())
        parts = found.parts()
        self._move(moves, parts, timeout_s)
        self._check(moves, parts, digests[0], timeout_s)
        if moves:
            moved = sum(parts[move.part].nbytes for move in moves)
            self._note_healed(moved, time.monotonic() - begin_s)
        return sum(parts[move.part].nbytes for move in moves if move.dst == self.rank)

    def _agreed(self, told: _State | Complaint, timeout_s: float | None) -> _State:
        """Return this rank's state once all ranks have arrays alike; raise on all of them where not."""
        sizes = np.empty(self.rank_count, np.int64)
        size = told if isinstance(told, Complaint) else np.array([len(told.words)])
        self.all_gather(cast("NDArray[np.int64]", size), out=sizes, timeout_s=timeout_s)
        assert isinstance(told, _State)  # else the collective has raised
        padded = np.frombuffer(told.words.ljust(int(sizes.max())), np.uint8)
        every = np.empty((self.rank_count, len(padded)), np.uint8)
        self.all_gather(padded, out=every, timeout_s=timeout_s)
        for rank in np.flatnonzero((every != every[0]).any(axis=1)):
            first, other = (json.loads(row.tobytes()) for row in (every[0], every[rank]))
            raise MismatchError(
                f"heal: {_difference(first, other, int(rank))}; states must be alike on all ranks"
            )
        return told

    def _move(
        self, moves: Sequence[_Move], parts: Sequence[NDArray[np.uint8]], timeout_s: float | None
    ) -> None:
        """Send and receive this rank's parts, in the same order on both sides of each pair."""
        coming = [
            Handle(self._core.start_recv(parts[move.part], move.src, _TAG, timeout_s), None)
            for move in moves
            if move.dst == self.rank
        ]
        under_way: deque[Handle[None]] = deque()
        for move in moves:
            if move.src != self.rank:
                continue
            if len(under_way) == _MOST_UNDER_WAY:
                under_way.popleft().wait()
            under_way.append(Handle(self._core.start_send(parts[move.part], move.dst, _TAG, timeout_s), None))
        for handle in (*under_way, *coming):
            handle.wait()

    def _check(
        self,
        moves: Sequence[_Move],
        parts: Sequence[NDArray[np.uint8]],
        wanted: NDArray[np.uint64],
        timeout_s: float | None,
    ) -> None:
        """Raise on all ranks where a part that came is not what rank 0 had."""
        wrong = [
            move
            for move in moves
            if move.dst == self.rank
            and digests_of(parts[move.part], PART_BYTES) != wanted[move.part].tobytes()
        ]
        first = np.array([wrong[0].src + 1 if wrong else 0], np.int64)
        changed = int(self.all_reduce(first, op="max", timeout_s=timeout_s)[0])
        if changed:
            raise MismatchError(
                f"heal: rank {changed - 1} wrote to its state while others read it; leave it alone until heal returns"
            )


@dataclass(frozen=True)
class _State:
    """Arrays in the order of their names, and words about them that are equal where states are alike."""

    memory: Sequence[NDArray[np.uint8]]
    words: bytes

    @classmethod
    def of(cls, state: object) -> _State | Complaint:
        """Read a state, or say what is wrong with it."""
        named: Mapping[Any, Any]
        if isinstance(state, Mapping):
            named = dict(sorted(state.items(), key=lambda item: str(item[0])))
        else:
            named = dict(enumerate(state if isinstance(state, (list, tuple)) else [state]))
        memory, words = [], []
        for name, array in named.items():
            try:
                content, size, dtype = bytes_of_array(array)
            except ArgumentError as error:
                return Complaint(f"heal: state {name!r}: {error}")
            if not content.flags.writeable:
                return Complaint(
                    f"heal: state {name!r}: expected an array that can be written to, found one that cannot"
                )
            memory.append(content.reshape(-1))
            words.append([str(name), dtype, size])
        return cls(memory, json.dumps(words).encode())

    def parts(self) -> list[NDArray[np.uint8]]:
        """Return all parts, array by array."""
        return [
            one[begin : begin + PART_BYTES] for one in self.memory for begin in range(0, one.size, PART_BYTES)
        ]


@dataclass(frozen=True)
class _Move:
    part: int
    src: int
    dst: int


def _moves(has: NDArray[np.bool_], hosts: Sequence[int]) -> list[_Move]:
    """Say who sends which part to whom; `has`, by rank and part, says who has it as rank 0 does."""
    given = np.zeros(len(has), np.int64)
    moves = []
    for part in np.flatnonzero(~has.all(axis=0)):
        sources = np.flatnonzero(has[:, part]).tolist()
        for taker in np.flatnonzero(~has[:, part]).tolist():
            near = [one for one in sources if hosts[one] == hosts[taker]]
            source = min(near or sources, key=lambda one: (given[one], one))
            given[source] += 1
            moves.append(_Move(int(part), source, taker))
    return moves


def _difference(first: Sequence[Sequence[object]], other: Sequence[Sequence[object]], rank: int) -> str:
    """Say in what two states differ first."""
    for ours, theirs in zip(first, other, strict=False):
        if ours != theirs:
            (name, dtype, size), (its_name, its_dtype, its_size) = ours, theirs
            return (
                f"rank 0 has '{name}' of {size} {dtype}, rank {rank} '{its_name}' of {its_size} {its_dtype}"
            )
    return f"rank 0 has {len(first)} arrays, rank {rank} {len(other)}"
