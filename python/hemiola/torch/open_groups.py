# SPDX-License-Identifier: Apache-2.0
"""The groups of this process that are open: their Python halves live on though a caller holds the C++ half alone."""

from __future__ import annotations

from typing import Any

OPEN: set[Any] = set()
