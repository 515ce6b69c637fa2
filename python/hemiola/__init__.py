"""Hemiola: collective communication for clusters that don't keep time."""

from hemiola import algorithms
from hemiola._core import Collective, Schedule, Topology
from hemiola.conditions import Conditions
from hemiola.simulate import Timeline, simulate

__all__ = ["Collective", "Conditions", "Schedule", "Timeline", "Topology", "algorithms", "simulate"]
