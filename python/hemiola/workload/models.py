# SPDX-License-Identifier: Apache-2.0
"""Ready-made models: a Transformer of any size, ResNet-50, and those of the papers, by name or with parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial

from hemiola.arguments import typed
from hemiola.errors import ArgumentError, FormatError
from hemiola.workload.model import Layer, Model
from hemiola.workload.resnet import resnet_50
from hemiola.workload.transformer import transformer

__all__ = ["NAMES", "Layer", "Model", "named", "resnet_50", "transformer"]


def _gpt(layers: int, width: int, sequence: int = 2048, **more: object) -> Callable[..., Model]:
    return partial(transformer, layers, width, sequence, **more)  # type: ignore[arg-type]


#: By name. A function's parameters may be set behind a colon.
NAMES: dict[str, Callable[..., Model]] = {
    "transformer": transformer,
    "resnet-50": resnet_50,
    "gpt-7b": _gpt(32, 4096, name="GPT 7B [PCCL, §6.2]"),
    "gpt-13b": _gpt(40, 5120, name="GPT 13B [PCCL, §6.2]"),
    "megatron-1.5b": _gpt(48, 1600, 512, batch=2, name="Megatron 1.5B [SpCCL, §7.2]"),
    "megatron-3.3b": _gpt(28, 3072, 512, batch=2, name="Megatron 3.3B [SpCCL, §7.2]"),
    "turing-nlg": _gpt(78, 4256, 1024, name="Turing-NLG [TACOS, §V]"),
    "msft-1t": _gpt(128, 25600, 2048, name="MSFT-1T [TACOS, §V]"),
    "bert-large": _gpt(24, 1024, 512, vocabulary=30522, name="BERT-large [StragglAR, §5]"),
    "llama-3.2-3b": _gpt(28, 3072, block=100_700_000, vocabulary=128256, name="Llama-3.2-3B [StragglAR, §5]"),
    "phi-3-mini": _gpt(32, 3072, vocabulary=32064, name="Phi-3-mini [StragglAR, §5]"),
    "qwen-2.5-3b": _gpt(36, 2048, block=77_100_000, vocabulary=151936, name="Qwen-2.5-3B [StragglAR, §5]"),
}


@typed
def named(text: str) -> Model:
    """Make a model out of its name and parameters.

    Parameters
    ----------
    text : str, a name out of `NAMES`, and behind a colon parameters: "transformer:layers=24,width=2048,batch=4".

    Returns
    -------
    Model

    Raises
    ------
    ArgumentError
        There is no such model, a parameter is missing, or out of its range.
    FormatError
        A parameter is of another form.
    """
    name, _, rest = text.partition(":")
    if name not in NAMES:
        raise ArgumentError(f"expected a model out of {', '.join(NAMES)}, found '{name[:60]}'")
    make = NAMES[name]
    parameters = inspect.signature(make).parameters
    given: dict[str, object] = {}
    for part in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = part.partition("=")
        if not equals or key not in parameters or key == "name":
            known = ", ".join(one for one in parameters if one != "name")
            raise FormatError(
                f"model '{name}': expected NAME=VALUE with a name out of {known}; found '{part[:60]}'"
            )
        given[key] = _read(name, key, value)
    missing = [
        key for key, one in parameters.items() if one.default is inspect.Parameter.empty and key not in given
    ]
    if missing:
        raise ArgumentError(
            f"model '{name}': expected {' and '.join(missing)}, such as '{name}:{missing[0]}=24'"
        )
    return make(**given)


def _read(model: str, key: str, value: str) -> object:
    """Read a parameter: a type's name, yes or no, or a number."""
    if key == "precision":
        return value
    try:
        number = float(value)
        if key == "rate":
            return number
        if number != int(number):
            raise ValueError
    except (ValueError, OverflowError):
        raise FormatError(f"model '{model}': expected a number as {key}, found '{value[:60]}'") from None
    return bool(number) if key == "recompute" else int(number)
