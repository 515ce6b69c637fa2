# SPDX-License-Identifier: Apache-2.0
"""The state of a training as words, which say what it is made of, and as memory that `Communicator.heal` moves."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray

from hemiola.communicator import Communicator
from hemiola.errors import ArgumentError, FormatError

#: What stands for a tensor in words: a dict with this key.
_TENSOR = "a tensor's dtype and shape"
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class State:
    """Objects with `state_dict` and `load_state_dict`, by name: such as a model, an optimizer and a scheduler."""

    def __init__(self, parts: Mapping[str, Any]) -> None:
        for name, part in parts.items():
            if not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
                raise ArgumentError(
                    f"state: expected objects with state_dict and load_state_dict, found {type(part).__name__} as "
                    f"'{name}'"
                )
        self._parts = dict(parts)

    def heal(self, comm: Communicator, source: int) -> int:
        """Bring this rank's state to that of a rank; all ranks call this. Return the bytes that came.

        Raises
        ------
        ArgumentError
            where a state has something that is neither a tensor nor a plain value.
        LostRankError, TimeoutError, MismatchError
            as of `Communicator.heal`.
        """
        tensors: dict[str, torch.Tensor] = {}
        own = {name: _outline(part.state_dict(), name, tensors) for name, part in self._parts.items()}
        words = pickle.dumps(own)
        told = _broadcast(comm, words, source)
        wanted: dict[str, torch.Tensor] = {}
        states = {
            name: _filled(part, name, tensors, wanted)
            for name, part in (own if told == words else _read(told, source)).items()
        }
        memory = {name: _memory(tensor) for name, tensor in wanted.items()}
        came = _heal(comm, source, {name: _bytes(one) for name, one in memory.items()})
        if came or told != words:
            for name, tensor in wanted.items():
                if memory[name].data_ptr() != tensor.data_ptr():
                    tensor.copy_(memory[name])
            for name, part in self._parts.items():
                part.load_state_dict(states[name])
        return came


def _heal(comm: Communicator, source: int, memory: Mapping[str, NDArray[np.uint8]]) -> int:
    """Heal from a rank, which is the first of a group if it is not the first of all."""
    if source == 0:
        return comm.heal(memory)
    with comm.group([source, *(rank for rank in range(comm.rank_count) if rank != source)]) as group:
        return group.heal(memory)


def _broadcast(comm: Communicator, words: bytes, source: int) -> bytes:
    size = int(comm.broadcast(np.array([len(words)], np.int64), source)[0])
    return comm.broadcast(np.frombuffer(words.ljust(size)[:size], np.uint8).copy(), source).tobytes()


def _outline(tree: Any, name: str, tensors: dict[str, torch.Tensor]) -> Any:
    """Return a state without its tensors, which are noted by their names."""

    def note(tensor: Any, name: str) -> Any:
        tensors[name] = tensor.detach()
        return {_TENSOR: (str(tensor.dtype), tuple(tensor.shape))}

    return _mapped(tree, name, note)


def _filled(outline: Any, name: str, own: Mapping[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> Any:
    """Return a state of this rank's tensors where they fit, and of new ones elsewhere; all are noted in `wanted`."""

    def fill(words: Any, name: str) -> torch.Tensor:
        dtype, shape = words[_TENSOR]
        tensor = own.get(name)
        if tensor is None or (str(tensor.dtype), tuple(tensor.shape)) != (dtype, shape):
            tensor = torch.zeros(shape, dtype=getattr(torch, dtype.removeprefix("torch.")))
        wanted[name] = tensor
        return tensor

    return _mapped(outline, name, fill)


def _mapped(tree: Any, name: str, change: Callable[[Any, str], Any]) -> Any:
    """Return a tree in which tensors, or their words, are changed; its dicts, lists and tuples are plain."""
    if isinstance(tree, torch.Tensor) or (isinstance(tree, dict) and _TENSOR in tree):
        return change(tree, name)
    if isinstance(tree, Mapping):
        return {key: _mapped(value, f"{name}.{key}", change) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        found = [_mapped(value, f"{name}.{place}", change) for place, value in enumerate(tree)]
        return found if isinstance(tree, list) else tuple(found)
    if not isinstance(tree, _PLAIN):
        raise ArgumentError(
            f"state: expected tensors, numbers and text in dicts and lists, found {type(tree).__name__} at '{name}'"
        )
    return tree


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values alone: another rank's words make no objects and call nothing."""

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse every class and function."""
        raise pickle.UnpicklingError(f"expected plain values, found {module}.{name}")


def _read(words: bytes, source: int) -> dict[str, Any]:
    try:
        read = _PlainUnpickler(io.BytesIO(words)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError) as error:
        raise FormatError(
            f"elastic: expected the outline of a state, found what rank {source} sent: {error}"
        ) from error
    if not isinstance(read, dict):
        raise FormatError(
            f"elastic: expected the outline of a state from rank {source}, found {type(read).__name__}"
        )
    return read


def _memory(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor, or a copy where its elements are elsewhere or not side by side."""
    return tensor if tensor.device.type == "cpu" and tensor.is_contiguous() else tensor.cpu().contiguous()


def _bytes(tensor: torch.Tensor) -> NDArray[np.uint8]:
    found: NDArray[np.uint8] = tensor.reshape(-1).view(torch.uint8).numpy()
    return found
