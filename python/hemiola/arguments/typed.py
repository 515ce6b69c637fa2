"""`typed`: a function of the API that looks at its arguments' types before it does anything."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from hemiola.arguments.fitting import fits
from hemiola.arguments.words import complaint
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
