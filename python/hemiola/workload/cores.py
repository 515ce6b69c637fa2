# SPDX-License-Identifier: Apache-2.0
"""The speed of computation where ranks share processor cores: while some ranks wait, the others are faster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hemiola.workload.task import is_late, late_role


@dataclass(frozen=True)
class Cores:
    """Cores that all ranks share, by one thread each.

    Attributes
    ----------
    count : int >= 1.
    ranks : mapping of role to its number of ranks.
    """

    count: int
    ranks: Mapping[str, int]

    def speed(self, computing: Iterable[str]) -> float:
        """Return the speed of computation, 1 being that while all ranks compute.

        Parameters
        ----------
        computing : roles, those that compute now.

        Returns
        -------
        float >= 1.
        """
        now = sum(self.ranks[role] for role in set(computing))
        return self._of(now) / self._of(sum(self.ranks.values()))

    def _of(self, ranks: int) -> float:
        """Return the cores of each of so many ranks."""
        return min(1.0, self.count / max(1, ranks))


def ranks_of_roles(roles: Iterable[str], rank_count: int) -> dict[str, int]:
    """Return how many ranks each role stands for; a late role is one rank of its stage.

    Parameters
    ----------
    roles : str each, of which "NAME, late" is a part of NAME.
    rank_count : int, of all roles together.

    Returns
    -------
    dict of role to int.
    """
    names = list(roles)
    late = {name: 1 for name in names if is_late(name)}
    stages = [name for name in names if name not in late]
    each = rank_count // max(1, len(stages))
    return {name: each - late.get(late_role(name), 0) for name in stages} | late
