"""Messages between two ranks, of any number at once and with tags: PyTorch's own gloo carries them."""

from __future__ import annotations

from typing import Any


class Messages:
    """What a group with a gloo of the same ranks inside can do."""

    _inner: Any

    def send(self, tensors: Any, dst: int, tag: int = 0) -> Any:
        """Send a tensor to a rank."""
        return self._inner.send(tensors, dst, tag)

    def recv(self, tensors: Any, src: int, tag: int = 0) -> Any:
        """Receive a tensor from a rank."""
        return self._inner.recv(tensors, src, tag)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Any:
        """Receive a tensor from whoever sends one."""
        return self._inner.recv_anysource(tensors, tag)

    recvAnysource = recv_anysource
