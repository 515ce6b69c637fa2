"""A barrier that says who is missing, and leaves the group as usable as it was: ranks sign in at the store, and rank 0
says when all have, or who has not. Its messages are those of PyTorch's own."""

from __future__ import annotations

import time
from typing import Any

from hemiola.torch.errors import GroupTimeoutError

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.0002, 0.02
_ALL_ARE_HERE = "all are here"


class MonitoredBarrier:
    """The barriers of this kind of one group.

    Parameters
    ----------
    store : a store of torch.distributed, of the group alone.
    rank, rank_count : int.
    """

    def __init__(self, store: Any, rank: int, rank_count: int) -> None:
        self._store, self._rank, self._rank_count = store, rank, rank_count
        self._number = 0

    def wait(self, timeout_s: float, wait_all_ranks: bool) -> None:
        """Wait for all ranks.

        Parameters
        ----------
        timeout_s : float >= 0, seconds.
        wait_all_ranks : bool. Whether rank 0 names all ranks that are missing, or the first one alone.

        Raises
        ------
        GroupTimeoutError
            on rank 0 naming ranks that are missing; on all others saying what rank 0 has said, or that it has not come.

        Notes
        -----
        A rank that has missed barriers goes on with the others' next one.
        """
        place = self._next_place()
        keys = [f"{place}/{other}" for other in range(self._rank_count)]
        deadline = time.monotonic() + timeout_s
        self._store.set(keys[self._rank], "here")
        if self._rank == 0:
            self._watch(place, keys, deadline, timeout_s, wait_all_ranks)
        else:
            self._heed(place, deadline, timeout_s)

    def _next_place(self) -> str:
        """Return where the next barrier is: behind those that rank 0 has ended without this rank."""
        while True:
            self._number += 1
            place = f"hemiola/monitored barrier {self._number}"
            if not self._store.check([place]):
                return place

    def _watch(
        self, place: str, keys: list[str], deadline: float, timeout_s: float, wait_all_ranks: bool
    ) -> None:
        pause_s = _FIRST_PAUSE_S
        while missing := [rank for rank, key in enumerate(keys) if not self._store.check([key])]:
            if time.monotonic() >= deadline:
                verdict = _verdict(missing if wait_all_ranks else missing[:1], timeout_s)
                self._store.set(place, verdict)
                raise GroupTimeoutError(verdict)
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        self._store.set(place, _ALL_ARE_HERE)

    def _heed(self, place: str, deadline: float, timeout_s: float) -> None:
        reached = (
            f"Rank {self._rank} successfully reached monitoredBarrier, but received errors while waiting for "
        )
        pause_s = _FIRST_PAUSE_S
        while not self._store.check([place]):
            if time.monotonic() >= deadline + _LONGEST_PAUSE_S:
                raise GroupTimeoutError(
                    f"{reached}send/recv from rank 0: it has said nothing for {timeout_s:g} s"
                )
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        verdict = self._store.get(place).decode()
        if verdict != _ALL_ARE_HERE:
            raise GroupTimeoutError(f"{reached}send/recv from rank 0, which says: {verdict}")


def _verdict(missing: list[int], timeout_s: float) -> str:
    if timeout_s == 0:
        return f"Rank 0 timed out in monitoredBarrier after 0 ms: ranks {missing} had not come"
    who = f"Rank {missing[0]}" if len(missing) == 1 else "Ranks " + ", ".join(map(str, missing))
    return f"{who} failed to pass monitoredBarrier in {round(timeout_s * 1e3)} ms"
