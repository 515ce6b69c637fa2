# SPDX-License-Identifier: Apache-2.0
"""The answer to a what-if question: where a step's time goes, its limit, and the gain over other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from hemiola.conditions import Conditions
from hemiola.units import format_bytes, format_seconds
from hemiola.workload.parallel import Parallel
from hemiola.workload.running import Ran


@dataclass(frozen=True)
class CallCost:
    """A collective of the step.

    Attributes
    ----------
    kind : str, a collective, or "send" between pipeline stages.
    group : str, its class of groups.
    rank_count : int, ranks of a group.
    nbytes : int, one rank's buffer.
    density : float, share of its elements that are not zero.
    count : int, how often one rank runs it in a step.
    algorithm : str, Hemiola's choice.
    seconds : float, of one, alone on the network, all groups of its class at once.
    bound_s : float, seconds that no schedule can beat.
    exposed_s : float, seconds of the step for which it keeps the main role from computing, all of them together.
    """

    kind: str
    group: str
    rank_count: int
    nbytes: int
    density: float
    count: int
    algorithm: str
    seconds: float
    bound_s: float
    exposed_s: float


@dataclass(frozen=True, repr=False)
class WhatIf:
    """A training step, predicted.

    Attributes
    ----------
    name : str, of the model or trace.
    topology_name : str.
    rank_count : int.
    parallel : Parallel, with all degrees.
    conditions : Conditions.
    seconds : float, the whole step with Hemiola's schedules.
    compute_s : float, seconds in which the main role computes.
    hidden_s : float, seconds of these during which it communicates, too.
    exposed_s : float, seconds in which it only communicates.
    waiting_s : float, seconds in which it waits for a late rank, or for another pipeline stage.
    role : str, the main role: the one that computes longest.
    calls : tuple of CallCost, the most exposed first.
    others : mapping of library to the step's seconds with its schedules: "ring", "nccl-like", "pccl-like", "gloo-like".
    bound_s : float, the step's seconds if every collective took its lower bound.
    limit : str, what the step waits for, in a sentence.
    assumptions : tuple of str, sentences.
    """

    name: str
    topology_name: str
    rank_count: int
    parallel: Parallel
    conditions: Conditions
    seconds: float
    compute_s: float
    hidden_s: float
    exposed_s: float
    waiting_s: float
    role: str
    calls: tuple[CallCost, ...]
    others: Mapping[str, float] = field(hash=False)
    bound_s: float
    limit: str
    assumptions: tuple[str, ...]
    _ran: Ran = field(repr=False, compare=False)

    @property
    def gains(self) -> dict[str, float]:
        """By library, the share of its step's time that Hemiola's schedules save; below 0 where they lose."""
        return {name: 1 - self.seconds / other if other else 0.0 for name, other in self.others.items()}

    def __repr__(self) -> str:
        return f"<WhatIf {self.name}: {format_seconds(self.seconds)} a step on {self.rank_count:,} ranks>"

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.explain().splitlines())
        return f"<p>{escape(repr(self))}</p><ul>{lines}</ul>"

    def explain(self) -> str:
        """Explain the step's time, its limit, other libraries' times, and the assumptions.

        Returns
        -------
        str, a sentence a line.
        """
        parts = ", ".join(
            f"{format_seconds(seconds)} {what} ({self._share(seconds)})"
            for what, seconds in (
                ("computes", self.compute_s),
                ("only communicates", self.exposed_s),
                ("waits", self.waiting_s),
            )
        )
        lines = [
            f"A step takes {format_seconds(self.seconds)}: '{self.role}' {parts}; "
            f"{format_seconds(self.hidden_s)} of "
            "communication are hidden.",
            self.limit,
            *(
                f"With {name} schedules it takes {format_seconds(other)}: Hemiola saves {self.gains[name]:.1%}."
                for name, other in self.others.items()
            ),
            f"If every collective took its lower bound, the step would take {format_seconds(self.bound_s)}.",
            *self.assumptions,
        ]
        return "\n".join(lines)

    def _share(self, seconds: float) -> str:
        return f"{seconds / self.seconds:.1%}" if self.seconds else "0%"


def call_in_words(call: CallCost) -> str:
    """Name a call as reports do: all_reduce of 25 MiB over 8 ranks (dp)."""
    return f"{call.kind} of {size_in_words(call)} over {call.rank_count:,} ranks ({call.group})"


def size_in_words(call: CallCost) -> str:
    """Return its size, and of sparse buckets the density: 25 MiB (1 % not zero)."""
    return format_bytes(call.nbytes) + (f" ({call.density:.3g} not zero)" if call.density < 1 else "")
