# SPDX-License-Identifier: Apache-2.0
"""Keeps Works alive for PyTorch 2.4, which forgets their Python part while only its own C++ holds them. `wait` would
then wait for ever. Where PyTorch keeps them, nothing here is used."""

from __future__ import annotations

from collections import deque
from functools import cache
from threading import Lock
from typing import Any

from torch._C import _distributed_c10d as c10d

from hemiola.torch.work import Finished, Running


@cache
def pytorch_keeps_works() -> bool:
    """Say whether C++ that has called a method in Python still finds Python's Work when nobody else has it."""

    class Probe(c10d.ProcessGroup):
        def barrier(self, opts: Any = None) -> Any:
            return Finished([])

    try:
        c10d.ProcessGroup.barrier(Probe(0, 1)).get_future()
    except RuntimeError:  # not Python's any more, but that of the base
        return False
    return True


class KeptWorks:
    """The latest Works of a group, kept alive; when they are over, their tensors are not.

    C++ lets a Work go unseen, so there is a bound: waiting for one behind which `COUNT` others were begun would last
    for ever. DDP has two outstanding, functional collectives one for each tensor.
    """

    COUNT = 4096

    def __init__(self) -> None:
        self._lock = Lock()
        self._latest: deque[Finished | Running] = deque(maxlen=self.COUNT)
        self._under_way: deque[Running] = deque(maxlen=self.COUNT)

    def add(self, work: Finished | Running) -> None:
        """Keep one more; let go of the tensors of those that have ended and for which nobody has waited."""
        with self._lock:
            while self._under_way and self._under_way[0].is_completed():
                self._under_way.popleft()
            work.hold_loosely()
            self._latest.append(work)
            if isinstance(work, Running):
                self._under_way.append(work)
