# SPDX-License-Identifier: Apache-2.0
"""How fast hosts reach each other now: every couple of ports sends both ways for a moment, apart from all others.

Passive figures depend on the program's traffic; these do not. Every disturbance makes a stream slower, so the best of
several counts, and a slow result is measured again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Communicator as CoreCommunicator
from hemiola.calibration.rounds import matchings
from hemiola.diagnosis.ports import suspects

Speeds = NDArray[np.float64]
#: Hands everybody's bytes to everybody.
Exchange = Callable[[bytes], list[bytes]]

#: The first stream says how large the others must be. Of one that counts a token bucket's burst must be a small part.
_FIRST_BYTES, _LEAST_BYTES, _MOST_BYTES = 512 << 10, 1536 << 10, 64 << 20
#: How long streams take on the fastest ports at first, and in each later pass on those that they are of: the longer,
#: the less a lost packet costs.
_FIRST_S, _AGAIN_S = 0.03, (0.1, 0.1, 0.2, 0.2, *[0.3] * 8)
#: Of a port's many ways one good stream clears it, of a pair's one way only its own; so pairs are tried more often.
_EARLY_PASSES = 4
_HERE, _READY, _DATA = 0, 1, 2


def surveyed(
    core: CoreCommunicator,
    ports: Sequence[int],
    hosts: Sequence[int],
    expected: Speeds,
    exchange: Exchange,
    timeout_s: float,
) -> Speeds:
    """Measure how fast ports reach each other; collective.

    Parameters
    ----------
    core : all ranks, nobody of whom sends any other message by it.
    ports : by port, the rank that sends and receives by it.
    hosts : the host of each port. Ports of one host are not compared.
    expected : array, by port, bytes per second that it should carry; ones where nobody knows.
    exchange : Exchange.
    timeout_s : float, how long a stream may take.

    Returns
    -------
    Array of shape (ports, ports), bytes per second from the first to the second, the same on every rank; NaN where
    nothing was measured.
    """
    rounds = [
        couples
        for matching in matchings(len(ports))
        if (couples := [(a, b) for a, b in matching if hosts[a] != hosts[b]])
    ]
    survey = _Survey(core, ports, exchange, timeout_s)
    first = {couple: _FIRST_BYTES for couple in rounds[0]}
    survey.measure([rounds[0]], first)
    volume = _clipped(survey.fastest() * _FIRST_S)
    survey.measure(rounds, {couple: volume for couples in rounds for couple in couples})
    for number, seconds in enumerate(_AGAIN_S):
        wanted = suspects(survey.best / np.minimum.outer(expected, expected), is_early=number < _EARLY_PASSES)
        again = [
            [couple for couple in couples if couple in wanted or couple[::-1] in wanted] for couples in rounds
        ]
        if not any(again):
            break
        volumes = {
            (a, b): _clipped(max(survey.best[a, b], survey.best[b, a]) * seconds)
            for couples in again
            for a, b in couples
        }
        survey.measure(again, volumes)
    return survey.best


def _clipped(volume: float) -> int:
    return int(np.clip(volume, _LEAST_BYTES, _MOST_BYTES))


class _Survey:
    """One rank's part. All know the same figures after each pass, so all decide alike what to measure again."""

    def __init__(
        self, core: CoreCommunicator, ports: Sequence[int], exchange: Exchange, timeout_s: float
    ) -> None:
        self._core, self._ports, self._exchange, self._timeout_s = core, list(ports), exchange, timeout_s
        self.best = np.full((len(ports), len(ports)), np.nan)

    def fastest(self) -> float:
        """Return the best figure so far."""
        return float(np.nanmax(self.best))

    def measure(
        self, rounds: Sequence[Sequence[tuple[int, int]]], volumes: dict[tuple[int, int], int]
    ) -> None:
        """Let couples meet, round by round. A port has one partner at a time, who may come later."""
        own = np.full(len(self._ports), np.nan)
        for couples in rounds:
            for a, b in couples:
                for here, there in ((a, b), (b, a)):
                    if self._ports[here] == self._core.rank:
                        own[there] = self._received(self._ports[there], volumes[a, b])
        rows = self._exchange(own.tobytes())
        for port, rank in enumerate(self._ports):
            self.best[:, port] = np.fmax(self.best[:, port], np.frombuffer(rows[rank]))

    def _received(self, peer: int, volume: int) -> float:
        """Return the bytes per second that come from a peer while as many go to it.

        The clock starts once the peer has come, and before it is told that it may send, so nothing that came earlier
        counts.
        """
        coming, going = np.empty(volume, np.uint8), np.zeros(volume, np.uint8)
        word = np.zeros(1, np.uint8)
        receiving = self._core.start_recv(coming, peer, _DATA, self._timeout_s)
        self._core.send(word, peer, _HERE, self._timeout_s)
        self._core.recv(np.empty_like(word), peer, _HERE, self._timeout_s)
        begin = time.perf_counter()
        self._core.send(word, peer, _READY, self._timeout_s)
        self._core.recv(np.empty_like(word), peer, _READY, self._timeout_s)
        sending = self._core.start_send(going, peer, _DATA, self._timeout_s)
        receiving.wait()
        taken_s = time.perf_counter() - begin
        sending.wait()
        return volume / taken_s
