# SPDX-License-Identifier: Apache-2.0
"""Tensors, in lists or not, that a call's caller keeps alive, and this does not."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch


class Chunks:
    """A tensor with a chunk of each rank, which callers see as a list of these."""

    def __init__(self, tensor: Any, count: int) -> None:
        self.tensor, self.count = tensor, count

    def __getitem__(self, place: int) -> Any:
        return self.tensor.chunk(self.count)[place]


class ChunksOfEach:
    """Tensors with a chunk of each rank, which callers see as a list for each rank, with a chunk of each tensor."""

    def __init__(self, tensors: Sequence[Any], count: int) -> None:
        self.tensors, self.count = tensors, count

    def __getitem__(self, place: int) -> Any:
        return [tensor.chunk(self.count)[place] for tensor in self.tensors]


def loosely(result: Any) -> Any:
    """Return the same with a reference that does not keep it in place of each tensor."""
    if isinstance(result, torch.Tensor):
        return weakref.ref(result)
    if isinstance(result, Chunks):
        return Chunks(loosely(result.tensor), result.count)
    if isinstance(result, ChunksOfEach):
        return ChunksOfEach(loosely(list(result.tensors)), result.count)
    return [loosely(one) for one in result] if isinstance(result, list | tuple) else result


def held(result: Any) -> Any:
    """Return the tensors that `loosely` was given; anything else as it is. Raises RuntimeError where a tensor is
    gone."""
    if isinstance(result, weakref.ref):
        tensor = result()
        if tensor is None:
            raise RuntimeError("hemiola: the result of an operation was asked for, whose tensors are gone")
        return tensor
    if isinstance(result, Chunks):
        return list(held(result.tensor).chunk(result.count))
    if isinstance(result, ChunksOfEach):
        tensors = held(list(result.tensors))
        return [list(each) for each in zip(*(one.chunk(result.count) for one in tensors), strict=True)]
    return [held(one) for one in result] if isinstance(result, list) else result
