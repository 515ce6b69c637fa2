"""A schedule for any topology, found by matching chunks to links; how is in
docs/design/0005-synthesis.md."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from hemiola import _core
from hemiola._core import Collective, Schedule, Topology
from hemiola.errors import ArgumentError
from hemiola.progress import ProgressBar

#: The buffer that a schedule is made for where the caller names none: it only matters how latencies and
#: bandwidths of the links compare.
DEFAULT_NBYTES = 2**30


@dataclass(frozen=True)
class Synthesis:
    """What a search for a schedule found.

    Attributes
    ----------
    schedule : Schedule.
    seconds : float, its duration in the model that the search used: the stated model of latency, the size
        of the largest chunk for all of them. For latency="pipelined" and chunks of one size,
        `hemiola.simulate(..., network="fifo")` gives the same time, or less for an all_reduce, whose
        second half starts where the first has ended before all of it has.
    bound_s : float, what no schedule with these chunks can beat: the incoming links of the slowest rank.
    trials : int, the number of searches that were complete.
    stopped : bool, whether Ctrl-C ended the search; the schedule is the best up to then.
    """

    schedule: Schedule
    seconds: float
    bound_s: float
    trials: int
    stopped: bool


def synthesize(
    topology: Topology,
    kind: str | Collective,
    chunks_per_rank: int = 1,
    seed: int = 0,
    *,
    root: int = 0,
    nbytes: int = DEFAULT_NBYTES,
    latency: str = "pipelined",
    trials: int | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int, int], None] = True,
) -> Schedule:
    """Make a schedule of a collective for exactly this topology.

    The network is expanded in time, and whenever a link is free it takes a chunk that its source holds
    and its destination needs. Reductions are spreadings on the reversed network, turned round; an
    all_reduce is a reduce_scatter and then an all_gather.

    Parameters
    ----------
    topology : Topology of at least two ranks.
    kind : str, the name of a collective, or a Collective of the topology's rank count.
    chunks_per_rank : int >= 1, pieces that each rank's share is cut into: more of them spread better and
        cost more latency. A broadcast and a reduce have this many chunks in all, an all_to_all this many
        for each pair of ranks. Ignored where `kind` is a Collective, which has its own chunks.
    seed : int in 0 … 2^64-1, decides between equally good links.
    root : int, the root of a broadcast, reduce, gather or scatter.
    nbytes : int >= 0, one rank's buffer in bytes: what latency and bandwidth are weighed for. The
        schedule is right for every size.
    latency : "pipelined", a link is free as soon as a chunk is serialized and the chunk is there one
        latency later (real networks, and `hemiola.simulate`); or "occupies", the link stays taken for the
        latency too (the model of [TACOS]).
    trials : int >= 1, searches with different seeds, of which the fastest schedule is kept; by default as
        many as take about a tenth of a second.
    threads : int >= 1, threads to search on; by default the processors this process may use.
    progress : True shows a bar with the time left on a terminal once a second has passed; a function is
        called with (sends decided, sends to decide) about every 50 ms; False does neither.

    Returns
    -------
    Schedule, right for any buffer. Its steps are the order in which each link is used.

    Raises
    ------
    ArgumentError
        Fewer than two ranks, a rank that cannot be reached (both sides are named), or another argument
    out of range. KeyboardInterrupt
        Ctrl-C before any search was complete; after that Ctrl-C returns the best so far.

    Notes
    -----
    Deterministic: equal arguments give equal schedules, whatever the number of threads. The time per
    trial grows about as the number of transfers. Source: [TACOS, §IV]; deviations are listed in
    docs/design/0005-synthesis.md.
    """
    return search(
        topology,
        kind,
        chunks_per_rank,
        seed,
        root=root,
        nbytes=nbytes,
        latency=latency,
        trials=trials,
        threads=threads,
        progress=progress,
    ).schedule


def search(
    topology: Topology,
    kind: str | Collective,
    chunks_per_rank: int = 1,
    seed: int = 0,
    *,
    root: int = 0,
    nbytes: int = DEFAULT_NBYTES,
    latency: str = "pipelined",
    trials: int | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int, int], None] = True,
) -> Synthesis:
    """Do what `synthesize` does, and say how good the schedule is.

    Parameters, exceptions and notes are those of `synthesize`.

    Returns
    -------
    Synthesis
    """
    if not 0 <= seed < 2**64:
        raise ArgumentError(f"synthesize: expected a seed in 0 … 2^64-1, found {seed}")
    if trials is not None and trials < 1:
        raise ArgumentError(f"synthesize: expected at least 1 trial, found {trials}")
    collective = (
        kind
        if isinstance(kind, Collective)
        else _collective(kind, topology.rank_count, chunks_per_rank, root)
    )
    with ProgressBar("synthesizing") as bar:
        found = _core.synthesize(
            topology,
            collective,
            nbytes=nbytes,
            latency=latency,
            seed=seed,
            trials=trials or 0,
            threads=threads if threads is not None else len(os.sched_getaffinity(0)),
            progress=(bar if progress else None) if isinstance(progress, bool) else progress,
        )
    return Synthesis(found.schedule, found.seconds, found.bound_s, found.trials, found.stopped)


def _collective(kind: str, rank_count: int, chunks_per_rank: int, root: int) -> Collective:
    if chunks_per_rank < 1:
        raise ArgumentError(f"synthesize: expected at least 1 chunk per rank, found {chunks_per_rank}")
    shares = {"broadcast": 1, "reduce": 1, "all_to_all": rank_count**2}.get(kind, rank_count)
    return Collective.make(kind, rank_count, shares * chunks_per_rank, root=root)
