"""How much of the machine this process may use."""

from __future__ import annotations

import os

from hemiola.machine.capacity import core_count, machine_cores


def test_a_process_kept_to_one_core_counts_that_one() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert core_count() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert core_count() <= min(len(allowed), machine_cores())
