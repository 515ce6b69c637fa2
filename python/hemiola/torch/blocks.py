# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors and blocks of one, as arrays where they lie, or copied into one where they cannot be used so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np
import torch

from hemiola._core import Complaint
from hemiola.communicator.kinds import Array
from hemiola.torch.tensors import content, described, values

Show = Callable[[Any], Array | Complaint]
#: A list as a collective takes it: an array, or one for each rank; or a complaint about it.
Blocks = Array | list[Any] | Complaint


class Room:
    """Room for one tensor of each rank, from which a list gets its tensors.

    Parameters
    ----------
    into : the list, with a tensor for each rank, as large as `like`.
    like : torch.Tensor, this rank's own.
    rank_count : int.
    """

    def __init__(self, into: Sequence[Any], like: Any, rank_count: int) -> None:
        self._into: Sequence[Any] = ()
        found = _wrong_list(into, like, rank_count, "output") or _where_they_lie(into, like, content)
        if found is None:
            self._into, self._flat = into, torch.empty((rank_count, like.numel()), dtype=like.dtype)
            found = content(self._flat)
        self.array = found

    def spread(self) -> None:
        """Copy the received tensors to those of the list."""
        for place, tensor in enumerate(self._into):
            tensor.detach().copy_(self._flat[place].view(tensor.shape))


def spread(rooms: Sequence[Room]) -> None:
    """Copy the received tensors to those of all lists."""
    for room in rooms:
        room.spread()


def brought(tensors: Sequence[Any], like: Any, rank_count: int, show: Show = values) -> Blocks:
    """Return a list, with a tensor for each rank as large as `like`, as a collective takes it."""
    found = _wrong_list(tensors, like, rank_count, "input") or _where_they_lie(tensors, like, show)
    return show(torch.cat([one.detach().reshape(-1) for one in tensors])) if found is None else found


def _where_they_lie(tensors: Sequence[Any], like: Any, show: Show) -> Blocks | None:
    """Return the memory of tensors as one array or one for each; None where `like`, the other side of the operation,
    may lie among them, or where one has gaps."""
    piece = _piece(tensors, like)
    if piece is not None:
        return show(piece)
    if not all(tensor.is_contiguous() and _are_apart(tensor, like) for tensor in tensors):
        return None
    arrays = [show(tensor) for tensor in tensors]
    return next((array for array in arrays if isinstance(array, Complaint)), arrays)


def _are_apart(one: Any, other: Any) -> bool:
    begin, other_begin = one.data_ptr(), other.data_ptr()
    return begin + one.nbytes <= other_begin or other_begin + other.nbytes <= begin  # type: ignore[no-any-return]


def _piece(tensors: Sequence[Any], like: Any) -> Any:
    """Return the memory of tensors that lie one behind the other, as the chunks of one do.

    None of any others, and where `like`, the other side of the operation, may lie among them.
    """
    first, storage = tensors[0], tensors[0].untyped_storage().data_ptr()
    size = first.numel() * first.element_size()
    if not first.is_cpu or size == 0 or like.untyped_storage().data_ptr() == storage:
        return None
    for place, tensor in enumerate(tensors):
        follows = tensor.data_ptr() == first.data_ptr() + place * size and tensor.is_contiguous()
        if not follows or tensor.untyped_storage().data_ptr() != storage:
            return None
    return first.detach().as_strided((len(tensors), first.numel()), (first.numel(), 1))


def _wrong_list(tensors: Sequence[Any], like: Any, rank_count: int, what: str) -> Complaint | None:
    if len(tensors) != rank_count:
        return Complaint(
            f"invalid {what} tensor list: Incorrect {what} list size {len(tensors)}. {what.capitalize()} list size "
            f"should be {rank_count}, a tensor for each rank"
        )
    for rank, tensor in enumerate(tensors):
        found = f"at index {rank}: expected that of {described(like)}, found {described(tensor)}"
        if tensor.dtype != like.dtype:
            return Complaint(f"invalid tensor type {found}")
        if tensor.numel() != like.numel():
            return Complaint(f"invalid tensor size {found}")
    return None


def in_order(tensor: Any, show: Show) -> Array | Complaint:
    """Return a tensor's memory where its elements lie in the order of their indices."""
    if tensor.is_contiguous():
        return show(tensor)
    return Complaint(f"expected a contiguous tensor for the result, found {described(tensor)}")


def split_sizes(tensor: Any, sizes: object, rank_count: int) -> list[int] | Complaint:
    """Return the rows of a tensor's blocks along the first axis, one for each rank; of equal ones without sizes."""
    rows = tensor.shape[0] if tensor.dim() else 1
    given: Any = sizes
    try:
        found = [index(size) for size in given] if len(given) else [rows // rank_count] * rank_count
    except TypeError:
        found = []
    if len(found) == rank_count and sum(found) == rows and min(found) >= 0:
        return found
    return Complaint(
        f"expected {rank_count} split sizes whose sum is the first axis of {described(tensor)}, found {sizes}"
    )


def split(array: Array | Complaint, tensor: Any, sizes: object, rank_count: int) -> Any:
    """Return a tensor's array in blocks along the first axis, one for each rank; of equal ones without sizes."""
    found = array if isinstance(array, Complaint) else split_sizes(tensor, sizes, rank_count)
    if isinstance(found, Complaint) or isinstance(array, Complaint):
        return found
    row = array.size // max(sum(found), 1)
    ends = np.cumsum(found) * row
    return [array[end - size * row : end] for size, end in zip(found, ends.tolist(), strict=True)]


def without_complaints(arrays: Sequence[Array | Complaint]) -> Sequence[Array] | Complaint:
    """Return the arrays, or the complaint about the first one that has any."""
    found = [array for array in arrays if not isinstance(array, Complaint)]
    return found if len(found) == len(arrays) else next(a for a in arrays if isinstance(a, Complaint))
