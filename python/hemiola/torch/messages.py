# SPDX-License-Identifier: Apache-2.0
"""Messages between two ranks, with tags and of any number at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hemiola._core import Complaint
from hemiola.communicator import Communicator, Handle
from hemiola.torch.errors import GroupArgumentError
from hemiola.torch.operation_types import OF_CALL
from hemiola.torch.recorder import Recorder
from hemiola.torch.tensors import content
from hemiola.torch.work import Message


class Messages:
    """Messages between two ranks of a group."""

    _comm: Communicator
    _coalesced: list[Any] | None
    recorder: Recorder
    _limit_of: Callable[[Any], float | None]
    runs: Callable[[str], None]

    def send(self, tensors: Any, dst: int, tag: int = 0) -> Any:
        """Send a tensor to a rank."""
        self.runs("messages")
        array = _array_of(tensors)
        handle = self._comm.start_send(array, dst, tag, timeout_s=self._limit_of(None))
        return self._noted(handle, tensors, "send", self._comm.rank, dst)

    def recv(self, tensors: Any, src: int | None, tag: int = 0) -> Any:
        """Receive a tensor from a rank."""
        self.runs("messages")
        array = _array_of(tensors)
        handle = self._comm.start_recv(array, src, tag, timeout_s=self._limit_of(None))
        return self._noted(handle, tensors, "recv", -1 if src is None else src, self._comm.rank)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Any:
        """Receive a tensor from the first rank that sends one."""
        return self.recv(tensors, None, tag)

    recvAnysource = recv_anysource

    def _noted(self, handle: Handle[Any], tensors: Any, kind: str, src: int, dst: int) -> Any:
        work = Message(handle, tensors)
        work.op_type = OF_CALL[kind]
        entry = self.recorder.message(kind, tensors[0], src, dst)
        work.on_end = partial(self.recorder.over, entry)
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work


def _array_of(tensors: Any) -> Any:
    """Return the memory of the one tensor of a message; what is wrong with it, only this rank hears."""
    if len(tensors) != 1:
        raise GroupArgumentError(f"expected one tensor in a message, found {len(tensors)}")
    array = content(tensors[0])
    if isinstance(array, Complaint):
        raise GroupArgumentError(array.text)
    return array
