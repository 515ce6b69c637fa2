"""Gathers what the ranks of a communicator have seen of its latest operations, and has one of them judge it for all."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import Session, Topology
from hemiola.communicator.fixed_work import fixed_work_s
from hemiola.communicator.processor_time import ProcessorTime
from hemiola.diagnosis import Diagnosis, Evidence, judge
from hemiola.diagnosis.network import paths_between, ways_of, without_relayed
from hemiola.diagnosis.prospect import Step
from hemiola.machine.capacity import core_count

#: How many of the latest operations are judged.
_OPERATIONS = 128
#: A step is as long as the median of so many stretches of operations.
_STRETCHES = 8
#: By what costs are judged where nothing was run that can be planned.
_DEFAULT_STEP = ("all_reduce", 1 << 20)


@dataclass(frozen=True)
class Seen:
    """What one rank knows and the others do not; `ways`: by peer, what messages to it and from it have reached."""

    work_s: float
    waited_s: float
    ran_s: float
    ways: tuple[tuple[float, float], ...]


class Observer:
    """Looks at one communicator.

    Parameters
    ----------
    session, members : whose ranks these are.
    core : the communicator in the core.
    timeout_s : float, how long to wait for the others.
    """

    def __init__(
        self, session: Session, members: Sequence[int], core: CoreCommunicator, timeout_s: float
    ) -> None:
        self._session, self._members, self._core, self._timeout_s = session, list(members), core, timeout_s
        # What has run so far is the measuring at start-up.
        self._first_operation = self._core.health().operation_count
        self._since = ProcessorTime.now(), self._first_operation

    def diagnose(self, network: Topology, hosts: Sequence[int]) -> Diagnosis:
        """Gather the evidence and judge it; all ranks call this. The first of them judges.

        Parameters
        ----------
        network : Topology, what collectives are planned for when all is well.
        hosts : the host of each rank.
        """
        came_ns, own_ns = np.moveaxis(self._arrivals_ns(), 2, 0)
        seen = [pickle.loads(one) for one in self._exchange(pickle.dumps(self._seen()))]
        verdict = b""
        if self._core.rank == 0:
            evidence = _evidence(seen, came_ns, own_ns, network, hosts)
            verdict = _verdict(evidence, Step(network, *self._main_collective()))
        found = pickle.loads(self._exchange(verdict)[0])
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Diagnosis)
        return found

    def _exchange(self, own: bytes) -> list[bytes]:
        """Return everybody's bytes. By the session, so that nothing of it shows among the operations."""
        in_session = sorted(self._members)
        told = self._session.exchange(in_session, "diagnosis", own, self._timeout_s)
        return [told[in_session.index(member)] for member in self._members]

    def _arrivals_ns(self) -> NDArray[np.int64]:
        """Return when ranks came, and their own time before; without the first operation, which has none."""
        rows = np.frombuffer(self._core.arrivals_ns(), np.int64).reshape(-1, len(self._members), 2)
        latest = rows[len(rows) - min(len(rows), self._latest_count()) :]
        return latest[(latest[:, :, 1] >= 0).all(axis=1)]

    def _latest_count(self) -> int:
        """Return how many of the latest operations are to be judged."""
        return min(_OPERATIONS, self._core.health().operation_count - self._first_operation)

    def _seen(self) -> Seen:
        """Return what this rank has seen since it looked last."""
        now, count = ProcessorTime.now(), self._core.health().operation_count
        used, steps = now - self._since[0], max(1, count - self._since[1])
        self._since = now, count
        return Seen(
            fixed_work_s(), used.waited_s / steps, used.ran_s / steps, tuple(self._core.pair_shares())
        )

    def _main_collective(self) -> tuple[str, int]:
        """Return the collective that has moved most bytes lately, as a plan wants it."""
        moved: Counter[tuple[str, int]] = Counter()
        operations = self._core.operations()
        for kind, nbytes in operations[len(operations) - min(len(operations), self._latest_count()) :]:
            if kind not in ("barrier", "custom"):
                moved[kind, nbytes] += nbytes
        (kind, nbytes), total = (moved.most_common(1) or [(_DEFAULT_STEP, 0)])[0]
        if total == 0:
            return _DEFAULT_STEP
        return kind, nbytes * len(self._members) if kind in ("all_gather", "gather") else nbytes


def _verdict(evidence: Evidence, step: Step) -> bytes:
    """Judge, and pickle what comes out, an error too: the others wait for it."""
    try:
        return pickle.dumps(judge(evidence, step))
    except Exception as error:
        return pickle.dumps(error)


def _evidence(
    seen: Sequence[Seen],
    came_ns: NDArray[np.int64],
    own_ns: NDArray[np.int64],
    network: Topology,
    hosts: Sequence[int],
) -> Evidence:
    """Put together what the ranks have seen."""
    share = _shares(seen)
    pairs = [(int(src), int(dst)) for src, dst in np.argwhere(np.isfinite(share))]
    way_of_pair = paths_between(network, pairs)
    share = without_relayed(network, share, way_of_pair)
    return Evidence(
        host_of=tuple(hosts),
        step_s=_step_s(came_ns),
        own_s=np.asarray(own_ns * 1e-9, np.float64),
        work_s=np.array([one.work_s for one in seen]),
        waited_s=np.array([one.waited_s for one in seen]),
        ran_s=np.array([one.ran_s for one in seen]),
        share=share,
        ways=ways_of(network, {pair: way_of_pair[pair] for pair in pairs if np.isfinite(share[pair])}),
        core_count=core_count(),
    )


def _shares(seen: Sequence[Seen]) -> NDArray[np.float64]:
    """Return by sender and receiver what their messages have reached; the end that did not wait saw more of it."""
    share = np.zeros((len(seen), len(seen)))
    for rank, one in enumerate(seen):
        for peer, (to, back) in enumerate(one.ways):
            share[rank, peer] = max(share[rank, peer], to)
            share[peer, rank] = max(share[peer, rank], back)
    return np.where(share > 0, share, np.nan)


def _step_s(came_ns: NDArray[np.int64]) -> float:
    """Return the seconds from one operation to the next, typically."""
    if len(came_ns) < 2:
        return 0.0
    between_s = np.diff(came_ns.max(axis=1)) * 1e-9
    return float(
        np.median([part.mean() for part in np.array_split(between_s, min(_STRETCHES, len(between_s)))])
    )
