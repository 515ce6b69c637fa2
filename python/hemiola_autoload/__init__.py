# SPDX-License-Identifier: Apache-2.0
"""The entry points by which PyTorch knows the backend "hemiola". They do next to nothing, so they cannot break.

PyTorch loads the group `torch.distributed.backends` when somebody asks for the backend. Versions without that group
load `torch.backends` in every `import torch`. An exception there would make that import fail. So Hemiola itself is
imported only when a process group is made."""

from __future__ import annotations

import os
from typing import Any

#: Also in hemiola.environment's table, which is not imported here.
REPLACES = "HEMIOLA_TORCH_REPLACES"
_REPLACED = "gloo"


def register() -> None:
    """Make the backend known, as often as one likes."""
    from torch import cuda, distributed

    if distributed.is_available():
        devices = (
            ["cpu", "cuda"] if cuda.device_count() > 0 else ["cpu"]
        )  # asks NVML: a process may still fork
        distributed.Backend.register_backend("hemiola", _make, extended_api=True, devices=devices)
        if os.environ.get(REPLACES) == _REPLACED:
            _replace_gloo(distributed.distributed_c10d)


def _replace_gloo(c10d: Any) -> None:
    """Have PyTorch make a group of this backend wherever a program asks for gloo. Its name there stays "gloo".

    PyTorch has a branch of its own for gloo, in front of all registered backends. In all versions it first asks a
    BackendConfig for the backend of each device.
    """
    if getattr(c10d.BackendConfig, "replaces_gloo", False):
        return

    class BackendConfig(c10d.BackendConfig):  # type: ignore[misc]  # PyTorch's, of Any here
        replaces_gloo = True

        def __init__(self, backend: Any) -> None:
            super().__init__(backend)
            for device, name in self.device_backend_map.items():
                if name == _REPLACED:
                    self.device_backend_map[device] = c10d.Backend("hemiola")

    c10d.BackendConfig = BackendConfig


def _make(given: Any, options: Any) -> Any:
    from hemiola.torch.making import make

    return make(given, options)


def at_import_of_torch() -> None:
    """Do the same where nothing that goes wrong may be raised; `init_process_group` then says that it knows no
    "hemiola", and `import hemiola.torch` why."""
    try:
        register()
    except Exception as error:
        import warnings

        warnings.warn(f"Hemiola's backend for torch.distributed is not there: {error}", stacklevel=2)
