# SPDX-License-Identifier: Apache-2.0
"""Measuring as one of the ranks of a job that a launcher has started, instead of starting local ones."""

from __future__ import annotations

import pickle
from typing import Any, TypeVar

import numpy as np

from hemiola.communicator import Communicator
from hemiola.communicator.launch_environment import Job, started_job
from hemiola.errors import ArgumentError

Seen = TypeVar("Seen")


def joined_job(ranks: int | None) -> Job | None:
    """Return the job that this process is a rank of; None where no launcher has started it.

    Raises
    ------
    ArgumentError
        where another number of ranks was asked for than the job has.
    """
    job = started_job()
    if job is not None and ranks not in (None, job.rank_count):
        raise ArgumentError(
            f"--ranks says {ranks}, and this process is one of {job.rank_count} ranks that {job.launcher} has started; "
            f"leave --ranks out"
        )
    return job


def everybodys(comm: Communicator, seen: Seen) -> list[Seen]:
    """Return every rank's observation, by rank; all call this. Ranks of a job trust each other with pickles."""
    own = np.frombuffer(pickle.dumps(seen), np.uint8)
    sizes = comm.all_gather(np.array([own.size], np.int64))
    longest = int(sizes.max())
    rows: Any = comm.all_gather(np.pad(own, (0, longest - own.size))).reshape(comm.rank_count, longest)
    return [pickle.loads(row[:size].tobytes()) for row, size in zip(rows, sizes, strict=True)]
