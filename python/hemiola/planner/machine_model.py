"""What a collective takes on a machine that runs the engine itself: its ranks share cores, messages cost them time, and
memory is read by several at once (docs/design/0024)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, Topology


def memory_network(rank_count: int, bandwidth: float) -> Topology:
    """Return the memory that ranks of one machine share, as a network: whoever receives copies, at this many bytes per
    second, and any number of ranks copies from one at once.

    Latencies are 0: what a message takes beside its bytes is the engine's (`EngineCosts`), so bounds on this network
    are those of copying alone.
    """
    to_all = bandwidth * rank_count
    links = [
        link
        for rank in range(rank_count)
        for link in ((rank, rank_count, 0.0, to_all, 0.0), (rank_count, rank, 0.0, bandwidth, 0.0))
    ]
    return Topology(rank_count, links, switch_count=1, name=f"memory of {rank_count} ranks")


@dataclass(frozen=True)
class Footprint:
    """What a schedule asks of the engine: how many steps it has, and how many messages the rank with most sends and
    receives; as shares of the buffer, by rank, what it receives and what of that it combines."""

    steps: int
    messages: int
    received: NDArray[np.float64]
    combined: NDArray[np.float64]

    @classmethod
    def of(cls, schedule: Schedule) -> Footprint:
        """Count."""
        transfers = np.asarray(schedule.transfers)
        weights = np.asarray(schedule.chunk_weights, np.float64)
        share = weights[transfers["chunk"]] / weights.sum()
        count = schedule.rank_count
        ends = np.concatenate([transfers["src"], transfers["dst"]])
        return cls(
            schedule.step_count,
            int(np.bincount(ends, minlength=count).max()),
            np.bincount(transfers["dst"], share, minlength=count).astype(np.float64),
            np.bincount(transfers["dst"], share * transfers["reduce"], minlength=count).astype(np.float64),
        )


@dataclass(frozen=True)
class EngineCosts:
    """What the engine costs where it runs.

    Parameters
    ----------
    core_count : int, cores that all ranks share.
    call_s, step_s, message_s : float, seconds of a call, of every step (a rank is woken for it), and of every message
        of the rank that has most.
    copy_bandwidth, combine_bandwidth : float, bytes per second at which one core copies, and adds.
    """

    core_count: int
    call_s: float
    step_s: float
    message_s: float
    copy_bandwidth: float
    combine_bandwidth: float

    def seconds(self, footprint: Footprint, nbytes: int, network_s: float) -> float:
        """Return what a schedule takes whose bytes take so long on the network alone.

        Copies and additions are made while bytes travel, so the longest of three counts: the network; the rank that has
        most to copy and to add; all ranks' work, where they are more than cores. Calls, steps and messages come on top.
        """
        work_s = nbytes * (
            footprint.received / self.copy_bandwidth + footprint.combined / self.combine_bandwidth
        )
        longest_s = max(network_s, float(work_s.max()), float(work_s.sum()) / self.core_count)
        return self.call_s + self.step_s * footprint.steps + self.message_s * footprint.messages + longest_s


def small_costs(footprints: Sequence[Footprint], taken_s: Sequence[float]) -> tuple[float, float, float]:
    """Find what a call, a step and a message cost, where schedules that move next to nothing took so long.

    Parameters
    ----------
    footprints : of the schedules.
    taken_s : seconds > 0, of each.

    Returns
    -------
    Three times in seconds, none below 0. What counts is by what share a measurement is missed; where several answers
    fit equally well, as for two ranks, whose schedules are all alike, the smallest one.
    """
    counts = np.array([(1.0, each.steps, each.messages) for each in footprints])
    shares = counts / np.asarray(taken_s)[:, None]
    kept = [0, 1, 2]
    # The last that is kept is above 0, as all counts are.
    while (found := np.linalg.lstsq(shares[:, kept], np.ones(len(shares)), rcond=None)[0]).min() < 0:
        del kept[int(found.argmin())]
    costs = np.zeros(3)
    costs[kept] = found
    call_s, step_s, message_s = costs.tolist()
    return call_s, step_s, message_s
