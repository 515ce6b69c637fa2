# SPDX-License-Identifier: Apache-2.0
"""The small topologies and schedules of the model tests, written out so that a time can be redone by hand."""

from __future__ import annotations

from collections.abc import Sequence

import hemiola as hm

US = 1e-6
KB = 1000
GBPS = 1e9  # 1 kB takes 1 us

LinkRow = tuple[int, int, float, float]


def microseconds(seconds: float) -> float:
    """Whole picoseconds as microseconds, so that an expected 28 equals a simulated 28 exactly."""
    return round(seconds * 1e12) / 1e6


def finishes(timeline: hm.Timeline) -> list[float]:
    """When each rank is done, in microseconds."""
    return [microseconds(s) for s in timeline.finish_s]


def schedule(
    ranks: int, rows: Sequence[tuple[int, int, int, int]], chunks: Sequence[int] | int = 1
) -> hm.Schedule:
    """Transfers (step, src, dst, chunk) that promise what they do: each sends what was there from the start, and is
    wanted. `chunks` is their count, or their sizes in kB."""
    weights = None if isinstance(chunks, int) else list(chunks)
    count = chunks if isinstance(chunks, int) else len(chunks)
    before, after = ({(row[place], row[3]) for row in rows} for place in (1, 2))
    promise = hm.Collective.custom(ranks, count, sorted(before), sorted(after), reducing=False)
    return hm.Schedule.from_transfers(promise, rows, weights)


def links(rows: Sequence[tuple[int, int]], latency_s: float = US, bandwidth: float = GBPS) -> list[LinkRow]:
    """Links with the same figures, for hm.Topology."""
    return [(src, dst, latency_s, bandwidth) for src, dst in rows]


def one_way_ring(ranks: int, latency_s: float = US, bandwidth: float = GBPS) -> hm.Topology:
    return hm.Topology(ranks, links([(r, (r + 1) % ranks) for r in range(ranks)], latency_s, bandwidth))


def switch(ranks: int, latency_s: float = US, bandwidth: float = GBPS) -> hm.Topology:
    """Every rank has one port, to and from one switch; latency_s is from rank to rank."""
    ends = [(r, ranks) for r in range(ranks)] + [(ranks, r) for r in range(ranks)]
    return hm.Topology(ranks, links(ends, latency_s / 2, bandwidth), switch_count=1)


def fully_connected(ranks: int, latency_s: float = US, bandwidth: float = GBPS) -> hm.Topology:
    ends = [(r, q) for r in range(ranks) for q in range(ranks) if r != q]
    return hm.Topology(ranks, links(ends, latency_s, bandwidth))


def line(ranks: int, latency_s: float = US, bandwidth: float = GBPS) -> hm.Topology:
    """Ranks in a row, a link in each direction between neighbours; those to the right come first."""
    ends = [(r, r + 1) for r in range(ranks - 1)] + [(r + 1, r) for r in range(ranks - 1)]
    return hm.Topology(ranks, links(ends, latency_s, bandwidth))


def two_unequal_switches(ranks: int) -> hm.Topology:
    """Half the ranks at one switch, half at another, each with a speed of its own; a thin link between."""
    near, far = ranks, ranks + 1
    rows: list[LinkRow] = [(near, far, 3 * US, 0.7e9), (far, near, 3 * US, 0.7e9)]
    for r in range(ranks):
        at = near if r < ranks // 2 else far
        rows += [(r, at, 0.5 * US, 1e9 + 1e8 * r), (at, r, 0.25 * US, 1e9)]
    return hm.Topology(ranks, rows, switch_count=2)
