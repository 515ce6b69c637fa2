# SPDX-License-Identifier: Apache-2.0
"""A network that local ranks are to behave like."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from hemiola._core import Topology
from hemiola.conditions import Conditions, refuse_density
from hemiola.errors import ArgumentError
from hemiola.topology.named_nics import settled


@dataclass(frozen=True)
class Emulation:
    """A topology and its conditions; slow NICs are slower links of the topology, or slow ranks."""

    topology: Topology
    conditions: Conditions = field(default_factory=Conditions)

    @classmethod
    def of(
        cls, emulate: Topology | str | os.PathLike[str] | None, conditions: Conditions | None
    ) -> Emulation | None:
        """Return the emulation that was asked for, if any; a path is loaded."""
        if emulate is None:
            if conditions is not None:
                raise ArgumentError("conditions are emulated, so they need a network: pass emulate=topology")
            return None
        if conditions is not None:
            refuse_density(conditions, "emulate")
        topology = emulate if isinstance(emulate, Topology) else Topology.load(emulate)
        return cls(*settled(topology, conditions or Conditions()))

    def check(self, rank_count: int) -> None:
        """Raise ArgumentError unless the topology has that many ranks."""
        if self.topology.rank_count != rank_count:
            raise ArgumentError(
                f"emulate: topology '{self.topology.name}' has {self.topology.rank_count} ranks, "
                f"the job has {rank_count}"
            )


_launched: list[Emulation] = []


def launched_emulation() -> Emulation | None:
    """Return the network that hemiola.launch has asked this process to emulate."""
    return _launched[0] if _launched else None


def set_launched_emulation(emulation: Emulation | None) -> None:
    """Note the network that hemiola.launch asks for; called before the function of a rank."""
    _launched[:] = [emulation] if emulation is not None else []
