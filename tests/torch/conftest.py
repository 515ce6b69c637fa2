# SPDX-License-Identifier: Apache-2.0
"""The two ways from PyTorch to the engine: through Python, and past it where the accelerator is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

WAYS = ("through Python", "compiled")


@pytest.fixture(scope="session")
def compiled_in(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Compile the accelerator, once for all workers of the run, and return the cache in which it lies."""
    from hemiola.torch.accelerator import compile_for_torch
    from hemiola.torch.accelerator.compiling import FOLDER_IN_CACHE

    own = tmp_path_factory.getbasetemp()
    cache = (own if worker_id == "master" else own.parent) / "cache"
    compile_for_torch(cache / FOLDER_IN_CACHE)
    return cache


@pytest.fixture(scope="module", params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Have processes that a test starts go one way; every test that asks for this runs on both."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEMIOLA_TORCH_ACCELERATOR", "off")
        if request.param == "compiled":
            patch.setenv("XDG_CACHE_HOME", str(request.getfixturevalue("compiled_in")))
            patch.setenv("HEMIOLA_TORCH_ACCELERATOR", "on")
        yield request.param
