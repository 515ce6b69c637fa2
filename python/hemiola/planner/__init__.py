"""Which schedule to run for a collective on a topology, and why.

`plan` lists schedules that could run a task: the algorithms' candidates, and those that are `synthesized`. It simulates
the best ones and answers with a `Plan`. `communicator_plans` answers a communicator."""

from hemiola.planner.outcome import Alternative, LeftOut, Plan
from hemiola.planner.planning import plan

__all__ = ["Alternative", "LeftOut", "Plan", "plan"]
