# SPDX-License-Identifier: Apache-2.0
"""The observations of a communicator's own operations: arrivals, health and traffic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hemiola.arguments import typed
from hemiola.communicator.arrivals import Arrivals
from hemiola.communicator.calls import Caller
from hemiola.communicator.health import Health
from hemiola.communicator.observation import Observer
from hemiola.communicator.traffic import Traffic
from hemiola.errors import ArgumentError
from hemiola.transfers.recorded import of_core


class Noticing(Caller):
    """A rank that looks at its operations; that costs no communication."""

    _observer: Observer

    def recent_arrivals_s(self) -> NDArray[np.float64]:
        """Return when each rank came to the latest operations.

        Returns
        -------
        Array of shape (operations, rank_count), oldest operation first, at most 512: seconds after the
        first rank's arrival at the operation.

        Notes
        -----
        Noted at every operation anyway; costs no communication.
        """
        came_ns = self._arrivals_ns()[:, :, 0]
        first_ns = came_ns.min(axis=1, keepdims=True, initial=np.iinfo(np.int64).max)
        return np.asarray(came_ns - first_ns) * 1e-9

    def recent_own_s(self) -> NDArray[np.float64]:
        """Return each rank's own time: how long it took from leaving an operation to coming to the next.

        Returns
        -------
        Array of shape (operations, rank_count), in seconds, for the operations of `recent_arrivals_s`. The very
        first operation has none before it: there, as in `recent_arrivals_s`, seconds after the first rank's arrival.

        Notes
        -----
        A rank with a slow port leaves every operation later than the others, and comes to the next one so much
        later; its own time is that of the others. Operations of a rank's other communicators are not its own time.
        """
        own_ns = self._arrivals_ns()[:, :, 1]
        own_s = np.asarray(own_ns * 1e-9)
        begins = (own_ns < 0).any(axis=1)
        own_s[begins] = self.recent_arrivals_s()[begins]
        return own_s

    def _arrivals_ns(self) -> NDArray[np.int64]:
        """Return, by operation and rank, when it came, and its own time before (-1: nothing was before)."""
        return np.frombuffer(self._core.arrivals_ns(), np.int64).reshape(-1, self.rank_count, 2)

    def arrivals(self) -> Arrivals:
        """Say of every rank how often it came last to the latest operations, and by how much, of its own doing.

        Returns
        -------
        Arrivals, over at most 512 operations. The same on every rank that has come as far. Lateness that the network
        explains is subtracted. A rank that came later only because a slow port kept it in the operation before is not
        late (see `recent_own_s`; `recent_arrivals_s` has the unchanged times).
        """
        return Arrivals.of(self.recent_own_s())

    @typed
    def expects_late_rank(self, nbytes: int) -> bool:
        """Say whether an all_reduce of that size would look for a late rank now, or is planned for one; see Notes.

        Parameters
        ----------
        nbytes : int >= 0, bytes of the buffer.

        Returns
        -------
        bool, the same on every rank when asked after the same operation. Waits for an operation that is under way.

        Raises
        ------
        ArgumentError
            for a number of bytes below 0.

        Notes
        -----
        True once the latest eight operations of this size class would have been at least 5 % faster on average with
        late-rank detection, judged by the lags that `arrivals` shows. False again once the predicted gain is zero.
        Operations with a `schedule` of their own do not count; sizes are classed by the next power of two. All ranks
        change at the same operation; costs no communication. Only on a network whose ports are all healthy, with three
        ranks or more, and where `adapt` of `hemiola.init` has "late"; between hosts with three of them or more, of
        equally many ranks. On a network that is emulated or was given as `topology`, and is not one switch: once the
        last rank was late by a quarter of the time in all eight, and a plan saves 5 %. If it was always the same rank,
        `plan` names the plan for it; if not, there is one around each, and ranks choose in the operation.
        """
        return self._core.expects_late_rank(checked_bytes(nbytes))

    def health(self) -> Health:
        """Return the ranks whose ports are slow, the factor of each, and since when.

        Returns
        -------
        Health, the same on every rank when asked after the same operation, but for the seconds. Waits for an
        operation that is under way.

        Notes
        -----
        Noticed from the bytes and busy seconds of the operations' own messages; costs no communication. A rank counts
        as slow once it has been slower than the faster ranks by a factor of 1.3 in five operations on end, or of 1.12
        in eight. Messages shorter than latency times bandwidth do not count. Collectives without a `schedule` of their
        own are then planned for it, by all ranks from the same operation on; five operations on end that show less take
        it back. (With `adapt` of `hemiola.init` without "slow" it is only told.) Coming late, or having a busy core,
        makes no port slow. Between hosts, a port is judged by TCP traffic where each rank goes out by one NIC. Only
        all-gathers, reduce-scatters, all-reduces and all-to-alls that keep a port busy for 20 ms or more count, from a
        factor of 1.2 on. There single operations run as if no port were slow, one in 8 at first and one in 64 later;
        they take a factor back. Of two ranks alone nobody can say which one it is, and of one that only ever has its
        share of a busy port, nobody can say how fast it is.
        """
        return Health.of(self._core, self._observer.surveyed)

    def traffic(self) -> Traffic:
        """Say how many bytes this communicator's operations have sent to each rank and received from it, and in which
        form where they leave zeros out.

        Returns
        -------
        Traffic, of this rank, since the communicator was made. Waits for an operation that is under way; costs no
        communication. Equal to the byte to the simulator's count for the same schedules; messages by `send` and `recv`
        are not operations and do not count.
        """
        sent, received = zip(*self._core.payloads(), strict=True)
        return Traffic(sent, received, tuple(self._core.carriers()), *self._core.sent_forms())

    def transfers(self) -> NDArray[np.void]:
        """Return the times of this rank's latest messages, as many as HEMIOLA_RECORD_TRANSFERS says.

        Returns
        -------
        Structured array, in the order in which messages were posted; empty where nothing is recorded. A row is one
        message or one slice of it: `operation`, the same number on all ranks, from 0 on, those by which `hemiola.init`
        has measured the network among them; `step`, `src`, `dst`; the first `chunk` and `chunk_count`, since chunks of
        a step may travel together; `reduce`; `sent`, whether this rank has sent it; `nbytes`; `begin_s`, when it was
        posted; `end_s`, when it was seen to have left or landed, NaN where it was not. Seconds of `time.monotonic`, or
        of the emulated network's clock.

        Notes
        -----
        Waits for no operation. Messages by `send` and `recv` are not operations, and have no row. Recording takes about
        1,000 instructions a message, and none where it is off. `hemiola.explore` and `Timeline.save_trace` show all
        ranks' rows beside a prediction.
        """
        return of_core(self._core.recorded_transfers(), self.rank)


def checked_bytes(nbytes: int) -> int:
    """Return a number of bytes."""
    if not isinstance(nbytes, int) or not 0 <= nbytes < 1 << 62:
        raise ArgumentError(f"expected a number of bytes from 0 on, found {nbytes!r}")
    return nbytes
