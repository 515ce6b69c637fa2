# SPDX-License-Identifier: Apache-2.0
"""What cannot be synthesized is refused in one line that names what is wrong."""

from __future__ import annotations

import pytest
from grids import grid, ring

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.synthesis import search


def refused(*arguments: object, **options: object) -> str:
    with pytest.raises(ArgumentError) as caught:
        hm.synthesize(*arguments, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_two_islands_are_named() -> None:
    islands = hm.Topology(4, [(0, 1, 0, 1e9), (1, 0, 0, 1e9), (2, 3, 0, 1e9), (3, 2, 0, 1e9)])
    assert "no link leads from ranks 0, 1 to ranks 2, 3" in refused(islands, "all_gather")


def test_a_one_way_street_is_named() -> None:
    # Ranks 0 and 1 reach rank 2, which reaches nobody.
    street = hm.Topology(3, [(0, 1, 0, 1e9), (1, 0, 0, 1e9), (1, 2, 0, 1e9)])
    assert "rank 2 cannot reach rank 0" in refused(street, "all_gather")
    assert hm.verify(hm.synthesize(street, "broadcast")) == []


def test_a_reduction_needs_the_way_back() -> None:
    street = hm.Topology(2, [(0, 1, 0, 1e9)])
    assert hm.verify(hm.synthesize(street, "reduce", root=1)) == []
    assert "cannot reach" in refused(street, "reduce", root=0)


def test_one_rank_has_nobody_to_talk_to() -> None:
    assert "at least 2 ranks" in refused(hm.Topology(1, []), "all_gather")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunks_per_rank": 0}, "at least 1 chunk per rank"),
        ({"trials": 0}, "at least 1 trial"),
        ({"threads": 0}, "threads"),
        ({"seed": -1}, "seed"),
        ({"nbytes": -1}, "nbytes"),
        ({"latency": "quantum"}, "'pipelined' or 'occupies'"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, object], message: str) -> None:
    assert message in refused(ring(4), "all_gather", **options)


def test_an_unknown_collective_is_refused_with_the_known_names() -> None:
    assert "all_gather" in refused(ring(4), "gather_all")


def test_a_collective_of_another_rank_count_is_refused() -> None:
    assert "4 ranks" in refused(ring(4), hm.Collective.make("all_gather", 5, 5))


def test_an_exception_in_the_progress_function_ends_the_search() -> None:
    def fail(_done: int, _total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        hm.synthesize(grid([24, 24]), "all_gather", trials=1000, progress=fail)


def test_ctrl_c_before_the_first_result_is_raised() -> None:
    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hm.synthesize(grid([80, 80]), "all_gather", threads=1, progress=interrupt)


def test_ctrl_c_after_the_first_result_returns_it() -> None:
    def interrupt(done: int, total: int) -> None:
        if done > total // 1000:
            raise KeyboardInterrupt

    topology = grid([8, 8], wrap=True)
    schedule = hm.synthesize(topology, "all_gather", trials=10000, progress=interrupt)
    assert hm.verify(schedule) == []


def test_a_time_limit_after_the_first_result_returns_the_best_so_far() -> None:
    found = search(grid([8, 8], wrap=True), "all_gather", trials=1_000_000, time_limit_s=0.5)
    assert found.stopped
    assert 1 <= found.trials < 1_000_000
    assert hm.verify(found.schedule) == []


def test_a_time_limit_before_the_first_result_is_an_error() -> None:
    with pytest.raises(TimeoutError, match=r"no search was complete within 1e-06 s.*6400 chunks"):
        hm.synthesize(grid([80, 80]), "all_gather", threads=1, time_limit_s=1e-6)


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), float("inf")])
def test_a_time_limit_out_of_range_is_refused(limit: float) -> None:
    assert "time_limit_s" in refused(ring(4), "all_gather", time_limit_s=limit)


def test_a_schedule_that_does_not_fit_in_memory_is_refused_before_the_search() -> None:
    # 100 ranks, each of 100 chunks to 99 others: 9,900 transfers of 32 bytes.
    message = refused(grid([10, 10]), "all_gather", memory_limit=9900 * 32 - 1)
    assert "9,900 transfers" in message
    assert "synthesize_to_file" in message
    hm.synthesize(grid([10, 10]), "all_gather", memory_limit=9900 * 32)


def test_without_a_limit_the_free_memory_is_what_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hemiola.synthesis.limits.memory_bytes", lambda: (1 << 40, 100 << 20))
    # 100 ranks, each of 40,000 chunks to 99 others: 127 MB and more.
    assert "fits in 100 MiB" in refused(grid([10, 10]), "all_gather", chunks_per_rank=400)


@pytest.mark.parametrize("kind", ["all_gather", "all_reduce", "scatter", "all_to_all"])
@pytest.mark.parametrize("bandwidth", [1e-300, 1e-3, 1.0])
def test_times_beyond_64_bits_are_refused_and_end(kind: str, bandwidth: float) -> None:
    # 2^60 bytes a chunk take at least 36,000 years; sums of such times ran backwards, and the search with them.
    cost = {"latency_s": 1.0, "bandwidth": bandwidth}
    for topology in (hm.topologies.ring(4, **cost), hm.topologies.switch(3, **cost)):
        said = refused(topology, kind, nbytes=1 << 62)
        assert any(found in said for found in ("100 days", "13 days", "more than 64 bits count"))


def test_a_search_of_many_slow_chunks_is_refused() -> None:
    # Each chunk takes 5 days, and 3 of them leave the root over one link.
    one_way = hm.topologies.ring(4, latency_s=0, bandwidth=1.0, bidirectional=False)
    assert "13 days" in refused(one_way, "scatter", nbytes=4 * 5 * 86_400)
