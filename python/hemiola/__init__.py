"""Hemiola: collective communication for clusters that don't keep time."""

from hemiola import algorithms, topologies, units
from hemiola._core import Collective, Schedule, Topology, Violation
from hemiola.bounds import LowerBound, lower_bound
from hemiola.conditions import Conditions
from hemiola.planner import Plan, plan
from hemiola.simulate import Timeline, simulate
from hemiola.synthesis import Synthesis, synthesize
from hemiola.verify import verify

__all__ = [
    "Collective",
    "Conditions",
    "LowerBound",
    "Plan",
    "Schedule",
    "Synthesis",
    "Timeline",
    "Topology",
    "Violation",
    "algorithms",
    "lower_bound",
    "plan",
    "simulate",
    "synthesize",
    "topologies",
    "units",
    "verify",
]
