# SPDX-License-Identifier: Apache-2.0
"""Where in a group's order a callback of a future stands, so that the collectives it issues are paired on all ranks.

A callback runs when its operation is over: in one thread or another, before or after the program's next operations. So
its collectives have no place in the order of the program's. Their place follows from facts that all ranks share: the
operation, the number of its callbacks before this one, and the number of collectives that this one has issued.

Callbacks run one at a time, as PyTorch's own hooks expect of NCCL; one that waits lets others run.

PyTorch makes the futures that `then` returns, and no class of ours can stand for them. So `then`, `add_done_callback`
and `wait` of `torch._C.Future`, and `torch._C._collect_all`, are replaced by functions that note the place. They leave
all other futures as they were."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import torch

_Future: Any = torch._C.Future
_then, _add_done_callback, _wait = _Future.then, _Future.add_done_callback, _Future.wait
_core: Any = torch._C
_collect_all = _core._collect_all


class CallbackPlace:
    """A future's, or a callback's: a name that all ranks give it."""

    __slots__ = ("_attached", "_issued", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._attached, self._issued = count(), count()

    def next_callback(self) -> CallbackPlace:
        """Return the place of the next callback that is attached to the future."""
        return CallbackPlace(f"{self.name}.{next(self._attached)}")

    def next_collective(self) -> str:
        """Return the name of the next collective that the callback issues."""
        return f"{self.name}:{next(self._issued)}"


_places: WeakKeyDictionary[Any, CallbackPlace] = WeakKeyDictionary()


class _OfThread(threading.local):
    """What the calling thread is in. Values by default, since asking for one that is not there takes some 3,000
    instructions, before every collective."""

    place: CallbackPlace | None = None
    has_turn = False


_thread = _OfThread()
#: Asked where no callback of Python's runs: the name of the next collective of one in C++, or None.
_others: list[Callable[[], str | None]] = []


def also_ask(source: Callable[[], str | None]) -> None:
    """Have `issued_by_callback` ask somebody else, too."""
    _others.append(source)


def in_python_callback() -> bool:
    """Say whether this thread runs a callback whose place is known here."""
    return _thread.place is not None


def issued_by_callback() -> str | None:
    """Return the name of a collective that this thread issues now; None: it is the program's, no callback's."""
    place = _thread.place
    if place is not None:
        return place.next_collective()
    return next((name for name in (source() for source in _others) if name is not None), None)


def run_at(place: CallbackPlace, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that stands at a place."""
    before = _thread.place
    _thread.place = place
    try:
        return function(*arguments)
    finally:
        _thread.place = before


#: Held by the thread whose callback runs.
_turn = threading.Lock()
#: A callback may wait in a way that is not seen here, such as for an event that another callback sets: the others then
#: run beside it after so long. Of 23,534 turns in PyTorch's hooks and in the tests of callbacks the longest took 6 ms.
_LONGEST_TURN_S = 1.0


def _take_turn() -> None:
    _thread.has_turn = _turn.acquire(timeout=_LONGEST_TURN_S)


def _end_turn() -> None:
    if _thread.has_turn:
        _thread.has_turn = False
        _turn.release()


def while_others_run(wait: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that may wait for long; other callbacks run meanwhile."""
    if not _thread.has_turn:
        return wait(*arguments)
    _end_turn()
    try:
        return wait(*arguments)
    finally:
        _take_turn()


def followed(future: Any, place: CallbackPlace) -> Any:
    """Return the future of an operation; note its place."""
    _places[future] = place
    return future


def followed_by_name(future: Any, name: str) -> Any:
    """Return it; note where it stands."""
    return followed(future, CallbackPlace(name))


def _called(of: CallbackPlace, place: CallbackPlace, callback: Callable[[Any], Any], future: Any) -> Any:
    followed(future, of)
    if _thread.has_turn:
        return run_at(place, callback, future)
    _take_turn()
    try:
        return run_at(place, callback, future)
    finally:
        _end_turn()


def _then_at_place(future: Any, callback: Callable[[Any], Any]) -> Any:
    of = _places.get(future)
    if of is None:
        return _then(future, callback)
    place = of.next_callback()
    return followed(_then(future, partial(_called, of, place, callback)), place)


def _add_done_callback_at_place(future: Any, callback: Callable[[Any], Any]) -> None:
    of = _places.get(future)
    _add_done_callback(future, callback if of is None else partial(_called, of, of.next_callback(), callback))


def _collect_all_at_place(futures: Sequence[Any]) -> Any:
    whole = _collect_all(futures)
    first = next((place for place in map(_places.get, futures) if place is not None), None)
    return whole if first is None else followed(whole, first.next_callback())


_core._collect_all = _collect_all_at_place
_Future.wait = lambda future: while_others_run(_wait, future)
_Future.then, _Future.add_done_callback = _then_at_place, _add_done_callback_at_place
