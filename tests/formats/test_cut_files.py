# SPDX-License-Identifier: Apache-2.0
"""Files that were cut short or edited: no part of what Hemiola writes passes for the whole."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from random_schedules import schedules

import hemiola as hm
from hemiola import topologies
from hemiola.errors import FormatError

COST = {"latency_s": 0.5e-6, "bandwidth": 50e9}
RING = hm.algorithms.all_reduce_ring(3)
MESH = topologies.mesh([3, 3], **COST)
HOSTS = topologies.hosts(2, 2, nic_latency_s=5e-6, nic_bandwidth=25e9, **COST)


def accepted_prefixes(whole: bytes, read: Callable[[bytes], object]) -> list[bytes]:
    """Return how prefixes end that are read: all of them, or some 500 and the longest where there are more. The whole
    without its last newline is none."""
    sizes = range(len(whole) - whole.endswith(b"\n"))
    some = {*sizes[:: max(1, len(sizes) // 500)], *sizes[-100:]}
    accepted = []
    for size in sorted(some):
        try:
            read(whole[:size])
        except FormatError:
            continue
        accepted.append(whole[:size][-20:])
    return accepted


@settings(max_examples=30)
@given(schedules())
def test_no_prefix_of_a_schedule_is_read(schedule: hm.Schedule) -> None:
    text = schedule.to_text().encode()
    assert hm.Schedule.from_text(text.decode().removesuffix("\n")) == schedule
    assert not accepted_prefixes(text, lambda part: hm.Schedule.from_text(part.decode()))
    assert not accepted_prefixes(schedule.to_bytes(), hm.Schedule.from_bytes)


@pytest.mark.parametrize("topology", [MESH, HOSTS, hm.Topology(2, []), hm.Topology(1, [], name="one: [1")])
def test_no_prefix_of_a_topology_is_read(topology: hm.Topology) -> None:
    text = topology.to_yaml().encode()
    assert hm.Topology.from_yaml(text.decode().removesuffix("\n")) == topology
    assert not accepted_prefixes(text, lambda part: hm.Topology.from_yaml(part.decode()))


def test_a_schedule_that_lost_or_won_lines_is_refused() -> None:
    text = RING.to_text()
    with pytest.raises(FormatError, match=r"as many transfers as the last line says, 12, found 11; correct"):
        hm.Schedule.from_text(text.replace("0->1: 2+\n", "", 1))
    with pytest.raises(FormatError, match="expected nothing after 'end'"):
        hm.Schedule.from_text(text + "step 9\n")


def test_a_topology_that_lost_or_won_links_is_refused() -> None:
    text = MESH.to_yaml()
    with pytest.raises(FormatError, match="expected 24 links, as link_count says, found 23"):
        hm.Topology.from_yaml(text.replace("  - [0, 1]\n", "", 1))
    with pytest.raises(FormatError, match="expected 24 links, as link_count says, found 25"):
        hm.Topology.from_yaml(text.replace("  - [0, 1]\n", "  - {src: 0, dst: 1, both_ways: true}\n", 1))


def test_what_is_written_by_hand_need_not_count() -> None:
    """Version 1 of the text form, and YAML without a count or an end; a count that is there is checked."""
    text = RING.to_text().replace("schedule 2", "schedule 1")
    assert hm.Schedule.from_text(text.replace("\nend 12\n", "")) == RING
    with pytest.raises(FormatError, match="the last line says, 13"):
        hm.Schedule.from_text(text.replace("end 12", "end 13"))
    yaml = MESH.to_yaml()
    assert hm.Topology.from_yaml(yaml.replace("link_count: 24\n", "").removesuffix("...\n")) == MESH
