# SPDX-License-Identifier: Apache-2.0
"""Figures that a file does not give."""

from __future__ import annotations


class Assumed(float):
    """A figure that a file does not give; figures derived from it by a factor are assumed, too."""

    def __mul__(self, factor: float) -> Assumed:
        return Assumed(float(self) * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Assumed:
        return Assumed(float(self) / divisor)

    def __add__(self, other: float) -> Assumed:
        return Assumed(float(self) + other)

    __radd__ = __add__
