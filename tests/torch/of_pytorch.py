# SPDX-License-Identifier: Apache-2.0
"""What a PyTorch may lack. A test that needs it is skipped there, with the reason; none is in `make test`."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement

LOADS_BACKENDS = hasattr(torch, "_import_device_backends")
needs_backends_loaded = pytest.mark.skipif(
    not LOADS_BACKENDS,
    reason="this PyTorch loads no backend unasked: a program that knows it by name alone cannot run",
)
#: Not imported: it may bring Triton, which tests of the kernels want to tell first that it is to interpret.
HAS_FSDP2 = (Path(torch.__file__).parent / "distributed/fsdp/_fully_shard").exists()
needs_fsdp2 = pytest.mark.skipif(not HAS_FSDP2, reason="this PyTorch has no FSDP2 for the CPU")
needs_analyzer = pytest.mark.skipif(
    find_spec("torch.distributed.flight_recorder") is None,
    reason="this PyTorch has no torch.distributed.flight_recorder",
)


def _lack_of_triton() -> str:
    """Return what keeps Triton's kernels from running; empty: nothing does."""
    needed = next(
        one
        for one in map(Requirement, metadata.requires("hemiola") or ())
        if one.name == "triton" and one.marker is not None and one.marker.evaluate({"extra": "triton"})
    )
    try:
        found = metadata.version("triton")
    except metadata.PackageNotFoundError:
        return "Triton is not here"
    return "" if found in needed.specifier else f"{needed.name}{needed.specifier} is needed, {found} is here"


needs_triton = pytest.mark.skipif(bool(_lack_of_triton()), reason=_lack_of_triton() or "nothing lacks")
