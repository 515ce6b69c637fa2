# SPDX-License-Identifier: Apache-2.0
"""The cut that limits a collective's bandwidth: by hand on small networks, against all subsets on random ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import hemiola as hm

GB = 10**9


def cut(topology: hm.Topology, kind: str, nbytes: int, root: int = 0) -> tuple[float, str]:
    bounds = hm.lower_bound(topology, kind, nbytes, root=root).bounds
    return next((b.seconds, b.witness) for b in bounds if b.name == "cut")


def two_boxes(inner: float, outer: float) -> hm.Topology:
    """Two boxes of three ranks; ranks 2 and 3 join them."""
    pairs = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    links = [(a, b, 0.0, inner) for a, b in pairs] + [(2, 3, 0.0, outer)]
    return hm.Topology(6, links + [(b, a, latency, bandwidth) for a, b, latency, bandwidth in links])


def test_a_thin_bridge_limits_an_all_gather() -> None:
    # Given two boxes of 3 ranks, 10 GB/s inside, 1 GB/s between; 6 GB in 6 shares.
    # Derivation: 3 GB must cross the bridge, whereas 5 GB enter rank 0 over 20 GB/s.
    # Expect 3 s.
    seconds, witness = cut(two_boxes(10 * GB, 1 * GB), "all_gather", 6 * GB)
    assert seconds == pytest.approx(3)
    assert "ranks 0, 1, 2" in witness or "ranks 3, 4, 5" in witness


@pytest.mark.parametrize(
    ("kind", "gigabytes"),
    [
        ("reduce_scatter", 3),
        ("all_reduce", 6),
        ("broadcast", 6),
        ("reduce", 6),
        ("scatter", 3),
        ("gather", 3),
        ("all_to_all", 9),  # 3 x 3 pairs of 1 GB
    ],
)
def test_what_crosses_the_bridge_is_what_one_side_needs_of_the_other(kind: str, gigabytes: int) -> None:
    assert cut(two_boxes(10 * GB, 1 * GB), kind, 6 * GB)[0] == pytest.approx(gigabytes)


def test_a_switch_cannot_be_split() -> None:
    # Given 4 ranks behind a switch, 1 GB/s a port; 4 GB. Derivation: 3 GB enter each rank. Expect 3 s.
    assert cut(hm.topologies.switch(4, latency_s=0, bandwidth=GB), "all_gather", 4 * GB)[0] == pytest.approx(
        3
    )


def test_an_exchange_is_cut_where_the_switches_that_suit_a_set_of_ranks_are_left_behind() -> None:
    # Given two switches of 4 ranks, 100 GB/s a port, and 1 GB/s between the switches; 8 GB.
    # Derivation: 4 x 4 pairs of 1 GB cross. Expect 16 s, and half the ranks as the witness.
    links = [(rank, 8 + rank // 4, 0.0, 100.0 * GB) for rank in range(8)] + [(8, 9, 0.0, 1.0 * GB)]
    topology = hm.Topology(8, links + [(b, a, t, speed) for a, b, t, speed in links], switch_count=2)
    seconds, witness = cut(topology, "all_to_all", 8 * GB)
    assert seconds == pytest.approx(16)
    assert "ranks 0, 1, 2, 3" in witness


def test_an_exchange_counts_the_thinner_direction() -> None:
    # Given two boxes of 3 ranks, 10 GB/s inside, 4 GB/s one way and 1 GB/s back; 6 GB. Expect 9 GB over the latter.
    links = [row for row in two_boxes(10 * GB, 1 * GB).links.tolist() if row[:2] != (2, 3)]
    topology = hm.Topology(6, [*links, (2, 3, 0.0, 4.0 * GB)])
    assert cut(topology, "all_to_all", 6 * GB)[0] == pytest.approx(9)


@pytest.mark.parametrize("ranks", [2, 3, 8, 9])
def test_half_of_a_ring_exchanges_with_the_other_half_over_two_links(ranks: int) -> None:
    # Given a ring of 1 GB/s both ways, and 1 GB for each pair.
    # Derivation: of n ranks h = n // 2 are on one side of two links each way, one where n is 2: h (n-h) GB cross.
    ring = hm.topologies.ring(ranks, latency_s=0, bandwidth=GB)
    half, links = ranks // 2, 2 if ranks > 2 else 1
    assert cut(ring, "all_to_all", ranks * GB)[0] == pytest.approx(half * (ranks - half) / links)


@pytest.mark.parametrize("nodes", [2, 4, 8])
def test_ports_of_a_node_limit_a_ring_of_all_to_all_of_switches(nodes: int) -> None:
    # Given nodes of 2 x 4 ranks, a ring of 200 GB/s by all pairs of 100 GB/s, and a 50 GB/s port on a switch each.
    # Derivation: (nodes-1)/nodes of the buffer enters a node over 8 ports of 50 GB/s; (n-1)/n enters a rank over 550.
    n = 8 * nodes
    topology = hm.Topology(n, list(rfs_links(nodes)), switch_count=8)
    expected = max((nodes - 1) / nodes / 400, (n - 1) / n / 550)
    assert cut(topology, "all_gather", GB)[0] == pytest.approx(expected, rel=1e-6)


def rfs_links(nodes: int):
    for rank in range(8 * nodes):
        place, node = rank % 8, rank // 8
        yield rank, 8 * node + (place ^ 1), 0.0, 200.0 * GB
        for other in range(place % 2, 8, 2):
            if other != place:
                yield rank, 8 * node + other, 0.0, 100.0 * GB
        yield rank, 8 * nodes + place, 0.0, 50.0 * GB
        yield 8 * nodes + place, rank, 0.0, 50.0 * GB


def test_random_networks_have_the_cut_that_all_subsets_show() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        rows = random_links(rng, n)
        topology = hm.Topology(n, rows)
        share = 1000
        for kind, expected in by_enumeration(rows, n, share).items():
            found = cut(topology, kind, n * share)[0]
            assert found == pytest.approx(expected, rel=1e-6), f"seed {seed}, {kind}"


def random_links(rng: np.random.Generator, n: int) -> list[tuple[int, int, float, float]]:
    pairs = {(r, (r + 1) % n) for r in range(n)}
    pairs |= {(int(a), int(b)) for a, b in rng.integers(0, n, (2 * n, 2)) if a != b}
    return [(a, b, 0.0, float(rng.integers(1, 50))) for a, b in sorted(pairs)]


def test_no_exchange_is_bound_by_more_than_the_slowest_of_all_cuts() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        rows = random_links(rng, n)
        share = 1000
        worst = max(exchange_s(rows, n, share, set(inside)) for inside in proper_subsets(n))
        prefixes = max(exchange_s(rows, n, share, set(range(size))) for size in range(1, n))
        found = cut(hm.Topology(n, rows), "all_to_all", n * share)[0]
        assert prefixes * (1 - 1e-9) <= found <= worst * (1 + 1e-9), f"seed {seed}"


def proper_subsets(n: int) -> list[tuple[int, ...]]:
    return [inside for size in range(1, n) for inside in combinations(range(n), size)]


def exchange_s(rows: list[tuple[int, int, float, float]], n: int, share: int, inside: set[int]) -> float:
    """What ranks inside have for those outside, share bytes for each, over the links that leave."""
    out = sum(b for s, d, _, b in rows if s in inside and d not in inside)
    return len(inside) * (n - len(inside)) * share / out


def by_enumeration(rows: list[tuple[int, int, float, float]], n: int, share: int) -> dict[str, float]:
    """The slowest cut of each kind, over all sets of ranks; root 0."""
    worst = dict.fromkeys(("all_gather", "reduce_scatter", "broadcast", "reduce", "scatter", "gather"), 0.0)
    for size in range(1, n):
        for inside in map(set, combinations(range(n), size)):
            out = sum(b for s, d, _, b in rows if s in inside and d not in inside)
            into = sum(b for s, d, _, b in rows if s not in inside and d in inside)
            times = {"all_gather": size * share / out, "reduce_scatter": size * share / into}
            if 0 in inside:
                times |= {
                    "broadcast": n * share / out,
                    "reduce": n * share / into,
                    "scatter": (n - size) * share / out,
                    "gather": (n - size) * share / into,
                }
            worst = {kind: max(worst[kind], times.get(kind, 0.0)) for kind in worst}
    return worst


def test_a_synthesized_all_gather_comes_near_the_cut() -> None:
    topology = two_boxes(10 * GB, 1 * GB)
    schedule = hm.synthesize(topology, "all_gather", 16, nbytes=6 * GB)
    seconds = hm.simulate(schedule, topology, 6 * GB, network="fifo").seconds
    assert 3 <= seconds <= 1.05 * 3


def test_all_reduces_between_islands_of_fast_links_are_bound_by_what_all_send() -> None:
    # Given 4 islands of 2 ranks, 100 GB/s inside, each joined to each other by one link of 1 GB/s each way.
    # Derivation: of every byte 3 islands send a partial sum and 3 others receive the result, 6 times 1 GB in all, over
    # 12 links of 1 GB/s; the cut around one island says 1 GB over 3 links only.
    # Expect 0.5 s.
    links = [(2 * i, 2 * i + 1, 0.0, 100.0 * GB) for i in range(4)]
    links += [(2 * a + (b > a), 2 * b + (a > b), 0.0, 1.0 * GB) for a, b in combinations(range(4), 2)]
    topology = hm.Topology(8, links + [(b, a, latency, speed) for a, b, latency, speed in links])
    bound = hm.lower_bound(topology, "all_reduce", GB)
    assert bound.seconds == pytest.approx(0.5)
    assert "4 islands" in bound.witness
    assert cut(topology, "all_reduce", GB)[0] == pytest.approx(1 / 3)


def test_a_switch_between_islands_is_none_itself() -> None:
    # Given 3 islands of 2 ranks, 100 GB/s inside; every rank has a port of 1 GB/s to one switch.
    # Derivation: 2 x 2 times 1 GB leave islands through 6 ports. Expect 2/3 s.
    links = [(2 * i, 2 * i + 1, 0.0, 100.0 * GB) for i in range(3)] + [
        (r, 6, 0.0, 1.0 * GB) for r in range(6)
    ]
    topology = hm.Topology(
        6, links + [(b, a, latency, speed) for a, b, latency, speed in links], switch_count=1
    )
    bounds = hm.lower_bound(topology, "all_reduce", GB).bounds
    assert next(b.seconds for b in bounds if b.name == "islands") == pytest.approx(2 / 3)
