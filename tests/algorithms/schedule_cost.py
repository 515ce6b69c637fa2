# SPDX-License-Identifier: Apache-2.0
"""What a schedule costs, counted from its transfers alone; the registry is compared with it."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import hemiola as hm


@dataclass(frozen=True)
class Counted:
    """Counts of one schedule; shares are of one rank's buffer."""

    steps: int
    sent: Fraction  # by the busiest rank
    serialized: Fraction  # sum over the steps of what passes the busiest port in that step
    further_messages: (
        int  # sum over the steps of the messages but one that pass the busiest port in that step
    )


def count(schedule: hm.Schedule) -> Counted:
    """Count steps and bytes of a schedule whose chunks are all of one size."""
    n = schedule.rank_count
    transfers = schedule.transfers
    # An all-to-all's chunks divide rank_count buffers, all other collectives' divide one.
    buffers = n if schedule.collective.kind == "all_to_all" else 1
    chunk = Fraction(buffers, schedule.chunk_count)
    step = transfers["step"].astype(np.int64)
    cells = schedule.step_count * n
    sent = np.bincount(step * n + transfers["src"], minlength=cells).reshape(-1, n)
    received = np.bincount(step * n + transfers["dst"], minlength=cells).reshape(-1, n)
    busiest_port = np.maximum(sent, received).max(axis=1, initial=0)
    pairs = np.unique((step * n + transfers["src"]) * n + transfers["dst"])  # a message each
    message_ends = (pairs // n, pairs // n**2 * n + pairs % n)
    messages = np.maximum(*(np.bincount(ends, minlength=cells).reshape(-1, n) for ends in message_ends))
    return Counted(
        steps=schedule.step_count,
        sent=chunk * int(sent.sum(axis=0).max()),
        serialized=chunk * int(busiest_port.sum()),
        further_messages=int(np.maximum(messages.max(axis=1, initial=0) - 1, 0).sum()),
    )
