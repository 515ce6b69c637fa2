# SPDX-License-Identifier: Apache-2.0
"""Moves functions and arguments between the launching process and its ranks: by name where another process can import
them, else by value.

A script's ranks import the script again and find its functions by name. In a notebook, under `python -c`, on standard
input and under the script's guard they would find nothing, as with lambdas and functions within functions; these go by
value."""

from __future__ import annotations

import ast
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_UNPICKLABLE = (pickle.PicklingError, AttributeError, TypeError)


def packed(value: object) -> bytes:
    """Return a value as bytes for `pickle.loads`; raise pickle's error for one that cannot be copied at all."""
    try:
        return pickle.dumps(value)
    except _UNPICKLABLE:
        return _by_value(value)


def packed_call(fn: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """Return a function and its arguments as bytes for `pickle.loads`."""
    return packed((fn, args)) if _can_be_imported(fn) else _by_value((fn, args))


def _by_value(value: object) -> bytes:
    import cloudpickle  # imported where it is needed: hardly any launch does

    packed: bytes = cloudpickle.dumps(value)
    return packed


def _can_be_imported(fn: Callable[..., Any]) -> bool:
    """Return whether a rank finds the function, or the class of a callable object, by its name."""
    made = fn if hasattr(fn, "__qualname__") else type(fn)
    if getattr(made, "__module__", None) != "__main__":
        return True  # pickle finds out
    path = script()
    if path is None:
        return False
    code = getattr(fn, "__code__", None)
    return code is None or not any(code.co_firstlineno in lines for lines in _guarded(path))


def script() -> Path | None:
    """Return the file of the main module; None in a notebook, under `python -c` and on standard input."""
    path = getattr(sys.modules["__main__"], "__file__", None)
    return Path(path) if path is not None and os.path.isfile(path) else None


def _guarded(script: Path) -> Iterator[range]:
    """Yield the lines of a script that run only where it is the main module."""
    for statement in ast.parse(script.read_text()).body:
        if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
            yield range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
