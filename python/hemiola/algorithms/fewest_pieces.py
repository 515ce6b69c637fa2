# SPDX-License-Identifier: Apache-2.0
"""How many pieces: the fewest that are as good as the best number. More are always a hair better in a model, and every
message costs ranks time of which a network knows nothing (docs/decisions/0021)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

#: Up to so many times the best time, fewer pieces are taken: half as many do, in the time that they take to fill a
#: pipeline.
AS_GOOD = 1.01

_Choice = TypeVar("_Choice")


def fewest_pieces(
    choices: Iterable[_Choice],
    seconds: Callable[[_Choice], float],
    pieces: Callable[[_Choice], float],
    *,
    delay_s: float = 0.0,
    as_good: float = AS_GOOD,
) -> _Choice | None:
    """Choose, among numbers of pieces of one algorithm, the fewest that are as good as the best.

    Parameters
    ----------
    choices : of any type; of equally many pieces the first one is taken.
    seconds : the time of a choice, at least `delay_s`.
    pieces : how many pieces, messages or transfers a choice has.
    delay_s : float >= 0, a wait for a late rank, which is in all times and nobody's merit.
    as_good : float >= 1, up to how many times the best counts as good.

    Returns
    -------
    One of the choices; None where there are none.
    """
    known = [(seconds(choice), choice) for choice in choices]
    if not known:
        return None
    best_s = min(each_s for each_s, _ in known)
    close_s = as_good_as(best_s, delay_s=delay_s, as_good=as_good)
    return min((choice for each_s, choice in known if each_s <= close_s), key=pieces)


def as_good_as(best_s: float, *, delay_s: float = 0.0, as_good: float = AS_GOOD) -> float:
    """Return the longest time that is as good as the best; the wait for a late rank is in both."""
    return best_s + (as_good - 1) * max(0.0, best_s - delay_s)


def fewest_up_to(most: int, seconds: Callable[[int], float], *, as_good: float = AS_GOOD) -> int:
    """Return the fewest pieces, from 1 to `most`, that are as good as the best; `seconds` falls, then rises."""
    best = _first(most, lambda count: count == most or seconds(count) <= seconds(count + 1))
    close_s = as_good_as(seconds(best), as_good=as_good)
    return _first(best, lambda count: seconds(count) <= close_s)


def _first(most: int, is_so: Callable[[int], bool]) -> int:
    """Return the first number from 1 on of which it is so, as it is of all after that one, and of `most`."""
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if is_so(middle):
            high = middle
        else:
            low = middle + 1
    return low
