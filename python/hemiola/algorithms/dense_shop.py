# SPDX-License-Identifier: Apache-2.0
"""An open shop of messages of any sizes, none of which is cut. Its order keeps the ports with most to do busy if that
can be, so that together they take little longer than the busiest port."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from hemiola._core.algorithms import assignment
from hemiola.algorithms.number_arrays import Integers

#: How much more a port that has more to do counts: the order differs, and the shortest of several is taken.
_POWERS = (1.0, 3.0, 8.0)
#: Later orders break ties in other ways, by so much.
_NOISE = 0.05
#: Ports that are free so much later than others, relative to the busiest port's time, are waited for; orders differ in
#: that, too.
_SOON = (1e-4, 0.0, 1e-3)
#: An order that takes no longer than this beyond the request is as good as any.
_TOLERANCE = 1.001


@dataclass(frozen=True, eq=False)
class Turns:
    """The order of messages.

    Attributes
    ----------
    turn : array of int, of each message: later at both of its ports than all that go before.
    time : int, when the last one ends.
    """

    turn: Integers
    time: int


def in_turns(
    src: Integers, dst: Integers, time: Integers, urgency: Integers, *, enough: int, most_orders: int
) -> Turns:
    """Put messages in order, of which a port sends and receives one at a time.

    Parameters
    ----------
    src, dst : arrays of int >= 0, of each message, at least one.
    time : array of int > 0, how long each occupies both ports.
    urgency : array of int; of the messages of a pair the lowest goes first, then the first given.
    enough : int, ticks; no shorter order is of use.
    most_orders : int >= 1, how many are tried.

    Returns
    -------
    Turns, the shortest that was found. The last bits of floats may decide.

    Notes
    -----
    As soon as ports are free, a matching is sent whose ports have most left to do, by the assignment problem. For n
    ports a message costs some n² steps.
    """
    enough = max(enough, int(np.bincount(src, time).max()), int(np.bincount(dst, time).max()))
    best: Turns | None = None
    for number in range(most_orders):
        order = _Shop(src, dst, time, urgency).order(number)
        if best is None or order.time < best.time:
            best = order
        if best.time <= enough * _TOLERANCE:
            break
    assert best is not None
    return best


class _Shop:
    """The messages that are left, and when ports are free."""

    def __init__(self, src: Integers, dst: Integers, time: Integers, urgency: Integers) -> None:
        ports = int(max(src.max(), dst.max())) + 1
        self._time = time
        self._waiting: list[list[list[int]]] = [[[] for _ in range(ports)] for _ in range(ports)]
        for message in np.argsort(urgency, kind="stable")[::-1].tolist():
            self._waiting[src[message]][dst[message]].append(message)
        self._has = np.zeros((ports, ports), bool)
        self._has[src, dst] = True
        self._left = np.bincount(src, time, ports), np.bincount(dst, time, ports)
        self._free = np.zeros(ports, np.int64), np.zeros(ports, np.int64)

    def order(self, number: int) -> Turns:
        turns, way = divmod(number, len(_POWERS))
        noise, draw = (_NOISE if turns else 0.0), np.random.default_rng(number)
        busiest = max(float(left.max()) for left in self._left)
        power, soon = _POWERS[way], int(_SOON[turns % len(_SOON)] * busiest)
        turn = np.zeros(len(self._time), np.int64)
        next_turn = [np.zeros(len(free), np.int64) for free in self._free]
        ends, end = [0], 0
        while ends:
            now = heapq.heappop(ends)
            while ends and ends[0] <= now + soon:
                heapq.heappop(ends)
            is_free = [free <= now + soon for free in self._free]
            can = self._has & is_free[0][:, None] & is_free[1][None, :]
            if not can.any():
                continue
            worth = np.add.outer(*((left / busiest) ** power for left in self._left)) + 1e-6
            if noise:
                worth += noise * draw.random(worth.shape)
            pairs = assignment(np.where(can, -worth, 0.0))
            assert pairs is not None, "no pair is forbidden"
            for a, b in enumerate(pairs):
                if not can[a, b]:
                    continue
                message, finished = self._send(a, b, now)
                turn[message] = max(next_turn[0][a], next_turn[1][b])
                next_turn[0][a] = next_turn[1][b] = turn[message] + 1
                heapq.heappush(ends, finished)
                end = max(end, finished)
        return Turns(turn, end)

    def _send(self, a: int, b: int, now: int) -> tuple[int, int]:
        """Take the next message of a pair; return it, and when it ends."""
        message = self._waiting[a][b].pop()
        self._has[a, b] = bool(self._waiting[a][b])
        time = int(self._time[message])
        end = max(now, int(self._free[0][a]), int(self._free[1][b])) + time
        for side, port in enumerate((a, b)):
            self._free[side][port] = end
            self._left[side][port] -= time
        return message, end


def same_shape(src: Integers, dst: Integers, time: Integers, urgency: Integers) -> tuple[bytes, Integers]:
    """Return keys that are equal for sets of messages of the same order, and the order in which they are compared."""
    order: Integers = np.lexsort((time, urgency, dst, src))
    return np.stack([src, dst, time, urgency])[:, order].tobytes(), order
