# SPDX-License-Identifier: Apache-2.0
"""The result of a judgement: findings, each with its evidence, its cost, and a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hemiola.units import format_seconds


class Cause(StrEnum):
    """The possible causes."""

    COMPUTE_LATE = "compute late"
    HOST_SLOW = "host slow"
    NIC_SLOW = "NIC slow"
    LINK_SLOW = "link slow"
    OVERSUBSCRIBED = "machine oversubscribed"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes
    ----------
    cause : Cause.
    ranks : tuple of int, the ranks that it is about, by their numbers in the communicator; empty for the machine.
    host : int or None, the host that is slow.
    link : (src, dst) or None, the link that is slow; switches are numbered from the number of ranks up. Between hosts,
        two ranks that reach each other by it.
    where : str, the same in words: rank, host and NIC as their systems call them, or link.
    amount : float, the seconds a late rank or host comes late, the factor by which a port or link is slow, or the share
        of its time that a rank waits for a core.
    evidence : str, the observation.
    cost_s : float, seconds per step that it costs.
    gain_s : float, seconds per step of these that a schedule planned for it would save; 0 where none helps.
    schedule : str, the name of that schedule; empty where none helps.
    advice : str, the remedy.
    """

    cause: Cause
    ranks: tuple[int, ...]
    host: int | None
    link: tuple[int, int] | None
    where: str
    amount: float
    evidence: str
    cost_s: float
    gain_s: float
    schedule: str
    advice: str

    def __str__(self) -> str:
        gain = f", of which {self.schedule} saves {format_seconds(self.gain_s)}" if self.schedule else ""
        cost = f"costs {format_seconds(self.cost_s)} a step{gain}"
        return f"{self.cause}: {self.where}: {self.evidence}; {cost}. {self.advice}"


@dataclass(frozen=True)
class Diagnosis:
    """A job's faults, as `Communicator.diagnose` returns them.

    Attributes
    ----------
    findings : tuple of Finding, the costliest first; empty where nothing is wrong.
    operation_count : int, how many operations were judged.
    step_s : float, seconds from one operation to the next, typically.
    notes : tuple of str, the points that could not be judged, and why.
    """

    findings: tuple[Finding, ...]
    operation_count: int
    step_s: float
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the same in plain types, as JSON wants them.

        Returns
        -------
        dict, with the findings as a list of dicts.
        """
        return {
            "operation_count": self.operation_count,
            "step_s": self.step_s,
            "findings": [{**vars(one), "cause": str(one.cause)} for one in self.findings],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        told = [str(one) for one in self.findings] or [
            f"nothing is wrong in {self.operation_count} operations"
        ]
        return "\n".join([*told, *self.notes])
