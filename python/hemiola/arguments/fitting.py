"""Whether a value fits an annotation. Generous as Python is: a NumPy integer is a whole number, a list is a sequence. A
text is no sequence."""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import Any

import numpy as np


def fits(expected: Any, value: object) -> bool:
    """Return whether the value may stand where this annotation does. An uncheckable one fits all."""
    origin, inner = typing.get_origin(expected), typing.get_args(expected)
    if is_union(origin):
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


def is_union(origin: Any) -> bool:
    """Return whether an annotation's origin is `X | Y`."""
    return origin in (typing.Union, types.UnionType)


def is_sequence(origin: Any) -> bool:
    """Return whether an annotation's origin is that of a sequence of any length."""
    return origin in (list, collections.abc.Sequence)


def is_mapping(origin: Any) -> bool:
    """Return whether an annotation's origin is that of a mapping."""
    return origin in (dict, collections.abc.Mapping)


def _fits_generic(origin: Any, inner: tuple[Any, ...], value: Any) -> bool:
    if origin is collections.abc.Callable:
        return callable(value)
    if is_mapping(origin):
        return isinstance(value, collections.abc.Mapping) and all(
            fits(inner[0], key) and fits(inner[1], item) for key, item in value.items()
        )
    if is_sequence(origin):
        return _has_items(value) and all(fits(inner[0], item) for item in value)
    if origin is tuple:
        wanted = inner[:1] * len(value) if _has_items(value) and inner[-1:] == (...,) else inner
        return _has_items(value) and len(value) == len(wanted) and all(map(fits, wanted, value))
    if origin is typing.Literal:
        return value in inner
    return isinstance(value, origin) if isinstance(origin, type) else True


def _is_scalar(value: object) -> bool:
    """A NumPy array of one number converts to one, but is none."""
    return not isinstance(value, type) and getattr(value, "ndim", 0) == 0


def _has_items(value: Any) -> bool:
    if isinstance(value, (str, bytes, type, collections.abc.Mapping)) or getattr(value, "ndim", 1) == 0:
        return False
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")
