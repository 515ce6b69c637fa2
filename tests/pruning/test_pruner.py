# SPDX-License-Identifier: Apache-2.0
"""Pruning: what is kept against the statistics of a sample, and nothing lost: sent and residual are what was there."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError, ArgumentTypeError

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def bits(x: Any) -> Any:
    return x.view(f"u{x.dtype.itemsize}")


def normal(count: int, dtype: Any = np.float32, seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal(count).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_of_every_element_sent_value_or_residual_has_all_bits(dtype: Any) -> None:
    pruner, before = hm.Pruner(0.1), np.zeros(1000, dtype)
    for step in range(5):
        x = normal(1000, dtype, step)
        x[::7] = 0
        accumulated = before + x
        sent = pruner.prune(x)
        left = np.asarray(pruner.residual)
        assert np.array_equal(bits(sent) | bits(left), bits(accumulated))
        assert not np.any((sent != 0) & (left != 0))
        assert np.array_equal(bits(sent + left), bits(accumulated))
        before = left.copy()
    assert pruner.step == 5


def test_a_layer_that_is_seen_whole_keeps_exactly_its_largest() -> None:
    x = normal(1000)
    pruner = hm.Pruner(0.05)
    sent = pruner.prune(x)
    assert pruner.kept == np.count_nonzero(sent) == 50
    assert np.array_equal(np.sort(np.abs(sent[sent != 0])), np.sort(np.abs(x))[-50:])


@pytest.mark.parametrize(("density", "error"), [(0.01, 0.3), (0.01, 0.1), (0.001, 0.3)])
def test_the_kept_share_deviates_by_what_the_sample_promises(density: float, error: float) -> None:
    # Given m = (1-d)/(d ε²) samples of n >> m elements: the sampled quantile's rank is binomial, so that the kept share
    # deviates by √((1-d)/(d m)) = ε of d. 60 draws estimate that within 1/√120, 9 %: three times that on either side.
    x = normal(400_000)
    shares = []
    for seed in range(60):
        pruner = hm.Pruner(density, error=error, seed=seed)
        pruner.prune(x)
        shares.append(pruner.kept / (density * x.size) - 1)
    assert 0.7 * error < float(np.std(shares)) < 1.3 * error
    # A rank is a whole number of the sample's d·m, so the mean may be off by half of one of them.
    assert abs(float(np.mean(shares))) < 3 * error / math.sqrt(60) + error**2


def test_equal_magnitudes_keep_their_share_spread_over_the_layer() -> None:
    x = np.where(normal(10_000) > 0, 1.0, -1.0)
    pruner = hm.Pruner(0.01)
    for _ in range(3):
        sent = pruner.prune(x)
        assert pruner.kept == np.count_nonzero(sent) == 100
    quarters = np.count_nonzero(hm.Pruner(0.01).prune(x).reshape(4, -1), axis=1)
    assert quarters.tolist() == [25, 25, 25, 25]


def test_equal_magnitudes_keep_their_share_where_a_sample_is_taken() -> None:
    pruner = hm.Pruner(0.01, error=0.5)
    pruner.prune(np.ones(100_000, np.float32))
    assert pruner.kept == 1000


@pytest.mark.parametrize("count", [0, 1, 1000, 200_000])
def test_a_layer_of_zeros_sends_nothing(count: int) -> None:
    pruner = hm.Pruner(0.01)
    assert not pruner.prune(np.zeros(count, np.float32)).any()
    assert pruner.kept == 0


def test_a_layer_with_fewer_values_than_its_share_sends_them_all() -> None:
    x = np.zeros(1000)
    x[[3, 500, 999]] = 1e-300, -2, 3
    pruner = hm.Pruner(0.01)
    assert np.array_equal(pruner.prune(x), x)
    assert pruner.kept == 3


def test_what_is_not_finite_is_sent_and_never_kept() -> None:
    x = normal(1000)
    x[:40] = np.nan
    x[40:80] = np.inf
    x[80:100] = -np.inf
    pruner = hm.Pruner(0.01)
    sent = pruner.prune(x)
    assert np.array_equal(bits(sent[:100]), bits(x[:100]))
    assert pruner.kept == 100
    assert np.isfinite(pruner.residual).all()  # type: ignore[arg-type]
    assert np.isfinite(pruner.prune(normal(1000))).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_largest_finite_value_is_an_ordinary_one(dtype: Any) -> None:
    x = np.full(100, ml_dtypes.finfo(dtype).max, dtype)
    pruner = hm.Pruner(0.1, leak=0)
    pruner.prune(x)
    assert pruner.kept == 10


def test_every_layer_has_a_threshold_of_its_own() -> None:
    x = np.concatenate([normal(1000), 1e-6 * normal(500), normal(3), np.zeros(0, np.float32)])
    sent = hm.Pruner(0.02, layers=[1000, 500, 3, 0]).prune(x)
    assert [np.count_nonzero(part) for part in np.split(sent, [1000, 1500])] == [20, 10, 1]
    alone = hm.Pruner(0.02).prune(x)
    assert not alone[1000:1500].any()


def test_a_leak_forgets_and_no_feedback_starts_anew() -> None:
    # Given (1, 4) and then (1, 0): 4 goes first; of 1 there is left leak · 1, and it grows by 1.
    for leak, expected in ((1.0, 2.0), (0.5, 1.5), (0.0, 1.0)):
        pruner = hm.Pruner(0.5, leak=leak)
        assert pruner.prune(np.array([1.0, 4.0])).tolist() == [0, 4]
        assert pruner.prune(np.array([1.0, 0.0])).tolist() == [expected, 0]


def test_the_density_falls_by_the_same_factor_while_warming_up() -> None:
    # DGC's own: 25, 6.25, 1.56, 0.4 and 0.1 % are powers of about 1/4, 0.001^(1/5).
    pruner = hm.Pruner(0.001, warm_up_steps=4)
    found = [pruner.density_at(step) for step in range(7)]
    assert found[:5] == pytest.approx([0.2512, 0.0631, 0.01585, 0.00398, 0.001], rel=1e-3)
    assert found[4:] == [0.001] * 3
    kept = []
    for step in range(6):
        pruner.prune(normal(1000, seed=step))
        kept.append(pruner.kept)
    assert kept == [251, 63, 16, 4, 1, 1]


def test_pruning_in_place_is_pruning() -> None:
    x = normal(600).reshape(20, 30)
    sent = hm.Pruner(0.1).prune(x)
    assert sent.shape == x.shape
    in_place = x.copy()
    assert hm.Pruner(0.1).prune(in_place, out=in_place) is in_place
    assert np.array_equal(in_place, sent)
    apart = hm.Pruner(0.1).prune(np.asfortranarray(x))
    assert apart.flags.c_contiguous
    assert np.array_equal(apart, sent)


def test_density_one_sends_everything() -> None:
    x = normal(100)
    pruner = hm.Pruner(1.0)
    assert np.array_equal(pruner.prune(x), x)
    assert not np.any(pruner.residual)


def test_equal_seeds_prune_alike() -> None:
    x = normal(100_000)
    first, second = (hm.Pruner(0.01, error=0.5, seed=3).prune(x) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    "arguments",
    [
        {"density": 0.0},
        {"density": 1.5},
        {"density": math.nan},
        {"density": 0.1, "leak": -0.1},
        {"density": 0.1, "leak": math.nan},
        {"density": 0.1, "error": 0.0},
        {"density": 0.1, "error": math.inf},
        {"density": 0.1, "warm_up_steps": -1},
        {"density": 0.1, "seed": -1},
        {"density": 0.1, "layers": [3, -1]},
    ],
)
def test_arguments_out_of_range_are_refused_by_name(arguments: dict[str, Any]) -> None:
    wrong = "density" if len(arguments) == 1 else list(arguments)[1]
    with pytest.raises(ArgumentError, match=f"^{wrong}: expected .* found ") as refused:
        hm.Pruner(**arguments)
    assert "\n" not in str(refused.value)


def test_a_gradient_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    x = normal(10)
    pruner = hm.Pruner(0.2, layers=[4, 6])
    pruner.prune(x)
    left = np.array(pruner.residual)
    locked, gaps = np.zeros(10, np.float32), np.zeros(20, np.float32)[::2]
    locked.flags.writeable = False
    for wrong, out in (
        (normal(11), None),
        (x.reshape(2, 5), None),
        (x.astype(np.float64), None),
        (x.astype(np.int32), None),
        (x, np.zeros(11, np.float32)),
        (x, np.zeros(10)),
        (x, locked),
        (x, gaps),
    ):
        with pytest.raises(ArgumentError, match=r"^(x|out): expected") as refused:
            pruner.prune(wrong, out=out)
        assert "\n" not in str(refused.value)
    assert pruner.step == 1
    assert np.array_equal(pruner.residual, left)  # type: ignore[arg-type]


def test_wrong_types_are_named() -> None:
    with pytest.raises(ArgumentTypeError, match=r"Pruner\(\): density: expected a number .* found '1 %'"):
        hm.Pruner("1 %")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"prune\(\): x: expected "):
        hm.Pruner(0.1).prune([1.0, 2.0])  # type: ignore[type-var]


def rank_prunes() -> bool:
    comm = hm.init()
    sent = hm.Pruner(0.01).prune(normal(50_000, seed=comm.rank))
    dense = comm.all_reduce(sent.copy())
    return np.array_equal(bits(dense), bits(comm.all_reduce(sent, sparse=True)))


def test_collectives_take_what_pruning_gives() -> None:
    assert hm.launch(rank_prunes, 2, timeout_s=60) == [True, True]


def test_a_restart_goes_on_with_the_residual_that_was_kept() -> None:
    running, restarted = hm.Pruner(0.1), hm.Pruner(0.1)
    running.prune(normal(400).reshape(20, 20))
    restarted.residual = np.asfortranarray(running.residual)
    restarted.step = running.step
    for seed in (2, 3):
        x = normal(400, seed=seed).reshape(20, 20)
        assert np.array_equal(restarted.prune(x), running.prune(x))
