# SPDX-License-Identifier: Apache-2.0
"""The state of the ranks' ports, noticed by a communicator in the traffic that it carries anyway."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from hemiola._core import Communicator as CoreCommunicator
from hemiola.communicator.observation import SurveyedPort
from hemiola.diagnosis.ports import SLOW

#: An initial slowness is so old at most.
_STARTED_NS = time.monotonic_ns()


@dataclass(frozen=True)
class SlowRank:
    """A rank whose ports are slower than the others'.

    Parameters
    ----------
    rank : int, in the communicator that was asked.
    factor : float > 1, how much slower, as the latest operation that says something showed it.
    planned_factor : float > 1, the factor that schedules are planned for: rounded up, and slow to fall.
    since_operation : int, number of the first operation that showed it; 0 where it was known from the start.
    since_s : float, seconds ago that this operation ended here; since start-up where it was known.
    where : str, NIC and host in words, once a diagnosis has asked for their names.
    """

    rank: int
    factor: float
    planned_factor: float
    since_operation: int
    since_s: float
    where: str = ""


@dataclass(frozen=True)
class HealthChange:
    """From operation `operation` on, schedules are planned for these slow ranks and factors; none where empty."""

    operation: int
    slow: Mapping[int, float]

    def __hash__(self) -> int:
        return hash((self.operation, frozenset(self.slow.items())))


@dataclass(frozen=True)
class Health:
    """The ports of a communicator's ranks.

    Parameters
    ----------
    watching : bool. False where there is nothing to watch: over shared memory ranks are as fast as their
        cores, and nobody has a port. Between hosts true where each has one rank and all talk by TCP.
    operation_count : int, operations of this communicator so far; the next one has this number.
    slow : tuple of SlowRank, by rank; empty when all are well.
    changes : tuple of HealthChange, oldest first, the latest 256.
    complaints : tuple of str, of this rank about the network: addresses at which others give no answer, strangers at
        its port. The latest 8.
    """

    watching: bool
    operation_count: int
    slow: tuple[SlowRank, ...]
    changes: tuple[HealthChange, ...]
    complaints: tuple[str, ...] = ()

    @classmethod
    def of(cls, core: CoreCommunicator, surveyed: Mapping[int, SurveyedPort]) -> Health:
        """Ask a communicator's core.

        Parameters
        ----------
        core : the communicator in the core; asking it needs nobody else.
        surveyed : by rank, the factors that the latest diagnosis has measured. Of a port that was slow already when the
            network was measured, the core notices only changes since then.

        Returns
        -------
        Health, times relative to now.
        """
        found = core.health()
        now_ns = time.monotonic_ns()
        slow = {
            port.rank: SlowRank(
                rank=port.rank,
                factor=port.measured_factor,
                planned_factor=port.planned_factor,
                since_operation=port.since_number,
                since_s=(now_ns - port.since_ns) * 1e-9,
            )
            for port in found.slow
        }
        for rank, port in surveyed.items():
            own = slow.get(rank, SlowRank(rank, 1.0, 1.0, 0, (now_ns - _STARTED_NS) * 1e-9))
            factor, planned = own.factor * port.assumed, own.planned_factor * port.assumed
            if factor >= SLOW:
                slow[rank] = replace(own, factor=factor, planned_factor=planned, where=port.where)
        changes = (HealthChange(change.number, change.slow) for change in found.changes)
        by_rank = tuple(slow[rank] for rank in sorted(slow))
        return cls(found.is_watching, found.operation_count, by_rank, tuple(changes), tuple(found.complaints))

    def as_dict(self) -> dict[str, Any]:
        """Return the same in plain types, as JSON wants them.

        Returns
        -------
        dict, with ranks as text where they are keys.
        """
        told = asdict(self)
        told["slow"] = [asdict(one) for one in self.slow]
        told["changes"] = [
            {"operation": change.operation, "slow": {str(rank): f for rank, f in change.slow.items()}}
            for change in self.changes
        ]
        return told

    def __str__(self) -> str:
        if not self.watching and not self.slow and not self.complaints:
            return (
                "ports are not watched here: over shared memory nobody has one that could be slow; UCX and MPI do not "
                "tell when bytes come; between hosts ports are watched over TCP where each rank goes out by one NIC"
            )
        told = [
            f"rank {one.rank}{one.where and f' ({one.where})'} is {one.factor:.3g} times slower, since operation "
            f"{one.since_operation} ({one.since_s:.3g} s ago); planned for {one.planned_factor:g}"
            for one in self.slow
        ]
        if not told and self.watching:
            told = ["all ports are equally fast"]
        return "; ".join([*told, *self.complaints])
