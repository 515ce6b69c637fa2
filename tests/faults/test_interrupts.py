# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends whatever the core is busy with, and at once."""

import signal
import time
from collections.abc import Callable

import numpy as np
import pytest

import hemiola as hm
from hemiola import synthesis, topologies

RANKS = 1 << 20
COST = {"latency_s": 1e-6, "bandwidth": 1e9}


def pairwise_sums() -> hm.Schedule:
    """An all-reduce of a million ranks that adds pairs and stops there: half a million wrong sums, all different."""
    rows = np.zeros((RANKS // 2, 5), np.int64)
    rows[:, 1] = np.arange(0, RANKS, 2)
    rows[:, 2] = rows[:, 1] + 1
    rows[:, 4] = 1
    return hm.Schedule.from_transfers(hm.Collective.with_owners("all_reduce", RANKS, [0]), rows)


def a_crowd() -> hm.Topology:
    """Of 200 ranks, each with links of many speeds: bounds and forests need a flow for each."""
    rng = np.random.default_rng(0)
    pairs = {(a, int(b)) for a in range(200) for b in rng.integers(0, 200, 30) if a != b}
    return hm.Topology(200, [(a, b, 1e-6, float(rng.integers(1, 10**9))) for a, b in sorted(pairs)])


#: What is prepared, and a call of several seconds or more, of which the test waits for the first 0.3.
LONG: dict[str, tuple[Callable[[], object], Callable[[object], object]]] = {
    "verify": (pairwise_sums, hm.verify),
    "forest": (a_crowd, lambda crowd: synthesis.forest(crowd, "all_gather")),
    "generate": (lambda: 1 << 14, hm.algorithms.all_to_all_direct),
    "from_transfers": (lambda: None, lambda _: [hm.algorithms.all_reduce_direct(2000) for _ in range(9)]),
    "simulate": (
        lambda: hm.algorithms.all_to_all_direct(576),
        lambda s: hm.simulate(s, topologies.torus([24, 24], **COST), 1 << 30, unchecked=True),
    ),
    "synthesize": (
        lambda: topologies.mesh([90, 90], **COST),
        lambda mesh: hm.synthesize(mesh, "all_gather", chunks_per_rank=4),
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_call_hears_a_signal(name: str) -> None:
    prepare, call = LONG[name]
    prepared = prepare()

    def strike(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGPROF, strike)
    try:
        # From the sending on, whenever it was heard; in CPU time, in which other programs have no part.
        sent_at = time.process_time() + 0.3
        signal.setitimer(signal.ITIMER_PROF, 0.3)
        with pytest.raises(KeyboardInterrupt):
            call(prepared)
        assert time.process_time() - sent_at < 0.5
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def many_rows() -> list[tuple[int, int, float, float]]:
    return [(rank, rank + 1, 1e-6, 1e9) for rank in range(500_000)]


def a_million_pairs() -> hm.Schedule:
    return hm.algorithms.all_to_all_direct(1000)


#: A fraction of a second each: too short to wait for, so that it is counted how often signals are heard.
SHORT: dict[str, tuple[Callable[[], object], Callable[[object], object]]] = {
    "build": (lambda: [64] * 3, lambda dims: topologies.torus(dims, **COST)),
    "from rows": (many_rows, lambda rows: hm.Topology(500_001, rows)),
    "repeated": (lambda: topologies.ring(100, **COST), lambda ring: ring.repeated(4000)),
    "degraded": (lambda: topologies.torus([64] * 3, **COST), lambda torus: torus.degraded({0: 2.0})),
    "unwound": (lambda: topologies.switch(1500, **COST), lambda switch: switch.unwind_switches(300)),
    "fifo": (
        lambda: hm.algorithms.all_gather_ring(1000),
        lambda s: hm.simulate(s, topologies.ring(1000, **COST), 1 << 30, network="fifo", unchecked=True),
    ),
    "reverse": (a_million_pairs, lambda s: s.reverse()),
    "text": (a_million_pairs, lambda s: s.to_text()),
}


@pytest.mark.parametrize("name", SHORT)
def test_a_short_call_hears_signals_all_along(name: str) -> None:
    prepare, call = SHORT[name]
    prepared = prepare()
    strikes = 0

    def strike(*_: object) -> None:
        nonlocal strikes
        strikes += 1

    before = signal.signal(signal.SIGALRM, strike)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        call(prepared)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # One before the call and one after it need no hearing.
    assert strikes >= 5
