# SPDX-License-Identifier: Apache-2.0
"""SpCCL's report: systems against sums and bytes worked by hand, the model against the simulator, sections in small."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from small_reports import written

import hemiola as hm
from papers import spccl
from papers.spccl import (
    arrays,
    compared,
    competitors,
    figures,
    gradients,
    model,
    ours,
    simulated,
    sizes,
    speeds,
    training,
)
from papers.spccl.model import RankPorts

FEW = (0.5, 0.99)
SMALL_CODEC = partial(speeds.measure, grid=(1.0, 0.01), turns=1)
SMALL = {
    "bytes": partial(sizes.sizes, elements=1 << 16, sparsities=(0.5, 0.95, 0.99)),
    "union": partial(compared.allowed, rank_counts=(4,), chunk_elements=4096, sparsities=(0.99,)),
    "competitors": partial(compared.competitors, rank_count=4, elements=1 << 12, sparsities=FEW, steps=1),
    "speeds": partial(speeds.speeds, grid=(0.5, 0.01), turns=1),
    "links": partial(figures.links, codec_of=SMALL_CODEC),
    "figure_2": partial(figures.figure_2, codec_of=SMALL_CODEC, step=0.5),
    "figure_3": partial(figures.figure_3, codec_of=SMALL_CODEC, sparsities=FEW),
    "figure_4": partial(figures.figure_4, slice_kib=(64,), threads=(1, 2), nbytes=1 << 20),
    "figure_5": partial(figures.figure_5, codec_of=SMALL_CODEC, sparsities=FEW),
    **{
        figure: partial(
            figures.heat_map,
            figure=figure,
            codec_of=SMALL_CODEC,
            rank_counts=(4, 16),
            sizes=(256,),
            sparsities=FEW,
        )
        for figure in ("figure_6", "figure_7", "figure_8")
    },
    "figure_9": partial(figures.figure_9, codec_of=SMALL_CODEC, rank_counts=(8,), sparsities=(0.99,)),
    "simulated": partial(
        simulated.simulated,
        codec_of=SMALL_CODEC,
        rank_counts=(4,),
        gbits=(10,),
        densities=(0.01,),
        mib_per_rank=1,
    ),
    "digits": partial(training.digits, steps=2, seeds=(0,), variants=("dense", "99 %, leak 1")),
    "figures_10_and_11": partial(training.figures_10_and_11, codec_of=SMALL_CODEC, rank_counts=(8, 32)),
}
#: Measured between hosts: tests/network/test_spccl_measured.py.
BETWEEN_HOSTS = {"measured", "measured_sparsities", "measured_training"}


@pytest.mark.parametrize("section", SMALL)
def test_a_section_writes_true_tables_and_the_pictures_it_names(section: str, tmp_path: Path) -> None:
    written(SMALL[section], tmp_path)


def test_figure_11_divides_what_stands_beside_it(tmp_path: Path) -> None:
    for row in written(SMALL["figures_10_and_11"], tmp_path).data["figure_11"]:
        dense = row["all-reduce, dense"]
        assert row["dense / ring"] == pytest.approx(dense / row["SpCCL's ring"])
        assert row["dense / Hemiola"] == pytest.approx(dense / row["Hemiola"])
        assert row["Hemiola"] < row["SpCCL's ring"] < dense


def test_a_union_is_no_smaller_than_a_share_and_no_larger_than_all(tmp_path: Path) -> None:
    (row,) = written(SMALL["union"], tmp_path).data["union_share"]
    limit = row["dense over the limit"]
    assert 1 < row["dense over the Pici ring"] < row["dense over ours"] < limit
    assert row["share"] == pytest.approx(row["dense over ours"] / limit)
    assert row["the ring's share"] == pytest.approx(row["dense over the Pici ring"] / limit)


def test_random_zeros_take_what_the_formats_say(tmp_path: Path) -> None:
    """Given 4-byte elements: a bitmap is 1/32 of them, so that at half zeros Pici takes 1/2 + 1/32; plain 1."""
    rows = {row["zeros"]: row for row in written(SMALL["bytes"], tmp_path).data["bytes_random"]}
    half = rows["50 %"]
    assert half["dense"] / half["pici"] == pytest.approx(1 / (1 / 2 + 1 / 32), rel=5e-3)
    assert half["coo"] / half["dense"] == pytest.approx(1, rel=1e-2)  # 8 bytes for each of half the elements
    assert all(
        row["slices"] == min(row[name] for name in ("pici", "coo", "hier", "ef")) for row in rows.values()
    )
    assert rows["95 %"]["smallest"] == "ef"


def test_every_section_has_a_name_for_the_command_line() -> None:
    assert set(SMALL) | BETWEEN_HOSTS == set(spccl.PAPER.sections)


def whole_numbers(ranks: int, elements: int, density: float) -> list[arrays.Floats]:
    """Sums of these are exact, and none is zero where a rank has a value."""
    found = []
    for rank in range(ranks):
        draws = np.random.default_rng(rank)
        values = draws.integers(1, 9, elements).astype(np.float32)
        found.append(np.where(draws.random(elements) < density, values, np.float32(0)))
    return found


@pytest.mark.parametrize("name", [name for name in competitors.ALL_REDUCES if "lossy" not in name])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.6, 1.0])
def test_every_exact_system_leaves_the_sum(name: str, density: float) -> None:
    xs = whole_numbers(8, 5000, density)
    outcome = competitors.ALL_REDUCES[name](xs)
    assert np.array_equal(outcome.result, np.sum(xs, axis=0))


def test_ok_topk_keeps_as_many_of_the_largest_sums_as_a_rank_has_values() -> None:
    xs = whole_numbers(4, 4000, 0.05)
    total, k = np.sum(xs, axis=0), int(np.mean([np.count_nonzero(x) for x in xs]))
    kept = competitors.ok_topk(xs).result
    assert np.count_nonzero(kept) == k
    assert np.array_equal(kept[kept != 0], total[kept != 0])
    assert np.abs(kept[kept != 0]).min() >= np.abs(total[kept == 0]).max()


def test_doubling_sends_what_is_known_each_round() -> None:
    # Given 4 ranks with one value each at places of their own: 1 pair, then 2 pairs of 8 bytes.
    xs = [np.zeros(1000, np.float32) for _ in range(4)]
    for rank, x in enumerate(xs):
        x[10 * rank] = 1
    assert competitors.sparcml_recursive_doubling(xs).port_bytes == 8 + 16


def test_doubling_goes_dense_where_half_is_full() -> None:
    # Given 2 ranks of 100 values each, all nonzero: 400 bytes, not 800.
    assert competitors.sparcml_recursive_doubling([np.ones(100, np.float32)] * 2).port_bytes == 400


def test_split_sends_pairs_to_owners_and_gathers_the_union() -> None:
    # Given 2 ranks, 100 elements, rank r with a value in each half at place r: one pair to the other; then its own
    # half's union, 2 pairs. 8 + 16.
    xs = [np.zeros(100, np.float32) for _ in range(2)]
    for rank, x in enumerate(xs):
        x[[rank, 50 + rank]] = 1
    assert competitors.sparcml_split(xs).port_bytes == 8 + 16


def test_blocks_are_sent_whole_and_their_union_comes_back() -> None:
    # Given 2 ranks, 4 blocks of 256; rank 0 has a value in blocks 0 and 1, rank 1 in 3. Aggregators: 0 for 0 and 2, 1
    # for
    # 1 and 3. Rank 0 sends block 1 up and its aggregator block 0 down: 2 × (1024 + 8). Rank 1 sends none up, 1 and 3
    # down: as much.
    xs = [np.zeros(1024, np.float32) for _ in range(2)]
    xs[0][[3, 300]] = 1
    xs[1][1000] = 1
    assert competitors.omnireduce(xs).port_bytes == 2 * 1032


def test_zen_sends_pairs_up_and_a_bitmap_and_values_down() -> None:
    # Given 2 ranks, 1,600 elements, rank 0 with 100 values and rank 1 with none: the busiest port is rank 1's, which
    # gets
    # pairs of those that hash to it and the bitmap (some 100 bytes) and values of the others.
    xs = [np.zeros(1600, np.float32) for _ in range(2)]
    xs[0][::16] = 1
    found = competitors.zen(xs).port_bytes
    assert 8 * 30 + 4 * 30 < found < 8 * 100 + 100 + 4 * 100


def test_a_recompressing_ring_of_two_sends_a_chunk_and_gathers_another() -> None:
    xs = whole_numbers(2, 8192, 0.1)
    halves = [np.array_split(x, 2) for x in xs]
    own = [len(hm.codecs.encode(part, "pici")) + 16 for part in (halves[1][0], halves[0][1])]
    sums = [len(hm.codecs.encode(halves[0][i] + halves[1][i], "pici")) + 16 for i in range(2)]
    # Chunk c starts at rank c + 1 and its sum comes back from its owner.
    assert ours.spccl_ring(xs).port_bytes == max(own) + max(sums)


def test_a_ring_goes_dense_where_its_sparsity_falls_below_the_threshold() -> None:
    # Given 4 ranks of 90 % values: the first hop is coded in vain, the others and the all-gather go dense.
    xs = whole_numbers(4, 4 * 4096, 0.95)
    found = ours.spccl_ring(xs).port_bytes
    coded = len(hm.codecs.encode(xs[0][:4096], "pici")) + 16
    assert found == pytest.approx(coded + 5 * (4 * 4096 + 48), rel=0.01)


def test_direct_rounds_send_what_each_rank_brought_and_gather_sums_once() -> None:
    xs = whole_numbers(3, 3 * 4096, 0.05)
    parts = [np.array_split(x, 3) for x in xs]
    sums = [arrays.message_bytes(parts[0][i] + parts[1][i] + parts[2][i]) for i in range(3)]
    coded = [[arrays.message_bytes(part) for part in own] for own in parts]
    sent = [sum(coded[r]) - coded[r][r] for r in range(3)]
    received = [sum(row[r] for row in coded) - coded[r][r] for r in range(3)]
    # A ring of the sums: every rank forwards two of the three, and receives the two that are not its own.
    gathered = sum(sums) - min(sums)
    assert ours.direct(xs).port_bytes == max(sent + received) + gathered


def test_bytes_counted_chunk_by_chunk_are_those_of_whole_arrays() -> None:
    p, chunk = 4, 4096
    parts = [[arrays.random(0.05, chunk, p * owner + src) for owner in range(p)] for src in range(p)]
    xs = [np.concatenate(own) for own in parts]
    assert compared.both_bytes(p, 0.05, chunk) == (ours.direct(xs).port_bytes, ours.spccl_ring(xs).port_bytes)


@pytest.mark.parametrize("pattern", arrays.PATTERNS)
@pytest.mark.parametrize("density", [0.01, 0.1, 1.0])
def test_patterns_have_their_density(pattern: str, density: float) -> None:
    x = arrays.PATTERNS[pattern](density, 200_000, 0)
    assert np.count_nonzero(x) == pytest.approx(density * x.size, rel=0.15)
    other = arrays.PATTERNS[pattern](density, 200_000, 1)
    assert (np.array_equal(x != 0, other != 0)) == (pattern.startswith("identical") or density == 1)


def test_skewed_data_have_nine_tenths_in_their_first_tenth() -> None:
    x = arrays.skewed(0.01, 200_000, 0)
    assert np.count_nonzero(x[:20_000]) == pytest.approx(0.9 * np.count_nonzero(x), rel=0.05)


def test_the_limit_is_the_entropy_and_the_values() -> None:
    # Given 8 of 16 elements nonzero: 16 bits of places and 8 values of 4 bytes.
    assert arrays.limit_bytes(16, 8) == 2 + 32
    assert arrays.limit_bytes(16, 16) == 64
    assert arrays.limit_bytes(16, 0) == 0


def test_the_union_of_independent_supports() -> None:
    assert arrays.union(0.5, 2) == pytest.approx(0.75)
    assert arrays.union(1.0, 3) == 1
    assert arrays.union(0.01, 8) == pytest.approx(1 - 0.99**8)


def codec(size: float = 0.1, speed: float = math.inf) -> speeds.Speeds:
    rates = speeds.Rates(size, speed, speed, speed)
    return speeds.Speeds((1.0, 0.01), (rates, rates), math.inf, 1e10)


def test_the_model_s_dense_times_are_the_simulator_s() -> None:
    # Given a ring of 8 over a switch: rounds of latency and chunk; the model adds one slice of 1 MiB to get through.
    setting = RankPorts(8, 64 << 20, 1.25e9)
    network = hm.topologies.switch(8, latency_s=setting.latency_s, bandwidth=setting.bandwidth)
    one_slice = (1 << 20) / setting.bandwidth
    for kind, load in (
        ("all_gather", model.dense_gather(setting)),
        ("reduce_scatter", model.dense_scatter(setting, codec())),
    ):
        schedule = getattr(hm.algorithms, f"{kind}_ring")(8)
        simulated = hm.simulate(schedule, network, setting.nbytes).seconds
        assert load.seconds(setting) == pytest.approx(simulated + one_slice, rel=1e-3)


def test_the_model_takes_the_larger_of_port_and_core() -> None:
    # Given 2 ranks, 2 MB, 1 MB/s, a codec of a tenth of the bytes: half of the buffer passes, 0.1 s.
    setting = RankPorts(2, 2_000_000, 1e6, latency_s=0)
    free = model.sparse_gather(setting, codec(), 0.01)
    assert free.port_bytes / setting.bandwidth == pytest.approx(0.1)
    # At 1 MB/s of compressing and of decompressing half of the buffer each, 2 s: the core decides.
    slow = model.sparse_gather(setting, codec(speed=1e6), 0.01)
    assert slow.seconds(setting) == pytest.approx(2 + 2.1, rel=1e-3)
    assert model.pays(free, model.dense_gather(setting), setting)
    assert not model.pays(slow, model.dense_gather(setting), setting)


def test_a_ring_fills_up_and_goes_dense_by_its_threshold() -> None:
    setting = RankPorts(16, 16 << 20, 1e9)
    never = model.ring_scatter(setting, codec(), 0.05)
    always = model.ring_scatter(setting, codec(), 0.05, 1.0)
    assert never.port_bytes == pytest.approx(15 * 0.1 * setting.chunk)
    assert always.port_bytes == pytest.approx(14.1 * setting.chunk)


def test_the_model_s_sparse_times_are_the_simulator_s() -> None:
    # Given 8 ranks, 64 MiB, 99 % zeros, a codec as small as the simulator's at 20 GB/s: the model adds a slice through
    # everything, the simulator the last message's own, so they are a few percent apart where the wire decides and where
    # the core does.
    speed = 20e9
    rates = speeds.Rates(
        1.016 * arrays.limit_bytes(1 << 20, 0.01 * (1 << 20)) / (4 << 20), speed, speed, speed
    )
    coder = speeds.Speeds((1.0, 0.01), (rates, rates), math.inf, 1e10)
    core, now = hm.codecs.Speeds(speed, speed, speed), hm.Conditions(density=0.01)
    for bandwidth in (12.5e6, 1.25e9):
        setting = RankPorts(8, 64 << 20, bandwidth)
        network = hm.topologies.switch(8, latency_s=setting.latency_s, bandwidth=bandwidth)
        for name, load in (
            ("all_gather_ring", model.sparse_gather(setting, coder, 0.01)),
            ("reduce_scatter_direct_rounds", model.direct_scatter(setting, coder, 0.01)),
        ):
            schedule = getattr(hm.algorithms, name)(8)
            found = hm.simulate(schedule, network, setting.nbytes, conditions=now, codecs=core).seconds
            assert load.seconds(setting) == pytest.approx(found, rel=0.15), (name, bandwidth)


@pytest.mark.long
def test_pruned_training_follows_dense_training_within_a_point() -> None:
    dense, pruned = (
        gradients.train(gradients.Settings(density=density, steps=120)) for density in (1.0, 0.01)
    )
    assert dense.accuracy > 0.9
    assert pruned.kept == pytest.approx(0.01, rel=0.1)
    assert pruned.accuracy > dense.accuracy - 0.04  # 120 steps are few; the report trains on
