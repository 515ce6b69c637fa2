# SPDX-License-Identifier: Apache-2.0
"""Random correct schedules: every chunk walks a random tree at random times, with useless repetitions now and then."""

from hypothesis import strategies as st

import hemiola as hm

COPYING = ("all_gather", "broadcast", "gather", "scatter", "all_to_all")


@st.composite
def collectives(draw: st.DrawFn, kinds: tuple[str, ...] = COPYING) -> hm.Collective:
    """Return a collective that copies, of 2 to 6 ranks, often with owners in no order."""
    n = draw(st.integers(2, 6))
    kind, rank = draw(st.sampled_from(kinds)), st.integers(0, n - 1)
    if kind in ("broadcast", "all_to_all"):
        return hm.Collective.make(kind, n, n * n, draw(rank))
    owners = draw(st.lists(rank, min_size=1, max_size=8))
    return hm.Collective.with_owners(kind, n, owners, draw(rank))


def ends_of(collective: hm.Collective, chunk: int) -> tuple[int, set[int]]:
    """Return the rank where a chunk starts and those that want it."""
    n, owner, root = collective.rank_count, int(collective.owner[chunk]), collective.root
    match collective.kind:
        case "all_gather" | "broadcast":
            return owner, set(range(n))
        case "gather":
            assert root is not None
            return owner, {root}
        case "scatter":
            assert root is not None
            return root, {owner}
    return owner, {chunk // (collective.chunk_count // n**2) % n}


@st.composite
def copying_schedules(draw: st.DrawFn, kinds: tuple[str, ...] = COPYING) -> hm.Schedule:
    """Return a correct schedule of a collective that copies: a rank that holds a chunk sends it on later than it came,
    ranks that do not want it may relay it, and a relay that serves nobody is pruned."""
    collective = draw(collectives(kinds))
    rows: list[tuple[int, int, int, int]] = []
    for chunk in range(collective.chunk_count):
        start, wanted = ends_of(collective, chunk)
        rows += draw(trees(collective.rank_count, start, wanted, chunk))
    return hm.Schedule.from_transfers(collective, rows)


@st.composite
def trees(
    draw: st.DrawFn, n: int, start: int, wanted: set[int], chunk: int
) -> list[tuple[int, int, int, int]]:
    """Return the rows of one chunk's tree."""
    held, parent = {start: -1}, {}
    for rank in draw(st.permutations([rank for rank in range(n) if rank != start])):
        parent[rank] = draw(st.sampled_from(sorted(held)))
        held[rank] = held[parent[rank]] + draw(st.integers(1, 3))
    useful = set(wanted)
    for rank in list(wanted):
        while rank != start:
            rank = parent[rank]
            useful.add(rank)
    rows = [(held[rank], parent[rank], rank, chunk) for rank in useful - {start}]
    if len(wanted) == n and draw(st.booleans()):  # a rank that has it gets it again
        again = draw(st.permutations(range(n)))
        rows.append((max(held.values()) + 1, again[0], again[1], chunk))
    return rows
