# SPDX-License-Identifier: Apache-2.0
"""Which schedule to run for a collective on a topology, and why.

`plan` asks the `sources` for schedules that could run a task. It simulates the best ones in a `race` and answers with a
`Plan`. `communicator_plans` answers a communicator."""

from hemiola.planner.outcome import Alternative, LeftOut, Plan
from hemiola.planner.planning import plan

__all__ = ["Alternative", "LeftOut", "Plan", "plan"]
