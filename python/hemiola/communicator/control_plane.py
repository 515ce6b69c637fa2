"""Which control plane new communicators get. Tests and reproductions choose; users need not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_chosen: ContextVar[str] = ContextVar("control_plane", default="")


def chosen_control_plane() -> str:
    """Return the name of the control plane in force, "" where the ranks' hosts decide."""
    return _chosen.get()


@contextmanager
def control_plane(name: str) -> Iterator[None]:
    """Have communicators that are made meanwhile use another control plane, the same on all ranks.

    Parameters
    ----------
    name : str; 'local', in shared memory, 'arbiter', where ranks agree by messages on who is late, or 'hosts', where
        they do all of it by messages.
    """
    before = _chosen.set(name)
    try:
        yield
    finally:
        _chosen.reset(before)
