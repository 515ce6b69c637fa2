# SPDX-License-Identifier: Apache-2.0
"""The ranks' reports during a measurement, to the process that launched them: as they come, so that an interrupted
measurement has shown its results so far."""

from __future__ import annotations

import fcntl
import os
import pickle
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

Seen = TypeVar("Seen")


class Reports(Generic[Seen]):
    """A pipe while ranks are launched; each rank reports each item, in the order of the items.

    Parameters
    ----------
    rank_count : int.
    on_item : called in a thread of its own with an item's index and every rank's observation of it, once all have
        reported.
    """

    def __init__(self, rank_count: int, on_item: Callable[[int, Sequence[Seen]], None]) -> None:
        self._rank_count = rank_count
        self._on_item = on_item
        self._items: dict[int, dict[int, Seen]] = {}
        self._raised: list[Exception] = []
        self._read_end, self._write_end = os.pipe()
        # The ranks open it by this name, and nothing is left behind when a process is killed.
        self.path = Path(f"/proc/{os.getpid()}/fd/{self._write_end}")
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._write_end)
        self._thread.join()
        if self._raised and error is None:
            raise self._raised[0]

    def _listen(self) -> None:
        with os.fdopen(self._read_end, "rb") as incoming:
            while True:
                try:
                    index, rank, seen = pickle.load(incoming)
                except (EOFError, pickle.UnpicklingError):  # the end, or a rank that died while it wrote
                    return
                item = self._items.setdefault(index, {})
                item[rank] = seen
                if len(item) == self._rank_count and not self._raised:
                    self._tell(index, [item[rank] for rank in range(self._rank_count)])

    def _tell(self, index: int, seen: Sequence[Seen]) -> None:
        try:
            self._on_item(index, seen)
        except Exception as error:  # raised where the ranks were launched, when they are done
            self._raised.append(error)


def report(path: Path, index: int, rank: int, seen: Any) -> None:
    """Tell the launching process this rank's observation of an item."""
    with open(path, "wb") as outgoing:
        fcntl.flock(outgoing, fcntl.LOCK_EX)  # until it is closed: a long report is written in parts
        outgoing.write(pickle.dumps((index, rank, seen)))
