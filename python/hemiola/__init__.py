"""Hemiola: collective communication for clusters that don't keep time."""

from hemiola import algorithms, topologies, units
from hemiola._core import Collective, Schedule, ScheduleFile, Topology, Violation
from hemiola.bounds import LowerBound, lower_bound
from hemiola.communicator import Communicator, Handle, init
from hemiola.conditions import Conditions
from hemiola.launch import launch
from hemiola.planner import Plan, plan
from hemiola.simulate import Timeline, simulate
from hemiola.synthesis import Synthesis, synthesize
from hemiola.verify import verify

__all__ = [
    "Collective",
    "Communicator",
    "Conditions",
    "Handle",
    "LowerBound",
    "Plan",
    "Schedule",
    "ScheduleFile",
    "Synthesis",
    "Timeline",
    "Topology",
    "Violation",
    "algorithms",
    "init",
    "launch",
    "lower_bound",
    "plan",
    "simulate",
    "synthesize",
    "topologies",
    "units",
    "verify",
]
