# SPDX-License-Identifier: Apache-2.0
"""A schedule for any topology, found by matching chunks to links; how is in
docs/decisions/0005-synthesis.md."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from hemiola._core import Collective, Schedule, Topology
from hemiola._core import Synthesis as CoreSynthesis
from hemiola._core import synthesize as synthesize_in_core
from hemiola._core import synthesize_to_file as synthesize_to_file_in_core
from hemiola.arguments import typed
from hemiola.arguments.names import Kind
from hemiola.errors import ArgumentError, TimeoutError
from hemiola.machine.capacity import allowed_cores
from hemiola.progress import ProgressBar
from hemiola.synthesis.limits import Report, TimeUp, check_memory, within
from hemiola.synthesis.result import DEFAULT_NBYTES, Synthesis


@typed
def synthesize(
    topology: Topology,
    kind: Kind | Collective,
    chunks_per_rank: int = 1,
    seed: int = 0,
    *,
    root: int = 0,
    nbytes: int = DEFAULT_NBYTES,
    latency: str = "pipelined",
    trials: int | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int, int], None] = True,
    time_limit_s: float | None = None,
    memory_limit: int | None = None,
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
    seed : int in 0 … 2^64-1, decides between equally good links. On tori and others that look alike from every
        rank there is often nothing to decide.
    root : int, the root of a broadcast, reduce, gather or scatter.
    nbytes : int >= 0, one rank's buffer in bytes, for which latency and bandwidth are weighed. The schedule is right
        for every size.
    latency : "pipelined", a link is free as soon as a chunk is serialized and the chunk is there one
        latency later (real networks, and `hemiola.simulate`); or "occupies", the link stays taken for the
        latency too (the model of [TACOS]).
    trials : int >= 1, searches with different seeds, of which the fastest schedule is kept; by default as
        many as take a tenth of a second to two, and at least one. Fewer where one meets the bound: nothing is
        left to find.
    threads : int >= 1, threads to search on; by default the processors this process may use.
    progress : True shows a bar with the time left on a terminal once a second has passed; a function is
        called with (sends decided, sends to decide) about every 50 ms; False does neither.
    time_limit_s : float > 0, seconds after which the best schedule so far is returned.
    memory_limit : int > 0, bytes that search and schedule may take; by default the memory that this process may still
        use.

    Returns
    -------
    Schedule, right for any buffer. Its steps are the order in which each link is used.

    Raises
    ------
    ArgumentError
        Fewer than two ranks, a rank that cannot be reached (both sides are named), a schedule that does not fit
        in memory (before the search begins), or another argument out of range.
    TimeoutError
        The time limit came before any search was complete.
    KeyboardInterrupt
        Ctrl-C before any search was complete; after that Ctrl-C returns the best so far.

    Notes
    -----
    Deterministic: equal arguments give equal schedules, for any number of threads. The time per trial grows about as
    the number of transfers. Source: [TACOS, §IV]; deviations are listed in docs/decisions/0005-synthesis.md.
    """
    collective = _collective(kind, topology.rank_count, chunks_per_rank, root)
    check_memory(collective, memory_limit)
    return _search(
        topology, collective, seed, nbytes, latency, trials, threads, progress, time_limit_s, timed=False
    ).schedule


@typed
def search(
    topology: Topology,
    kind: Kind | Collective,
    chunks_per_rank: int = 1,
    seed: int = 0,
    *,
    root: int = 0,
    nbytes: int = DEFAULT_NBYTES,
    latency: str = "pipelined",
    trials: int | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int, int], None] = True,
    time_limit_s: float | None = None,
    memory_limit: int | None = None,
) -> Synthesis:
    """Do the work of `synthesize`, and return how good the schedule is.

    Parameters, exceptions and notes are those of `synthesize`.

    Returns
    -------
    Synthesis
    """
    collective = _collective(kind, topology.rank_count, chunks_per_rank, root)
    check_memory(collective, memory_limit)
    found = _search(
        topology, collective, seed, nbytes, latency, trials, threads, progress, time_limit_s, timed=True
    )
    return Synthesis(found.schedule, found.seconds, found.bound_s, found.trials, found.stopped)


