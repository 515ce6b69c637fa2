"""Hemiola: collective communication for clusters that don't keep time."""

from hemiola._core import Collective, Schedule, Topology, algorithms
from hemiola.conditions import Conditions

__all__ = ["Collective", "Conditions", "Schedule", "Topology", "algorithms"]
