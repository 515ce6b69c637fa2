# SPDX-License-Identifier: Apache-2.0
"""Process groups one after the other, for a caller that decides itself who their ranks are, such as torchft."""

from __future__ import annotations

import json
import secrets
from datetime import timedelta
from typing import Any, NamedTuple

from torch.distributed import ProcessGroup

from hemiola.communicator.words_of_ranks import read_words
from hemiola.torch.group import HemiolaProcessGroup, Part, Place
from hemiola.torch.options import Options


class _Past(NamedTuple):
    """Which group a rank was in, its number there, and what the next one is called if this rank is its first."""

    group: str
    rank: int
    next_group: str

    @classmethod
    def read(cls, words: Any) -> _Past:
        group, rank, following = words
        return cls(str(group), int(rank), str(following))


def next_group(
    store: Any, rank: int, rank_count: int, timeout: timedelta, before: ProcessGroup | None = None
) -> ProcessGroup:
    """Make a process group of ranks that come to a store; each of them calls this.

    Parameters
    ----------
    store : torch.distributed.Store, such as a PrefixStore of its own for each group.
    rank, rank_count : int, this rank of the new group, and how many there are.
    timeout : timedelta, how long to wait for the others, here and in each operation.
    before : what this function returned last in this process, if anything; it may have failed, or been aborted.

    Returns
    -------
    torch.distributed.ProcessGroup. Where all ranks were in one group before, they keep connections, shared memory and
    measurements. Where a newcomer is among them, they meet anew.

    Raises
    ------
    FormatError
        where a rank's words at the store cannot be read. LostRankError, TimeoutError: naming a rank that does not come.
    """
    was: Any = before
    own = (
        _Past("", 0, secrets.token_hex(8))
        if was is None
        else _Past(was.name_at_store, was.rank(), secrets.token_hex(8))
    )
    store.set(f"past/{rank}", json.dumps(own))
    pasts = [
        read_words(store.get(f"past/{other}"), other, "its past", _Past.read) for other in range(rank_count)
    ]
    are_together = was is not None and all(past.group == own.group for past in pasts)
    part = Part(was, [past.rank for past in pasts], "next") if are_together else None
    made = HemiolaProcessGroup(Place(store, rank, rank_count, part), timeout, Options())
    made.name_at_store = pasts[0].next_group
    return made
