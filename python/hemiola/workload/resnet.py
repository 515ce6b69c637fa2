# SPDX-License-Identifier: Apache-2.0
"""ResNet-50, from the sizes of its convolutions [he2016]."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.workload.model import RATE, Layer, Model, element_bytes

#: Blocks, inner channels, outer channels, and side of the image of each stage.
_STAGES = ((3, 64, 256, 56), (4, 128, 512, 28), (6, 256, 1024, 14), (3, 512, 2048, 7))
_CLASSES = 1000


@typed
def resnet_50(batch: int = 32, *, precision: str = "fp32", rate: float = RATE) -> Model:
    """Return ResNet-50 for images of 224 × 224, a layer for each convolution.

    Parameters
    ----------
    batch : int >= 1, images of a micro-batch on one replica.
    precision : str, fp32, tf32, bf16, fp16 or fp8.
    rate : float > 0, operations per second that a rank reaches.

    Returns
    -------
    Model, of 25.6 million parameters.

    Raises
    ------
    ArgumentError
        A number is out of its range.
    """
    if not 1 <= batch <= 1 << 20:
        raise ArgumentError(f"resnet_50: expected a batch from 1 to {1 << 20:,}, found {batch}")
    if not (rate > 0 and math.isfinite(rate)):
        raise ArgumentError(f"resnet_50: expected a rate above 0 operations per second, found {rate}")
    size = element_bytes(precision)
    layers = [
        _convolution(name, kernel, inner, outer, side, batch, size, rate)
        for name, kernel, inner, outer, side in _convolutions()
    ]
    dense_s = 2 * batch * 2048 * _CLASSES / rate
    layers.append(
        Layer("fc", dense_s, dense_s, dense_s, (2048 + 1) * _CLASSES * size, batch * _CLASSES * size)
    )
    assumed = (
        f"A rank reaches {rate / 1e12:g} TFLOP/s; norms, the optimizer and the loading of data take no time.",
        f"Parameters and gradients are {precision}; a micro-batch of a replica has {batch} images.",
    )
    return Model("ResNet-50", tuple(layers), assumptions=assumed, element_bytes=size)


def _convolutions() -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the name, kernel, channels in and out, and side of the output of each convolution."""
    yield "conv1", 7, 3, 64, 112
    channels = 64
    for stage, (blocks, inner, outer, side) in enumerate(_STAGES, start=2):
        for block in range(1, blocks + 1):
            name = f"conv{stage}_{block}"
            # The stride is in the 3 × 3 convolution: the first one of a block still sees the larger image.
            before = side * 2 if block == 1 and stage > 2 else side
            yield f"{name}.1", 1, channels, inner, before
            yield f"{name}.2", 3, inner, inner, side
            yield f"{name}.3", 1, inner, outer, side
            if block == 1:
                yield f"{name}.shortcut", 1, channels, outer, side
            channels = outer


def _convolution(
    name: str, kernel: int, inner: int, outer: int, side: int, batch: int, size: int, rate: float
) -> Layer:
    weights = kernel * kernel * inner * outer
    seconds = 2 * batch * weights * side * side / rate
    # Two numbers for each channel are those of the batch norm behind it.
    return Layer(
        name, seconds, seconds, seconds, (weights + 2 * outer) * size, batch * outer * side * side * size
    )
