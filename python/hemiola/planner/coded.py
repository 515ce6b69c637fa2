# SPDX-License-Identifier: Apache-2.0
"""A plan's choice for sparse data: whether messages leave zeros out, and why, phase by phase."""

from __future__ import annotations

from dataclasses import dataclass

from hemiola.arguments.names import Kind
from hemiola.codecs import Speeds
from hemiola.conditions import least_share
from hemiola.planner.sparse_rule import MARGIN, MOST_DENSITY, core_s_per_byte
from hemiola.units import format_bandwidth, format_seconds

#: A plan is coded where that takes at most so much of the dense one's time.
MOST_TIME = 0.97


@dataclass(frozen=True)
class CodedChoice:
    """Dense against coded, as a plan compared them.

    Attributes
    ----------
    density : float, share of elements that are not zero, in (0, 1).
    codecs : hemiola.codecs.Speeds of a rank's core.
    bandwidth : float, bytes per second of a rank's link.
    dense_name, dense_s : str and float, the best schedule whose messages are plain, and its time.
    coded_name, coded_s : the same for messages that leave zeros out; None where none was simulated.
    rank_count : int.
    kind : str, the collective.
    """

    kind: Kind
    rank_count: int
    density: float
    codecs: Speeds
    bandwidth: float
    dense_name: str
    dense_s: float
    coded_name: str | None
    coded_s: float | None

    @property
    def is_coded(self) -> bool:
        """Whether messages leave zeros out."""
        return (
            self.density < MOST_DENSITY
            and self.coded_s is not None
            and all(self._core_has_room(phase) for phase in self._phases())
            and self.coded_s <= MOST_TIME * self.dense_s
        )

    def explain(self) -> list[str]:
        """Explain for each phase why it goes sparse or dense, then the total.

        Returns
        -------
        list of str, sentences.
        """
        return [self._told(phase) for phase in self._phases()] + [self._outcome()]

    def _phases(self) -> tuple[Kind, ...]:
        return ("reduce_scatter", "all_gather") if self.kind == "all_reduce" else (self.kind,)

    def _core_has_room(self, phase: Kind) -> bool:
        core_s = core_s_per_byte(phase, self.rank_count, self.codecs)
        return self.rank_count > 1 and MARGIN * core_s <= 1 / self.bandwidth

    def _told(self, phase: Kind) -> str:
        summed = self.rank_count if self.kind == "all_reduce" and phase == "all_gather" else 1
        share = least_share(self.density, summed)
        core_s = core_s_per_byte(phase, self.rank_count, self.codecs)
        words = f"{phase.replace('_', '-')}: of {1 - (1 - self.density) ** summed:.3g} nonzero"
        words += f" messages take {share:.3g} of their plain bytes at least"
        link = f"a link carries {format_bandwidth(self.bandwidth)}"
        core = f"a core encodes and decodes {format_bandwidth(1 / core_s)}"
        if not self._core_has_room(phase):
            return f"{words}; dense, for {link} and {core}, less than {MARGIN:g} times as much."
        if share > MOST_TIME:
            return f"{words}; dense, for less than 3 % would be saved."
        return f"{words}; sparse, for {link} and {core}."

    def _outcome(self) -> str:
        dense = f"{format_seconds(self.dense_s)} by {self.dense_name} with plain messages"
        if self.coded_s is None:
            return f"Nothing could be simulated with zeros left out, so all goes dense: {dense}."
        coded = f"{format_seconds(self.coded_s)} by {self.coded_name} without zeros"
        return f"So {'zeros are left out' if self.is_coded else 'all goes dense'}: {coded}, {dense}."
