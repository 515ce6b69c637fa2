# SPDX-License-Identifier: Apache-2.0
"""Runs of a second: progress is told, Ctrl-C ends them."""

import signal
import sys

import numpy as np
import pytest
from networks import KB, US, one_way_ring

import hemiola as hm

RANKS = 1024  # 2.1 million transfers


class Watcher:
    """Stands in for the progress bar."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []

    def __call__(self, landed: int, total: int) -> None:
        self.told.append((landed, total))

    def __enter__(self) -> "Watcher":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def schedule():
    return hm.algorithms.all_reduce_ring(RANKS)


def test_progress_is_told_now_and_then(schedule, monkeypatch):
    watcher = Watcher()
    monkeypatch.setattr(sys.modules["hemiola.simulate"], "ProgressBar", lambda _: watcher)
    hm.simulate(schedule, one_way_ring(RANKS), RANKS * KB)
    landed = [done for done, _ in watcher.told]
    assert landed == sorted(landed)
    assert {total for _, total in watcher.told} == {schedule.transfer_count}


def test_ctrl_c_ends_a_run(schedule):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        with pytest.raises(KeyboardInterrupt):
            hm.simulate(schedule, one_way_ring(RANKS, US, 3e9), RANKS * KB)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_many_transfers_over_one_port_do_not_exhaust_the_stack():
    # One message after the other through one port, all ready at once.
    count = 300_000
    rows = np.zeros((count, 4), dtype=np.int64)
    rows[:, 0] = np.arange(count)
    rows[:, 2] = 1
    s = hm.Schedule.from_transfers(hm.Collective.make("broadcast", 2, 1), rows)
    graph = hm.Topology(2, [(0, 1, US, 1e9)])
    for network in ("fifo", "fluid"):
        timeline = hm.simulate(s, graph, KB, network=network)
        assert timeline.seconds == pytest.approx((count + 1) * US, rel=1e-12)
