# SPDX-License-Identifier: Apache-2.0
"""The exception for a name of mpi4py's that the facade lacks."""

from __future__ import annotations

from typing import NoReturn

from hemiola.errors import HemiolaError


class MissingNameError(HemiolaError, AttributeError):
    """Hemiola has no such call of MPI."""


def missing(name: str) -> MissingNameError:
    """Return the error for a name of mpi4py's that the facade lacks."""
    return MissingNameError(
        f"hemiola.mpi has no {name}. It has the calls of docs/how-to/mpi4py.md; use MPI for others"
    )


class Facade:
    """A class of mpi4py's with some of its methods; it refuses the others by name."""

    def __getattr__(self, name: str) -> NoReturn:
        raise missing(f"{type(self).__name__}.{name}")
