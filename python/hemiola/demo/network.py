# SPDX-License-Identifier: Apache-2.0
"""A small network for the digits data: a perceptron whose parameters and gradient each lie in one flat
buffer, as a collective wants them."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Perceptron:
    """A multi-layer perceptron with tanh layers and a softmax at the end.

    Parameters
    ----------
    widths : sequence of int, neurons per layer from the input to the classes.
    seed : int; equal seeds make equal parameters, so every rank starts from the same network.
    """

    def __init__(self, widths: tuple[int, ...], seed: int) -> None:
        random = np.random.default_rng(seed)
        shapes = list(itertools.pairwise(widths))
        self.parameters: Floats = np.zeros(sum(fan_in * fan_out + fan_out for fan_in, fan_out in shapes))
        self.gradient: Floats = np.zeros_like(self.parameters)
        self._layers = _split(self.parameters, shapes)
        self._gradients = _split(self.gradient, shapes)
        for weights, _ in self._layers:
            weights[:] = random.normal(scale=weights.shape[0] ** -0.5, size=weights.shape)

    def backward(self, images: Floats, labels: NDArray[np.int64]) -> float:
        """Fill `gradient` with the mean gradient over the images; return their mean loss (cross-entropy)."""
        activations = self._forward(images)
        rows = np.arange(len(labels))
        probabilities = activations.pop()
        loss = -float(np.log(probabilities[rows, labels]).mean())
        error = probabilities
        error[rows, labels] -= 1
        error /= len(labels)
        for (weights, _), (weights_gradient, bias_gradient) in zip(
            reversed(self._layers), reversed(self._gradients), strict=True
        ):
            activation = activations.pop()
            np.matmul(activation.T, error, out=weights_gradient)
            np.sum(error, axis=0, out=bias_gradient)
            if activations:
                error = (error @ weights.T) * (1 - activation**2)
        return loss

    def predict(self, images: Floats) -> NDArray[np.int64]:
        """Return the most likely class of each image."""
        return np.asarray(self._forward(images)[-1].argmax(axis=1))

    def _forward(self, images: Floats) -> list[Floats]:
        """Return what enters each layer, and the class probabilities last."""
        activations = [images]
        for weights, bias in self._layers[:-1]:
            activations.append(np.tanh(activations[-1] @ weights + bias))
        weights, bias = self._layers[-1]
        logits = activations[-1] @ weights + bias
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        activations.append(exponentials / exponentials.sum(axis=1, keepdims=True))
        return activations


def _split(flat: Floats, shapes: list[tuple[int, int]]) -> list[tuple[Floats, Floats]]:
    """Return views of a flat buffer: the weights and the bias of each layer."""
    layers = []
    begin = 0
    for fan_in, fan_out in shapes:
        middle, end = begin + fan_in * fan_out, begin + fan_in * fan_out + fan_out
        layers.append((flat[begin:middle].reshape(fan_in, fan_out), flat[middle:end]))
        begin = end
    return layers
