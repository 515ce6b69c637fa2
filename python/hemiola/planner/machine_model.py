# SPDX-License-Identifier: Apache-2.0
"""The time of a collective on a machine that runs the engine itself: its ranks share cores, messages cost them time,
and several ranks read memory at once (docs/decisions/0024)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, Topology
from hemiola.planner.distinct import distinct_messages


def memory_network(rank_count: int, bandwidth: float) -> Topology:
    """Return the memory that ranks of one machine share, as a network. The receiver copies, at this many bytes per
    second, and any number of ranks copies from one at once.

    Latencies are 0: a message's time beside its bytes is the engine's (`EngineCosts`), so bounds on this network are
    those of copying alone.
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
    """A schedule's load on the engine. `hops`: the most ranks that a chunk goes through, one after the other.
    `messages`: sends and receives of the rank with most; `all_messages`: those sent by all ranks. `moved`, by rank, as
    a share of the buffer: received bytes, and its own part where that goes from its input to its output. `combined`:
    the share of these that it combines. `kept`: such own parts of all ranks together. `spread`: all ranks' moved bytes
    of a buffer that all come to have from one rank."""

    hops: int
    messages: int
    moved: NDArray[np.float64]
    combined: NDArray[np.float64]
    all_messages: int = 0
    kept: float = 0.0
    spread: float = 0.0

    @classmethod
    def of(cls, schedule: Schedule) -> Footprint:
        """Count."""
        transfers = np.asarray(schedule.transfers)
        weights = np.asarray(schedule.chunk_weights, np.float64)
        count = schedule.rank_count
        # Of an all-to-all every rank has a buffer of its own chunks; of all others the chunks are one buffer.
        buffers = count if schedule.collective.kind == "all_to_all" else 1
        share = buffers * weights[transfers["chunk"]] / weights.sum()
        messages = distinct_messages(schedule)
        own = _own(schedule)
        ends = np.concatenate([messages // count % count, messages % count])
        return cls(
            _hops(transfers, count, schedule.chunk_count),
            int(np.bincount(ends, minlength=count).max()),
            np.bincount(transfers["dst"], share, minlength=count) + own,
            np.bincount(transfers["dst"], share * transfers["reduce"], minlength=count).astype(np.float64),
            len(messages),
            float(own.sum()),
            float(share.sum()) if schedule.collective.kind == "broadcast" else 0.0,
        )


def _own(schedule: Schedule) -> NDArray[np.float64]:
    """Return what of the buffer each rank has itself and keeps, but in another array."""
    kind, count = schedule.collective.kind, schedule.rank_count
    own = np.zeros(count)
    if kind in ("gather", "scatter"):
        own[schedule.collective.root] = 1 / count
    elif kind in ("all_gather", "all_to_all"):
        own[:] = 1 / count
    return own


def _hops(transfers: NDArray[np.void], rank_count: int, chunk_count: int) -> int:
    """Return the most transfers of one chunk that wait for each other, each for what its sender gets by the one before.

    Those of other chunks come along: a rank that is woken for one takes what else is there.
    """
    reached = np.zeros((rank_count, chunk_count), np.int64)
    in_order = transfers[np.argsort(transfers["step"], kind="stable")]
    for now in np.split(in_order, np.flatnonzero(np.diff(in_order["step"])) + 1):
        after = reached[now["src"], now["chunk"]] + 1
        np.maximum.at(reached, (now["dst"], now["chunk"]), after)
    return int(reached.max(initial=0))


@dataclass(frozen=True)
class WorkRates:
    """Bytes per second of receiving with a copy, and of receiving with an addition."""

    copied: float
    combined: float


@dataclass(frozen=True)
class EngineCosts:
    """The engine's costs on this machine.

    Parameters
    ----------
    call_s, hop_s, message_s : float, seconds of a call, of every hop of a chunk (a rank is woken for it), and of every
        message of the rank that has most.
    alone, together : WorkRates, of a rank while the others wait for it, and of all ranks in sum while all work.
    spread : float, optional, bytes per second of all ranks in sum of one buffer that spreads from a root; by default as
        if each rank copied something else.
    """

    call_s: float
    hop_s: float
    message_s: float
    alone: WorkRates
    together: WorkRates
    spread: float | None = None

    def seconds(self, footprint: Footprint, nbytes: int, network_s: float) -> float:
        """Return the time of a schedule whose bytes take so long on the network alone.

        Copies and additions are made while bytes travel, so the longest of three counts. They are the network, before
        which ranks copy their kept parts; the rank that has most to copy and to add; and all ranks' work, which shares
        cores and memory. Calls, hops and messages come on top.
        """
        copied, combined = footprint.moved - footprint.combined, footprint.combined
        alone_s = copied / self.alone.copied + combined / self.alone.combined
        spread, others = footprint.spread, copied.sum() - footprint.spread
        copied_s = spread / (self.spread or self.together.copied) + others / self.together.copied
        together_s = copied_s + combined.sum() / self.together.combined
        kept_s = nbytes * footprint.kept / self.together.copied if network_s > 0 else 0.0
        longest_s = max(network_s + kept_s, nbytes * float(alone_s.max()), nbytes * float(together_s))
        return self.call_s + self.hop_s * footprint.hops + self.message_s * footprint.messages + longest_s


def small_costs(footprints: Sequence[Footprint], taken_s: Sequence[float]) -> tuple[float, float, float]:
    """Find the cost of a call, a hop and a message from the times of schedules that move next to nothing.

    Parameters
    ----------
    footprints : of the schedules.
    taken_s : seconds > 0, of each.

    Returns
    -------
    Three times in seconds, none below 0. The fit minimizes each measurement's error as a share of it; where several
    answers fit equally well, as for two ranks, whose schedules are all alike, the smallest one.
    """
    counts = np.array([(1.0, each.hops, each.messages) for each in footprints])
    shares = counts / np.asarray(taken_s)[:, None]
    kept = [0, 1, 2]
    # The last that is kept is above 0, as all counts are.
    while (found := np.linalg.lstsq(shares[:, kept], np.ones(len(shares)), rcond=None)[0]).min() < 0:
        del kept[int(found.argmin())]
    costs = np.zeros(3)
    costs[kept] = found
    call_s, hop_s, message_s = costs.tolist()
    return call_s, hop_s, message_s
