"""Clusters for tests, each with processes of its own that must be gone in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from hemiola.cluster import Cluster
from hemiola.errors import ClusterError


@pytest.fixture
def clusters() -> Iterator[Callable[..., Cluster]]:
    """What makes clusters, which end with the test; skips where the kernel does not permit any."""
    with ExitStack() as up:

        def make(hosts: int, **how: Any) -> Cluster:
            try:
                return up.enter_context(Cluster(hosts, **how))
            except ClusterError as error:
                if "may not create" in str(error):
                    pytest.skip(str(error))
                raise

        yield make
