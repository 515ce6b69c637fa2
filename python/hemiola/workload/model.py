# SPDX-License-Identifier: Apache-2.0
"""A model as layers: the time of each on one rank, its parameters, and what it sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.workload.task import Call

#: Bytes of an element, by the name of its type.
PRECISIONS = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
#: Operations per second that a rank reaches where nobody says: 40 % of an A100's 312 TFLOP/s.
RATE = 125e12


@dataclass(frozen=True)
class Layer:
    """One layer, or block, of one replica and one micro-batch.

    Attributes
    ----------
    name : str.
    forward_s, input_s, weight_s : float >= 0, seconds of the forward pass, and of the gradients of its input and of its
        weights, on one rank that has the whole layer.
    gradient_bytes : int >= 0, of its parameters' gradients, without experts'.
    output_bytes : int >= 0, of the activations that the next layer gets.
    exchanges : int >= 0, all-reduces of its output in each pass where a tensor group shares it.
    expert_s : float >= 0, seconds of the experts' forward pass; its gradients take twice as long.
    expert_bytes : int >= 0, gradients of all experts.
    routed_bytes : int >= 0, what a rank sends to experts, and gets back.
    forward, input, weight : tuples of Call, after that part: of models that are split already.
    """

    name: str
    forward_s: float
    input_s: float
    weight_s: float
    gradient_bytes: int = 0
    output_bytes: int = 0
    exchanges: int = 0
    expert_s: float = 0.0
    expert_bytes: int = 0
    routed_bytes: int = 0
    forward: tuple[Call, ...] = ()
    input: tuple[Call, ...] = ()
    weight: tuple[Call, ...] = ()

    @property
    def seconds(self) -> float:
        """All passes, on one rank."""
        return self.forward_s + self.input_s + self.weight_s + 3 * self.expert_s


@dataclass(frozen=True, repr=False)
class Model:
    """A model to train.

    Attributes
    ----------
    name : str.
    layers : tuple of Layer, in the order of the forward pass.
    is_split : bool, whether its times and calls are those of one rank already.
    assumptions : tuple of str, sentences.
    element_bytes : int, of an element of a gradient.
    """

    name: str
    layers: tuple[Layer, ...]
    is_split: bool = False
    assumptions: tuple[str, ...] = ()
    element_bytes: int = 4

    def __repr__(self) -> str:
        return f"<Model {self.name}: {len(self.layers)} layers>"

    @property
    def gradient_bytes(self) -> int:
        """Of all layers, experts included."""
        return sum(layer.gradient_bytes + layer.expert_bytes for layer in self.layers)

    @property
    def seconds(self) -> float:
        """Computation of one micro-batch on one rank."""
        return sum(layer.seconds for layer in self.layers)

    @typed
    def stages(self, count: int) -> list[Sequence[Layer]]:
        """Cut it into pipeline stages of about equal computation.

        Parameters
        ----------
        count : int, 1 … layers.

        Returns
        -------
        list of sequences of Layer, none empty.

        Raises
        ------
        ArgumentError
            There are fewer layers than stages.
        """
        if count > len(self.layers):
            raise ArgumentError(
                f"{self.name}: expected at most as many pipeline stages as its {len(self.layers)} layers, "
                f"found {count}"
            )
        cuts, passed_s, each_s = [0], 0.0, self.seconds / count
        for place, layer in enumerate(self.layers):
            left = len(self.layers) - place
            is_due = passed_s + layer.seconds / 2 >= each_s * len(cuts) or left <= count - len(cuts)
            if place > cuts[-1] and len(cuts) < count and is_due:
                cuts.append(place)
            passed_s += layer.seconds
        return [
            self.layers[begin:end] for begin, end in zip(cuts, [*cuts[1:], len(self.layers)], strict=True)
        ]


def element_bytes(precision: str) -> int:
    """Return the bytes of an element; raise ArgumentError for an unknown type."""
    if precision not in PRECISIONS:
        raise ArgumentError(f"expected a precision out of {', '.join(PRECISIONS)}, found '{precision[:60]}'")
    return PRECISIONS[precision]
