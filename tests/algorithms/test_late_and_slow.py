# SPDX-License-Identifier: Apache-2.0
"""Algorithms made for a late rank or for slow ranks: right by `verify`, and at the bound by counting."""

import math

import numpy as np
import pytest

import hemiola as hm


def arrival_step(schedule: hm.Schedule, late_rank: int) -> int:
    """Return the first step in which the late rank sends."""
    rows = schedule.transfers
    return int(rows["step"][rows["src"] == late_rank].min())


def finish_rounds(schedule: hm.Schedule, late_rank: int) -> int:
    """Count the steps from the late rank's first message on."""
    return schedule.step_count - arrival_step(schedule, late_rank)


def busiest_port(schedule: hm.Schedule, first_step: int) -> int:
    """Return the most messages that any rank sends or receives in one step from `first_step` on."""
    rows = schedule.transfers[schedule.transfers["step"] >= first_step]
    most = 0
    for end in ("src", "dst"):
        _, counts = np.unique(np.stack([rows["step"], rows[end]]), axis=1, return_counts=True)
        most = max(most, int(counts.max()))
    return most


@pytest.mark.parametrize("rank_count", [*range(3, 34), 63, 64, 65])
def test_late_all_reduce_takes_the_lower_bound_of_rounds_after_arrival(rank_count: int) -> None:
    for chunks_per_early_rank in (1, 2, 4):
        chunk_count = chunks_per_early_rank * (rank_count - 1)
        schedule = hm.algorithms.all_reduce_late(rank_count, rank_count // 2, chunk_count)
        assert hm.verify(schedule) == []
        assert finish_rounds(schedule, rank_count // 2) == chunk_count + math.ceil(math.log2(rank_count)) - 1
        assert busiest_port(schedule, rank_count - 2) == 1


@pytest.mark.parametrize(
    ("rank_count", "chunk_count"), [(3, 1), (5, 1), (5, 3), (6, 2), (8, 3), (13, 40), (16, 31)]
)
def test_late_all_reduce_takes_any_chunk_count(rank_count: int, chunk_count: int) -> None:
    schedule = hm.algorithms.all_reduce_late(rank_count, 0, chunk_count)
    assert hm.verify(schedule) == []
    assert finish_rounds(schedule, 0) == chunk_count + math.ceil(math.log2(rank_count)) - 1
    pieces = schedule.chunk_count // chunk_count
    owned = np.bincount(schedule.collective.owner, minlength=rank_count) // pieces
    assert owned[0] == 0, "the late rank owns nothing"
    assert owned[1:].max() - owned[1:].min() <= 1, "owners are balanced"


def test_with_fewer_chunks_than_early_ranks_all_of_them_reduce_a_piece() -> None:
    # Given 10 ranks and 3 chunks: 9 early ranks reduce 3 pieces of each chunk, one each, which one step gathers.
    schedule = hm.algorithms.all_reduce_late(10, 9, 3)
    assert schedule.chunk_count == 9
    rows = schedule.transfers
    assert arrival_step(schedule, 9) == 8 + 1
    assert all(
        np.bincount(rows["src"][rows["step"] == step], minlength=10)[:9].tolist() == [1] * 9
        for step in range(8)
    )
    gathered = rows[rows["step"] == 8]
    assert len(gathered) == 6
    assert not gathered["reduce"].any()


def test_one_finish_serves_every_late_rank_by_relabelling() -> None:
    counts = {hm.algorithms.all_reduce_late(7, late, 12).transfer_count for late in range(7)}
    assert len(counts) == 1
    for late in range(7):
        assert hm.verify(hm.algorithms.all_reduce_late(7, late, 12)) == []


@pytest.mark.parametrize("rank_count", [3, 4, 5, 6, 8, 9, 16])
def test_segments_reduced_so_far_get_the_finish_and_the_rest_the_ring(rank_count: int) -> None:
    for reduced in range(5):
        schedule = hm.algorithms.all_reduce_late_segmented(
            rank_count, 1, segments=4, reduced=reduced, chunks_per_owner=2
        )
        assert hm.verify(schedule) == []
        waiting = reduced * (rank_count - 2)
        finish = reduced * 2 * (rank_count - 1) + math.ceil(math.log2(rank_count)) - 1 if reduced else 0
        ring = 2 * (rank_count - 1) if reduced < 4 else 0
        assert schedule.step_count == waiting + finish + ring


@pytest.mark.parametrize("rank_count", [3, 4, 5, 6, 8, 9])
def test_a_direct_finish_has_no_relays_and_a_message_a_round_each_way(rank_count: int) -> None:
    early, late = rank_count - 1, 1
    for reduced in range(4):
        schedule = hm.algorithms.all_reduce_late_segmented(
            rank_count, late, segments=3, reduced=reduced, chunks_per_owner=2, finish="direct"
        )
        assert hm.verify(schedule) == []
        before, chunks = reduced * (rank_count - 2), reduced * 2 * early
        ring = 2 * early if reduced < 3 else 0
        assert schedule.step_count == (before + chunks + early if reduced else 0) + ring
        rows = schedule.transfers
        finish = rows[(rows["step"] >= before) & (rows["step"] < before + chunks + early)]
        if not reduced:
            continue
        owner = np.asarray(schedule.collective.owner)
        assert all(row["src"] in (late, owner[row["chunk"]]) for row in finish)
        sent = np.bincount((finish["step"] - before) * rank_count + finish["src"])
        assert sent.max() == 1
        received = np.bincount((finish["step"] - before) * rank_count + finish["dst"])
        assert received.max() == (1 if early % 2 else 2)


def test_a_finish_of_another_word_is_refused() -> None:
    with pytest.raises(hm.ArgumentError, match='expected finish "doubling" or "direct", found "fast"'):
        hm.algorithms.all_reduce_late_segmented(4, 0, segments=1, reduced=1, finish="fast")


def test_reducing_a_segment_takes_the_same_steps_however_many_are_reduced() -> None:
    def first_segments(reduced: int) -> list[tuple[int, ...]]:
        schedule = hm.algorithms.all_reduce_late_segmented(
            6, 2, segments=4, reduced=reduced, chunks_per_owner=3
        )
        return [tuple(row) for row in schedule.transfers if row["step"] < 2 * (6 - 2)]

    assert first_segments(2) == first_segments(3) == first_segments(4)


def test_with_nothing_reduced_the_segmented_all_reduce_is_the_ring() -> None:
    segmented = hm.algorithms.all_reduce_late_segmented(5, 0, segments=3, reduced=0)
    assert np.array_equal(segmented.transfers, hm.algorithms.all_reduce_ring(5).transfers)


def late_on_nodes(nodes: int, each: int, late: int, **parts: int) -> hm.Schedule:
    return hm.algorithms.all_reduce_late_hierarchical(nodes, each, late, **parts)


def crossing(schedule: hm.Schedule, each: int, first_step: int) -> np.ndarray:
    """Return the shares of the buffer that each node receives from others and sends, from a step on."""
    rows = schedule.transfers[schedule.transfers["step"] >= first_step]
    rows = rows[rows["src"] // each != rows["dst"] // each]
    weights = np.asarray(schedule.chunk_weights, float)
    share = weights / weights.sum()
    nodes = schedule.rank_count // each
    return np.array([np.bincount(rows[end] // each, share[rows["chunk"]], nodes) for end in ("dst", "src")])


@pytest.mark.parametrize(("nodes", "each"), [(3, 2), (4, 2), (4, 3), (5, 2), (6, 4), (8, 2)])
def test_a_late_rank_among_nodes_is_right_whoever_it_is_and_whenever_it_comes(nodes: int, each: int) -> None:
    for late in (0, each, nodes * each // 2, nodes * each - 1):
        for reduced in range(4):
            direct = hm.algorithms.all_reduce_late_hierarchical(
                nodes, each, late, segments=3, reduced=reduced, chunks_per_owner=2, finish="direct"
            )
            assert hm.verify(direct) == []
            schedule = late_on_nodes(nodes, each, late, segments=3, reduced=reduced, chunks_per_owner=2)
            assert hm.verify(schedule) == []
            finish = reduced * 2 * (nodes - 1) + math.ceil(math.log2(nodes)) + 1 if reduced else 0
            rings = 2 * (nodes - 1) + 2 if reduced < 3 else 0
            assert schedule.step_count == reduced * (nodes - 1) + finish + rings


def test_after_the_arrival_a_node_receives_the_buffer_once_however_many_ranks_share_its_nic() -> None:
    """Given 5 nodes and all segments reduced. Expect every node to get each byte once, by a ring 2·4/5 times."""
    for each in (2, 3, 4):
        schedule = late_on_nodes(5, each, 1, segments=2, reduced=2)
        received, _ = crossing(schedule, each, 2 * (5 - 1))
        assert received == pytest.approx(np.ones(5))
        assert crossing(late_on_nodes(5, each, 1, segments=2, reduced=0), each, 0) == pytest.approx(2 * 4 / 5)


def test_ranks_of_a_node_may_have_any_numbers_and_the_late_one_sends_nothing_before_it_comes() -> None:
    schedule = late_on_nodes(3, 2, 4, segments=2, reduced=2, node_of_rank=[0, 1, 2, 0, 1, 2])
    assert hm.verify(schedule) == []
    before = schedule.transfers[schedule.transfers["step"] < 2 * (3 - 1)]
    assert len(before) > 0
    assert not np.isin(4, [before["src"], before["dst"]])
    inside = schedule.transfers["src"] % 3 == schedule.transfers["dst"] % 3
    assert arrival_step(schedule, 4) == 4
    assert inside[schedule.transfers["step"] == 4].any()


def test_reducing_a_segment_among_nodes_takes_the_same_steps_over_the_same_bytes() -> None:
    def first_segments(reduced: int) -> list[tuple[int, ...]]:
        schedule = late_on_nodes(4, 2, 3, segments=4, reduced=reduced, chunks_per_owner=3)
        # Of 4 segments, 2 places and 9 chunks each.
        assert schedule.chunk_weights[0] / sum(schedule.chunk_weights) == pytest.approx(1 / (4 * 2 * 9))
        return [tuple(row) for row in schedule.transfers if row["step"] < 2 * (4 - 1)]

    assert first_segments(2) == first_segments(3) == first_segments(4)


@pytest.mark.parametrize(
    ("nodes", "each", "late"), [(2, 2, 0), (3, 1, 0), (3, [2, 2, 1], 0), (3, 2, 6), (3, 2, -1)]
)
def test_late_all_reduce_among_nodes_rejects_what_cannot_be(
    nodes: int, each: int | list[int], late: int
) -> None:
    with pytest.raises(hm.errors.ArgumentError, match="all_reduce_late_hierarchical: expected"):
        hm.algorithms.all_reduce_late_hierarchical(nodes, each, late, segments=1, reduced=1)


@pytest.mark.parametrize("rank_count", [4, 8, 16, 32, 64, 128])
def test_published_stragglar_takes_n_plus_log_n_minus_two_rounds(rank_count: int) -> None:
    schedule = hm.algorithms.all_reduce_stragglar(rank_count, 1)
    assert hm.verify(schedule) == []
    assert finish_rounds(schedule, 1) == rank_count + int(math.log2(rank_count)) - 2


@pytest.mark.parametrize("rank_count", [4, 6, 10, 12, 14, 20, 24, 30])
def test_matching_variant_of_stragglar_stays_below_the_papers_claim(rank_count: int) -> None:
    schedule = hm.algorithms.all_reduce_stragglar_matching(rank_count, 1)
    assert hm.verify(schedule) == []
    bound = rank_count + math.ceil(math.log2(rank_count)) - 2
    assert bound <= finish_rounds(schedule, 1) <= rank_count + 2 * math.log2(rank_count) - 2


@pytest.mark.parametrize("rank_count", [4, 6, 10, 12, 14])
def test_of_two_ranks_that_the_matching_leaves_idle_neither_has_what_the_other_lacks(rank_count: int) -> None:
    late = rank_count - 1
    for seeds in (1, 2, 4):
        rows = hm.algorithms.all_reduce_stragglar_matching(rank_count, late, seeds=seeds).transfers
        begun = rows["step"][rows["src"] == late].min()
        final: list[set[int]] = [set() for _ in range(rank_count)]
        for step in range(begun, rows["step"].max() + 1):
            moves = rows[rows["step"] == step]
            idle = set(range(rank_count)) - {late, *moves["src"].tolist(), *moves["dst"].tolist()}
            assert len({frozenset(final[rank]) for rank in idle}) <= 1, (seeds, step, idle)
            for move in moves:
                final[move["dst"]].add(int(move["chunk"]))


@pytest.mark.parametrize("arguments", [(3, 0), (7, 0), (6, 6), (6, -1)])
def test_matching_variant_rejects_what_cannot_be(arguments: tuple[int, int]) -> None:
    with pytest.raises(hm.errors.ArgumentError):
        hm.algorithms.all_reduce_stragglar_matching(*arguments)


@pytest.mark.parametrize("arguments", [(2, 0, 1), (4, 4, 3), (4, -1, 3), (4, 0, 0)])
def test_late_all_reduce_rejects_what_cannot_be(arguments: tuple[int, int, int]) -> None:
    with pytest.raises(hm.errors.ArgumentError):
        hm.algorithms.all_reduce_late(*arguments)


def test_published_stragglar_rejects_other_than_powers_of_two() -> None:
    with pytest.raises(hm.errors.ArgumentError, match="power of two"):
        hm.algorithms.all_reduce_stragglar(6, 0)


@pytest.mark.parametrize("rank_count", [2, 3, 4, 5, 8, 9, 16])
@pytest.mark.parametrize("slow", [{}, {0: 8 / 7}, {1: 1.5}, {0: 2.0}, {0: 3.0}, {0: 1.5, 1: 4 / 3}])
def test_weighted_exchange_is_right(rank_count: int, slow: dict[int, float]) -> None:
    for segments in (1, 2, 5):
        schedule = hm.algorithms.all_reduce_weighted_exchange(rank_count, slow, segments)
        assert hm.verify(schedule) == []
        assert schedule.step_count == (segments + 1) * (rank_count - 1)


def test_a_slow_rank_owns_what_its_port_has_to_spare() -> None:
    # Given one rank of factor 3/2: it spares (2 - 3/2) / (3/2) = 1/3 of what a healthy rank owns.
    schedule = hm.algorithms.all_reduce_weighted_exchange(4, {2: 1.5}, 1)
    assert list(schedule.chunk_weights) == [3, 3, 1, 3]


def test_a_rank_twice_as_slow_owns_nothing() -> None:
    schedule = hm.algorithms.all_reduce_weighted_exchange(4, {3: 2.0}, 2)
    assert sorted(set(schedule.collective.owner)) == [0, 1, 2]


def test_when_every_rank_is_equally_slow_nobody_is() -> None:
    slow = dict.fromkeys(range(4), 3.0)
    assert hm.algorithms.all_reduce_weighted_exchange(
        4, slow, 2
    ) == hm.algorithms.all_reduce_weighted_exchange(4, {}, 2)


@pytest.mark.parametrize("slow", [{0: 0.5}, {0: math.nan}, {0: math.inf}, {4: 2.0}, {-1: 2.0}])
def test_weighted_exchange_rejects_bad_factors(slow: dict[int, float]) -> None:
    with pytest.raises(hm.errors.ArgumentError):
        hm.algorithms.all_reduce_weighted_exchange(4, slow, 2)
    with pytest.raises(hm.errors.ArgumentError):
        hm.algorithms.all_reduce_weighted_exchange(4, {}, 0)


@pytest.mark.parametrize(("rank_count", "slow_rank"), [(3, 0), (4, 3), (5, 2), (8, 0), (9, 4), (16, 15)])
@pytest.mark.parametrize("factor", [1.0, 1.5, 2.0, 3.0])
def test_optcc_ring_is_right(rank_count: int, slow_rank: int, factor: float) -> None:
    for segments in (1, 2, 5):
        schedule = hm.algorithms.all_reduce_optcc(rank_count, {slow_rank: factor}, segments)
        assert hm.verify(schedule) == []
        rows = schedule.transfers
        # Given k segments of n-1 sections: the slow rank sends each section once and receives it once. Below l = 2 it
        # also exchanges its own with everybody.
        per_segment = (rank_count - 1) * (2 if factor < 2 else 1)
        assert (rows["src"] == slow_rank).sum() == (rows["dst"] == slow_rank).sum() == segments * per_segment


@pytest.mark.parametrize(("rank_count", "slow_rank"), [(5, 0), (6, 3), (9, 8)])
def test_in_optcc_ring_a_healthy_rank_sends_to_the_next_one_and_to_the_slow_one_only(
    rank_count: int, slow_rank: int
) -> None:
    healthy = [rank for rank in range(rank_count) if rank != slow_rank]
    following = dict(zip(healthy, healthy[1:] + healthy[:1], strict=True))
    rows = hm.algorithms.all_reduce_optcc(rank_count, {slow_rank: 1.5}, 3).transfers
    for src, dst in {(int(row["src"]), int(row["dst"])) for row in rows}:
        assert slow_rank in (src, dst) or dst == following[src]


@pytest.mark.parametrize(
    ("factor", "slow_weight", "healthy_weight"), [(1.0, 1, 1), (8 / 7, 3, 4), (4 / 3, 1, 2), (1.5, 1, 3)]
)
def test_in_optcc_ring_a_slow_rank_owns_what_its_port_can_spare(
    factor: float, slow_weight: int, healthy_weight: int
) -> None:
    schedule = hm.algorithms.all_reduce_optcc(5, {1: factor}, 3)
    weights, owner = schedule.chunk_weights, schedule.collective.owner
    # Given (2 - l)/l of a healthy rank's.
    assert {int(w) * healthy_weight for w in weights[owner == 1]} == {
        int(w) * slow_weight for w in weights[owner != 1]
    }


def test_optcc_ring_takes_a_rank_alone_for_one_that_owns_nothing() -> None:
    by_rank = hm.algorithms.all_reduce_optcc(6, 2, 3)
    assert by_rank == hm.algorithms.all_reduce_optcc(6, {2: 2.0}, 3)
    assert by_rank == hm.algorithms.all_reduce_optcc(6, {2: 4.0}, 3)


def test_optcc_ring_without_a_segment_count_takes_the_best_one() -> None:
    # Given windows of 4 hops at l = 4, 3 of them for the latency of one: k <= 3/(5·0.1) = 6 < sqrt(1.5·4/0.1) = 7.7.
    assert hm.algorithms.best_optcc_segment_count(6, {0: 4.0}, 0.1) == 6
    assert hm.algorithms.all_reduce_optcc(
        6, {0: 4.0}, relative_latency=0.1
    ) == hm.algorithms.all_reduce_optcc(6, {0: 4.0}, 6)
    # Given 5.5 sections a segment at l = 4/3, and a bound of 2·5/5.5: sqrt(1.5·bound/1e-3) = 52.2 <= 1/(5.5e-3) = 182.
    assert hm.algorithms.best_optcc_segment_count(6, {0: 4 / 3}, 1e-3) == 52


@pytest.mark.parametrize(("hosts", "ranks_per_host"), [(2, 1), (2, 2), (3, 2), (4, 4), (5, 3)])
@pytest.mark.parametrize("slow", [{}, {0: 4 / 3}, {1: 2.0}, {0: 1.5, 1: 4 / 3}])
def test_rail_exchange_is_right(hosts: int, ranks_per_host: int, slow: dict[int, float]) -> None:
    for segments in (1, 3):
        schedule = hm.algorithms.all_reduce_rail_exchange(hosts, ranks_per_host, slow, segments)
        assert hm.verify(schedule) == []
        assert schedule.rank_count == hosts * ranks_per_host


@pytest.mark.parametrize(
    ("rank_count", "slow", "segments"),
    [
        (2, 0, 1),
        (4, 4, 1),
        (4, -1, 1),
        (4, 0, 0),
        (4, 0, 2**30),
        (2**31 - 1, 0, 1),
        (4, {}, 1),
        (4, {0: 2.0, 1: 2.0}, 1),
        (4, {4: 2.0}, 1),
        (4, {0: 0.5}, 1),
        (4, {0: math.nan}, 1),
        (4, {0: math.inf}, 1),
    ],
    ids=str,
)
def test_optcc_ring_rejects_what_cannot_be(
    rank_count: int, slow: int | dict[int, float], segments: int
) -> None:
    with pytest.raises(hm.errors.ArgumentError, match="expected"):
        hm.algorithms.all_reduce_optcc(rank_count, slow, segments)


@pytest.mark.parametrize("relative_latency", [0.0, -1.0, math.nan, math.inf])
def test_best_segment_count_of_optcc_ring_rejects_bad_latencies(relative_latency: float) -> None:
    with pytest.raises(hm.errors.ArgumentError, match="relative_latency"):
        hm.algorithms.best_optcc_segment_count(4, 0, relative_latency)


def test_when_every_host_is_equally_slow_nobody_is() -> None:
    slow = dict.fromkeys(range(3), 2.0)
    assert hm.algorithms.all_reduce_rail_exchange(3, 2, slow, 2) == hm.algorithms.all_reduce_rail_exchange(
        3, 2, {}, 2
    )


@pytest.mark.parametrize(
    "arguments",
    [
        (1, 2, {}, 1),
        (2, 0, {}, 1),
        (2, 2, {2: 2.0}, 1),
        (2, 2, {0: 0.5}, 1),
        (2, 2, {0: math.nan}, 1),
        (2, 2, {0: math.inf}, 1),
        (2, 2, {}, 0),
    ],
)
def test_rail_exchange_rejects_what_cannot_be(arguments: tuple[int, int, dict[int, float], int]) -> None:
    with pytest.raises(hm.errors.ArgumentError):
        hm.algorithms.all_reduce_rail_exchange(*arguments)
