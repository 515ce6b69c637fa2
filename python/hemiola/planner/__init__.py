"""Which schedule to run for a collective on a topology, and why.

`plan` lists what could run a task (the algorithms' candidates, and what is `synthesized`), simulates the best of it and
answers with a `Plan`. What a communicator asks is in `communicator_plans`."""

from hemiola.planner.outcome import Alternative, LeftOut, Plan
from hemiola.planner.planning import plan

__all__ = ["Alternative", "LeftOut", "Plan", "plan"]
