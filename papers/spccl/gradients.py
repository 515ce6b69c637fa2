# SPDX-License-Identifier: Apache-2.0
"""Real gradients: the digits' training of the demo, with ranks as a loop in one process, pruned or dense."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola.environment.packages import optional
from hemiola.pruning import Pruner
from papers.spccl.arrays import Floats

_WIDTHS = (64, 512, 256, 10)
_RATE = 0.3
_SHARE = 32


@dataclass(frozen=True)
class Settings:
    """A training: how much each rank prunes, and how."""

    density: float = 1.0
    rank_count: int = 8
    steps: int = 300
    leak: float = 1.0
    warm_up_steps: int = 0
    by_layer: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Trained:
    """A training's results: accuracy on held-out images, mean loss of the last ten steps, shares, last gradients."""

    accuracy: float
    loss: float
    kept: float
    union: float
    last: list[Floats]


@functools.lru_cache(maxsize=32)
def train(settings: Settings) -> Trained:
    """Train with as many workers as ranks, each with its share of every batch and a pruner of its own."""
    with optional("threadpoolctl").threadpool_limits(1):  # the products are small
        return _train(settings)


def _train(settings: Settings) -> Trained:
    from hemiola.demo.network import Perceptron
    from hemiola.demo.training import Digits, accuracy

    digits = Digits.load()
    network = Perceptron(_WIDTHS, settings.seed)
    pruners = [_pruner(settings, rank) for rank in range(settings.rank_count)]
    draws = np.random.default_rng(settings.seed)
    losses, kept, unions = [], [], []
    sent: list[Floats] = []
    for _ in range(settings.steps):
        batch = draws.permutation(len(digits.images))[: _SHARE * settings.rank_count]
        sent, loss = [], 0.0
        for rank, pruner in enumerate(pruners):
            share = batch[rank :: settings.rank_count]
            loss += network.backward(digits.images[share], digits.labels[share]) / settings.rank_count
            gradient = network.gradient.astype(np.float32)
            sent.append(gradient if settings.density == 1 else pruner.prune(gradient))
        network.parameters -= _RATE * np.mean(np.array(sent, np.float64), axis=0)
        losses.append(loss)
        kept.append(np.mean([_share(x != 0) for x in sent]))
        unions.append(_share(np.any([x != 0 for x in sent], axis=0)))
    begin = settings.warm_up_steps
    return Trained(
        accuracy(network, digits),
        float(np.mean(losses[-10:])),
        float(np.mean(kept[begin:])),
        float(np.mean(unions[begin:])),
        sent,
    )


def _pruner(settings: Settings, rank: int) -> Pruner:
    layers = [size for fan_in, fan_out in itertools.pairwise(_WIDTHS) for size in (fan_in * fan_out, fan_out)]
    return Pruner(
        settings.density,
        leak=settings.leak,
        warm_up_steps=settings.warm_up_steps,
        layers=layers if settings.by_layer else None,
        seed=rank,
    )


def pruned_gradients(density: float, rank_count: int, steps: int) -> list[Floats]:
    """Return each rank's message in the last of so many steps."""
    return train(Settings(density=density, rank_count=rank_count, steps=steps)).last


def _share(chosen: NDArray[np.bool_]) -> float:
    return float(np.count_nonzero(chosen)) / chosen.size
