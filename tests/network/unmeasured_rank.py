# SPDX-License-Identifier: Apache-2.0
"""One rank of `hemiola calibrate` that says which measurements were asked for, and makes none."""

from __future__ import annotations

import sys
from typing import Any
from unittest import mock

import numpy as np

from hemiola import topologies
from hemiola.calibration import BRIEF, Figures
from hemiola.cli import main
from hemiola.communicator import calibrate
from hemiola.planner import communicator_plans


def asked(core: Any, nodes: Any, grouping: Any, effort: Any, *progress: Any) -> Any:
    """Stand in for the measurement."""
    print("briefly" if effort is BRIEF else "at length", flush=True)
    return topologies.switch(core.rank_count, latency_s=1e-6, bandwidth=1e9)


def figures(core: Any, nodes: Any, grouping: Any, effort: Any) -> Figures:
    """Do the same where figures are wanted."""
    asked(core, nodes, grouping, effort)
    count = core.rank_count
    ports = np.full(count, 1e9)
    return Figures(1e-6, 0.0, ports, 1e-6, 0.0, 0.0, np.zeros(count, np.int64), ports)


if __name__ == "__main__":
    with (
        mock.patch.object(communicator_plans, "measured_figures", figures),
        mock.patch.object(sys.modules[calibrate.__module__], "measured_network", asked),
    ):
        sys.exit(main(["calibrate"]))
