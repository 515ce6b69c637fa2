# SPDX-License-Identifier: Apache-2.0
"""How long a schedule takes over a topology, and where it is stuck: an event-driven simulation."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from html import escape

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, ScheduleFile, Topology, simulate_file, write_trace
from hemiola._core import Timeline as CoreTimeline
from hemiola._core import simulate as simulate_in_core
from hemiola.algorithms import InSwitch
from hemiola.arguments import typed
from hemiola.codecs import Speeds, speeds
from hemiola.conditions import Conditions, refuse_density
from hemiola.errors import ArgumentError
from hemiola.machine.capacity import memory_bytes
from hemiola.progress import ProgressBar
from hemiola.topology.named_nics import settled
from hemiola.transfers.recorded import MESSAGE_DTYPE, measured_operation
from hemiola.transfers.trace import trace_of
from hemiola.units import format_bytes, format_seconds
from hemiola.verify import refuse_wrong
from hemiola.whole_file import check_whole, write_whole

SPAN_DTYPE = np.dtype(
    [("transfer", "<i8"), ("link", "<i4"), ("start_s", "<f8"), ("end_s", "<f8"), ("arrival_s", "<f8")]
)

#: Ranks that a notebook shows.
_ROWS_OF_HTML = 16

_NO_TIME = Speeds(math.inf, math.inf, math.inf)


@dataclass(frozen=True)
class _Run:
    """What is simulated, so that it can be once more."""

    schedule: Schedule
    topology: Topology
    nbytes: int
    conditions: Conditions
    codecs: Speeds
    network: str
    noise: float
    seed: int

    def simulated(self, *, keep_spans: bool = False) -> CoreTimeline:
        with ProgressBar("simulating") as bar:
            return simulate_in_core(
                self.schedule,
                self.topology,
                self.nbytes,
                late=dict(self.conditions.late),
                slow=self.conditions.slow_ranks,
                density=self.conditions.density,
                codecs=dataclasses.astuple(self.codecs),
                network=self.network,
                noise=self.noise,
                seed=self.seed,
                keep_spans=keep_spans,
                progress=bar,
            )


@dataclass(frozen=True, eq=False, repr=False)
class Timeline:
    """The result of a simulation.

    Attributes
    ----------
    seconds : float, when the last rank is done.
    finish_s : float64 array, one per rank: when it has arrived, all it sends has left and all it receives
        has landed.
    link_busy_s : float64 array, one per link of the topology: the time its full bandwidth needs for its load.
    schedule : Schedule or ScheduleFile, the simulated one: the given one, or with every chunk in slices.
    is_verified : bool, whether the schedule was proven right before: not with `unchecked`, and not where it stays in
        its file.

    Notes
    -----
    `spans`, `landed_s` and `save_trace` simulate once more, with everything recorded: about 100 bytes per
    transfer. For a ScheduleFile they raise ArgumentError.
    """

    seconds: float
    finish_s: NDArray[np.float64]
    link_busy_s: NDArray[np.float64]
    schedule: Schedule | ScheduleFile
    is_verified: bool
    _run: _Run | None

    def __repr__(self) -> str:
        ranks, links = len(self.finish_s), len(self.link_busy_s)
        judged = "" if self.is_verified else ", is_verified=False"
        return f"<Timeline {format_seconds(self.seconds)}: {ranks} ranks, {links} links{judged}>"

    def _repr_html_(self) -> str:
        last = np.argsort(-self.finish_s, kind="stable")[:_ROWS_OF_HTML]
        rows = "".join(
            f"<tr><td>{rank}</td><td>{format_seconds(float(self.finish_s[rank]))}</td></tr>" for rank in last
        )
        head = "<thead><tr><th>rank, the last first</th><th>done after</th></tr></thead>"
        return f"<p>{escape(repr(self))}</p><table>{head}<tbody>{rows}</tbody></table>"

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if isinstance(other, Timeline) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._parts())

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is simulated once more."""
        return {one.name: self.__dict__[one.name] for one in fields(self)}

    def _parts(self) -> tuple[object, ...]:
        times = (self.finish_s.tobytes(), self.link_busy_s.tobytes())
        return self.seconds, *times, self.schedule, self.is_verified

    @cached_property
    def _record(self) -> CoreTimeline:
        return self._replayed.simulated(keep_spans=True)

    @property
    def _replayed(self) -> _Run:
        if self._run is None:
            raise ArgumentError(
                "a schedule that stays in its file has no record of single transfers; load it"
            )
        return self._run

    @property
    def topology(self) -> Topology:
        """The simulated topology, after conditions have named its NICs."""
        return self._replayed.topology

    @property
    def nbytes(self) -> int:
        """One rank's buffer, in bytes."""
        return self._replayed.nbytes

    @property
    def conditions(self) -> Conditions:
        """Who is late or slow in the simulation."""
        return self._replayed.conditions

    @cached_property
    def spans(self) -> NDArray[np.void]:
        """The times of each transfer on the links of its path: transfer, link, start_s, end_s, arrival_s.

        A transfer is an index into `schedule.transfers`. In the fluid network a flow is filed under the first
        link of its path, and arrival_s is that at the destination.
        """
        return np.asarray(self._record.spans)

    @cached_property
    def landed_s(self) -> NDArray[np.float64]:
        """When each transfer landed, in the order of `schedule.transfers`; NaN for chunks without bytes."""
        return self._record.landed_s

    @property
    def messages(self) -> NDArray[np.void]:
        """Each message with bytes, by its beginning: step, src, dst, chunk, chunk_count (1), reduce, begin_s, leave_s
        (when it had left its rank) and land_s.
        """
        spans = self.spans[np.argsort(self.spans["start_s"], kind="stable")]
        used, first, place = np.unique(spans["transfer"], return_index=True, return_inverse=True)
        found = np.zeros(len(used), MESSAGE_DTYPE)
        moved = np.asarray(self._replayed.schedule.transfers)[used]
        for name in ("step", "src", "dst", "chunk", "reduce"):
            found[name] = moved[name]
        found["chunk_count"] = 1
        found["begin_s"], found["leave_s"] = spans["start_s"][first], spans["end_s"][first]
        np.maximum.at(found["land_s"], place, spans["arrival_s"])
        return found[np.lexsort((found["dst"], found["src"], found["begin_s"]))]

    @typed
    def save_trace(
        self, path: str | os.PathLike[str], measured: Sequence[NDArray[np.void]] | None = None
    ) -> None:
        """Write a Chrome trace, which ui.perfetto.dev and chrome://tracing show.

        Parameters
        ----------
        path : file to write, by custom "….json"; some 500 bytes per transfer.
        measured : sequence of arrays, optional: what `Communicator.transfers` has returned on each rank. The messages
            of the latest operation of which all are there stand beside the prediction.

        Raises
        ------
        ArgumentError
            The measured messages are not of a whole operation, or not of so many ranks.
        OSError
            The file cannot be written.

        Notes
        -----
        Every rank and switch is a process, every link that leaves it a thread with a slice per message; arrows
        lead to its landing. With measured messages every rank is a process, with threads of predicted and of measured
        sends; both begin at 0.
        """
        run = self._replayed
        check_whole(path)
        if measured is None:
            write_trace(run.schedule, run.topology, run.nbytes, self._record, os.fspath(path))
            return
        real = measured_operation(measured, run.topology.rank_count)
        write_whole(path, trace_of({"predicted": self.messages, "measured": real}, run.topology.rank_count))


