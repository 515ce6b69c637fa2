# SPDX-License-Identifier: Apache-2.0
"""Many predictions in one table: topologies × collectives × sizes × algorithms × conditions."""

from hemiola.sweep.sweeping import sweep
from hemiola.sweep.table import Row, StepRow, Sweep

__all__ = ["Row", "StepRow", "Sweep", "sweep"]
