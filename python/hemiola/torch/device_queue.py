# SPDX-License-Identifier: Apache-2.0
"""A device's interface for the executor: a queue that does one thing after the other while its callers go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

import torch

from hemiola.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class DeviceMessage:
    """One end of a message: `memory` is a tensor of bytes."""

    sending: bool
    peer: int
    memory: Any


class DeviceQueue(Protocol):
    """A queue of a device. Between `begin` and `end` nothing allocates, and nobody waits for the device."""

    def begin(self) -> None:
        """Say that a program follows."""

    def exchange(self, messages: Sequence[DeviceMessage]) -> None:
        """Start messages together; operations queued later come after all of them. Those of one pair and direction
        match in their order."""

    def copy(self, to: Any, of: Any) -> None:
        """Copy one tensor's elements to another's."""

    def launch(self, kernel: Any, tiles: int, given: Sequence[Any], fixed: dict[str, Any]) -> None:
        """Start one of `device_kernels`, a program per tile."""

    def end(self) -> None:
        """Say that the program is over."""

    def is_captured(self) -> bool:
        """Say whether a graph records what is queued, and will run it again unasked."""

    def abort(self) -> None:
        """End the messages under way, from any thread: a rank is lost that they may wait for."""


class ProcessGroupQueue:
    """The messages by a process group of torch.distributed, all else on the caller's stream.

    Parameters
    ----------
    group : torch.distributed.ProcessGroup with a backend for the device: NCCL (RCCL) for CUDA's, which starts a group's
        messages together and lets the stream wait for them; gloo for the CPU, where the caller waits.
    device : torch.device.
    """

    def __init__(self, group: Any, device: Any) -> None:
        self._group, self._device = group, device
        self._coalesces = bool(getattr(group._get_backend(device), "supports_coalescing", False))

    def begin(self) -> None:
        """Do nothing: the stream knows its order."""

    end = begin

    def exchange(self, messages: Sequence[DeviceMessage]) -> None:
        """Run torch.distributed.batch_isend_irecv's exchange, without looking at every message again."""
        if self._coalesces:
            self._group._start_coalescing(self._device)
            self._start(messages)
            self._group._end_coalescing(self._device).wait()
            return
        for work in self._start(messages):
            work.wait()

    def _start(self, messages: Sequence[DeviceMessage]) -> list[Any]:
        return [
            (self._group.send if each.sending else self._group.recv)([each.memory], each.peer, 0)
            for each in messages
        ]

    def copy(self, to: Any, of: Any) -> None:
        """Copy on the stream."""
        to.copy_(of, non_blocking=True)

    def launch(self, kernel: Any, tiles: int, given: Sequence[Any], fixed: dict[str, Any]) -> None:
        """Start it on the stream."""
        kernel[(tiles,)](*given, **fixed)

    def is_captured(self) -> bool:
        """Ask CUDA of the caller's stream."""
        return bool(self._device.type == "cuda" and torch.cuda.is_current_stream_capturing())

    def abort(self) -> None:
        """Abort the process group, where this PyTorch's has that; else its own timeout ends it."""
        if hasattr(self._group, "abort"):
            self._group.abort()


def kernels() -> ModuleType:
    """Return `device_kernels`. Raises ArgumentError where Triton is not there."""
    try:
        from hemiola.torch import device_kernels
    except ImportError as e:
        raise ArgumentError(
            "tensors on a device need Triton to be reduced, which is not there; pip install 'hemiola[triton]'"
        ) from e
    return device_kernels
