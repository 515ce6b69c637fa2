# SPDX-License-Identifier: Apache-2.0
"""All ranks get the same bits from an all-reduce: every operation, dtype and schedule, with random bits as input."""

from __future__ import annotations

import equal_bits_ranks as work
import pytest

import hemiola as hm
from all_reduce_schedules import SCHEDULES

LIMIT_S = 240
#: Those whose messages may leave zeros out: without scratch slots.
CODED = [name for name in SCHEDULES if name != "one_shot"]


def differing(
    ranks: int, sources: list[str], *, sparse: bool | None = None, emulate: bool = False
) -> list[str]:
    network = hm.topologies.ring(ranks, latency_s=1e-6, bandwidth=1e9) if emulate else None
    first, *others = hm.launch(work.digests, ranks, sources, sparse, emulate=network, timeout_s=LIMIT_S)
    assert len(first) > 100
    return [case for case in first if any(other[case] != first[case] for other in others)]


@pytest.mark.parametrize("ranks", [2, 3])
def test_all_ranks_get_the_same_bits(ranks: int) -> None:
    assert differing(ranks, ["planned", "all_reduce_recursive_doubling", "all_reduce_direct"]) == []


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 4, 5, 7, 9])
def test_all_ranks_get_the_same_bits_from_every_schedule(ranks: int) -> None:
    assert differing(ranks, ["planned", *SCHEDULES]) == []


@pytest.mark.parametrize("ranks", [3, pytest.param(4, marks=pytest.mark.long)])
def test_messages_that_leave_zeros_out_bring_the_same_bits_to_all(ranks: int) -> None:
    few = ["all_reduce_recursive_doubling"] if ranks == 3 else CODED
    assert differing(ranks, few, sparse=True) == []


@pytest.mark.parametrize("wire", ["tcp", "ucx", "emulated"])
def test_every_wire_brings_the_same_bits_to_all(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if wire != "emulated":
        monkeypatch.setenv("HEMIOLA_WIRE", wire)
        monkeypatch.setenv("HEMIOLA_INTERFACE", "127.0.0.0/8")
    assert differing(4, ["all_reduce_recursive_doubling"], emulate=wire == "emulated") == []
