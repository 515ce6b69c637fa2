# SPDX-License-Identifier: Apache-2.0
"""Measuring the network of a running job."""

from __future__ import annotations

from hemiola._core import Topology
from hemiola.arguments import typed
from hemiola.calibration import THOROUGH, measured_network
from hemiola.communicator.communicator import Communicator
from hemiola.progress import ProgressBar


@typed
def calibrate(comm: Communicator) -> Topology:
    """Measure the links between the ranks of a communicator; all of them call this, and nobody else uses the network.

    Parameters
    ----------
    comm : Communicator.

    Returns
    -------
    Topology, the same on all ranks: latency, bandwidth and cost of a message inside nodes and between them, and which
    ranks share a NIC. `Topology.save` writes a file for `init(topology=…)`, the planner and the simulator.

    Raises
    ------
    LostRankError, TimeoutError
        naming the rank that died or did not call this.

    Notes
    -----
    Takes some seconds. Every measurement has all nodes at work at once, as collectives have. A NIC counts as fast as it
    is both ways at the same time; rates that differ by less than 8 %, inside nodes by less than half, are one rate,
    their mean. Between nodes there is one switch, and one latency: how nodes are cabled beyond it is not looked at. Two
    nodes alone do not show which of their NICs is the slower one, so both count as slower.
    """
    with ProgressBar("calibrating", quiet=comm.rank != 0) as bar:
        return measured_network(comm._core, comm._hosts(), comm._core_among, THOROUGH, bar)
