# SPDX-License-Identifier: Apache-2.0
"""The cost of a fault per step, and the saving of a schedule that is planned for it, by simulation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hemiola._core import Topology
from hemiola.arguments.names import Kind
from hemiola.conditions import Conditions
from hemiola.planner import Plan, plan
from hemiola.simulate import simulate


@dataclass(frozen=True)
class Prospect:
    """Seconds per step that it costs, how many of these the named schedule saves (0 and none: nothing helps)."""

    cost_s: float
    gain_s: float = 0.0
    schedule: str = ""


@dataclass(frozen=True)
class Step:
    """The collective that a step spends its time on, and the network that it runs on when all is well."""

    topology: Topology
    kind: Kind
    nbytes: int

    def prospect(self, conditions: Conditions, ill: Topology | None = None) -> Prospect:
        """Return the cost of conditions, or of a network with a fault, to this step.

        The schedule of a healthy network is simulated on the faulty one, and beside it the schedule planned for that.
        """
        topology = ill or self.topology
        healthy = self._plan(self.topology, Conditions())
        planned = self._plan(topology, conditions)
        before_s = simulate(healthy.schedule, topology, self.nbytes, conditions).seconds
        after_s = simulate(planned.schedule, topology, self.nbytes, conditions).seconds
        gain_s = before_s - after_s
        cost_s = max(0.0, before_s - healthy.seconds)
        if planned.name == healthy.name or gain_s < _LEAST_GAIN * before_s:
            return Prospect(cost_s)
        return Prospect(cost_s, gain_s, planned.alternatives[0].label)

    def _plan(self, topology: Topology, conditions: Conditions) -> Plan:
        return plan(topology, self.kind, self.nbytes, replace(conditions, density=1.0))


#: Less than this share of a step is not worth a word.
_LEAST_GAIN = 0.02
