# SPDX-License-Identifier: Apache-2.0
"""A launcher's message to a rank about its place in the job, as variables of the environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hemiola.environment import (
    JOB,
    LOCAL_RANK,
    LOCAL_RANK_COUNT,
    RANK,
    RANK_COUNT,
    RENDEZVOUS,
    TOKEN,
    Variable,
)
from hemiola.machine.capacity import allowed_cores


@dataclass(frozen=True)
class Place:
    """A rank's place. `rendezvous` and `token` are as in the variables of these names; "" in a job on one host."""

    rank: int
    rank_count: int
    local_rank: int
    local_rank_count: int
    job: str
    rendezvous: str = ""
    token: str = ""

    def variables(self) -> dict[str, str]:
        """Return the variables; all of them, because this process may itself be a rank of another job."""
        values: dict[Variable[Any], object] = {
            RANK: self.rank,
            RANK_COUNT: self.rank_count,
            LOCAL_RANK: self.local_rank,
            LOCAL_RANK_COUNT: self.local_rank_count,
            JOB: self.job,
            RENDEZVOUS: self.rendezvous,
            TOKEN: self.token,
        }
        return {variable.name: str(value) for variable, value in values.items()}


def own_variables(rank: int) -> dict[str, str]:
    """Return the variables in which a rank's differ from those of the others where all ranks are on this host."""
    return {variable.name: str(rank) for variable in (RANK, LOCAL_RANK)}


def thread_limit(ranks: int) -> dict[str, str]:
    """Return the variable that gives every rank's numerical libraries an equal share of the cores."""
    return {"OMP_NUM_THREADS": str(max(1, len(allowed_cores()) // ranks))}
