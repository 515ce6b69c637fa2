# SPDX-License-Identifier: Apache-2.0
"""Clusters need rights that not every kernel gives; tests of them are skipped where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hemiola.errors import ClusterError


@contextmanager
def where_permitted() -> Iterator[None]:
    """Skip the test when a cluster made inside may not be."""
    try:
        yield
    except ClusterError as error:
        if "may not create" in str(error):
            pytest.skip(str(error))
        raise
