# SPDX-License-Identifier: Apache-2.0
"""Which of this machine's cores a rank is kept on, as HEMIOLA_PIN says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from hemiola.environment import PIN
from hemiola.machine.capacity import allowed_cores


def keep_on_its_cores(local_rank: int, local_rank_count: int) -> None:
    """Keep this process on a rank's cores if that is asked for or pays, and nobody has chosen cores for it.

    Parameters
    ----------
    local_rank : int >= 0, below local_rank_count.
    local_rank_count : int, ranks on this host.
    """
    allowed = sorted(allowed_cores())
    if _pins(len(allowed), local_rank_count) and len(allowed) == os.cpu_count():
        with suppress(PermissionError):  # a sandbox forbids it: then nobody is kept anywhere
            os.sched_setaffinity(0, share_of(allowed, local_rank, local_rank_count))


def _pins(core_count: int, rank_count: int) -> bool:
    pin = PIN.value().lower()
    shares_evenly = rank_count > core_count and rank_count % core_count == 0
    return pin == "on" or (pin == "auto" and shares_evenly)


def share_of(cores: Sequence[int], rank: int, rank_count: int) -> Sequence[int]:
    """Return a rank's cores: neighbours of its own, as many as for the others or one more; where there are more ranks
    than cores, one, in turn."""
    if rank_count > len(cores):
        return [cores[rank % len(cores)]]
    return cores[rank * len(cores) // rank_count : (rank + 1) * len(cores) // rank_count]
