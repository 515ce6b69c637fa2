# SPDX-License-Identifier: Apache-2.0
"""Random schedules for the tests of the forms: any collective, any transfers, right or wrong."""

from hypothesis import strategies as st

import hemiola as hm

KINDS = (
    "all_gather",
    "reduce_scatter",
    "all_reduce",
    "broadcast",
    "reduce",
    "all_to_all",
    "gather",
    "scatter",
)


@st.composite
def collectives(draw: st.DrawFn) -> hm.Collective:
    """Return a collective of at most 5 ranks: block-wise, with owners of its own, or custom."""
    n = draw(st.integers(1, 5))
    rank = st.integers(0, n - 1)
    kind = draw(st.sampled_from((*KINDS, "custom")))
    if kind == "custom":
        chunks = draw(st.integers(1, 300))
        places = st.lists(st.tuples(rank, st.integers(0, chunks - 1)), max_size=10)
        before = draw(places)
        after = [place for place in draw(places) if place[1] in {chunk for _, chunk in before}]
        return hm.Collective.custom(n, chunks, before, after, reducing=draw(st.booleans()))
    if kind in ("broadcast", "reduce", "all_to_all") or draw(st.booleans()):
        return hm.Collective.make(kind, n, draw(st.integers(1, 3)) * n * n, draw(rank))
    owners = draw(st.lists(rank, min_size=1, max_size=300))
    return hm.Collective.with_owners(kind, n, owners, draw(rank))


@st.composite
def schedules(draw: st.DrawFn) -> hm.Schedule:
    """Return a schedule of up to 40 transfers, repeated ones included."""
    collective = draw(collectives())
    n, chunks = collective.rank_count, collective.chunk_count
    weights = draw(st.none() | st.lists(st.integers(0, 2**40), min_size=chunks, max_size=chunks).filter(any))
    if n == 1:
        return hm.Schedule.from_transfers(collective, [], weights)
    step = st.integers(0, 3) | st.integers(0, 70_000)
    hop = st.tuples(st.integers(0, n - 1), st.integers(1, n - 1))
    row = st.tuples(step, hop, st.integers(0, chunks - 1), st.booleans())
    rows = [
        (t, src, (src + by) % n, chunk, red) for t, (src, by), chunk, red in draw(st.lists(row, max_size=40))
    ]
    if draw(st.booleans()):
        return hm.Schedule.from_transfers(collective, rows, weights)
    slot = st.integers(0, 2) | st.integers(0, 65_535)
    slotted = [
        (t, src, src if between[0] != between[1] and draw(st.booleans()) else dst, chunk, red, *between)
        for (t, src, dst, chunk, red), between in ((row, draw(st.tuples(slot, slot))) for row in rows)
    ]
    return hm.Schedule.from_transfers(collective, slotted, weights)
