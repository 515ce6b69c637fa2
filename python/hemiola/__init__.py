"""Hemiola: collective communication for clusters that don't keep time."""

from hemiola import algorithms
from hemiola._core import Collective, Schedule, Topology
from hemiola.conditions import Conditions

__all__ = ["Collective", "Conditions", "Schedule", "Topology", "algorithms"]
