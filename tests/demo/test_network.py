# SPDX-License-Identifier: Apache-2.0
"""The demo's network: its gradient against finite differences, and the step from one process to several."""

import numpy as np
import pytest

from hemiola.demo.network import Perceptron


def images_and_labels(count: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    return random.random((count, 6)), random.integers(0, 4, count)


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    # Central differences of step h have an error of about h^2 = 1e-10, plus rounding of about 1e-16 / h = 1e-11.
    network = Perceptron((6, 5, 4), seed=1)
    images, labels = images_and_labels(9)
    network.backward(images, labels)
    gradient = network.gradient.copy()
    for index in range(len(gradient)):
        slopes = []
        for side in (1e-5, -1e-5):
            network.parameters[index] += side
            slopes.append(network.backward(images, labels) / side)
            network.parameters[index] -= side
        assert gradient[index] == pytest.approx(sum(slopes) / 2, abs=1e-8)


def test_parameters_and_gradient_lie_in_one_buffer_each() -> None:
    network = Perceptron((6, 5, 4), seed=1)
    assert network.parameters.size == network.gradient.size == 6 * 5 + 5 + 5 * 4 + 4
    assert network.gradient.flags.c_contiguous


def test_equal_seeds_make_equal_networks() -> None:
    assert (Perceptron((6, 5, 4), seed=2).parameters == Perceptron((6, 5, 4), seed=2).parameters).all()
    assert (Perceptron((6, 5, 4), seed=2).parameters != Perceptron((6, 5, 4), seed=3).parameters).any()


def test_equal_shares_of_a_batch_average_to_the_whole_batch() -> None:
    # The mean over 8 images is the mean of the means over 4 shares of 2; only the order of adding differs.
    network = Perceptron((6, 5, 4), seed=1)
    images, labels = images_and_labels(8)
    whole_loss = network.backward(images, labels)
    whole = network.gradient.copy()
    losses, shares = [], []
    for rank in range(4):
        losses.append(network.backward(images[rank::4], labels[rank::4]))
        shares.append(network.gradient.copy())
    np.testing.assert_allclose(np.mean(shares, axis=0), whole, atol=1e-14)
    assert np.mean(losses) == pytest.approx(whole_loss, abs=1e-14)


def test_predictions_are_classes() -> None:
    images, _ = images_and_labels(7)
    predicted = Perceptron((6, 5, 4), seed=1).predict(images)
    assert predicted.shape == (7,)
    assert set(predicted.tolist()) <= {0, 1, 2, 3}
