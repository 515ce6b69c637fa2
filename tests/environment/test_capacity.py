# SPDX-License-Identifier: Apache-2.0
"""How much of the machine this process may use."""

from __future__ import annotations

import os

import pytest

from hemiola.communicator.processor_time import ProcessorTime
from hemiola.machine import capacity
from hemiola.machine.capacity import core_count, machine_cores


def test_a_process_kept_to_one_core_counts_that_one() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert core_count() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert core_count() <= min(len(allowed), machine_cores())


def test_processor_time_since_is_the_difference_and_never_less_than_nothing() -> None:
    assert ProcessorTime(3.0, 0.75) - ProcessorTime(1.0, 0.25) == ProcessorTime(2.0, 0.5)
    assert ProcessorTime(1.0, 1.0) - ProcessorTime(2.0, 2.0) == ProcessorTime(
        0.0, 0.0
    )  # of threads that ended


@pytest.mark.parametrize(
    ("limit", "used", "total", "free"),
    [
        (["1048576"], ["1000000"], 1048576, 48576),
        (["1048576"], ["2000000"], 1048576, 0),
        (["1048576"], [], 1048576, 1048576),
        (["max"], ["1000000"], None, None),
        ([], [], None, None),
    ],
)
def test_memory_is_the_machines_or_less_where_a_cgroup_limits_it(
    limit: list[str], used: list[str], total: int | None, free: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"memory.max": limit, "memory.current": used}
    monkeypatch.setattr(capacity, "_cgroup_words", words.__getitem__)
    found_total, found_free = capacity.memory_bytes()
    assert 0 <= found_free <= found_total
    assert total is None or (found_total, found_free) == (total, free)
    assert total is not None or found_total == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
