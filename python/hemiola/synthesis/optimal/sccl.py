# SPDX-License-Identifier: Apache-2.0
"""SCCL's synthesis [cai2021]: the fewest rounds of a k-synchronous schedule with a given number of steps.

SCCL asks an SMT solver; this asks HiGHS the same question as an integer program on the network expanded in time."""

from __future__ import annotations

from hemiola._core import Topology
from hemiola.arguments import typed
from hemiola.arguments.names import Kind
from hemiola.errors import ArgumentError, TimeoutError
from hemiola.synthesis.optimal.integer_program import Deadline, IntegerProgram, Outcome, OutOfTimeError
from hemiola.synthesis.optimal.network import Send, Spreading, solve_collective


@typed
def sccl(
    topology: Topology,
    kind: Kind = "all_gather",
    chunks_per_rank: int = 1,
    *,
    extra_steps: int | None = None,
    root: int = 0,
    time_limit_s: float = 60.0,
) -> Outcome:
    """Find a schedule of the fewest rounds: in a round every link carries at most one chunk.

    A step has one or more rounds, and chunks that arrive in a step can be sent on in the next. Links count as alike.

    Parameters
    ----------
    topology : Topology without switches.
    kind : "all_gather", "reduce_scatter", "all_reduce", "broadcast" or "reduce".
    chunks_per_rank : int >= 1, in all for a broadcast and a reduce.
    extra_steps : int >= 0, steps beyond the topology's diameter. 0 is the latency-optimal end of SCCL's Pareto
        front. None searches for the bandwidth-optimal end: steps of one round each, as few as possible.
    root : int, of a broadcast or a reduce.
    time_limit_s : float > 0, seconds for the whole search.

    Returns
    -------
    Outcome

    Raises
    ------
    ArgumentError
        The topology has switches or is not connected, the program would be too large, or an argument is out of range.
    TimeoutError
        No schedule was found in time.

    Notes
    -----
    Exponential; some ten ranks in a minute. Deterministic unless the time limit is reached. Source: [cai2021, §3.2];
    SCCL's symmetries are not used.
    """
    if extra_steps is not None and extra_steps < 0:
        raise ArgumentError(f"sccl: expected at least 0 extra steps, found {extra_steps}")
    deadline = Deadline(time_limit_s)
    proofs: list[bool] = []

    def solve(spreading: Spreading) -> list[Send]:
        try:
            sends, proved = _fewest_rounds(spreading, extra_steps, deadline)
        except OutOfTimeError:
            raise TimeoutError(
                f"sccl: found no schedule of '{topology.name}' within {time_limit_s:g} s; allow more time, or "
                f"use hemiola.synthesize"
            ) from None
        proofs.append(proved)
        return sends

    schedule = solve_collective(topology, kind, chunks_per_rank, root, solve)
    return Outcome(schedule, all(proofs), deadline.elapsed_s)


def _fewest_rounds(
    spreading: Spreading, extra_steps: int | None, deadline: Deadline
) -> tuple[list[Send], bool]:
    distances = [spreading.distances(owner) for owner in spreading.owners]
    diameter = max(max(row) for row in distances)
    if extra_steps is not None:
        found = _Expansion(spreading, distances, diameter + extra_steps, one_round=False).solve(deadline)
        assert found is not None, "a step of many rounds carries everything"
        return found
    steps = max(diameter, _steps_by_in_degree(spreading))
    while True:
        found = _Expansion(spreading, distances, steps, one_round=True).solve(deadline)
        if found is not None:
            return found
        steps += 1


def _steps_by_in_degree(spreading: Spreading) -> int:
    """Return how many rounds the rank with the fewest links in needs to receive what it lacks."""
    rounds = 0
    for rank in range(spreading.rank_count):
        wanted = sum(owner != rank for owner in spreading.owners)
        ports = sum(spreading.links[i].count for i in spreading.into(rank))
        rounds = max(rounds, -(-wanted // ports) if wanted else 0)
    return rounds


class _Expansion:
    """The network copied once per step; a variable says whether a link carries a chunk in a step."""

    def __init__(
        self, spreading: Spreading, distances: list[list[int]], steps: int, *, one_round: bool
    ) -> None:
        self._spreading = spreading
        self._distances = distances
        self._steps = steps
        self._program = IntegerProgram()
        chunks, links = len(spreading.owners), len(spreading.links)
        self._sent = self._program.binaries(links * chunks * steps)
        self._carry_only_what_is_held()
        self._receive_once()
        self._limit_rounds(one_round)

    def _sends(self, link: int, chunk: int, step: int) -> int:
        return self._sent[(link * len(self._spreading.owners) + chunk) * self._steps + step]

    def _carry_only_what_is_held(self) -> None:
        """Hold at step t: received before t. Fix to 0 what could not be there yet, or is at home."""
        arrivals = [self._spreading.into(rank) for rank in range(self._spreading.rank_count)]
        for index, link in enumerate(self._spreading.links):
            for chunk, owner in enumerate(self._spreading.owners):
                for step in range(self._steps):
                    sent = self._sends(index, chunk, step)
                    if link.dst == owner or step < self._distances[chunk][link.src]:
                        self._program.fix(sent, 0)
                    elif link.src != owner:
                        held = [
                            (self._sends(i, chunk, t), -1.0) for i in arrivals[link.src] for t in range(step)
                        ]
                        self._program.require([(sent, 1.0), *held], high=0)

    def _receive_once(self) -> None:
        for chunk, owner in enumerate(self._spreading.owners):
            for rank in range(self._spreading.rank_count):
                if rank != owner:
                    arrivals = [
                        (self._sends(i, chunk, step), 1.0)
                        for i in self._spreading.into(rank)
                        for step in range(self._steps)
                    ]
                    self._program.require(arrivals, low=1, high=1)

    def _limit_rounds(self, one_round: bool) -> None:
        chunks = len(self._spreading.owners)
        rounds = self._program.integers(self._steps, high=chunks)
        if one_round:
            for variable in rounds:
                self._program.fix(variable, 1)
        else:
            self._program.minimize((variable, 1.0) for variable in rounds)
        for index, link in enumerate(self._spreading.links):
            for step in range(self._steps):
                load = [(self._sends(index, chunk, step), 1.0) for chunk in range(chunks)]
                self._program.require([*load, (rounds[step], -float(link.count))], high=0)

    def solve(self, deadline: Deadline) -> tuple[list[Send], bool] | None:
        answer = self._program.solve(deadline)
        if answer is None:
            return None
        sends = [
            (step, link.src, link.dst, chunk)
            for index, link in enumerate(self._spreading.links)
            for chunk in range(len(self._spreading.owners))
            for step in range(self._steps)
            if answer.values[self._sends(index, chunk, step)] > 0.5
        ]
        return sends, answer.proved
