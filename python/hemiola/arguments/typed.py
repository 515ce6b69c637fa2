# SPDX-License-Identifier: Apache-2.0
"""`typed`: a function of the API that looks at its arguments' types before it does anything.

Whether a value fits an annotation is decided as generously as Python is: a NumPy integer is a whole number, a list is a
sequence. A text is no sequence. Any text may stand for a collective or an operation: functions understand other names,
too, or say which one is meant."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from hemiola.arguments.names import NAMES
from hemiola.arguments.words import MAPPINGS, SEQUENCES, UNIONS, complaint
from hemiola.errors import ArgumentTypeError

Api = TypeVar("Api", bound=Callable[..., Any])


def typed(api: Api) -> Api:
    """Let a function, or a class's constructor, answer arguments of the wrong type with an ArgumentTypeError.

    Annotations are read at the first call; a check costs about a microsecond per call.
    """
    if isinstance(api, type):
        made: Any = api
        made.__init__ = _checked(made.__init__, made.__name__)
        return cast(Api, made)
    return cast(Api, _checked(api, api.__qualname__))


def _checked(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    by_place: list[tuple[str, Any]] = []
    by_name: dict[str, Any] = {}

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not by_name:
            by_name.update(_types_of(function))
            by_place.extend((place, by_name[place]) for place in _places(function))
        for (parameter, expected), value in zip(by_place, args, strict=False):
            if not fits(expected, value):
                raise ArgumentTypeError(complaint(name, parameter, expected, value))
        for parameter, value in kwargs.items():
            if not fits(by_name.get(parameter, Any), value):
                raise ArgumentTypeError(complaint(name, parameter, by_name[parameter], value))
        return function(*args, **kwargs)

    return checked


def _types_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return each parameter's type; Any where none is stated."""
    names = vars(sys.modules[function.__module__])
    hints = inspect.get_annotations(function)
    return {name: _evaluated(hints.get(name, Any), names) for name in inspect.signature(function).parameters}


def _places(function: Callable[..., Any]) -> list[str]:
    """Return the parameters that may go without a name, up to `*args`."""
    parameters = inspect.signature(function).parameters.values()
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]


def _evaluated(hint: Any, names: Mapping[str, Any]) -> Any:
    return eval(hint, dict(names)) if isinstance(hint, str) else hint  # an annotation of our own sources


def fits(expected: Any, value: object) -> bool:
    """Return whether the value may stand where this annotation does. An uncheckable one fits all."""
    origin, inner = typing.get_origin(expected), typing.get_args(expected)
    if origin in UNIONS:
        return any(fits(choice, value) for choice in inner)
    if origin is not None:
        return _fits_generic(origin, inner, value)
    if expected is Any:
        return True
    if expected in (None, types.NoneType):
        return value is None
    if expected is bool:
        return isinstance(value, (bool, np.bool_))
    if expected is int:
        return _is_scalar(value) and hasattr(value, "__index__")
    if expected is float:
        return _is_scalar(value) and (hasattr(value, "__float__") or hasattr(value, "__index__"))
    return isinstance(value, expected) if isinstance(expected, type) else True


def _fits_generic(origin: Any, inner: tuple[Any, ...], value: Any) -> bool:
    if origin is collections.abc.Callable:
        return callable(value)
    if origin in MAPPINGS:
        return isinstance(value, collections.abc.Mapping) and all(
            fits(inner[0], key) and fits(inner[1], item) for key, item in value.items()
        )
    if origin in SEQUENCES:
        return _has_items(value) and all(fits(inner[0], item) for item in value)
    if origin is tuple:
        wanted = inner[:1] * len(value) if _has_items(value) and inner[-1:] == (...,) else inner
        return _has_items(value) and len(value) == len(wanted) and all(map(fits, wanted, value))
    if origin is typing.Literal:
        return isinstance(value, str) if inner in NAMES else value in inner
    return isinstance(value, origin) if isinstance(origin, type) else True


def _is_scalar(value: object) -> bool:
    """A NumPy array of one number converts to one, but is none."""
    return not isinstance(value, type) and getattr(value, "ndim", 0) == 0


def _has_items(value: Any) -> bool:
    if isinstance(value, (str, bytes, type, collections.abc.Mapping)) or getattr(value, "ndim", 1) == 0:
        return False
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")
