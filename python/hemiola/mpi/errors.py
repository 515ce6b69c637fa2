# SPDX-License-Identifier: Apache-2.0
"""The facade's exception, and its sentence for a missing name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hemiola.errors import HemiolaError


class Exception(RuntimeError):  # mpi4py's name
    """An error of a call; `__cause__` is Hemiola's own, such as LostRankError."""


class MissingNameError(Exception, AttributeError):
    """Hemiola has no such call of MPI."""


def missing(name: str) -> MissingNameError:
    """Return the error for a name of mpi4py's that the facade lacks."""
    return MissingNameError(
        f"hemiola.mpi has no {name}. It has the calls of docs/how-to/mpi4py.md; use MPI for others"
    )


def translating(kind: type) -> type:
    """Have a class's public methods raise the facade's exception where Hemiola raises its own."""
    for name, method in list(vars(kind).items()):
        if callable(method) and not name.startswith("_"):
            setattr(kind, name, _translated(method))
    return kind


def _translated(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except HemiolaError as error:
            raise Exception(f"{method.__name__}: {error}") from error

    return call
