# SPDX-License-Identifier: Apache-2.0
"""TACCL's synthesis [shah2023] without its sketches: routes from an integer program, then an order by heuristics.

The program counts each link's total load but not when it is loaded, which is TACCL's relaxation; the order on the
links is then found greedily."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from hemiola._core import Topology
from hemiola.arguments import typed
from hemiola.arguments.names import Kind
from hemiola.errors import ArgumentError, TimeoutError
from hemiola.synthesis.optimal.integer_program import Deadline, IntegerProgram, Outcome, OutOfTimeError
from hemiola.synthesis.optimal.network import RankLink, Send, Spreading, solve_collective

#: An answer this close to the best counts as the best, as in TACCL's own runs.
_GAP = 0.01


@typed
def taccl(
    topology: Topology,
    kind: Kind = "all_gather",
    chunks_per_rank: int = 1,
    *,
    nbytes: int = 2**30,
    extra_hops: int = 0,
    root: int = 0,
    time_limit_s: float = 60.0,
) -> Outcome:
    """Find routes that balance the load of the links, then an order for each link.

    Parameters
    ----------
    topology : Topology without switches; latencies and bandwidths may differ.
    kind : "all_gather", "reduce_scatter", "all_reduce", "broadcast" or "reduce".
    chunks_per_rank : int >= 1, in all for a broadcast and a reduce.
    nbytes : int >= 0, bytes of one rank's buffer, for which latency and bandwidth are weighed.
    extra_hops : int >= 0, how much farther from its owner than by the fewest hops a chunk may arrive over a link. 0
        keeps to shortest paths, as TACCL does; more lets heavy links be avoided at the cost of a larger search.
    root : int, of a broadcast or a reduce.
    time_limit_s : float > 0, seconds for the whole search.

    Returns
    -------
    Outcome, in which `proved` concerns the routes.

    Raises
    ------
    ArgumentError
        The topology has switches or is not connected, the program would be too large, or an argument is out of range.
    TimeoutError
        No routes were found in time.

    Notes
    -----
    Exponential; some tens of ranks in minutes. Deterministic unless the time limit is reached. Source: [shah2023, §5.1
    (routing), §5.2 (ordering)]; no symmetry is imposed, and chunks are not merged afterwards [shah2023, §5.3].
    """
    if nbytes < 0:
        raise ArgumentError(f"taccl: expected a buffer of at least 0 bytes, found {nbytes}")
    if extra_hops < 0:
        raise ArgumentError(f"taccl: expected at least 0 extra hops, found {extra_hops}")
    deadline = Deadline(time_limit_s)
    proofs: list[bool] = []

    def solve(spreading: Spreading) -> list[Send]:
        times = _link_times(spreading, nbytes / len(spreading.owners))
        try:
            routes, proved = _routes(spreading, times, extra_hops, deadline)
        except OutOfTimeError:
            raise TimeoutError(
                f"taccl: found no routes for '{topology.name}' within {time_limit_s:g} s; allow more time, or "
                f"use hemiola.synthesize"
            ) from None
        proofs.append(proved)
        return _ordered(spreading, times, routes)

    schedule = solve_collective(topology, kind, chunks_per_rank, root, solve)
    return Outcome(schedule, all(proofs), deadline.elapsed_s)


@dataclass(frozen=True)
class _LinkTime:
    """How long a chunk keeps a link, and when it has arrived; in units of the longest arrival."""

    busy: float
    arrival: float


def _link_times(spreading: Spreading, chunk_bytes: float) -> list[_LinkTime]:
    def busy(link: RankLink) -> float:
        return (link.message_s + chunk_bytes / link.bandwidth) / link.count

    def arrival(link: RankLink) -> float:
        return link.latency_s + link.message_s + chunk_bytes / link.bandwidth

    unit = max(map(arrival, spreading.links), default=0.0) or 1.0
    return [_LinkTime(busy(link) / unit, arrival(link) / unit) for link in spreading.links]


def _routes(
    spreading: Spreading, times: list[_LinkTime], extra_hops: int, deadline: Deadline
) -> tuple[list[list[int]], bool]:
    """Return for each chunk the links of its tree, and whether they are the best."""
    program = IntegerProgram()
    (end,) = program.reals(1)
    used = [
        _add_tree(program, spreading, times, owner, extra_hops=extra_hops, end=end)
        for owner in spreading.owners
    ]
    for i, time in enumerate(times):
        load = [(tree[i], -time.busy) for tree in used if i in tree]
        program.require([(end, 1.0), *load], low=0)
    program.minimize([(end, 1.0)])
    answer = program.solve(deadline, gap=_GAP)
    assert answer is not None, "a connected topology has routes"
    return [
        [i for i, variable in tree.items() if answer.values[variable] > 0.5] for tree in used
    ], answer.proved


def _add_tree(
    program: IntegerProgram,
    spreading: Spreading,
    times: list[_LinkTime],
    owner: int,
    *,
    extra_hops: int,
    end: int,
) -> dict[int, int]:
    """Let a chunk reach every rank over exactly one link, after its source; return a variable for each allowed link."""
    hops = spreading.distances(owner)
    allowed = [
        i
        for i, link in enumerate(spreading.links)
        if link.dst != owner and hops[link.src] + 1 <= hops[link.dst] + extra_hops
    ]
    longest = max(hops) if extra_hops == 0 else spreading.rank_count - 1
    latest = longest * max((times[i].arrival for i in allowed), default=0.0)
    used = dict(zip(allowed, program.binaries(len(allowed)), strict=True))
    arrived = program.reals(spreading.rank_count, high=latest)
    program.fix(arrived[owner], 0)
    for rank in range(spreading.rank_count):
        if rank != owner:
            program.require([(used[i], 1.0) for i in spreading.into(rank) if i in used], low=1, high=1)
            program.require([(end, 1.0), (arrived[rank], -1.0)], low=0)
    for i in allowed:
        link, arrival = spreading.links[i], times[i].arrival
        slack = latest + arrival  # makes the row empty where the link is not used
        after = [(arrived[link.dst], 1.0), (arrived[link.src], -1.0)]
        program.require([*after, (used[i], -slack)], low=arrival - slack)
    return used


def _ordered(spreading: Spreading, times: list[_LinkTime], routes: list[list[int]]) -> list[Send]:
    """Start each send as early as its chunk and link allow; of several, the one with the longest way to go first."""
    leaving: dict[tuple[int, int], list[int]] = {}
    for chunk, route in enumerate(routes):
        for i in route:
            leaving.setdefault((chunk, spreading.links[i].src), []).append(i)

    def way_to_go(chunk: int, link: int) -> float:
        onward = leaving.get((chunk, spreading.links[link].dst), [])
        return times[link].arrival + max((way_to_go(chunk, i) for i in onward), default=0.0)

    free = [0.0] * len(times)
    starts: list[tuple[float, int, int]] = []
    # Sends whose chunk is there: (when it came, less urgent later, chunk, link).
    ready: list[tuple[float, float, int, int]] = []

    def release(chunk: int, rank: int, now: float) -> None:
        for i in leaving.get((chunk, rank), []):
            heapq.heappush(ready, (now, -way_to_go(chunk, i), chunk, i))

    for chunk, owner in enumerate(spreading.owners):
        release(chunk, owner, 0.0)
    while ready:
        came, urgency, chunk, i = heapq.heappop(ready)
        if free[i] > came:  # wait with the others for the link
            heapq.heappush(ready, (free[i], urgency, chunk, i))
            continue
        starts.append((came, chunk, i))
        free[i] = came + times[i].busy
        release(chunk, spreading.links[i].dst, came + times[i].arrival)
    moments = {start: step for step, start in enumerate(sorted({start for start, _, _ in starts}))}
    return [
        (moments[start], spreading.links[i].src, spreading.links[i].dst, chunk) for start, chunk, i in starts
    ]
