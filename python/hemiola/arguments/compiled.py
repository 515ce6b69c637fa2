# SPDX-License-Identifier: Apache-2.0
"""Compiled functions as Python's own look: their signatures, and errors in the arguments of a call.

The core calls `signature` for `inspect.signature`, and `wrong_argument` where a call fitted none of a function's
signatures."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from hemiola.arguments.typed import fits
from hemiola.arguments.words import complaint, shown


def signature(function: Any) -> inspect.Signature:
    """Return the signature of a compiled function or method: that of its overload with the most parameters.

    A method that is bound to an object has no `self`.
    """
    bound = getattr(function, "__self__", None) is not None
    found = max(_signatures(getattr(function, "__func__", function)), key=lambda made: len(made.parameters))
    parameters = list(found.parameters.values())
    return found.replace(parameters=parameters[1:]) if bound else found


def wrong_argument(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """Return the sentence about a call's wrong arguments, or None where all fit."""
    complaints = []
    for overload in _signatures(function):
        found = _complaint(function, overload, args, kwargs)
        if found is None:
            return None
        complaints.append(found)
    return max(complaints, key=lambda place_and_text: place_and_text[0])[1]  # the overload that came furthest


def _complaint(
    function: Any, found: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[int, str] | None:
    call = _call_of(function)
    try:
        bound = found.bind(*args, **kwargs)
    except TypeError as error:
        return -1, f"{call}(): {error}; it is called as {call}{_without_types(found)}"
    for place, (name, value) in enumerate(bound.arguments.items()):
        expected = found.parameters[name].annotation
        if expected is not inspect.Parameter.empty and not fits(expected, value):
            return place, complaint(call, name, expected, value)
    return next(filter(None, (_too_large(call, bound.arguments, bits) for bits in (63, 31))), None)


def _too_large(call: str, given: Mapping[str, Any], bits: int) -> tuple[int, str] | None:
    """Say where there are numbers that the core cannot hold: counts and ranks have 31 bits there, bytes 63."""
    found = [
        (place, name, number)
        for place, (name, value) in enumerate(given.items())
        for number in itertools.islice(_numbers_beyond(bits, value), 1)
    ]
    if not found:
        return None
    told = [
        f"{name}: expected a whole number of at most {bits} bits, found {shown(number)}"
        for _, name, number in found
    ]
    return found[0][0], f"{call}(): {'; '.join(told)}"


def _numbers_beyond(bits: int, value: Any) -> Iterator[int]:
    if isinstance(value, int):
        if not -(1 << bits) <= value < 1 << bits:
            yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _numbers_beyond(bits, part)


def _call_of(function: Any) -> str:
    name: str = function.__qualname__
    return name.removesuffix(".__init__")


def _without_types(found: inspect.Signature) -> str:
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in found.parameters.values()
        if parameter.name != "self"
    ]
    return str(found.replace(parameters=parameters, return_annotation=found.empty))


@functools.cache
def _signatures(function: Any) -> tuple[inspect.Signature, ...]:
    overloads = getattr(function, "__nb_signature__")  # noqa: B009 - unknown to type checkers
    return tuple(_read(text, defaults or ()) for text, _, defaults in overloads)


def _read(text: str, defaults: tuple[Any, ...]) -> inspect.Signature:
    """Read 'def mesh(dims: collections.abc.Sequence[int], …) -> …'; a default may be a number behind a backslash."""
    for index in range(len(defaults)):
        text = text.replace(f"\\{index}", f"_default({index})")
    text = re.sub(r"(networkx\.\w+)\[[^\]]*\]", r"\1", text)  # generic to type checkers only
    (definition,) = ast.parse(f"{text}: ...").body
    assert isinstance(definition, ast.FunctionDef)
    names = {**_modules(text), "_default": lambda index: defaults[index]}
    return inspect.Signature(
        list(_parameters(definition.args, names)), return_annotation=_evaluated(definition.returns, names)
    )


def _parameters(arguments: ast.arguments, names: Mapping[str, Any]) -> Iterator[inspect.Parameter]:
    positional = [*arguments.posonlyargs, *arguments.args]
    fallbacks = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    for argument, fallback in zip(positional, fallbacks, strict=True):
        kind = (
            inspect.Parameter.POSITIONAL_ONLY
            if argument in arguments.posonlyargs
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        yield _parameter(argument, kind, fallback, names)
    if arguments.vararg:
        yield _parameter(arguments.vararg, inspect.Parameter.VAR_POSITIONAL, None, names)
    for argument, fallback in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument, inspect.Parameter.KEYWORD_ONLY, fallback, names)
    if arguments.kwarg:
        yield _parameter(arguments.kwarg, inspect.Parameter.VAR_KEYWORD, None, names)


def _parameter(
    argument: ast.arg, kind: Any, fallback: ast.expr | None, names: Mapping[str, Any]
) -> inspect.Parameter:
    return inspect.Parameter(
        argument.arg,
        kind,
        default=inspect.Parameter.empty if fallback is None else _evaluated(fallback, names),
        annotation=_evaluated(argument.annotation, names) if argument.annotation else inspect.Parameter.empty,
    )


def _evaluated(node: ast.expr | None, names: Mapping[str, Any]) -> Any:
    if node is None:
        return Any
    return eval(compile(ast.Expression(node), "<signature>", "eval"), dict(names))


class _Unknown:
    """Stands for a package of an extra that is not installed: each of its types may be anything."""

    def __getattr__(self, name: str) -> Any:
        return Any


def _modules(text: str) -> dict[str, Any]:
    """Return the modules that a signature names, and the core's own classes, which may stand without theirs."""
    found = dict(vars(sys.modules["hemiola._core"]))
    for name in ("collections.abc", "hemiola", "networkx", "numpy.typing", "os", "typing"):
        root = name.partition(".")[0]
        if f"{root}." not in text:
            continue
        if root == "networkx" and find_spec(root) is None:
            found[root] = _Unknown()
            continue
        importlib.import_module(name)
        found[root] = sys.modules[root]
    return found
