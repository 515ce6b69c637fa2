# SPDX-License-Identifier: Apache-2.0
"""Spanning trees that share all links: right, and as near to the bottleneck cut as their pieces allow."""

from __future__ import annotations

import numpy as np
import pytest
from grids import GIB, boxes, grid, ring, star

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.synthesis import forest

KINDS = ("all_gather", "reduce_scatter", "all_reduce")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "topology",
    [
        ring(4),
        grid([3, 3]),
        grid([3, 4], [9e9, 5e9]),
        grid([3, 3], wrap=True),
        star(5),
        boxes(2, 3, 9e9, 2e9),
    ],
    ids=["ring", "mesh", "two speeds", "torus", "star", "boxes"],
)
def test_every_schedule_keeps_its_promise(topology: hm.Topology, kind: str) -> None:
    found = forest(topology, kind, pieces=3)
    assert hm.verify(found.schedule) == []
    nbytes = found.schedule.chunk_count * 1000
    assert hm.simulate(found.schedule, topology, nbytes, network="fifo").seconds > 0


@pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter"])
def test_the_bound_is_the_cut(kind: str) -> None:
    topology = boxes(2, 3, 9e9, 2e9)
    cut = next(b.seconds for b in hm.lower_bound(topology, kind, GIB).bounds if b.name == "cut")
    assert forest(topology, kind, nbytes=GIB).bound_s == pytest.approx(cut, rel=1e-6)


@pytest.mark.parametrize(
    "topology", [grid([3, 3]), grid([4, 4], wrap=True), star(6), boxes(2, 3, 9e9, 2e9)], ids=str
)
def test_many_pieces_come_within_three_per_cent_of_the_cut(topology: hm.Topology) -> None:
    found = forest(topology, "all_gather", pieces=64, nbytes=GIB)
    seconds = hm.simulate(found.schedule, topology, GIB, network="fifo").seconds
    assert found.bound_s <= seconds <= 1.03 * found.bound_s


def test_more_pieces_are_not_slower_where_latency_does_not_count() -> None:
    topology = star(6)
    few, many = (
        hm.simulate(
            forest(topology, "all_gather", pieces=p, nbytes=GIB).schedule, topology, GIB, network="fifo"
        )
        for p in (2, 32)
    )
    assert many.seconds < few.seconds


def test_random_networks_get_right_schedules() -> None:
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        pairs = {(r, (r + 1) % n) for r in range(n)}
        pairs |= {(int(a), int(b)) for a, b in rng.integers(0, n, (n, 2)) if a != b}
        links = [(a, b, 1e-6, float(rng.integers(1, 9)) * 1e9) for a, b in sorted(pairs)]
        topology = hm.Topology(n, links)
        for kind in KINDS:
            violations = hm.verify(forest(topology, kind, pieces=2).schedule)
            assert violations == [], f"seed {seed}, {kind}: {violations[0]}"


def test_equal_arguments_give_equal_schedules() -> None:
    assert forest(star(5), "all_reduce").schedule == forest(star(5), "all_reduce").schedule


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trees": 0}, "trees"),
        ({"trees": 65}, "trees"),
        ({"pieces": 0}, "pieces"),
        ({"nbytes": -1}, "nbytes"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        forest(ring(4), "all_gather", **options)


def test_what_trees_cannot_do_is_refused() -> None:
    with pytest.raises(ArgumentError, match="all_reduce, broadcast or reduce, found gather"):
        forest(ring(4), "gather")
    with pytest.raises(ArgumentError, match="cannot reach"):
        forest(hm.Topology(2, [(0, 1, 0, 1e9)]), "all_gather")
    with pytest.raises(ArgumentError, match="at most 256"):
        forest(ring(257), "all_gather")
