"""How long a schedule takes over a topology, and where it is stuck: an event-driven simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola import _core
from hemiola.conditions import Conditions
from hemiola.progress import ProgressBar


@dataclass(frozen=True)
class Timeline:
    """What a simulation returns.

    Attributes
    ----------
    seconds : float, when the last rank is done.
    finish_s : float64 array, one per rank: when it has arrived, all it sends has left and all it receives
        has landed.
    link_busy_s : float64 array, one per link of the topology: the time its full bandwidth needs for its load.
    """

    seconds: float
    finish_s: NDArray[np.float64]
    link_busy_s: NDArray[np.float64]


def simulate(
    schedule: _core.Schedule,
    topology: _core.Topology,
    nbytes: int,
    conditions: Conditions | None = None,
    network: str = "fluid",
) -> Timeline:
    """Simulate a schedule's data dependencies over a topology.

    A transfer starts when the slot it reads is final for its step and its port's turn has come; it lands when
    the slot it writes has been read. Steps are no barriers. The schedule is taken to be right, which is for
    `hemiola.verify` to say.

    Parameters
    ----------
    schedule : Schedule for as many ranks as the topology has.
    topology : Topology that connects every two ranks that exchange a chunk.
    nbytes : int >= 0, one rank's buffer in bytes.
    conditions : Conditions, late and slow ranks; all arrive at once and run at full speed by default.
    network : "fluid", concurrent flows share links max-min fairly and a flow holds all links of its path at
        once; or "fifo", a link carries one message at a time, first come first served, and several hops are
        stored and forwarded.

    Returns
    -------
    Timeline

    Raises
    ------
    ArgumentError
        Rank counts differ, two ranks have no path, or another argument is out of range.

    Notes
    -----
    Deterministic; times are integer picoseconds inside. Cost: fifo O(1) per message and link; fluid O(1) per
    flow while each port carries one. Releases the GIL; Ctrl-C works; a progress bar appears on a terminal
    after a second. Model: docs/design/0002-simulation.md.
    """
    now = conditions or Conditions()
    with ProgressBar("simulating") as bar:
        run = _core.simulate(
            schedule,
            topology,
            nbytes,
            dict(now.late),
            dict(now.slow),
            network,
            keep_spans=False,
            progress=bar,
        )
    return Timeline(run.seconds, run.finish_s, run.link_busy_s)
