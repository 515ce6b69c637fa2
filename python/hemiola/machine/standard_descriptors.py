# SPDX-License-Identifier: Apache-2.0
"""Descriptors 0 to 2, which the parent of a process may have closed."""

from __future__ import annotations

import os


def hold_standard_descriptors() -> None:
    """Open the null device where one of the descriptors 0 to 2 is closed.

    Otherwise the next file, pipe or socket would get its number: a child's standard input would replace it, and what
    a library prints would be written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            os.set_inheritable(opened, True)
