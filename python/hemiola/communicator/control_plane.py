# SPDX-License-Identifier: Apache-2.0
"""Which control plane new communicators get. Tests and reproductions choose; users need not."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from hemiola.environment import INTERFACE, RENDEZVOUS, TOKEN, TOKEN_BYTES

_chosen: ContextVar[str] = ContextVar("control_plane", default="")


def chosen_control_plane() -> str:
    """Return the name of the control plane in force, "" where the ranks' hosts decide."""
    return _chosen.get()


@contextmanager
def control_plane(name: str) -> Iterator[None]:
    """Have communicators that are made meanwhile use another control plane, the same on all ranks.

    Parameters
    ----------
    name : str; 'local', in shared memory, or 'hosts', by messages, for ranks that have met at an address.
    """
    before = _chosen.set(name)
    try:
        yield
    finally:
        _chosen.reset(before)


def meeting_at_an_address() -> dict[str, str]:
    """Return variables for ranks of this host, to be set before `init`, with which they meet as those of several do."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return {
        RENDEZVOUS.name: f"127.0.0.1:{port}",
        TOKEN.name: secrets.token_hex(TOKEN_BYTES),
        INTERFACE.name: "127.0.0.0/8",
    }
