# SPDX-License-Identifier: Apache-2.0
"""A schedule that stays in its file is simulated block by block, to the same picosecond as in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hemiola as hm

LINK = {"latency_s": 1e-6, "bandwidth": 1e9}
NETWORKS = {
    "mesh": hm.topologies.mesh([4, 5], **LINK),
    "torus": hm.topologies.torus([3, 3, 3], **LINK),
    "two speeds": hm.topologies.mesh([5, 4], latency_s=[1e-6, 3e-6], bandwidth=[1e9, 2.3e9]),
    "ring": hm.topologies.ring(7, **LINK),
}
CONDITIONS = {"none": hm.Conditions(), "late and slow": hm.Conditions(late={3: 4e-4}, slow={1: 2.5})}


def on_disk(schedule: hm.Schedule, folder: Path) -> hm.ScheduleFile:
    path = folder / "some.schedb"
    schedule.save(path)
    return hm.ScheduleFile(path)


@pytest.mark.parametrize("conditions", CONDITIONS)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kind", ["all_gather", "broadcast", "scatter", "gather", "all_to_all"])
def test_the_times_are_those_of_the_schedule_in_memory(
    kind: str, network: str, conditions: str, tmp_path: Path
) -> None:
    topology, now = NETWORKS[network], CONDITIONS[conditions]
    schedule = hm.synthesize(topology, kind, 2, seed=5)
    file = on_disk(schedule, tmp_path)
    for nbytes in (0, 1, 13, 1_000_007):
        expected = hm.simulate(schedule, topology, nbytes, now, network="fifo")
        found = hm.simulate(file, topology, nbytes, now, network="fifo")
        assert (expected.is_verified, found.is_verified) == (True, False)
        assert found.seconds == expected.seconds
        assert np.array_equal(found.finish_s, expected.finish_s)
        assert np.array_equal(found.link_busy_s, expected.link_busy_s)


def test_two_messages_one_after_the_other_on_a_link(tmp_path: Path) -> None:
    """Given ranks 0 -> 1 -> 2, two chunks of 1000 bytes, 1 us a chunk and 0.5 us latency, rank 0 holding both.
    Then chunk c has left 0 at 1 + c us and is on 1 at 1.5 + c us; there it is sent on at once: on 2 at 3 + c us."""
    line = hm.topologies.mesh([3], latency_s=0.5e-6, bandwidth=1e9)
    rows = [(0, 0, 1, 0, 0), (1, 0, 1, 1, 0), (1, 1, 2, 0, 0), (2, 1, 2, 1, 0)]
    schedule = hm.Schedule.from_transfers(hm.Collective.make("broadcast", 3, 2), rows)
    assert hm.verify(schedule) == []
    found = hm.simulate(on_disk(schedule, tmp_path), line, 2000, network="fifo")
    assert found.finish_s.tolist() == pytest.approx([2e-6, 3.5e-6, 4e-6], rel=1e-12)


def test_what_one_pass_cannot_decide_is_refused(tmp_path: Path) -> None:
    ring, switch = hm.topologies.ring(4, **LINK), hm.topologies.switch(4, **LINK)
    gathered = on_disk(hm.algorithms.all_gather_ring(4), tmp_path)
    with pytest.raises(hm.errors.ArgumentError, match="over 2 links"):
        hm.simulate(gathered, switch, 1000, network="fifo")
    with pytest.raises(hm.errors.ArgumentError, match="network='fifo', one slice and no noise"):
        hm.simulate(gathered, ring, 1000)
    with pytest.raises(hm.errors.ArgumentError, match="equally many ranks"):
        hm.simulate(gathered, hm.topologies.ring(5, **LINK), 1000, network="fifo")
    with pytest.raises(hm.errors.ArgumentError, match="no record of single transfers"):
        _ = hm.simulate(gathered, ring, 1000, network="fifo").spans
    for kind, rows, what in (
        ("all_reduce", [(0, 0, 1, 0, 1)], "a reduce in step 0"),
        ("broadcast", [(0, 0, 1, 0, 0), (0, 0, 1, 1, 0)], "more from rank 0 to rank 1 in step 0"),
        ("broadcast", [(0, 0, 1, 0, 0), (1, 1, 0, 0, 0)], "chunk 0 on rank 0 in step 1"),
    ):
        schedule = hm.Schedule.from_transfers(hm.Collective.make(kind, 4, 4), rows)
        with pytest.raises(hm.errors.ArgumentError, match=what):
            hm.simulate(on_disk(schedule, tmp_path), ring, 1000, network="fifo")


def test_a_schedule_that_stays_in_its_file_is_not_verified_and_the_timeline_says_so(tmp_path: Path) -> None:
    wrong = hm.Schedule.from_transfers(hm.Collective.make("broadcast", 3, 1), [(0, 0, 1, 0)])
    ring = hm.topologies.ring(3, **LINK)
    timeline = hm.simulate(on_disk(wrong, tmp_path), ring, 1000, network="fifo")
    assert not timeline.is_verified
    assert "is_verified=False" in repr(timeline)
