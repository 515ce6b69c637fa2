# SPDX-License-Identifier: Apache-2.0
"""Training on scikit-learn's digits, by one process and by several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola.communicator import Communicator
from hemiola.demo.network import Floats, Perceptron
from hemiola.environment.packages import optional
from hemiola.errors import ArgumentError


@dataclass(frozen=True)
class Task:
    """The task to train; equal tasks make equal runs, however many ranks share the work."""

    widths: tuple[int, ...] = (64, 512, 256, 10)
    epochs: int = 30
    batch: int = 256
    rate: float = 0.3
    seed: int = 0


@dataclass(frozen=True)
class Run:
    """The result of a training: mean loss per step, accuracy on held-out images, the last own gradient."""

    losses: list[float]
    accuracy: float
    gradient: Floats


@dataclass(frozen=True)
class Digits:
    """1,797 images of 64 grey values from 0 to 1 with their labels; the last 360 are held out."""

    images: Floats
    labels: NDArray[np.int64]
    held_out_images: Floats
    held_out_labels: NDArray[np.int64]

    @classmethod
    def load(cls) -> Digits:
        """Read the data set that ships with scikit-learn, in a fixed random order."""
        images, labels = optional("sklearn.datasets").load_digits(return_X_y=True)
        order = np.random.default_rng(7).permutation(len(images))
        images, labels = images[order] / 16.0, labels[order]
        return cls(images[:-360], labels[:-360], images[-360:], labels[-360:])


def batches(task: Task, image_count: int) -> Iterator[NDArray[np.int64]]:
    """Yield the images of each step, in an order that depends on the task alone."""
    random = np.random.default_rng(task.seed)
    for _ in range(task.epochs):
        order = random.permutation(image_count)
        for begin in range(0, image_count - task.batch + 1, task.batch):
            yield order[begin : begin + task.batch]


def train_alone(task: Task, digits: Digits, after_step: Callable[[], None]) -> Run:
    """Train in one process."""
    network = Perceptron(task.widths, task.seed)
    losses = []
    for batch in batches(task, len(digits.images)):
        losses.append(network.backward(digits.images[batch], digits.labels[batch]))
        network.parameters -= task.rate * network.gradient
        after_step()
    return Run(losses, accuracy(network, digits), network.gradient)


def train_together(
    comm: Communicator,
    task: Task,
    digits: Digits,
    after_step: Callable[[], None],
    schedule: str | None = None,
) -> Run:
    """Train as one of several ranks: each takes its share of every batch, and all average their gradients."""
    if task.batch % comm.rank_count:
        raise ArgumentError(
            f"expected a batch that {comm.rank_count} ranks can share equally, found {task.batch}"
        )
    network = Perceptron(task.widths, task.seed)
    losses = []
    for batch in batches(task, len(digits.images)):
        share = batch[comm.rank :: comm.rank_count]
        loss = np.array([network.backward(digits.images[share], digits.labels[share])])
        own_gradient = network.gradient.copy()
        comm.all_reduce(network.gradient, op="average", schedule=schedule)
        comm.all_reduce(loss, op="average")
        losses.append(float(loss[0]))
        network.parameters -= task.rate * network.gradient
        after_step()
    return Run(losses, accuracy(network, digits), own_gradient)


def accuracy(network: Perceptron, digits: Digits) -> float:
    """Return the share of held-out images that the network names rightly."""
    return float((network.predict(digits.held_out_images) == digits.held_out_labels).mean())
