# SPDX-License-Identifier: Apache-2.0
"""Measures the links between the ranks of a running job as a topology: latency, bandwidth and the cost of a message
inside nodes and between them, and which ranks share a NIC.

Ranks measure together, in rounds in which every port works at once (`rounds`): messages in a chain, each waiting for
the one before, and streams (`traffic`, `streams`), timed by all ranks (`stopwatch`). Arithmetic derives costs from the
times (`fitting`), and a topology is made of them (`network`)."""

from hemiola.calibration.effort import BRIEF, THOROUGH, Effort
from hemiola.calibration.measuring import measured_figures, measured_network
from hemiola.calibration.network import Figures, network_of
from hemiola.calibration.rounds import Nodes
from hemiola.calibration.stopwatch import Grouping

__all__ = [
    "BRIEF",
    "THOROUGH",
    "Effort",
    "Figures",
    "Grouping",
    "Nodes",
    "measured_figures",
    "measured_network",
    "network_of",
]
