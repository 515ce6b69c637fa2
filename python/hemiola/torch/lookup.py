# SPDX-License-Identifier: Apache-2.0
"""Finds our group behind the objects that PyTorch's callers hold."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed as dist

from hemiola.errors import ArgumentError
from hemiola.torch.group import Group


def group_of(process_group: Any = None) -> Group:
    """Return the group of the backend "hemiola" that carries a process group's collectives on CPU tensors.

    Parameters
    ----------
    process_group : torch.distributed.ProcessGroup; None for the default one.

    Raises
    ------
    ArgumentError
        where another backend does.
    """
    asked = dist.group.WORLD if process_group is None else process_group
    if isinstance(asked, Group):
        return asked
    if not isinstance(asked, dist.ProcessGroup):
        raise ArgumentError(
            f"group: expected a process group of the backend 'hemiola', found {asked!r}; call init_process_group first"
        )
    try:
        backend = asked._get_backend(torch.device("cpu"))
    except RuntimeError as error:
        raise ArgumentError(
            f"group: expected a process group with a backend for the CPU, found none: {error}"
        ) from None
    if not isinstance(backend, Group):
        raise ArgumentError(
            f"group: expected the backend 'hemiola' for the CPU, found '{backend.name()}'; "
            f"init_process_group('hemiola') or new_group(backend='hemiola') makes one"
        )
    return backend
