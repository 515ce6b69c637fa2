# SPDX-License-Identifier: Apache-2.0
"""Schedules with scratch slots on real buffers, over every wire of one machine: the same bits on all ranks."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import numpy as np
import one_shot_ranks as work
import pytest

import hemiola as hm

LIMIT_S = 120


@pytest.mark.parametrize(("ranks", "wire"), [(2, "shm"), (5, "shm"), (3, "tcp"), (3, "emulated")])
def test_a_one_shot_all_reduce_adds_in_the_order_of_the_ranks_on_all_of_them(
    ranks: int, wire: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if wire == "tcp":  # as ranks of several hosts do
        monkeypatch.setenv("HEMIOLA_WIRE", "tcp")
        monkeypatch.setenv("HEMIOLA_INTERFACE", "127.0.0.0/8")
    seen = hm.launch(
        work.sum_in_one_shot,
        ranks,
        str(tmp_path) if wire == "tcp" else None,
        emulate=hm.topologies.ring(ranks, latency_s=1e-6, bandwidth=1e9) if wire == "emulated" else None,
        timeout_s=LIMIT_S,
    )
    for i, size in enumerate(work.SIZES * 2):
        parts = [
            np.random.default_rng(rank).standard_normal(size).astype(np.float32) for rank in range(ranks)
        ]
        floats = reduce(np.add, parts)  # one rank's part after the other
        counted = np.arange(size) * (ranks * (ranks + 1) // 2)
        average = np.full(size, (ranks - 1) / 2)
        expected = [floats, floats, counted, average]
        for found in seen:
            assert found[i] == [values.tobytes() for values in expected]


def test_a_sparse_all_reduce_refuses_scratch_slots() -> None:
    for error in hm.launch(work.sum_sparsely, 2, timeout_s=LIMIT_S):
        assert error == (
            "ArgumentError",
            "schedule: a sparse collective runs no schedule with scratch slots; pass another, or sparse=False",
        )


def test_what_was_planned_with_scratch_slots_runs_and_stays_plain() -> None:
    network = hm.topologies.ring(6, latency_s=1e-3, bandwidth=1e9)
    found = hm.launch(work.sum_small, 6, emulate=network, timeout_s=LIMIT_S)
    assert found == [([21.0] * 4, [21.0] * 4, "all_reduce_recursive_multiplying")] * 6
