# SPDX-License-Identifier: Apache-2.0
"""The installed C library and a program that is compiled against it, once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_library import Library


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library.installed(tmp_path_factory.mktemp("prefix"))


@pytest.fixture(scope="session")
def ranks(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of most tests."""
    source = Path(__file__).with_name("c_ranks.c")
    return library.compiled(source, tmp_path_factory.mktemp("programs") / "ranks")
