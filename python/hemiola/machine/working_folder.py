# SPDX-License-Identifier: Apache-2.0
"""The folder in which this process works, which somebody may have deleted."""

from __future__ import annotations

import os

from hemiola.errors import ArgumentError


def working_folder() -> str:
    """Return it; raise ArgumentError where it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise ArgumentError(
            "the working folder of this process has been deleted; change into one that exists"
        ) from None
