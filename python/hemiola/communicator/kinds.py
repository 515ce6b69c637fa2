# SPDX-License-Identifier: Apache-2.0
"""How each collective uses its arrays: one row a kind, by which every collective call works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Complaint

Array = NDArray[Any]
R = TypeVar("R")

#: Makes room for a result where the caller passes no `out`: from the array and the number of ranks. None where the
#: arguments do not tell; the core then asks for `out`.
Room = Callable[[Any, int], Array | Complaint | None]


def alike(x: Any, rank_count: int) -> Array | Complaint | None:
    """Return a new array of the same shape."""
    return _empty(x.shape, x.dtype) if isinstance(x, np.ndarray) else None


def whole(x: Any, rank_count: int) -> Array | Complaint | None:
    """Return a new array that has room for one `x` of each rank along the first axis."""
    if not isinstance(x, np.ndarray):
        return None
    first, *rest = x.shape or (1,)
    return _empty((rank_count * first, *rest), x.dtype)


def part(x: Any, rank_count: int) -> Array | Complaint | None:
    """Return a new array for one of rank_count equal parts of `x` along the first axis."""
    if not isinstance(x, np.ndarray):
        return None
    first, *rest = x.shape or (1,)
    if first % rank_count != 0:
        return Complaint(
            f"the first axis of {x.dtype}{list(x.shape)} does not divide into {rank_count} equal parts; "
            f"pass an array that does, or out"
        )
    return _empty((first // rank_count, *rest), x.dtype)


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | Complaint:
    """Return a new array, whose values do not count."""
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError) as error:
        return Complaint(f"no room for a result of {dtype}{list(shape)}: {error}; pass out")


@dataclass(frozen=True, slots=True)
class Kind(Generic[R]):
    """One kind of collective. R is the blocking call's result."""

    name: str
    room: Room | None = None  #: None: without `out` the result replaces the array
    only_root_brings: bool = False
    only_root_gets: bool = False
    has_root: bool = field(init=False)
    is_plain: bool = field(init=False)  #: the result replaces the array, on every rank

    def __post_init__(self) -> None:
        has_root = self.only_root_brings or self.only_root_gets
        object.__setattr__(self, "has_root", has_root)
        object.__setattr__(self, "is_plain", self.room is None and not has_root)

    def arrays(
        self, x: Any, out: Array | None, rank_count: int, is_root: bool
    ) -> tuple[Array | None, Array | Complaint | None]:
        """Return this rank's input, and the place of its result."""
        brought = None if self.only_root_brings and not is_root else x
        if self.only_root_gets and not is_root:
            return brought, None
        if out is None:
            return brought, x if self.room is None else self.room(x, rank_count)
        return brought, out


ALL_REDUCE: Kind[Array] = Kind("all_reduce")
REDUCE: Kind[Array | None] = Kind("reduce", only_root_gets=True)
REDUCE_SCATTER: Kind[Array] = Kind("reduce_scatter", part)
ALL_GATHER: Kind[Array] = Kind("all_gather", whole)
GATHER: Kind[Array | None] = Kind("gather", whole, only_root_gets=True)
SCATTER: Kind[Array] = Kind("scatter", part, only_root_brings=True)
BROADCAST: Kind[Array] = Kind("broadcast", only_root_brings=True)
ALL_TO_ALL: Kind[Array] = Kind("all_to_all", alike)
CUSTOM: Kind[Array] = Kind("custom")
BARRIER: Kind[None] = Kind("barrier")
