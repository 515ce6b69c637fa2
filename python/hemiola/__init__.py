"""Hemiola: collective communication for clusters that don't keep time."""

from hemiola._core import Collective, Schedule, Topology, algorithms

__all__ = ["Collective", "Schedule", "Topology", "algorithms"]
