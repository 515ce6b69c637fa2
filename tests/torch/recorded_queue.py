# SPDX-License-Identifier: Apache-2.0
"""A device's queue that only records: what each rank queues is looked at, compared between ranks, and then run by
hand, all ranks in one process, as often as one likes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hemiola.torch.device_queue import DeviceMessage


class Impure(AssertionError):
    """Something other than queueing was done between begin and end."""


class _Nothing(TorchDispatchMode):
    """Refuses whatever PyTorch would do with tensors: allocate, compute, or wait for a value."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise Impure(f"{func} between begin and end")


@dataclass(frozen=True)
class Launched:
    """A kernel, how many programs of it, and its constants."""

    kernel: Any
    tiles: int
    fixed: tuple[tuple[str, Any], ...]

    def __call__(self, *given: Any) -> None:
        self.kernel[(self.tiles,)](*given, **dict(self.fixed))


class RecordedQueue:
    """Records groups of messages, copies and launches. `run_all` runs them."""

    def __init__(self) -> None:
        self.queued: list[Any] = []
        self._watch: _Nothing | None = None

    def begin(self) -> None:
        assert self._watch is None, "begun twice"
        self._watch = _Nothing()
        self._watch.__enter__()

    def end(self) -> None:
        assert self._watch is not None, "ended before it has begun"
        self._watch.__exit__(None, None, None)
        self._watch = None

    def exchange(self, messages: Sequence[DeviceMessage]) -> None:
        self._add(list(messages))

    def copy(self, to: Any, of: Any) -> None:
        self._add((torch.Tensor.copy_, (to, of)))

    def launch(self, kernel: Any, tiles: int, given: Sequence[Any], fixed: dict[str, Any]) -> None:
        self._add((Launched(kernel, tiles, tuple(sorted(fixed.items()))), tuple(given)))

    def _add(self, what: Any) -> None:
        assert self._watch is not None, "queued outside of begin and end"
        self.queued.append(what)


def run_all(ranks: Sequence[RecordedQueue]) -> None:
    """Run what all ranks have queued; a group is over when each of its messages has met its other end.

    Raises AssertionError where groups wait for each other in a circle, and where ends do not match.
    """
    place, begun = [0] * len(ranks), [False] * len(ranks)
    #: By sender and receiver: ends that wait for the other one. By rank: how many of its group's messages do.
    waiting: dict[tuple[int, int], tuple[deque[Any], deque[Any]]] = {}
    unmet = [0] * len(ranks)
    while any(at < len(rank.queued) for at, rank in zip(place, ranks, strict=True)):
        moved = False
        for number, rank in enumerate(ranks):
            if place[number] == len(rank.queued):
                continue
            if not begun[number]:
                begun[number] = moved = True
                _begin(number, rank.queued[place[number]], waiting, unmet)
            if not unmet[number]:
                place[number] += 1
                begun[number], moved = False, True
        assert moved, f"groups wait for each other in a circle: places {place}, {unmet} messages each"
    assert not any(end for ends in waiting.values() for end in ends), "messages without another end"


def _begin(number: int, what: Any, waiting: Any, unmet: list[int]) -> None:
    if not isinstance(what, list):
        deed, given = what
        deed(*given)
        return
    unmet[number] = len(what)
    for message in what:
        _meet(number, message, waiting, unmet)


def _meet(number: int, message: DeviceMessage, waiting: Any, unmet: list[int]) -> None:
    pair = (number, message.peer) if message.sending else (message.peer, number)
    ends = waiting.setdefault(pair, (deque(), deque()))
    ends[0 if message.sending else 1].append((number, message.memory))
    while ends[0] and ends[1]:
        (src, sent), (dst, room) = ends[0].popleft(), ends[1].popleft()
        assert sent.numel() == room.numel(), (
            f"rank {src} sends {sent.numel()} bytes, rank {dst} expects {room.numel()}"
        )
        room.copy_(sent)
        unmet[src] -= 1
        unmet[dst] -= 1
