# SPDX-License-Identifier: Apache-2.0
"""The present asymmetry: late ranks, slow ranks, sparse data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.units import format_seconds

__all__ = ["Conditions"]

#: The prefix of keys of `slow` that name a NIC.
NIC_KEY = "nic:"

#: Of the elements that `density` speaks of.
_VALUE_BITS = 32

#: By rank or NIC; three mappings, because the type of a mapping's keys must be met exactly.
SlowFactors = Mapping[int, float] | Mapping[str, float] | Mapping[int | str, float]


@typed
@dataclass(frozen=True)
class Conditions:
    """Conditions under which a collective runs.

    Parameters
    ----------
    late : mapping of rank to float, seconds after the others that this rank arrives, >= 0.
    slow : mapping of rank to float, factor >= 1 by which this rank's ports are slower; or of a network card,
        ``"nic:mlx5_1"``, by which all its links are slower, both ways: `Topology.nics` has the names. Where several
        hosts have a NIC of that name, ``"nic:HOST/mlx5_1"``, HOST being a node's number. A NIC of factor inf is dead.
    density : float in (0, 1], share of elements that are not zero. Below 1 messages may leave zeros out: `plan`,
        `simulate` and `lower_bound` heed it, for elements of 4 bytes of which each is as likely not zero as any other,
        on every rank by itself. Data have a density of their own, so who runs collectives refuses it.

    Raises
    ------
    ArgumentError
        A value is outside its range, or a text that names no NIC. Ranks and NICs are checked against a topology where
        the conditions are used.
    """

    late: Mapping[int, float] = field(default_factory=dict)
    slow: SlowFactors = field(default_factory=dict)
    density: float = 1.0

    def __post_init__(self) -> None:
        for rank, seconds in self.late.items():
            if not (seconds >= 0 and math.isfinite(seconds)):
                raise ArgumentError(
                    f"conditions: expected a finite late[{rank}] >= 0 seconds, found {seconds}"
                )
        for key, factor in self.slow.items():
            if isinstance(key, str) and not (key.startswith(NIC_KEY) and key != NIC_KEY):
                raise ArgumentError(
                    f"conditions: expected a rank or a NIC such as 'nic:mlx5_1', found slow[{key!r}]"
                )
            if not factor >= 1:
                raise ArgumentError(f"conditions: expected slow[{key!r}] >= 1, found {factor}")
            if math.isinf(factor) and not isinstance(key, str):
                raise ArgumentError(
                    f"conditions: expected a finite slow[{key!r}], found inf; only a NIC may be dead. Leave out a rank "
                    "whose ports are all dead: Topology.without_ranks"
                )
        if not 0 < self.density <= 1:
            raise ArgumentError(f"conditions: expected a density in (0, 1], found {self.density}")

    def __hash__(self) -> int:
        return hash((frozenset(self.late.items()), frozenset(self.slow.items()), self.density))

    @property
    def slow_ranks(self) -> dict[int, float]:
        """The factors of `slow` by rank, without those of NICs."""
        return {key: factor for key, factor in self.slow.items() if not isinstance(key, str)}

    @property
    def slow_nics(self) -> dict[str, float]:
        """The factors of `slow` by NIC, NAME or HOST/NAME."""
        return {
            key.removeprefix(NIC_KEY): factor for key, factor in self.slow.items() if isinstance(key, str)
        }

    def in_words(self) -> list[str]:
        """Name each condition: late ranks, slower parts, the density.

        Returns
        -------
        list of str, a phrase for each; [] where all ranks are in time and at full speed.
        """
        late = [f"rank {rank} late by {format_seconds(late_s)}" for rank, late_s in sorted(self.late.items())]
        sparse = [] if self.density == 1 else [f"density {self.density:g}"]
        return [*late, *self.slow_in_words(), *sparse]

    def slow_in_words(self) -> list[str]:
        """Name each slower part and its factor, ranks first.

        Returns
        -------
        list of str, a phrase for each rank and NIC.
        """
        ranks = [
            f"the ports of rank {rank} are {factor:g} times slower"
            for rank, factor in sorted(self.slow_ranks.items())
        ]
        return ranks + [
            f"NIC {nic} is dead" if math.isinf(factor) else f"NIC {nic} is {factor:g} times slower"
            for nic, factor in sorted(self.slow_nics.items())
        ]


def least_share(density: float, contributions: int = 1) -> float:
    """Return the least size of messages over their plain bytes: values, and the entropy of their places.

    Of sums of so many contributions with that density, each independent of the others; elements have 4 bytes.
    """
    union = -math.expm1(contributions * math.log1p(-density)) if density < 1 else 1.0
    if union >= 1:
        return 1.0
    entropy = -union * math.log2(union) - (1 - union) * math.log1p(-union) / math.log(2)
    return min(1.0, union + entropy / _VALUE_BITS)


def refuse_density(conditions: Conditions, where: str) -> None:
    """Raise ArgumentError where conditions have a density, which `where` would ignore."""
    if conditions.density != 1:
        raise ArgumentError(
            f"{where}: found conditions with density {conditions.density:g}, on which nothing here depends; leave "
            "density out"
        )
