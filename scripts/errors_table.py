# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/errors.md from hemiola.errors; scripts/generate.py calls it."""

import inspect
from collections.abc import Iterator

from hemiola import errors

INTRODUCTION = """\
# Errors

Generated from `hemiola.errors` (`make generate`); do not edit. Each error is also the builtin that a caller expects.
[failures.md](../how-to/failures.md) says when ranks raise them and how to go on. The [API](api/hemiola.md) has their
attributes.

| error | is also | meaning |
|---|---|---|
"""


def text() -> str:
    """Return the whole page."""
    return INTRODUCTION + "".join(rows())


def rows() -> Iterator[str]:
    """Yield a row for each exception and warning, in the order of the source."""
    for name, error in vars(errors).items():
        if inspect.isclass(error) and issubclass(error, Exception) and error.__module__ == errors.__name__:
            also = ", ".join(f"`{base.__name__}`" for base in error.__bases__ if base is not Exception)
            meaning = inspect.cleandoc(error.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
            yield f"| `{name}` | {also or '–'} | {meaning} |\n"
