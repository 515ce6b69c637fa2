# SPDX-License-Identifier: Apache-2.0
"""What ranks do in test_garbled_words.py: one of them sends other bytes than it should, where it meets the others."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import numpy as np
from folder_store import FolderStore
from join_ranks import place

import hemiola as hm
from hemiola.communicator import init_options, store_meeting
from hemiola.planner.recipe import Recipe

Told = tuple[str, str, int | None]


def _told(error: hm.errors.HemiolaError) -> Told:
    """Return what a rank was told: the error, its words, and whom it blames."""
    cause = getattr(error, "cause", None)
    return type(error).__name__, str(error), None if cause is None else cause.rank


def options(name: str, garbled: str) -> Told | None:
    """Join by a name, where rank 1 passes garbled options."""
    rank, count = place()
    odd = SimpleNamespace(dumps=lambda _: garbled)
    with mock.patch.object(init_options, "json", odd if rank == 1 else init_options.json):
        try:
            hm.Communicator.join(rank, count, name, timeout_s=60)
        except hm.errors.HemiolaError as error:
            return _told(error)
    return None


class _GarblingStore(FolderStore):
    """What is put there is something else."""

    def __init__(self, folder: str, garbled: str) -> None:
        super().__init__(folder)
        self._garbled = garbled

    def set(self, key: str, value: str) -> None:
        super().set(key, value if value.isdigit() else self._garbled)


def at_a_store(folder: str, sender: int, garbled: str) -> Told | None:
    """Meet at a store, where what the sender puts there is garbled."""
    rank, count = place()
    store = _GarblingStore(folder, garbled) if rank == sender else FolderStore(folder)
    try:
        # Rank 0 believes what it has decided, and waits for the others.
        store_meeting.join_through_store(rank, count, store, 1 if rank == sender == 0 else 60)
    except hm.errors.HemiolaError as error:
        return _told(error)
    return None


def recipe(garbled: bytes) -> Told | None:
    """All-reduce, where whoever chooses says the schedule in garbled words."""
    comm = hm.init()
    with mock.patch.object(Recipe, "to_bytes", return_value=garbled):
        try:
            comm.all_reduce(np.ones(100))
        except hm.errors.HemiolaError as error:
            return _told(error)
    return None
