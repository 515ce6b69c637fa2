# SPDX-License-Identifier: Apache-2.0
"""Transformers, from the number of layers, width, sequence and batch."""

from __future__ import annotations

import math

from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.units import format_bytes
from hemiola.workload.model import RATE, Layer, Model, element_bytes


@typed
def transformer(
    layers: int,
    width: int,
    sequence: int = 2048,
    batch: int = 1,
    *,
    precision: str = "bf16",
    vocabulary: int = 50304,
    rate: float = RATE,
    recompute: bool = False,
    experts: int = 0,
    top: int = 2,
    block: int = 0,
    name: str = "",
) -> Model:
    """Return a decoder: an embedding, blocks of attention and a fourfold perceptron, and a head tied to the embedding.

    Parameters
    ----------
    layers, width, sequence : int >= 1, blocks, elements of a token, tokens.
    batch : int >= 1, sequences of a micro-batch on one replica.
    precision : str, the type of parameters, gradients and activations: fp32, tf32, bf16, fp16 or fp8.
    vocabulary : int >= 0, tokens; 0 leaves embedding and head out.
    rate : float > 0, operations per second that a rank reaches.
    recompute : bool, whether the backward pass computes activations again.
    experts : int >= 0, perceptrons of each block, of which every token takes `top`; 0: one that all take.
    top : int >= 1.
    block : int >= 0, parameters of a block; 0: 12·width² + 13·width, or with experts one perceptron for each.
    name : str, for reports.

    Returns
    -------
    Model

    Raises
    ------
    ArgumentError
        A number is out of its range.

    Notes
    -----
    A block has 12·width² + 13·width parameters. Its forward pass takes two operations per parameter and token, and
    4·sequence·width per token for attention. The backward pass takes twice as many. Norms, activation functions and the
    optimizer take no time [narayanan2021, §5.1].
    """
    _check(layers, width, sequence, batch, vocabulary, rate, experts, top, block)
    size, tokens = element_bytes(precision), batch * sequence
    attention, perceptron = 4 * width**2 + 5 * width, 8 * width**2 + 8 * width
    dense = attention + (0 if experts else perceptron) + (experts * width)
    dense = block or dense
    forward_s = tokens * (2 * dense + 4 * sequence * width) / rate
    one = Layer(
        "block",
        forward_s,
        forward_s * (2 if recompute else 1),
        forward_s,
        dense * size,
        tokens * width * size,
        exchanges=2,
        expert_s=2 * tokens * top * perceptron / rate if experts else 0.0,
        expert_bytes=experts * perceptron * size,
        routed_bytes=tokens * top * width * size if experts else 0,
    )
    head_s = 2 * tokens * width * vocabulary / rate
    embedding = Layer(
        "embedding", 0.0, 0.0, 0.0, (vocabulary + sequence) * width * size, tokens * width * size
    )
    head = Layer("head", head_s, head_s, head_s, 0, tokens * size)
    whole = [one] * layers if vocabulary == 0 else [embedding, *[one] * layers, head]
    title = name or f"Transformer, {layers} layers of {width:,}"
    gradient_bytes = sum(each.gradient_bytes + each.expert_bytes for each in whole)
    return Model(
        title,
        tuple(whole),
        assumptions=_assumptions(rate, precision, tokens, gradient_bytes),
        element_bytes=size,
    )


def _assumptions(rate: float, precision: str, tokens: int, gradient_bytes: int) -> tuple[str, ...]:
    return (
        f"A rank reaches {rate / 1e12:g} TFLOP/s; the optimizer, norms and the loading of data take no time.",
        f"Parameters, gradients and activations are {precision}; gradients are {format_bytes(gradient_bytes)}.",
        f"A micro-batch of a replica has {tokens:,} tokens.",
    )


def _check(
    layers: int,
    width: int,
    sequence: int,
    batch: int,
    vocabulary: int,
    rate: float,
    experts: int,
    top: int,
    block: int,
) -> None:
    counts = {"layers": layers, "width": width, "sequence": sequence, "batch": batch, "top": top}
    for name, value in counts.items():
        if not 1 <= value <= 1 << 24:
            raise ArgumentError(f"transformer: expected {name} from 1 to {1 << 24:,}, found {value}")
    for name, value in {"vocabulary": vocabulary, "experts": experts, "block": block}.items():
        if not 0 <= value <= 1 << 40:
            raise ArgumentError(f"transformer: expected {name} from 0 to {1 << 40:,}, found {value}")
    if layers > 4096:
        raise ArgumentError(f"transformer: expected at most 4,096 layers, found {layers:,}")
    if not (rate > 0 and math.isfinite(rate)):
        raise ArgumentError(f"transformer: expected a rate above 0 operations per second, found {rate}")
