# SPDX-License-Identifier: Apache-2.0
"""Questions about a network beside collectives, which rooms above this one bring to a sweep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from hemiola._core import Topology
from hemiola.conditions import Conditions
from hemiola.sweep.table import Row


@dataclass(frozen=True)
class Names:
    """The words of a table for a topology, a question and conditions."""

    topology: str
    question: str
    conditions: str


class Question(ABC):
    """A question about a network that makes rows on its own. This room alone calls its methods with an underscore."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in a table, unless a mapping gives another."""

    @abstractmethod
    def _key(self) -> str:
        """Return a text that differs where the question does."""

    @abstractmethod
    def _check(self, topology: Topology, conditions: Conditions) -> None:
        """Raise ArgumentError where it cannot be asked of a network, before any is answered."""

    @abstractmethod
    def _rows(self, topology: Topology, conditions: Conditions, names: Names) -> Sequence[Row]:
        """Return its rows on a network."""
