# SPDX-License-Identifier: Apache-2.0
"""Slow ports that the host notices change the device's plans, on all ranks at the same operation."""

from __future__ import annotations

import device_health_ranks as work
import pytest

import hemiola as hm


@pytest.mark.parametrize("adapt", ["slow", "late"])
def test_a_port_that_the_host_finds_slow_is_planned_around_on_all_ranks_at_once(adapt: str) -> None:
    network = hm.topologies.switch(4, latency_s=50e-6, bandwidth=20e6)
    first, *others = hm.launch(work.planned_while_a_port_degrades, 4, adapt, emulate=network, timeout_s=120)
    assert all(other == first for other in others)
    factors = [slow for slow, _ in first]
    plans = [plan for _, plan in first]
    assert factors[:64] == [{}] * 64
    if adapt == "late":  # nobody is asked
        assert factors == [{}] * 160
        return
    assert factors[64] == {2: 2.0}
    assert factors[64:] == [{2: 2.0}] * 96
    assert plans[63] != plans[64]
