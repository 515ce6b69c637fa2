# SPDX-License-Identifier: Apache-2.0
"""An annotation's meaning in words, with an example, and the display of a value that does not fit."""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Sequence
from typing import Any

import numpy as np

from hemiola.arguments.names import NAMES

#: The origins of annotations: of `X | Y`, of a mapping, and of a sequence of any length.
UNIONS = (typing.Union, types.UnionType)
MAPPINGS = (dict, collections.abc.Mapping)
SEQUENCES = (list, collections.abc.Sequence)
_SHOWN = 60
_SINGLE = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "True or False",
    bytes: "bytes",
    types.NoneType: "None",
    None: "None",
    object: "a value",
}
_PLURAL = {int: "whole numbers", float: "numbers", str: "texts"}

#: An argument of this name is written so, in every call.
_BY_NAME = {
    "bandwidth": "50e9",
    "density": "0.01",
    "dims": "[4, 4]",
    "kind": "'all_reduce'",
    "late": "{7: 4.5e-3}",
    "layers": "[32_768, 512]",
    "latency": "'pipelined'",
    "latency_s": "1e-6",
    "nbytes": "64 << 20",
    "nodes": "[0, 0, 1, 1]",
    "network": "'fluid'",
    "op": "'sum'",
    "path": "'cluster.yaml'",
    "slow": "{0: 2.0}",
    "text": "'64 MiB'",
    "wires": "['ring', 'switch']",
}
#: Others by the first of their types.
_BY_TYPE = {
    "Algorithm": "hm.algorithms.get('all_reduce_ring')",
    "Collective": "hm.Collective.make('all_reduce', 8, 8)",
    "Communicator": "hm.init()",
    "Conditions": "hm.Conditions(late={7: 4.5e-3})",
    "Graph": "networkx.path_graph(8)",
    "Host": "hm.topologies.Host(8, latency_s=1e-6, bandwidth=300e9, nic_latency_s=5e-6, nic_bandwidth=50e9)",
    "Mapping": "{0: 2}",
    "PathLike": "'cluster.yaml'",
    "Schedule": "hm.algorithms.all_reduce_ring(8)",
    "Sequence": "[0, 1]",
    "Topology": "hm.topologies.ring(8, latency_s=1e-6, bandwidth=50e9)",
    "bool": "True",
    "bytes": "schedule.to_bytes()",
    "dict": "{0: 2.0}",
    "float": "1.5",
    "int": "8",
    "list": "[0, 1]",
    "str": "'all_reduce'",
}


def complaint(call: str, name: str, expected: Any, value: object) -> str:
    """Return the sentence about an argument that does not fit its annotation."""
    choices = typing.get_args(expected) if typing.get_origin(expected) in UNIONS else (expected,)
    wanted = [choice for choice in choices if choice is not types.NoneType]
    example = _example(name, wanted)
    such_as = f" such as {example}" if example else ""
    or_none = ", or None" if len(wanted) < len(choices) else ""
    return f"{call}(): {name}: expected {_either(wanted)}{such_as}{or_none}, found {shown(value)}"


def in_words(expected: Any) -> str:
    """Return an annotation's demand: 'a sequence of whole numbers', 'text or a path'."""
    origin, inner = typing.get_origin(expected), typing.get_args(expected)
    if origin in UNIONS:
        return _either(inner)
    if origin in MAPPINGS:
        return f"a mapping of {_plural(inner[0])} to {_plural(inner[1])}"
    if origin in SEQUENCES:
        return f"a sequence of {_plural(inner[0])}"
    if origin is tuple and inner[-1:] != (...,):
        return f"{len(inner)} values in a tuple"
    if origin is collections.abc.Callable:
        return "a function"
    if origin is np.ndarray:
        return "an array"
    if origin is typing.Literal and inner in NAMES:
        return _SINGLE[str]
    if origin is typing.Literal:
        return " or ".join(map(repr, inner))
    if expected in _SINGLE:
        return _SINGLE[expected]
    return _with_article(_name(expected))


def _either(choices: Sequence[Any]) -> str:
    words = list(dict.fromkeys(map(in_words, choices)))
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _example(name: str, choices: Sequence[Any]) -> str:
    """Return how such an argument is written, or nothing where that cannot be said."""
    return _BY_NAME.get(name) or next(
        (_BY_TYPE[kind] for kind in map(_name, choices) if kind in _BY_TYPE), ""
    )


def shown(value: object) -> str:
    """Return a value and its type on one line; the type alone where the value is long or cannot be written."""
    kind = "a class" if isinstance(value, type) else type(value).__name__
    if value is None:
        return "None"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # another library's __repr__ may raise anything
        return _with_article(kind)
    return f"{text} ({kind})" if len(text) <= _SHOWN else _with_article(kind)


def _plural(expected: Any) -> str:
    if expected in _PLURAL:
        return _PLURAL[expected]
    origin, inner = typing.get_origin(expected), typing.get_args(expected)
    if origin is tuple:
        return f"pairs of {_plural(inner[0])}" if len(inner) == 2 else "tuples"
    if origin in UNIONS:
        return " or ".join(map(_plural, inner))
    if origin in SEQUENCES:
        return f"sequences of {_plural(inner[0])}"
    return f"{_name(expected)} objects"


def _name(expected: Any) -> str:
    named = typing.get_origin(expected) or expected
    return str(getattr(named, "__name__", None) or getattr(named, "_name", None) or named)


def _with_article(noun: str) -> str:
    if noun in ("a class", "Conditions"):
        return noun
    return "a path" if noun == "PathLike" else f"{'an' if noun[:1] in 'AEIOUaeiou' else 'a'} {noun}"