@typed
def simulate(
    schedule: Schedule | ScheduleFile | InSwitch,
    topology: Topology,
    nbytes: int,
    conditions: Conditions | None = None,
    network: str = "fluid",
    slices: int = 1,
    *,
    noise: float = 0.0,
    seed: int = 0,
    unchecked: bool = False,
    codecs: Speeds | None = None,
) -> Timeline:
    """Simulate a schedule's data dependencies over a topology.

    A transfer starts when the slot it reads is final for its step and its port's turn has come; it lands when
    the slot it writes has been read. Steps are no barriers. A Schedule is verified first, once per digest.

    Parameters
    ----------
    schedule : Schedule for as many ranks as the topology has, or InSwitch of this topology, whose times have the
        switch's last; or ScheduleFile to read it block by block: copies
        between ranks that share a link, one per link and step, that overwrite nothing, in network "fifo",
        without slices or noise. One that stays in its file is not verified, which may take minutes:
        `hemiola.verify` does so.
    topology : Topology that connects every two ranks that exchange a chunk.
    nbytes : int >= 0, one rank's buffer in bytes. Chunks without bytes are left out, as in the engine.
    conditions : Conditions, late and slow ranks, slow NICs, density; all arrive at once, run at full speed and send all
        their bytes by default. With a density below 1 messages leave zeros out.
    network : "fluid" or "fifo". In fluid, concurrent flows share links max-min fairly, and a flow holds all links of
        its path at once. Flows that meet before a link at more than it carries wait. In fifo a link carries one
        message at a time, first come first served, and several hops are stored and forwarded.
    slices : int >= 1, pieces in which every chunk is pipelined, as the engine pipelines big chunks: what is
        simulated is ``schedule.repeat_per_slice(slices, stagger=1)``.
    noise : float in [0, 0.3], standard deviation of the time that each transfer takes a link, relative to it:
        bell-shaped around the true time, cut off at three deviations, one factor per transfer on all its links.
    seed : int in [0, 2^64), of the noise. Equal seeds give equal timelines on every platform.
    unchecked : bool, simulate the schedule as it is, also where it is wrong.
    codecs : hemiola.codecs.Speeds, optional; of the one core that each rank has to encode and decode. None: as measured
        on this machine, so that times differ from one to the next. Only where there is a density.

    Returns
    -------
    Timeline

    Raises
    ------
    ArgumentError
        The schedule is wrong (the message names rule, step, rank and chunk), unless `unchecked`. Rank counts differ,
        two ranks have no path, or another argument is out of range. A ScheduleFile comes with a density, holds
        something that cannot be simulated block by block, or has too many slots for this machine.

    Notes
    -----
    Deterministic; times are integer picoseconds inside. Cost: fifo O(1) per message and link; fluid O(1) per
    flow while each port carries one. Releases the GIL; Ctrl-C works; a progress bar appears on a terminal
    after a second. With a density a message takes 1.016 times what the entropy of its places and its values do
    (measured: docs/results/sparse.md); one that holds the sum of k ranks has the union of their places,
    1-(1-density)^k. A value is encoded once, and goes on as it came; a core does one thing after the other, and wire
    and core overlap slice by slice (1 MiB). A message that would save less than 3 % goes plain. Of a ScheduleFile 8
    bytes per slot, rank times chunk, are kept; the times are the same. Model: docs/decisions/0002-simulation.md.
    """
    if isinstance(schedule, InSwitch):
        topology = schedule.network_of(topology)
        schedule = schedule.star
    topology, now = settled(topology, conditions or Conditions())
    if isinstance(schedule, ScheduleFile):
        if (network, slices, noise) != ("fifo", 1, 0.0):
            raise ArgumentError(
                "simulate: for a schedule that stays in its file expected network='fifo', one slice and no noise, "
                f"found network={network!r}, slices={slices!r}, noise={noise!r}"
            )
        refuse_density(now, "simulate a schedule that stays in its file")
        return _simulate_file(schedule, topology, nbytes, now)
    if not unchecked:
        refuse_wrong(schedule)
    if slices != 1:
        schedule = schedule.repeat_per_slice(slices, stagger=1)

    core = _NO_TIME if now.density == 1 else codecs or speeds()

    run = _Run(schedule, topology, nbytes, now, core, network, noise, seed)
    result = run.simulated()
    return Timeline(result.seconds, result.finish_s, result.link_busy_s, schedule, not unchecked, run)


def _simulate_file(file: ScheduleFile, topology: Topology, nbytes: int, now: Conditions) -> Timeline:
    """Simulate block by block, keeping when each rank gets each chunk."""
    needed, free = 8 * file.rank_count * file.chunk_count, memory_bytes()[1]
    if needed > free:
        raise ArgumentError(
            f"simulate: expected a schedule whose slots take at most {format_bytes(free)}, this machine's free memory, "
            f"found {file.rank_count:,} ranks times {file.chunk_count:,} chunks, {format_bytes(needed)}"
        )

    with ProgressBar("simulating") as bar:
        result = simulate_file(file, topology, nbytes, late=dict(now.late), slow=now.slow_ranks, progress=bar)
    return Timeline(result.seconds, result.finish_s, result.link_busy_s, file, False, None)