def _search(
    topology: Topology,
    collective: Collective,
    seed: int,
    nbytes: int,
    latency: str,
    trials: int | None,
    threads: int | None,
    progress: bool | Callable[[int, int], None],
    time_limit_s: float | None,
    *,
    timed: bool,
) -> CoreSynthesis:
    with ProgressBar("synthesizing") as bar:
        try:
            return synthesize_in_core(
                topology,
                collective,
                nbytes=nbytes,
                latency=latency,
                seed=_checked_seed(seed),
                trials=_checked_trials(trials),
                threads=_thread_count(threads),
                timed=timed,
                progress=within(time_limit_s, _reporter(progress, bar)),
            )
        except TimeUp:
            raise TimeoutError(
                f"synthesize: no search was complete within {time_limit_s:g} s; give it more time, or take fewer "
                f"than {collective.chunk_count} chunks"
            ) from None


@dataclass(frozen=True)
class StreamedSynthesis:
    """The result of `synthesize_to_file`.

    Attributes
    ----------
    transfer_count, step_count : int, of the schedule in the file.
    seconds_at_most : float, its duration if each step takes a chunk's full time, latency included.
    streamed : bool, whether it was written while it was found, or made in memory first.
    """

    transfer_count: int
    step_count: int
    seconds_at_most: float
    streamed: bool


@typed
def synthesize_to_file(
    topology: Topology,
    kind: Kind | Collective,
    path: str | os.PathLike[str],
    chunks_per_rank: int = 1,
    seed: int = 0,
    *,
    root: int = 0,
    nbytes: int = DEFAULT_NBYTES,
    latency: str = "pipelined",
    threads: int | None = None,
    progress: bool | Callable[[int, int], None] = True,
) -> StreamedSynthesis:
    """Do the work of `synthesize` for networks of tens of thousands of ranks, and write the schedule to a file.

    An all_gather over links that are all alike is written while it is found: one search, which the threads
    share. Everything else is made in memory first. Parameters, exceptions and notes are those of `synthesize`,
    and:

    Parameters
    ----------
    path : the file to write, in the binary form. `hemiola.verify` and `hemiola.Schedule.load` read it.

    Returns
    -------
    StreamedSynthesis

    Raises
    ------
    OSError
        The file cannot be written. Until the schedule is complete it has another name, with ``.part`` behind;
        where the search fails, nothing is left of it and a file that was there before stays as it was.

    Notes
    -----
    Memory of a streamed search: one bit per rank and chunk, and four bytes for each chunk that a rank has yet
    to pass on; where the network looks the same from every rank, one tree. About 2.5 bytes a transfer on disk.
    """
    target = os.fspath(path)
    unfinished = f"{target}.part"
    collective = _collective(kind, topology.rank_count, chunks_per_rank, root)
    try:
        with ProgressBar("synthesizing") as bar:
            made = synthesize_to_file_in_core(
                topology,
                collective,
                unfinished,
                nbytes=nbytes,
                latency=latency,
                seed=_checked_seed(seed),
                trials=0,
                threads=_thread_count(threads),
                progress=_reporter(progress, bar),
            )
        os.replace(unfinished, target)
    finally:
        if os.path.isfile(unfinished):
            os.remove(unfinished)
    return StreamedSynthesis(made.transfer_count, made.step_count, made.seconds_at_most, made.streamed)


def _checked_seed(seed: int) -> int:
    if not 0 <= seed < 2**64:
        raise ArgumentError(f"synthesize: expected a seed in 0 … 2^64-1, found {seed}")
    return seed


def _checked_trials(trials: int | None) -> int:
    """The core's number: 0 lets it choose."""
    if trials is not None and trials < 1:
        raise ArgumentError(f"synthesize: expected at least 1 trial, found {trials}")
    return trials or 0


def _reporter(progress: bool | Callable[[int, int], None], bar: ProgressBar) -> Report | None:
    """Return what the search tells how far it is: the bar, the caller's function, or nothing."""
    if isinstance(progress, bool):
        return bar if progress else None
    return progress


def _thread_count(threads: int | None) -> int:
    return len(allowed_cores()) if threads is None else threads


def _collective(kind: Kind | Collective, rank_count: int, chunks_per_rank: int, root: int) -> Collective:
    if isinstance(kind, Collective):
        return kind
    if chunks_per_rank < 1:
        raise ArgumentError(f"synthesize: expected at least 1 chunk per rank, found {chunks_per_rank}")
    shares = {"broadcast": 1, "reduce": 1, "all_to_all": rank_count**2}.get(kind, rank_count)
    return Collective.make(kind, rank_count, shares * chunks_per_rank, root=root)
